//! A fake of the guard's convolution. The test sets its outcome in the environment.

#![allow(
    clippy::disallowed_macros,
    reason = "this stands for a library that prints"
)]

use cudnn_guard::internals::convolution::case_result::{
    Api, CaseResult, Extent, Scope, SuiteEvent,
};
use cudnn_guard::internals::convolution::stage::Stage;
use cudnn_guard::internals::cudnn::data_type::DataType;
use cudnn_guard::internals::cudnn::operation::Operation;
use cudnn_guard::internals::cudnn::shape::Layout;
use cudnn_guard::internals::facts::{Verdict, Version};
use cudnn_guard::internals::system::platform::Library;

pub fn run(
    _shim: Library,
    _version: Version,
    number: usize,
    scope: Scope,
    tell: &mut dyn FnMut(SuiteEvent),
) {
    tell(SuiteEvent::Next(Stage::Cudnn(
        "running the convolution".into(),
    )));
    let mut outcome = CaseResult {
        device: match number {
            0 => "Test\tGPU".to_string(),
            later => format!("Test\tGPU, GPU {later}"),
        },
        api: if scope.graph_only {
            Api::Graph
        } else {
            Api::Legacy
        },
        operation: Operation::Forward,
        data_type: DataType::F32,
        layout: Layout::Nchw,
        algorithm: "IMPLICIT_GEMM".to_string(),
        verdict: Verdict::Pass,
        largest_error: Some(1.25e-7),
        milliseconds: 0.5,
        start: Some((100.0, 20.0)),
        tf32: Some(false),
        left_out: None,
        declined: false,
        finding: None,
    };
    match std::env::var("TEST_CONVOLUTION")
        .unwrap_or_default()
        .as_str()
    {
        "wrong" => {
            outcome.verdict = Verdict::Fail;
            outcome.largest_error = Some(f64::NAN);
            outcome.finding = Some(
                cudnn_guard::FindingId::ConvolutionWrong
                    .error("numbers are wrong")
                    .help("do it again"),
            );
        }
        "refused" => {
            outcome.verdict = Verdict::Fail;
            outcome.finding =
                Some(cudnn_guard::FindingId::ConvolutionFailed.error("it was refused"));
        }
        "second-busy" if number == 0 => {}
        "busy" | "second-busy" => {
            outcome.verdict = Verdict::Unknown;
            outcome.finding = Some(cudnn_guard::FindingId::DeviceBusy.warning("the GPU is busy"));
        }
        "unsupported" => {
            outcome.verdict = Verdict::Unknown;
            outcome.largest_error = None;
            outcome.left_out = Some("no engine takes it".to_string());
        }
        "abort" => {
            eprintln!("cuDNN says: \u{1b}[2Jno");
            std::process::abort()
        }
        "want-memory" => {
            // As Rust's allocator reports it.
            let bytes = std::alloc::Layout::array::<u8>(1 << 30).unwrap();
            std::alloc::handle_alloc_error(bytes)
        }
        "throw" => {
            eprintln!("terminate called after throwing an instance of 'std::bad_alloc'");
            std::process::abort()
        }
        "flood" => {
            for _ in 0..200_000 {
                eprintln!("a line of a library that prints a great deal");
            }
        }
        "hang" => std::thread::sleep(std::time::Duration::from_secs(600)),
        "leave" => std::process::exit(0),
        task => match task.split(':').collect::<Vec<_>>()[..] {
            ["opens", library] => {
                Library::open(library).unwrap();
            }
            // The file remains the same, but its contents come from another file.
            ["overwrites", file, with] => {
                std::fs::copy(with, file).unwrap();
            }
            _ => {}
        },
    }
    let mut second = outcome.clone();
    tell(SuiteEvent::Done(Box::new(outcome)));
    if scope.extent == Extent::Thorough {
        second.data_type = DataType::Bf16;
        second.algorithm.clear();
        second.verdict = Verdict::Unknown;
        second.largest_error = None;
        second.start = None;
        second.tf32 = None;
        second.left_out = Some("this\tGPU is too old".to_string());
        tell(SuiteEvent::Done(Box::new(second)));
    }
}
