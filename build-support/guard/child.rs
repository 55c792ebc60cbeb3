//! What happens in the child: everything that could take the process down, and everything that starts CUDA.

use super::answer::{self, Answer};
use super::convolution;
use super::driver;
use super::ended::End;
use super::outcome::{Extent, Scope, Told};
use super::parts::{self, Part};
use super::platform::{self, Library};
use super::process::{self, Tell};
use super::version::Version;
use std::collections::hash_map::RandomState;
use std::ffi::c_int;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// cuDNN's own checks that its parts are of one release, by the parts that have them. To call one loads its part, and
/// where that is not there the process may end: a cuDNN that only compiles graphs has the first alone.
const CHECKS_9: [(&str, &str); 3] = [
    ("graph", "cudnnGraphVersionCheck"),
    ("ops", "cudnnOpsVersionCheck"),
    ("cnn", "cudnnCnnVersionCheck"),
];
const CHECKS_8: [(&str, &str); 2] = [
    ("ops_infer", "cudnnOpsInferVersionCheck"),
    ("cnn_infer", "cudnnCnnInferVersionCheck"),
];
/// `CUDNN_STATUS_VERSION_MISMATCH`, as 9 and as 8 number it. All else is answered for other reasons too.
const MISMATCH: [c_int; 2] = [1002, 14];

/// What the child is to try.
pub struct Task<'a> {
    /// The cuDNN; without one, only the driver is asked.
    pub shim: Option<(Library, u32)>,
    /// Its parts, in the order in which they are opened.
    pub parts: &'a [Part],
    /// How much is convolved where there is a GPU, if anything.
    pub convolution: Option<Scope>,
}

/// How it went.
pub struct Tried {
    /// What the child told.
    pub answer: Answer,
    /// How it ended.
    pub end: End,
    /// What was printed in it.
    pub said: String,
}

/// Tries it in a child. The error says why there is none.
pub fn run(task: &Task<'_>, deadline: Duration) -> Result<Tried, String> {
    let token = format!("{:016x}", RandomState::new().build_hasher().finish());
    let ended = process::in_child(deadline, &mut |tell| {
        work(task, tell);
        tell.line(&answer::line("end", &[&token]));
    })?;
    Ok(Tried {
        answer: Answer::parse(&ended.answer, &token),
        end: ended.end,
        said: ended.said,
    })
}

fn work(task: &Task<'_>, tell: &Tell) {
    let mut cudnn = None;
    if let Some((shim, major)) = task.shim {
        let opened = open(task.parts, tell);
        if opened != Opened::Refused {
            cudnn = version(shim, major, task.parts, tell).map(|version| (shim, version, opened));
        }
    }
    let has_gpu = driver(tell);
    if let (true, Some(scope), Some((shim, version, opened))) = (has_gpu, task.convolution, cudnn) {
        // The driver may lie where only CUDA looks, and is in the process now.
        if opened == Opened::All || open(task.parts, tell) == Opened::All {
            if scope.extent == Extent::Thorough {
                open_for_training(task.parts, tell);
            }
            stage(tell, "preparing a convolution");
            convolution::run(shim, version, scope, &mut |told| match told {
                Told::Next(words) => stage(tell, &words),
                Told::Done(outcome) => {
                    for line in answer::outcome_lines(&outcome) {
                        tell.line(&line);
                    }
                }
            });
        }
    }
    stage(tell, "looking at what is mapped");
    for path in platform::mapped() {
        if parts::name_of(&path).is_some() {
            tell.line(&answer::line("map", &[&answer::path_field(&path)]));
        }
    }
}

/// How it went with the parts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opened {
    All,
    /// All but those which are linked to the driver, for want of it. cuDNN can be asked for its release.
    ButDriver,
    Refused,
}

fn open(parts: &[Part], tell: &Tell) -> Opened {
    let mut opened = Opened::All;
    for part in parts.iter().filter(|part| part.needed) {
        let path = answer::path_field(&part.path);
        stage(tell, &format!("opening {}", part.path.display()));
        if let Err(words) = Library::open_file(&part.path) {
            tell.line(&answer::line("refused", &[&path, &words]));
            if !wants_driver(&words) {
                return Opened::Refused;
            }
            opened = Opened::ButDriver;
        }
    }
    opened
}

/// In 8 the gradient of the filters has parts of its own, and a program that does not train may lack them. They stand
/// in the order in which they need each other.
fn open_for_training(parts: &[Part], tell: &Tell) {
    for name in ["ops_train", "cnn_train"] {
        for part in parts.iter().filter(|part| part.name == name) {
            stage(tell, &format!("opening {}", part.path.display()));
            // One that is refused is not there: what needs it is left out.
            let _ = Library::open_file(&part.path);
        }
    }
}

/// Whether the loader refused a library for want of the driver's.
pub fn wants_driver(words: &str) -> bool {
    words.starts_with("libcuda.so.1: ")
}

/// Asks cuDNN what it answers without a GPU.
fn version(shim: Library, major: u32, parts: &[Part], tell: &Tell) -> Option<Version> {
    let number = ask(tell, shim, "cudnnGetVersion")?;
    tell.line(&answer::line("version", &[&number.to_string()]));
    if let Some(number) = ask(tell, shim, "cudnnGetCudartVersion") {
        tell.line(&answer::line("cudart", &[&number.to_string()]));
    }
    let checks: &[(&str, &str)] = if major == 8 { &CHECKS_8 } else { &CHECKS_9 };
    let has = |wanted: &str| parts.iter().any(|part| part.needed && part.name == wanted);
    for (_, name) in checks.iter().filter(|(part, _)| has(part)) {
        if let Some(address) = shim.symbol(name) {
            stage(tell, &format!("calling {}", name));
            // SAFETY: every release declares these as `cudnnStatus_t (void)`, an enum of an int's size.
            let check: extern "C" fn() -> c_int = unsafe { std::mem::transmute(address) };
            if MISMATCH.contains(&check()) {
                tell.line(&answer::line("failed-check", &[name]));
            }
        }
    }
    Some(Version::from_cudnn(number))
}

fn ask(tell: &Tell, shim: Library, name: &str) -> Option<u32> {
    let address = shim.symbol(name)?;
    stage(tell, &format!("calling {}", name));
    // SAFETY: every release declares both as `size_t (void)`.
    let function: extern "C" fn() -> usize = unsafe { std::mem::transmute(address) };
    std::convert::TryFrom::try_from(function()).ok()
}

/// Whether there is a GPU.
fn driver(tell: &Tell) -> bool {
    stage(tell, "asking the driver");
    let found = driver::ask();
    let known = match &found {
        Ok(driver) => Some(driver),
        Err(problem) => {
            tell.line(&answer::finding_line("problem", &problem.finding()));
            problem.driver()
        }
    };
    if let Some(driver) = known {
        tell.line(&answer::driver_line(driver));
        for device in &driver.devices {
            tell.line(&answer::device_line(device));
        }
    }
    found.is_ok()
}

fn stage(tell: &Tell, words: &str) {
    tell.line(&answer::line("stage", &[words]));
}
