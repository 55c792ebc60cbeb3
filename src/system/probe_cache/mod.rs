//! A cache of compilers' output: each query runs once for a whole build script and for later builds.
//!
//! ```text
//! $OUT_DIR/cudnn-guard/queries/
//!   <hash>            a line: the standard output and the standard error
//!   <hash>.stamp      as for build outputs
//! ```
//!
//! The hash is of the program, its arguments and the variables that affect it or the host compiler that it runs. The
//! files in the stamp are the program, the other files that determine the output, and those of the program's earlier
//! outputs.
//!
//! An invalid file counts as missing. Failed queries run again in the next build.

#[cfg(all(test, unix))]
pub mod tests;

use crate::model::{Environment, Invocation, Os, Variable};
use crate::runtime::facts::{Fields, Finding};
use crate::system::freshness::stat_cache;
use crate::system::{Artifact, Output, StatCache, files, out_dir, run};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// The variables that change nvcc's output, or the nvcc that a launcher finds.
const VARIABLES: [Variable; 4] = [
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
    env: Environment,
    known: Arc<Mutex<Vec<Known>>>,
}

#[derive(Debug)]
struct Known {
    program: PathBuf,
    how: String,
    output: Result<Output, Finding>,
    /// The files that determine the output, if it is saved.
    files: Vec<PathBuf>,
}

impl ProbeCache {
    /// Opens the cache of a build. Outside a build script, nothing is saved.
    pub fn open(env: &Environment) -> Self {
        Self {
            env: env.clone(),
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
        let variables = VARIABLES.map(|variable| self.env.get(variable));
        let mut how = format!("{invocation} {:?} {variables:?}", invocation.env);
        // The system of the host compiler is unknown here.
        for os in [Os::Linux, Os::Windows] {
            for name in os.compiler_variables() {
                how += &format!(" {:?}", self.env.os_var(name));
            }
        }
        if let Some(same) = known.iter().find(|one| one.how == how) {
            return same.output.clone();
        }
        let mut needed = profiles(&invocation.program);
        needed.push(invocation.program.clone());
        // A launcher may be unchanged while the program that it starts has changed.
        for earlier in known.iter() {
            if earlier.program == invocation.program {
                needed.extend_from_slice(&earlier.files);
            }
        }
        let out_dir = self.env.os_var("OUT_DIR").map(Path::new);
        let saved = out_dir.map(|dir| saved(dir, how.clone()));
        let (output, files) = match saved.as_ref().and_then(|saved| read(saved, &needed)) {
            Some((output, files)) => (Ok(output), files),
            None => {
                let begun = SystemTime::now();
                let deadline = self.env.program_deadline().unwrap_or(DEADLINE);
                let output = run(invocation, Some(deadline));
                let succeeded = output.as_ref().ok().filter(|output| output.success);
                let mut files = Vec::new();
                if let (Some(saved), Some(output)) = (saved, succeeded) {
                    if let Some(mut other) = depends_on(output) {
                        files::keep(&mut other, &files::is_file);
                        files = files::dedup(other.into_iter().chain(needed));
                        save(&saved, output, &files, begun);
                    }
                }
                (output, files)
            }
        };
        known.push(Known {
            program: invocation.program.clone(),
            output: output.clone(),
            how,
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

/// Returns the file with the output of this query.
fn saved(out_dir: &Path, how: String) -> Artifact {
    let dir = out_dir.join("cudnn-guard").join("queries");
    let output = dir.join(stat_cache::hash(how.as_bytes()));
    Artifact {
        stamp: output.with_extension("stamp"),
        output,
        how,
    }
}

/// Returns a saved output and the files that determine it, if they are unchanged and include the needed ones.
fn read(saved: &Artifact, needed: &[PathBuf]) -> Option<(Output, Vec<PathBuf>)> {
    let fresh = saved.fresh(&StatCache::default())?;
    let files: Vec<PathBuf> = fresh.iter().map(|file| file.path.clone()).collect();
    let output = output(&files::read(&saved.output).ok()?)?;
    needed
        .iter()
        .all(|file| files.contains(file))
        .then_some((output, files))
}

/// Parses a saved output.
fn output(text: &str) -> Option<Output> {
    let streams = Vec::<String>::decode(text.strip_suffix('\n')?)?;
    let [stdout, stderr] = <[String; 2]>::try_from(streams).ok()?;
    Some(Output {
        success: true,
        stdout,
        stderr,
        ..Output::default()
    })
}

/// Saves an output. If that fails, the program is only queried again.
fn save(saved: &Artifact, output: &Output, files: &[PathBuf], begun: SystemTime) {
    out_dir::remove(&saved.stamp);
    let text = vec![output.stdout.clone(), output.stderr.clone()].encode() + "\n";
    let created = saved.output.parent().map(out_dir::create_dir);
    if created.is_some_and(|created| created.is_ok()) && files::write(&saved.output, &text).is_ok()
    {
        saved.write(files, begun, false);
    }
}
