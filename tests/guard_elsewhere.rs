//! The runtime guard on a system that it does not know: it answers, and touches nothing.
#![cfg(unix)]
#![allow(
    clippy::disallowed_methods,
    reason = "tests make files and run programs"
)]

mod support;

use support::{built, cargo, program, project, run};

/// The guard's own condition for a system that it knows is one that no system meets.
const BUILD: &str = r#"fn main() {
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().cudnn(">=9").link(cudnn_guard::Link::Runtime).probe()?;
        gpu.guard().standalone().write()
    });
    let file = std::path::Path::new(&std::env::var("OUT_DIR").unwrap()).join("cudnn_guard.rs");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("target_os = \"linux\""));
    std::fs::write(&file, text.replace("target_os = \"linux\"", "target_os = \"none\"")).unwrap();
}
"#;
const MAIN: &str = r#"mod guard { include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs")); }
fn main() {
    for failure in [guard::check_version().err().unwrap(), guard::check().err().unwrap()] {
        assert_eq!(failure.verdict(), guard::Verdict::Unknown);
        println!("{}", failure.headline());
    }
    guard::startup();
}
"#;

#[test]
fn an_unknown_system_is_unknown() {
    let dir = project("guard-elsewhere", BUILD, MAIN);
    run(&mut cargo(&dir, &["build"])).exits_with(0);
    let ran = run(&mut program(built("guard-elsewhere"))).exits_with(0);
    let libc = if cfg!(target_env = "musl") {
        " with musl"
    } else {
        ""
    };
    let (system, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let line = format!("cuDNN is not checked on {arch} {system}{libc}  [platform-unsupported]\n");
    assert_eq!(ran.stdout, line.repeat(2));
    assert_eq!(ran.stderr, format!("cudnn-guard: unknown: {line}"));
}
