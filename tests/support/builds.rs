//! A small crate whose build script follows its variables, simulated installations for it, and its output.

#[path = "../../src/toolchain/tests/cases/truth.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "a test program may use both vocabularies"
)]
mod truth;

use super::{cargo, project, repository, scratch, write_if_new};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// A build script that follows the variable ASK.
pub const SCRIPT: &str = r#"use cudnn_guard::{Config, Link, Linked};

pub fn main() {
    println!("cargo::rerun-if-env-changed=ASK");
    let asked = std::env::var("ASK").unwrap_or_default();
    cudnn_guard::build(|| {
        let mut config = Config::new()
            .root(std::env::var("IMAGE").unwrap())
            .env("PATH", "/nowhere");
        let (mut kernels, mut name) = (None, "kernels");
        for word in asked.split(';') {
            config = match word.split_once('=').unwrap_or((word, "")) {
                ("cuda", text) => config.cuda(text),
                ("cudnn", text) => config.cudnn(text),
                ("archs", text) => config.archs([text]),
                ("allow", id) => config.allow(id),
                ("root", dir) => config.root(dir),
                ("static", _) => config.link(Link::Static),
                ("libs", names) => config.libs(names.split(' ')),
                ("optional", _) => config.optional(true),
                ("kernels", pattern) => {
                    kernels = Some(pattern);
                    config
                }
                ("name", text) => {
                    name = text;
                    config
                }
                ("above", links) => {
                    Linked::from_dep(links)?.link();
                    config
                }
                _ => config,
            };
        }
        let gpu = config.probe()?;
        gpu.link();
        kernels.map_or(Ok(()), |pattern| gpu.kernels().files(pattern).compile(name))
    });
}
"#;

/// Creates the crate `name` with this build script in its own directory.
pub fn crate_of(name: &str) -> PathBuf {
    let dir = project(name, SCRIPT, "fn main() {}\n");
    write_if_new(&dir.join("src/add.cu"), "// a kernel\n");
    dir
}

/// Returns `cargo check` of the crate in an empty image, with nothing on PATH.
pub fn check(dir: &Path, ask: &str, env: &[(&str, &Path)]) -> Command {
    // nvcc gets flags from the profile of the package. Its dependencies keep the profile of all other packages, so that
    // they are not compiled again.
    let dependencies = r#"profile.dev.package."*".debug=false"#;
    let mut command = cargo(dir, &["check", "--config", dependencies]);
    command
        .env_remove("CARGO_PROFILE_DEV_DEBUG")
        .env("ASK", ask)
        .env("IMAGE", scratch("builds-empty-image"))
        .envs(env.iter().copied());
    command
}

/// Writes a file, and creates the directories above it.
pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Creates the headers and libraries of a cuDNN, with the links of a tarball if `links`, else like the wheels.
pub fn cudnn(dir: &Path, (major, minor, patch): (u32, u32, u32), links: bool) {
    cudnn_headers(&dir.join("include"), (major, minor, patch));
    let nine = [
        "",
        "_graph",
        "_ops",
        "_cnn",
        "_heuristic",
        "_engines_precompiled",
        "_engines_runtime_compiled",
    ];
    let eight = ["", "_ops_infer", "_cnn_infer"];
    let parts: &[&str] = if major >= 9 { &nine } else { &eight };
    for part in parts {
        let soname = format!("libcudnn{part}.so.{major}");
        if links {
            let whole = format!("libcudnn{part}.so.{major}.{minor}.{patch}");
            library(&dir.join("lib").join(&whole));
            symlink(&whole, dir.join("lib").join(&soname)).unwrap();
            symlink(&soname, dir.join(format!("lib/libcudnn{part}.so"))).unwrap();
        } else {
            library(&dir.join("lib").join(soname));
        }
    }
}

/// Creates the headers of a cuDNN.
pub fn cudnn_headers(dir: &Path, (major, minor, patch): (u32, u32, u32)) {
    let header = format!(
        "#define CUDNN_MAJOR {major}\n#define CUDNN_MINOR {minor}\n#define CUDNN_PATCHLEVEL {patch}\n"
    );
    write(&dir.join("cudnn.h"), "");
    write(&dir.join("cudnn_version.h"), &header);
}

/// Writes the shortest file that is a library. It contains nothing.
pub fn library(path: &Path) {
    write(path, "");
    let mut bytes = [0; 64];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    bytes[16] = 3;
    bytes[18] = if cfg!(target_arch = "aarch64") {
        183
    } else {
        62
    };
    fs::write(path, bytes).unwrap();
}

/// Creates a cuDNN as `pip` installs it into a virtual environment.
pub fn wheel(venv: &Path, cuda: u32, version: (u32, u32, u32)) -> PathBuf {
    let site = venv.join("lib/python3.12/site-packages");
    let (major, minor, patch) = version;
    let record = format!("nvidia_cudnn_cu{cuda}-{major}.{minor}.{patch}.7.dist-info/RECORD");
    write(&site.join(record), "");
    cudnn(&site.join("nvidia/cudnn"), version, false);
    site.join("nvidia/cudnn")
}

/// Creates a CUDA toolkit, with the nvcc of `fixtures/nvcc` if `nvcc`.
pub fn toolkit(dir: &Path, version: u32, nvcc: bool) {
    write(
        &dir.join("include/cuda.h"),
        &format!("#define CUDA_VERSION {version}\n"),
    );
    write(&dir.join("lib64/libcudart_static.a"), "!<arch>\n");
    if nvcc {
        fs::create_dir_all(dir.join("bin")).unwrap();
        symlink(
            repository().join("fixtures/nvcc/nvcc"),
            dir.join("bin/nvcc"),
        )
        .unwrap();
    }
}

/// Checks that each path that cargo shows of an error exists.
#[track_caller]
pub fn must_be_true(output: &str) {
    let own = |line: &str| Some(line.split_once("@0.1.0: ")?.1.to_string());
    let text: Vec<String> = output.lines().filter_map(own).collect();
    let wrong = truth::World::real().falsehoods(&text.join("\n"));
    assert!(wrong.is_empty(), "{}\n\n{output}", wrong.join("\n"));
}

/// Tests run in parallel.
static TEXTS: Mutex<()> = Mutex::new(());

/// Compares an output with the text of this name in `fixtures/texts.txt`, to the byte. The line before each text
/// contains its name in brackets, and an empty line follows. BLESS=1 rewrites the text.
#[track_caller]
pub fn says(name: &str, output: &str) {
    let file = repository().join("fixtures/texts.txt");
    let lock = TEXTS.lock().unwrap_or_else(|failed| failed.into_inner());
    let mut texts = read_texts(&fs::read_to_string(&file).unwrap());
    if std::env::var_os("BLESS").is_some() {
        texts.insert(name.to_string(), output.to_string());
        let all = texts
            .iter()
            .map(|(name, text)| format!("[{name}]\n{text}\n"));
        fs::write(&file, all.collect::<String>()).unwrap();
    }
    drop(lock);
    let wanted = texts.get(name).map_or("", |text| text);
    assert_eq!(output, wanted, "{name}: BLESS=1 records the new output");
}

fn read_texts(file: &str) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for part in file.split_terminator("\n\n") {
        let (name, text) = part.split_once('\n').unwrap();
        let name = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        let name = name.unwrap_or_else(|| panic!("{part:?} has no name"));
        assert!(
            texts
                .insert(name.to_string(), format!("{text}\n"))
                .is_none(),
            "{name}"
        );
    }
    texts
}
