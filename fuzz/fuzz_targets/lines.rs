//! Output for any text: one line for cargo, JSON that can be parsed, and messages without control characters.

#![no_main]

use cudnn_guard::fuzzing::directive::Directive;
use cudnn_guard::fuzzing::{Environment, Library, path_encoding};
use cudnn_guard::internals::facts::{FindingId, Json, printable};
use cudnn_guard::internals::report::env_config::EnvConfig;
use cudnn_guard_fuzz::{expect_directive, expect_printable};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The maximum length of an environment variable.
const LONGEST: usize = 1 << 17;

fuzz_target!(|bytes: &[u8]| {
    let bytes = bytes.get(..LONGEST).unwrap_or(bytes);
    let text = &*String::from_utf8_lossy(bytes);
    let path = Path::new(OsStr::from_bytes(bytes));
    directives(text, path);
    json(text);
    variables(bytes);
    expect_printable(&printable(text));
});

fn directives(text: &str, path: &Path) {
    let own = || text.to_string();
    let mut all = vec![
        Directive::RerunIfChanged(path.into()),
        Directive::LinkSearch(path.into()),
        Directive::Rpath(path.into()),
        Directive::LinkArg(own()),
        Directive::Cfg("cudnn_major".into(), Some(own())),
        Directive::CheckCfg("cudnn_major, values(any())"),
        Directive::Metadata("rpath".into(), own()),
        Directive::Warning(own()),
        Directive::Error(own()),
        Directive::Text(own()),
    ];
    let libraries: [fn(String) -> Library; 5] = [
        Library::Dynamic,
        Library::Verbatim,
        Library::Static,
        Library::Whole,
        Library::Bundled,
    ];
    all.extend(
        libraries
            .iter()
            .map(|library| Directive::LinkLib(library(own()))),
    );
    for directive in &all {
        expect_directive(directive);
    }
    // A path that is accepted is printed unchanged.
    if path_encoding::cargo_cannot_take(path).is_none() {
        let line = Directive::LinkSearch(path.into()).to_string();
        assert!(line.ends_with(text), "{line:?}");
    }
    let _ = path_encoding::loader_cannot_take(path);
    let _ = path_encoding::nvcc_cannot_take(path);
}

fn json(text: &str) {
    let read = |json: String| -> Value {
        expect_printable(&json);
        serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"))
    };
    assert_eq!(read(Json::text(&text).to_string()), text);
    assert_eq!(
        read(Json::object(&[("a", Json::text(&text))]).to_string())["a"],
        text
    );
    let lines: Vec<&str> = text.lines().collect();
    let list = read(Json::list(&lines, |line| Json::text(line)).to_string());
    assert_eq!(list, serde_json::json!(lines));
    if let Ok(number) = text.parse::<f64>() {
        let back = Json::float(Some(number)).to_string();
        assert_eq!(
            back.parse().ok(),
            Some(number).filter(|number| number.is_finite())
        );
    }
    let finding = FindingId::CudnnNotFound
        .error(text)
        .with("found via", text)
        .with_lines("searched", &lines)
        .help(text);
    expect_printable(&finding.to_string());
    let written = read(finding.to_json());
    assert_eq!(written["summary"], text);
    assert_eq!(written["evidence"]["found via"], text);
    assert_eq!(written["help"][0], text);
}

/// Reads the environment variables of a program and of a build: a line `name=value` for each.
fn variables(bytes: &[u8]) {
    let mut pairs = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let mut halves = line.splitn(2, |byte| *byte == b'=');
        if let (Some(name), Some(value)) = (halves.next(), halves.next()) {
            let name = String::from_utf8_lossy(name).into_owned();
            pairs.push((name, OsStr::from_bytes(value).to_os_string()));
        }
    }
    let asked = |name: &str| {
        let (_, value) = pairs.iter().find(|(known, _)| known == name)?;
        Some(value.clone())
    };
    for finding in EnvConfig::parse(&asked).findings() {
        expect_printable(&finding.to_string());
    }
    let names = pairs.len();
    let environment = Environment::new(pairs)
        .with_current_dir(PathBuf::from("/here"))
        .for_target("x86_64-unknown-linux-gnu");
    let numbered = environment.numbered("CUDA_PATH_V");
    assert!(numbered.len() <= names);
    assert!(numbered.iter().all(|(_, dir)| dir.is_absolute()));
}
