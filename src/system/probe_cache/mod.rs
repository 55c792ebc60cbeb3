//! What a compiler has said of itself, remembered: it is asked each question once, by all of a build script and by
//! the builds that come after.
//!
//! ```text
//! $OUT_DIR/cudnn-guard/answers           a hash of what follows; for each answer
//!     question 1311768467                what it answers: a hash of the program, the question and what steers it
//!     file 17 1700000000000000000 /path  a file that it rests on, as in a stamp
//!     stdout Cuda compilation tools\n    its output
//!     stderr #$ TOP=/usr/local/cuda\n    its error stream
//! ```
//!
//! A file that is not just so is as none. What a compiler could not answer is asked again by the next build.

#[cfg(all(test, unix))]
pub mod tests;

use crate::model::environment::{Environment, Variable};
use crate::model::invocation::Invocation;
use crate::runtime::facts::codec::{self, Fields};
use crate::runtime::facts::finding::Finding;
use crate::system::freshness::fingerprint;
use crate::system::programs::{Output, run};
use crate::system::{files, out_dir};
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// What makes an nvcc say something else, or a launcher find another one.
const STEERING: [Variable; 4] = [
    Variable::Path,
    Variable::NvccCcbin,
    Variable::NvccPrependFlags,
    Variable::NvccAppendFlags,
];

/// How long it may take to answer unless somebody says: a wrapper may have to wake a slow disk; more is a hang.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// How many are written down.
const MOST: usize = 32;

/// All answers of one build; its copies know the same.
#[derive(Clone, Debug, Default)]
pub struct ProbeCache {
    folder: Option<PathBuf>,
    steering: Vec<Option<OsString>>,
    deadline: Option<Duration>,
    known: Arc<Mutex<Option<Vec<CachedOutput>>>>,
}

#[derive(Clone, Debug)]
struct CachedOutput {
    key: u64,
    said: Result<Output, Finding>,
    /// The program and what it led to, each as a line of a stamp. None if it is not to be written down.
    files: Option<Vec<String>>,
}

impl ProbeCache {
    /// Those of a build in this environment. Outside a build script nothing is kept for later.
    pub fn open(env: &Environment) -> Self {
        let steering = STEERING.iter();
        let steering = steering.map(|variable| env.get(*variable).map(OsString::from));
        Self {
            folder: env
                .os_var("OUT_DIR")
                .map(|dir| Path::new(dir).join("cudnn-guard")),
            steering: steering.collect(),
            deadline: env.program_deadline(),
            known: Arc::default(),
        }
    }

    /// What the program answers. `rests_on` names the files besides the program on which an answer rests, or none if
    /// this is no answer.
    pub fn ask(
        &self,
        question: &Invocation,
        rests_on: &dyn Fn(&Output) -> Option<Vec<PathBuf>>,
    ) -> Result<Output, Finding> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(|| self.read());
        let key = self.key(question);
        if let Some(answer) = known.iter().find(|answer| answer.key == key) {
            return answer.said.clone();
        }
        let begun = SystemTime::now();
        let said = run(question, self.deadline.unwrap_or(DEADLINE));
        let succeeded = said.as_ref().ok().filter(|output| output.success);
        let files = succeeded.and_then(|output| {
            let mut files = rests_on(output)?;
            files.retain(|file| files::is_file(file));
            files.insert(0, question.program.clone());
            files.extend(profiles(&question.program));
            let lines = files
                .iter()
                .map(|file| fingerprint::read_settled(file, begun));
            lines.collect::<Option<Vec<_>>>()
        });
        let is_kept = files.is_some();
        known.push(CachedOutput {
            key,
            said: said.clone(),
            files,
        });
        if is_kept {
            self.write(known);
        }
        said
    }

    /// A link that leads to another program asks anew, be that one of the same size and date, as in Nix.
    fn key(&self, question: &Invocation) -> u64 {
        let real = files::canonical(&question.program, None).ok();
        let profiles = profiles(&question.program);
        hash((real, profiles, question.to_string(), &self.steering))
    }

    fn read(&self) -> Vec<CachedOutput> {
        let text = self.file().and_then(|file| files::read(&file).ok());
        let mut answers = text.and_then(|text| parse(&text)).unwrap_or_default();
        // A launcher may stay as it is while what it starts has changed: what any answer of it rests on counts.
        let gone: Vec<String> = answers
            .iter()
            .filter(|answer| !answer.holds())
            .filter_map(|answer| answer.files.iter().flatten().next().cloned())
            .collect();
        answers.retain(|answer| {
            let program = answer.files.iter().flatten().next();
            answer.holds() && program.is_some_and(|program| !gone.contains(program))
        });
        answers
    }

    fn write(&self, known: &[CachedOutput]) {
        let (Some(folder), Some(file)) = (&self.folder, self.file()) else {
            return;
        };
        let texts: Vec<String> = known.iter().filter_map(CachedOutput::text).collect();
        // Each PATH has answers of its own: the oldest go.
        let body = texts
            .get(texts.len().saturating_sub(MOST)..)
            .unwrap_or_default()
            .concat();
        // What cannot be written down is only asked again.
        let _ = out_dir::create_dir(folder)
            .and_then(|()| files::write(&file, &format!("{:016x}\n{body}", hash(&body))));
    }

    fn file(&self) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join("answers"))
    }
}

impl CachedOutput {
    /// Whether all that it rests on is as it was.
    fn holds(&self) -> bool {
        let now = |line: &String| fingerprint::read(&fingerprint::path(line)?);
        let mut files = self.files.iter().flatten();
        files.all(|line| now(line).as_ref() == Some(line))
    }

    fn text(&self) -> Option<String> {
        let (files, said) = (self.files.as_ref()?, self.said.as_ref().ok()?);
        let mut lines = vec![codec::line("question", &self.key)];
        lines.extend(files.iter().map(|line| format!("file {line}")));
        lines.push(codec::line("stdout", &said.stdout));
        lines.push(codec::line("stderr", &said.stderr));
        Some(lines.join("\n") + "\n")
    }
}

/// What steers an nvcc from beside it, whatever it is asked.
fn profiles(program: &Path) -> Vec<PathBuf> {
    let real = files::canonical(program, None).ok();
    let beside = [Some(program.to_path_buf()), real].into_iter().flatten();
    let profiles = beside.map(|program| program.with_file_name("nvcc.profile"));
    files::dedup(profiles.filter(|profile| files::is_file(profile)))
}

fn parse(text: &str) -> Option<Vec<CachedOutput>> {
    let (sum, body) = text.split_once('\n')?;
    if sum != format!("{:016x}", hash(body)) {
        return None;
    }
    let mut answers: Vec<CachedOutput> = Vec::new();
    codec::each_line(body, &mut |key, value| {
        if key == "question" {
            answers.push(CachedOutput {
                key: u64::decode(value).unwrap_or_default(),
                said: Ok(Output {
                    success: true,
                    ..Output::default()
                }),
                files: Some(Vec::new()),
            });
        } else if let Some(answer) = answers.last_mut() {
            match (key, &mut answer.said, &mut answer.files) {
                ("file", _, Some(files)) => files.push(value.to_string()),
                ("stdout", Ok(said), _) => codec::set(&mut said.stdout, value),
                ("stderr", Ok(said), _) => codec::set(&mut said.stderr, value),
                _ => {}
            }
        }
    });
    Some(answers)
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
