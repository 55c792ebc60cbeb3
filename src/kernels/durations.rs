//! The durations of earlier compilations. The slowest file is compiled first, so that the other CPUs do not wait for it
//! at the end. `cargo build -vv` shows the durations.

use crate::kernels::job::{Job, JobOutput};
use crate::runtime::facts::codec;
use crate::system::directive::Directive;
use crate::system::files;
use std::cmp::Reverse;
use std::path::PathBuf;

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
    pub fn longest_first(&self, jobs: &[Job]) -> Vec<usize> {
        let duration = |job: &Job| {
            let name = name(job);
            let known = self.of.iter().find(|(known, _)| *known == name);
            known.map_or(u64::MAX, |(_, duration)| *duration)
        };
        let mut places: Vec<usize> = (0..jobs.len()).collect();
        places.sort_by_cached_key(|place| Reverse(duration(&jobs[*place])));
        places
    }

    /// Records the commands that ran, and adds a line for each, the slowest first.
    pub fn note(&mut self, mut ran: Vec<(&Job, &JobOutput)>, lines: &mut Vec<Directive>) {
        ran.sort_by_key(|(_, output)| Reverse(output.time));
        for (job, output) in &ran {
            let name = name(job);
            let duration = u64::try_from(output.time.as_millis()).unwrap_or(u64::MAX);
            self.of.retain(|(known, _)| *known != name);
            self.of.push((name, duration));
        }
        let mut text = String::new();
        for one in &self.of {
            text += &codec::line("made", one);
            text.push('\n');
        }
        // If this fails, only the order of the next build differs.
        let _ = files::write(&self.file, &text);
        for (job, JobOutput { time, command, .. }) in ran {
            let (seconds, size) = (time.as_secs_f64(), files::size(&job.output) / 1024);
            lines.push(Directive::Text(format!(
                "cudnn-guard: {seconds:.1} s, {size} KiB: {command}"
            )));
        }
    }
}

fn name(job: &Job) -> String {
    let name = job.output.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
