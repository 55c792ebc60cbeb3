//! The durations of earlier compilations. The slowest file is compiled first, so that the other CPUs do not wait for it
//! at the end. `cargo build -vv` shows the durations.

use crate::kernels::job::{Job, JobOutput};
use crate::runtime::facts::codec;
use crate::system::directive::Directive;
use crate::system::files;
use std::cmp::Reverse;
use std::path::PathBuf;

/// The durations for one library, or for all files of one product.
pub struct Durations {
    file: PathBuf,
    /// Output names with their milliseconds.
    known: Vec<(String, u64)>,
}

impl Durations {
    /// Reads the durations of earlier builds, one per line: `made gelu.ptx 1234`.
    pub fn read(file: PathBuf) -> Self {
        let mut known = Vec::new();
        let text = files::read(&file).unwrap_or_default();
        codec::each_line(&text, &mut |_, value| codec::push(&mut known, value));
        Self { file, known }
    }

    /// Returns the indices of these jobs, the longest first. Jobs of unknown duration come first, because they may be
    /// the longest.
    pub fn longest_first(&self, jobs: &[Job]) -> Vec<usize> {
        let durations = jobs.iter().map(|job| {
            let name = name(job);
            let known = self.known.iter().find(|(output, _)| *output == name);
            known.map_or(u64::MAX, |(_, duration)| *duration)
        });
        descending(&durations.collect::<Vec<_>>())
    }

    /// Records the commands that ran, and adds a line for each, the slowest first.
    pub fn record(&mut self, ran: &[(&Job, &JobOutput)], lines: &mut Vec<Directive>) {
        let mut durations = Vec::new();
        for (job, output) in ran {
            let name = name(job);
            let duration = u64::try_from(output.time.as_millis()).unwrap_or(u64::MAX);
            match self.known.iter_mut().find(|(output, _)| *output == name) {
                Some((_, known)) => *known = duration,
                None => self.known.push((name, duration)),
            }
            durations.push(duration);
        }
        let mut text = String::new();
        for one in &self.known {
            text += &codec::line("made", one);
            text.push('\n');
        }
        // If this fails, only the order of the next build differs.
        let _ = files::write(&self.file, &text);
        for at in descending(&durations) {
            let (job, JobOutput { time, command, .. }) = &ran[at];
            let (seconds, size) = (time.as_secs_f64(), files::size(&job.output) / 1024);
            lines.push(Directive::Text(format!(
                "cudnn-guard: {seconds:.1} s, {size} KiB: {command}"
            )));
        }
    }
}

/// Returns the indices of these numbers, the largest number first.
fn descending(numbers: &[u64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..numbers.len()).collect();
    places.sort_by_key(|at| Reverse(numbers[*at]));
    places
}

fn name(job: &Job) -> String {
    let name = job.output.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
