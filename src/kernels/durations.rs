//! The durations of earlier compilations. The slowest file is compiled first, so that the other CPUs do not wait for it
//! at the end. `cargo build -vv` shows the durations.

use crate::kernels::job::Job;
use crate::runtime::facts::codec;
use crate::system::directive::Directive;
use crate::system::files;
use std::path::PathBuf;
use std::time::Duration;

/// The durations of one library, or of all files of one product.
pub struct Durations {
    file: PathBuf,
    /// Output names with their milliseconds.
    of: Vec<(String, u64)>,
}

impl Durations {
    /// Reads the durations of earlier builds, one per line: `made gelu.ptx 1234`.
    pub fn read(file: PathBuf) -> Self {
        let mut of = Vec::new();
        let text = files::read(&file).unwrap_or_default();
        codec::each_line(&text, &mut |_, value| codec::push(&mut of, value));
        Self { file, of }
    }

    /// Returns the indices of these jobs, the longest first. Unknown jobs come before known ones, since they may be
    /// longer.
    pub fn longest_first(&self, jobs: &[Job], places: &[usize]) -> Vec<usize> {
        let duration = |place: &usize| {
            let name = name(&jobs[*place]);
            let known = self.of.iter().find(|(known, _)| *known == name);
            known.map_or(u64::MAX, |(_, duration)| *duration)
        };
        let order = descending(places.iter().map(duration).collect());
        order.into_iter().map(|at| places[at]).collect()
    }

    /// Records the commands that ran, and returns a line for each, the slowest first.
    pub fn note(&mut self, ran: &[(&Job, &str, Duration)]) -> Vec<Directive> {
        for (job, _, duration) in ran {
            let name = name(job);
            self.of.retain(|(known, _)| *known != name);
            self.of.push((name, milliseconds(*duration)));
        }
        let lines = self.of.iter();
        let lines = lines.map(|one| codec::line("made", one) + "\n");
        // If this fails, only the order of the next build differs.
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

/// Returns the indices of these numbers, the largest number first.
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
