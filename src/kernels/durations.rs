//! How long nvcc took for each file: the slowest of the last time is begun first, so that no processor waits for it at
//! the end. `cargo build -vv` shows them.

use crate::kernels::job::Job;
use crate::runtime::facts::codec;
use crate::system::directive::Directive;
use crate::system::files;
use std::path::PathBuf;
use std::time::Duration;

/// The durations of one library, or of all files of one kind.
pub struct Durations {
    file: PathBuf,
    /// What was made, by name, and its milliseconds.
    of: Vec<(String, u64)>,
}

impl Durations {
    /// Reads those of the last builds; a line for each: `made gelu.ptx 1234`.
    pub fn read(file: PathBuf) -> Self {
        let mut of = Vec::new();
        let text = files::read(&file).unwrap_or_default();
        codec::each_line(&text, &mut |_, value| codec::push(&mut of, value));
        Self { file, of }
    }

    /// The places of these jobs, the longest first; one that is not known may be longer.
    pub fn longest_first(&self, jobs: &[Job], places: &[usize]) -> Vec<usize> {
        let duration = |place: &usize| {
            let name = name(&jobs[*place]);
            let known = self.of.iter().find(|(known, _)| *known == name);
            known.map_or(u64::MAX, |(_, duration)| *duration)
        };
        let order = descending(places.iter().map(duration).collect());
        order.into_iter().map(|at| places[at]).collect()
    }

    /// Notes what has run, and gives a line for each file, the slowest first.
    pub fn note(&mut self, ran: &[(&Job, &str, Duration)]) -> Vec<Directive> {
        for (job, _, duration) in ran {
            let name = name(job);
            self.of.retain(|(known, _)| *known != name);
            self.of.push((name, milliseconds(*duration)));
        }
        let lines = self.of.iter();
        let lines = lines.map(|one| codec::line("made", one) + "\n");
        // Without it the order is another one.
        let _ = files::write(&self.file, &lines.collect::<String>());
        let slowest = descending(ran.iter().map(|ran| milliseconds(ran.2)).collect());
        let line = |at: usize| {
            let (job, command, duration) = &ran[at];
            let (seconds, size) = (duration.as_secs_f64(), files::size(&job.output) / 1024);
            Directive::Text(format!(
                "cudnn-guard: {seconds:.1} s, {size} KiB: {command}"
            ))
        };
        slowest.into_iter().map(line).collect()
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The places of these numbers, that of the largest first.
fn descending(numbers: Vec<u64>) -> Vec<usize> {
    let places = numbers.into_iter().enumerate();
    let mut places: Vec<_> = places.map(|(at, number)| (u64::MAX - number, at)).collect();
    places.sort();
    places.into_iter().map(|(_, at)| at).collect()
}

fn name(job: &Job) -> String {
    let name = job.output.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
