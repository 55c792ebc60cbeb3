//! The convolution's place in the guard, held by one whose outcome the test says in the environment.

#![allow(
    clippy::disallowed_macros,
    reason = "this stands for a library that prints"
)]

use super::finding::{Finding, Verdict};
use super::platform::Library;
use super::version::Version;

#[derive(Clone, Debug)]
pub struct Outcome {
    pub device: String,
    pub operation: &'static str,
    pub data_type: &'static str,
    pub verdict: Verdict,
    pub largest_error: Option<f64>,
    pub milliseconds: f64,
    pub finding: Option<Finding>,
}

pub fn run(_shim: Library, _version: Version) -> Vec<Outcome> {
    let mut outcome = Outcome {
        device: "Test\tGPU".to_string(),
        operation: "convolution forward",
        data_type: "f32",
        verdict: Verdict::Pass,
        largest_error: Some(1.25e-7),
        milliseconds: 0.5,
        finding: None,
    };
    match std::env::var("TEST_CONVOLUTION")
        .unwrap_or_default()
        .as_str()
    {
        "wrong" => {
            outcome.verdict = Verdict::Fail;
            outcome.largest_error = Some(f64::NAN);
            outcome.finding =
                Some(Finding::error("convolution-wrong", "numbers are wrong").help("do it again"));
        }
        "busy" => {
            outcome.verdict = Verdict::Unknown;
            outcome.finding = Some(Finding::warning("device-busy", "the GPU is busy"));
        }
        "abort" => {
            eprintln!("cuDNN says: \u{1b}[2Jno");
            std::process::abort()
        }
        "flood" => {
            for _ in 0..200_000 {
                eprintln!("a line of a library that prints a great deal");
            }
        }
        "hang" => std::thread::sleep(std::time::Duration::from_secs(600)),
        "leave" => std::process::exit(0),
        _ => {}
    }
    vec![outcome]
}
