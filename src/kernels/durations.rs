//! How long nvcc took for each file: the slowest of the last time is begun first, so that no processor waits for it at
//! the end. `cargo build -vv` shows them.

use crate::kernels::job::Job;
use crate::system::directive::Directive;
use crate::system::files;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The durations of one library, or of all files of one kind.
pub struct Durations {
    file: PathBuf,
    /// Milliseconds, by the name of what was made.
    of: BTreeMap<String, u64>,
}

impl Durations {
    /// Those of the last builds; a line for each: `1234 gelu.ptx`.
    pub fn read(file: PathBuf) -> Self {
        let text = files::read(&file).unwrap_or_default();
        let line = |line: &str| {
            let (number, name) = line.split_once(' ')?;
            Some((name.to_string(), number.parse().ok()?))
        };
        let of = text.lines().filter_map(line).collect();
        Self { file, of }
    }

    /// The places of these jobs, the longest first; one that is not known may be longer.
    pub fn longest_first(&self, jobs: &[Job], mut places: Vec<usize>) -> Vec<usize> {
        let duration = |job: &Job| self.of.get(&name(job)).copied().unwrap_or(u64::MAX);
        places.sort_by_key(|place| std::cmp::Reverse(duration(&jobs[*place])));
        places
    }

    /// Notes what has run, and gives a line for each file, the slowest first.
    pub fn note(&mut self, ran: &[(&Job, String, Duration)]) -> Vec<Directive> {
        for (job, _, duration) in ran {
            let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
            self.of.insert(name(job), milliseconds);
        }
        let lines = self
            .of
            .iter()
            .map(|(name, number)| format!("{number} {name}\n"));
        // Without it the order is another one.
        let _ = files::write(&self.file, &lines.collect::<String>());
        let mut slowest: Vec<_> = ran.iter().collect();
        slowest.sort_by_key(|(_, _, duration)| std::cmp::Reverse(*duration));
        let line = |(job, command, duration): &&(&Job, String, Duration)| {
            let (seconds, size) = (duration.as_secs_f64(), files::size(&job.output) / 1024);
            Directive::Text(format!(
                "cudnn-guard: {seconds:.1} s, {size} KiB: {command}"
            ))
        };
        slowest.iter().map(line).collect()
    }
}

fn name(job: &Job) -> String {
    let name = job.output.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
