//! Directories whose names have a meaning to a shell, to cargo or to the linker. Complete programs are built with a
//! cuDNN in such a directory and run, or the build stops and shows the path.

use crate::support::builds::{crate_of, cudnn, toolkit, write};
use crate::support::{built, cargo, fresh, project, run, scratch};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = r#"fn main() {
    cudnn_guard::build(|| {
        let config = cudnn_guard::Config::new().root(std::env::var("IMAGE").unwrap());
        config.cudnn(">=9").env("PATH", "/nowhere").probe()?.link();
        Ok(())
    });
}
"#;

const MAIN: &str = r#"unsafe extern "C" {
    fn cudnnGetVersion() -> usize;
}

fn main() {
    println!("cuDNN {}", unsafe { cudnnGetVersion() });
}
"#;

/// A cuDNN in which one function works.
fn working(dir: &Path) {
    cudnn(dir, (9, 14, 0), false);
    // Each test has its own, since tests run at the same time.
    let source = dir.join("cudnn.c");
    write(
        &source,
        "unsigned long cudnnGetVersion(void) { return 91400; }\n",
    );
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-Wl,-soname,libcudnn.so.9", "-o"]);
    cc.arg(dir.join("lib/libcudnn.so.9")).arg(source);
    assert!(cc.status().unwrap().success());
}

fn build(dir: &Path, cudnn: &Path) -> Command {
    let mut command = cargo(dir, &["build"]);
    command
        .env("IMAGE", scratch("builds-empty-image"))
        .env("CUDNN_PATH", cudnn);
    command
}

/// The linker finds the library in that directory, and so does the program at run time.
#[test]
fn libraries_in_unusual_directories_are_linked_and_run() {
    let test = fresh("paths-odd");
    let dir = project("odd", SCRIPT, MAIN);
    for name in [
        "a b",
        "\u{fc}\u{4e2d}",
        "a$HOME",
        "$(touch pwned)",
        "a`b`",
        "a\"b",
        "a'b",
        "a\\b",
        "a,b",
        "a=b",
        "a;b&c|d<e>f",
        "@a",
        "a#b%41",
    ] {
        let place = test.join(name);
        working(&place);
        run(&mut build(&dir, &place)).exits_with(0);
        run(&mut Command::new(built("odd")))
            .exits_with(0)
            .says("cuDNN 91400");
        // Shows that this cuDNN was loaded and no other.
        fs::remove_dir_all(&place).unwrap();
        assert_ne!(run(&mut Command::new(built("odd"))).code, Some(0), "{name}");
    }
}

/// A line break, an escape sequence, trailing white space: cargo would read something else.
#[test]
fn paths_that_cargo_cannot_read_are_rejected() {
    let test = fresh("paths-refused");
    let dir = project("refused", SCRIPT, MAIN);
    for (name, shown, what) in [
        (
            "a\ncargo::rustc-env=PWNED=1",
            "a\\ncargo::rustc-env=PWNED=1",
            "a path with a control character",
        ),
        (
            "a\u{1b}[2J",
            "a\\u{1b}[2J",
            "a path with a control character",
        ),
        ("a\tb", "a\\tb", "a path with a control character"),
        ("lib ", "lib ", "a path that ends with whitespace"),
    ] {
        let place = test.join(name);
        working(&place);
        let line = format!(
            "CUDNN_PATH is set to `{}/{shown}`, {what}, which build scripts cannot pass to cargo  [variable-unusable]",
            test.display()
        );
        run(&mut build(&dir, &place))
            .exits_with(101)
            .says(&line)
            .says("= help: create a link with a plain name to that directory");
    }
    let bytes = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"a\xff");
    let place = test.join(bytes);
    working(&place);
    run(&mut build(&dir, &place))
        .exits_with(101)
        .says("a path that is not UTF-8, which build scripts cannot pass to cargo");
}

/// A directory that the loader would read differently does not become an rpath.
#[test]
fn paths_that_an_rpath_cannot_contain_are_reported() {
    let test = fresh("paths-rpath");
    let dir = project("unheld", SCRIPT, MAIN);
    for (name, why) in [
        ("a:b", "the loader treats `:` as the end of a directory"),
        ("$ORIGIN", "the loader replaces its `$` variable"),
    ] {
        let place = test.join(name);
        working(&place);
        run(&mut build(&dir, &place)).exits_with(0).says(&format!(
            "`{}/lib` cannot be used as an rpath: {why}",
            place.display()
        ));
        let text = fs::read(built("unheld")).unwrap();
        let needle = place.join("lib").into_os_string().into_encoded_bytes();
        assert!(
            !text.windows(needle.len()).any(|part| part == needle),
            "{name}"
        );
    }
}

/// nvcc passes its arguments to a shell, which would run a directory named `$(..)`.
#[test]
fn paths_that_nvcc_would_pass_to_a_shell_are_rejected() {
    let test = fresh("paths-nvcc");
    let dir = crate_of("shelled");
    for (name, sign) in [
        ("$(touch pwned)", '$'),
        ("a`touch pwned`", '`'),
        ("a,b", ','),
    ] {
        let cuda: PathBuf = test.join(name);
        toolkit(&cuda, 13000, true);
        let mut command = cargo(&dir, &["check"]);
        command
            .env("ASK", "archs=80;kernels=src/add.cu")
            .env("IMAGE", scratch("builds-empty-image"))
            .env("CUDA_HOME", &cuda);
        run(&mut command).exits_with(101).says(&format!(
            "nvcc cannot handle the path `{}/bin/nvcc`: it does not pass {sign} on to the programs that it runs  [nvcc-failed]",
            cuda.display()
        ));
    }
}
