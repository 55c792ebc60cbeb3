//! A cache of compilers' output: each query runs once for a whole build script and for later builds.
//!
//! ```text
//! $OUT_DIR/cudnn-guard/answers    a hash of the rest; then for each output a line
//!     answer KEY STDOUT STDERR FILE..
//! ```
//!
//! The key is a hash of the program, its arguments and the variables that affect it. The files, each as in a stamp, are
//! the program and the other files that determine the output.
//!
//! An invalid file counts as missing. Failed queries run again in the next build.

#[cfg(all(test, unix))]
pub mod tests;

use crate::model::{Environment, Invocation, Variable};
use crate::runtime::facts::{Finding, codec};
use crate::system::freshness::stat_cache;
use crate::system::programs::{Output, run};
use crate::system::{files, out_dir};
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

const MAX_OUTPUTS: usize = 32;

/// The outputs of one build. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct ProbeCache {
    file: Option<PathBuf>,
    variables: Vec<Option<OsString>>,
    deadline: Option<Duration>,
    known: Arc<Mutex<Option<Vec<CachedOutput>>>>,
}

#[derive(Clone, Debug)]
struct CachedOutput {
    key: u64,
    output: Result<Output, Finding>,
    /// The program and the files that determine the output, each as a line of a stamp. Empty if the output is not
    /// saved.
    files: Vec<String>,
}

impl ProbeCache {
    /// Opens the cache of a build. Outside a build script, nothing is saved.
    pub fn open(env: &Environment) -> Self {
        let variables = VARIABLES.iter();
        Self {
            file: env
                .os_var("OUT_DIR")
                .map(|dir| Path::new(dir).join("cudnn-guard").join("answers")),
            variables: variables
                .map(|variable| env.get(*variable).map(OsString::from))
                .collect(),
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
        let known = known.get_or_insert_with(|| self.read());
        let key = self.key(invocation);
        if let Some(cached) = known.iter().find(|cached| cached.key == key) {
            return cached.output.clone();
        }
        let begun = SystemTime::now();
        let output = run(invocation, self.deadline.unwrap_or(DEADLINE));
        let succeeded = output.as_ref().ok().filter(|output| output.success);
        let files = succeeded.and_then(|output| {
            let mut files = depends_on(output)?;
            files::keep(&mut files, &files::is_file);
            files.insert(0, invocation.program.clone());
            files.extend(profiles(&invocation.program));
            let lines = files
                .iter()
                .map(|file| stat_cache::read_settled(file, begun));
            lines.collect()
        });
        let is_saved = files.is_some();
        known.push(CachedOutput {
            key,
            output: output.clone(),
            files: files.unwrap_or_default(),
        });
        if is_saved {
            self.write(known);
        }
        output
    }

    /// Returns the key of a query. It contains the real path, because in Nix a different program behind a link has the
    /// same size and modification time.
    fn key(&self, invocation: &Invocation) -> u64 {
        let real = files::canonical(&invocation.program, None).ok();
        let profiles = profiles(&invocation.program);
        hash((real, profiles, invocation.to_string(), &self.variables))
    }

    fn read(&self) -> Vec<CachedOutput> {
        let text = self.file.as_ref().and_then(|file| files::read(file).ok());
        let mut answers = text.and_then(|text| parse(&text)).unwrap_or_default();
        // A launcher may be unchanged while the program that it starts has changed, so one stale output makes all of
        // them stale.
        let stale = answers.iter().filter(|answer| !answer.is_fresh());
        let stale: Vec<String> = stale
            .filter_map(|answer| answer.files.first().cloned())
            .collect();
        answers.retain(|answer| {
            let program = answer.files.first();
            program.is_some_and(|program| !stale.contains(program))
        });
        answers
    }

    fn write(&self, known: &[CachedOutput]) {
        let Some(file) = &self.file else { return };
        let texts: Vec<String> = known.iter().filter_map(CachedOutput::text).collect();
        // Each PATH has its own outputs, so the oldest are dropped.
        let body = texts[texts.len().saturating_sub(MAX_OUTPUTS)..].concat();
        // If an output cannot be saved, the program is only queried again.
        let _ = out_dir::create_dir(file.parent().unwrap_or(file))
            .and_then(|()| files::write(file, &format!("{:016x}\n{body}", hash(&*body))));
    }
}

impl CachedOutput {
    /// Returns `true` if no file that determines the output has changed.
    fn is_fresh(&self) -> bool {
        let now = |line: &String| stat_cache::read(&stat_cache::path(line)?);
        self.files
            .iter()
            .all(|line| now(line).as_ref() == Some(line))
    }

    fn text(&self) -> Option<String> {
        let output = self.output.as_ref().ok()?;
        if self.files.is_empty() {
            return None;
        }
        let mut texts = vec![output.stdout.clone(), output.stderr.clone()];
        texts.extend_from_slice(&self.files);
        Some(codec::line("answer", &(self.key, texts)) + "\n")
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

fn parse(text: &str) -> Option<Vec<CachedOutput>> {
    let (sum, body) = text.split_once('\n')?;
    if sum != format!("{:016x}", hash(body)) {
        return None;
    }
    let mut lines: Vec<(u64, Vec<String>)> = Vec::new();
    codec::each_line(body, &mut |_, value| codec::push(&mut lines, value));
    let mut answers = Vec::new();
    for (key, texts) in lines {
        if let [stdout, stderr, files @ ..] = &texts[..] {
            let output = Output {
                success: true,
                stdout: stdout.clone(),
                stderr: stderr.clone(),
                ..Output::default()
            };
            answers.push(CachedOutput {
                key,
                output: Ok(output),
                files: files.to_vec(),
            });
        }
    }
    Some(answers)
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
