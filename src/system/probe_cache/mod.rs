//! A cache of compilers' output: each query runs once for a whole build script and for later builds.
//!
//! ```text
//! $OUT_DIR/cudnn-guard/queries/
//!   <hash>            a line: `output STDOUT STDERR`
//!   <hash>.stamp      as for build outputs
//! ```
//!
//! The hash is of the program, its arguments and the variables that affect it. The files in the stamp are the program,
//! the other files that determine the output, and those of the program's earlier outputs.
//!
//! An invalid file counts as missing. Failed queries run again in the next build.

#[cfg(all(test, unix))]
pub mod tests;

use crate::model::{Environment, Invocation, Variable};
use crate::runtime::facts::{Finding, codec};
use crate::system::{Artifact, Output, StatCache, files, out_dir, run};
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// The variables that change nvcc's output, or the nvcc that a launcher finds.
const VARIABLES: &[Variable] = &[
    Variable::Path,
    Variable::NvccCcbin,
    Variable::NvccPrependFlags,
    Variable::NvccAppendFlags,
];

/// The default time limit. A wrapper may have to wake a slow disk; anything longer counts as a hang.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// The outputs of one build. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct ProbeCache {
    dir: Option<PathBuf>,
    variables: Vec<Option<OsString>>,
    deadline: Option<Duration>,
    known: Arc<Mutex<Vec<Known>>>,
}

#[derive(Debug)]
struct Known {
    program: PathBuf,
    how: String,
    /// The files that determine the output. Empty if the output is not saved.
    files: Vec<PathBuf>,
    output: Result<Output, Finding>,
}

impl ProbeCache {
    /// Opens the cache of a build. Outside a build script, nothing is saved.
    pub fn open(env: &Environment) -> Self {
        let out_dir = env.os_var("OUT_DIR").map(Path::new);
        let variables = VARIABLES.iter().map(|variable| env.get(*variable));
        Self {
            dir: out_dir.map(|dir| dir.join("cudnn-guard").join("queries")),
            variables: variables.map(|value| value.map(OsString::from)).collect(),
            deadline: env.program_deadline(),
            known: Arc::default(),
        }
    }

    /// Returns the output of a program. `depends_on` returns the files that determine it in addition to the program, or
    /// `None` if the output must not be saved.
    pub fn query(
        &self,
        invocation: &Invocation,
        depends_on: &dyn Fn(&Output) -> Option<Vec<PathBuf>>,
    ) -> Result<Output, Finding> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let profiles = profiles(&invocation.program);
        let how = format!("{profiles:?} {invocation} {:?}", self.variables);
        if let Some(same) = known.iter().find(|one| one.how == how) {
            return same.output.clone();
        }
        let mut hasher = DefaultHasher::new();
        how.hash(&mut hasher);
        let place = self.dir.clone().unwrap_or_default();
        let place = place.join(format!("{:016x}", hasher.finish()));
        let saved = Artifact {
            stamp: place.with_extension("stamp"),
            output: place,
            how,
            search: Vec::new(),
        };
        // A launcher may be unchanged while the program that it starts has changed.
        let same = known.iter().filter(|one| one.program == invocation.program);
        let same: Vec<PathBuf> = same.flat_map(|one| one.files.clone()).collect();
        let mut files = Vec::new();
        if self.dir.is_some() {
            let fresh = saved.fresh(&StatCache::default()).unwrap_or_default();
            files.extend(fresh.iter().map(|file| file.path.clone()));
        }
        let is_fresh = !files.is_empty() && same.iter().all(|file| files.contains(file));
        let output = match read(&saved.output).filter(|_| is_fresh) {
            Some(output) => Ok(output),
            None => {
                if self.dir.is_some() {
                    saved.remove();
                }
                let begun = SystemTime::now();
                let output = run(invocation, self.deadline.unwrap_or(DEADLINE));
                let succeeded = output.as_ref().ok().filter(|output| output.success);
                let depends_on = succeeded.and_then(depends_on);
                files.clear();
                if let (Some(dir), Some(output), Some(other)) = (&self.dir, succeeded, depends_on) {
                    files = other;
                    files::keep(&mut files, &files::is_file);
                    files.push(invocation.program.clone());
                    files.extend(profiles);
                    files.extend(same);
                    files = files::dedup(files.into_iter());
                    let streams = vec![output.stdout.clone(), output.stderr.clone()];
                    let text = codec::line("output", &streams) + "\n";
                    // If an output cannot be saved, the program is only queried again.
                    let written = out_dir::create_dir(dir);
                    if written
                        .and_then(|()| files::write(&saved.output, &text))
                        .is_ok()
                    {
                        saved.write(&files, begun);
                    }
                }
                output
            }
        };
        known.push(Known {
            program: invocation.program.clone(),
            output: output.clone(),
            how: saved.how,
            files,
        });
        output
    }
}

/// Returns the nvcc.profile files, which affect every run of nvcc.
fn profiles(program: &Path) -> Vec<PathBuf> {
    let mut profiles = vec![program.with_file_name("nvcc.profile")];
    if let Ok(real) = files::canonical(program, None) {
        profiles.push(real.with_file_name("nvcc.profile"));
    }
    profiles.dedup();
    files::keep(&mut profiles, &files::is_file);
    profiles
}

/// Reads a saved output.
fn read(file: &Path) -> Option<Output> {
    let text = files::read(file).ok()?;
    let mut streams = Vec::<String>::new();
    codec::each_line(&text, &mut |key, value| {
        if key == "output" {
            codec::set(&mut streams, value);
        }
    });
    let [stdout, stderr] = <[String; 2]>::try_from(streams).ok()?;
    Some(Output {
        success: true,
        stdout,
        stderr,
        ..Output::default()
    })
}
