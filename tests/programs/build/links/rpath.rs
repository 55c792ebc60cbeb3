//! The directories in which a linked program searches for its libraries at run time.

use crate::support::builds::write;
use crate::support::{Ran, cargo, fresh, program, repository, run, scratch, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A cuDNN that only reports its version.
fn cudnn(dir: &Path) {
    super::headers(dir);
    let (source, lib) = (dir.join("cudnn.c"), dir.join("lib"));
    write(
        &source,
        "unsigned long cudnnGetVersion(void) { return 91400; }\n",
    );
    fs::create_dir_all(&lib).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-Wl,-soname,libcudnn.so.9", "-o"]);
    cc.arg(lib.join("libcudnn.so.9")).arg(source);
    assert!(cc.status().unwrap().success());
}

/// A package of the workspace `dir`.
fn package(
    dir: &Path,
    name: &str,
    keys: &str,
    dependencies: &str,
    script: &str,
    file: (&str, &str),
) {
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{keys}\n\
         [dependencies]\n{dependencies}\n[build-dependencies]\ncudnn-guard = {{ path = {:?} }}\n",
        repository()
    );
    write(&dir.join(name).join("Cargo.toml"), &manifest);
    let script = format!(
        "fn main() {{\n    cudnn_guard::build(|| {{\n{script}        Ok(())\n    }});\n}}\n"
    );
    write(&dir.join(name).join("build.rs"), &script);
    write(&dir.join(name).join("src").join(file.0), file.1);
}

fn workspace(name: &str, members: &str) -> PathBuf {
    let dir = scratch(name);
    write(
        &dir.join("Cargo.toml"),
        &format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n"),
    );
    fs::copy(repository().join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
    dir
}

fn build(dir: &Path, cudnn: &Path) -> Ran {
    let mut build = cargo(dir, &["build"]);
    build.env("IMAGE", scratch("builds-empty-image"));
    run(build.env("CUDNN_PATH", cudnn))
}

const LINK: &str = "        let config = cudnn_guard::Config::new().cudnn(\">=9\").root(std::env::var(\"IMAGE\").unwrap());\n        \
    config.probe()?.link();\n";
const LIBRARY: &str = "unsafe extern \"C\" { fn cudnnGetVersion() -> usize; }\n\
    pub fn version() -> usize { unsafe { cudnnGetVersion() } }\n";
const PROGRAM: &str = "fn main() { println!(\"cuDNN {}\", rpath_kernels::version()); }\n";

/// The program builds and fails to load. The test then does what the warning suggests.
#[test]
fn a_lost_rpath_is_reported_with_the_fix_for_programs() {
    let installed = fresh("links-rpath-cudnn");
    cudnn(&installed);
    let dir = workspace("links-rpath", "\"rpath-kernels\", \"rpath-app\"");
    let kernels = |keys: &str| package(&dir, "rpath-kernels", keys, "", LINK, ("lib.rs", LIBRARY));
    let app = |script: &str| {
        let dependency = "rpath-kernels = { path = \"../rpath-kernels\" }\n";
        package(
            &dir,
            "rpath-app",
            "",
            dependency,
            script,
            ("main.rs", PROGRAM),
        );
    };
    kernels("");
    app("");
    let warning = format!(
        "warning: rpath-kernels@0.1.0: programs that depend on `rpath-kernels` do not get its rpath to `{}`: cargo \
         passes on libraries, but no linker arguments  [library-not-found]\n\
         warning: rpath-kernels@0.1.0:   = help: add `links = \"rpath-kernels\"` to [package] in its Cargo.toml, \
         and add `cudnn_guard::Linked::from_dep(\"rpath-kernels\")?.link()` to the build.rs of each program\n\
         warning: rpath-kernels@0.1.0:   = help: call `.rpath(false)` in its build.rs if LD_LIBRARY_PATH or \
         ld.so.conf contains that directory\n",
        installed.join("lib").display()
    );
    build(&dir, &installed).exits_with(0).says(&warning);
    let built = target().join("debug/rpath-app");
    run(&mut program(&built)).exits_with(127);

    // As in a `-sys` crate, without a program.
    kernels("links = \"rpath-kernels\"\n");
    let warning = format!(
        "warning: rpath-kernels@0.1.0: programs that depend on `rpath-kernels` cannot find the libraries in `{}` \
         unless their build.rs adds the rpath  [library-not-found]\n\
         warning: rpath-kernels@0.1.0:   = help: add `cudnn_guard::Linked::from_dep(\"rpath-kernels\")?.link()` to \
         the build.rs of each program\n\
         warning: rpath-kernels@0.1.0:   = help: call `.allow(\"library-not-found\")` in this build.rs if \
         programs outside this workspace do so\n",
        installed.join("lib").display()
    );
    build(&dir, &installed).exits_with(0).says(&warning);
    run(&mut program(&built)).exits_with(127);
    let script = LINK.replace(".probe()", ".allow(\"library-not-found\").probe()");
    let links = "links = \"rpath-kernels\"\n";
    package(
        &dir,
        "rpath-kernels",
        links,
        "",
        &script,
        ("lib.rs", LIBRARY),
    );
    build(&dir, &installed)
        .exits_with(0)
        .does_not_say("[library-not-found]");

    kernels(links);
    build(&dir, &installed).exits_with(0).says(&warning);
    app("        cudnn_guard::Linked::from_dep(\"rpath-kernels\")?.link();\n");
    build(&dir, &installed)
        .exits_with(0)
        .does_not_say("[library-not-found]");
    run(&mut program(&built)).exits_with(0).says("cuDNN 91400");

    // The second help.
    kernels("");
    app("");
    let script = LINK.replace(".probe()", ".rpath(false).probe()");
    package(&dir, "rpath-kernels", "", "", &script, ("lib.rs", LIBRARY));
    build(&dir, &installed)
        .exits_with(0)
        .does_not_say("[library-not-found]");
    let mut started = program(&built);
    run(started.env("LD_LIBRARY_PATH", installed.join("lib"))).says("cuDNN 91400");
}

/// cargo repeats the warnings of a build script that does not run again.
#[test]
fn the_warning_about_a_lost_rpath_follows_the_programs() {
    let installed = fresh("links-follow-cudnn");
    cudnn(&installed);
    let dir = fresh("links-follow");
    workspace("links-follow", "\"crates/*\"");
    let crates = dir.join("crates");
    let main = ("main.rs", "fn main() {}\n");
    let member = |name: &str, script: &str| package(&crates, name, "", "", script, main);
    package(&crates, "follow-sys", "", "", LINK, ("lib.rs", LIBRARY));
    member("follow-app", "");
    let warning = format!(
        "warning: follow-sys@0.1.0: programs that depend on `follow-sys` do not get its rpath to `{}`: cargo passes on \
         libraries, but no linker arguments  [library-not-found]\n",
        installed.join("lib").display()
    );
    let warns = |when: &str| {
        let text = build(&dir, &installed).exits_with(0).text();
        let is_shown = text.contains("[library-not-found]");
        assert_eq!(text.contains(&warning), is_shown, "{when}: {text}");
        is_shown
    };
    assert!(warns("no program adds the rpath"));
    assert!(warns("cargo repeats the warning"));
    member("follow-app", LINK);
    assert!(!warns("the program links cuDNN itself"));
    member("follow-app", "");
    assert!(warns("the program no longer does"));
    member("follow-tool", LINK);
    assert!(!warns("a new program links cuDNN"));
    fs::remove_dir_all(crates.join("follow-tool")).unwrap();
    assert!(warns("the new program is removed"));
    let other = crates.join("follow-app/build/main.rs");
    let key = "build = \"build/main.rs\"";
    package(&crates, "follow-app", key, "", LINK, main);
    fs::create_dir(other.parent().unwrap()).unwrap();
    fs::rename(crates.join("follow-app/build.rs"), &other).unwrap();
    assert!(!warns("its build script has another name"));
    member("follow-app", "");
    assert!(warns("the program no longer links cuDNN"));
    // The first help, of which only one half is done.
    let manifest = crates.join("follow-sys/Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let with_links = text.replace("[dependencies]", "links = \"follow-sys\"\n[dependencies]");
    write(&manifest, &with_links);
    build(&dir, &installed)
        .exits_with(0)
        .says("unless their build.rs adds the rpath  [library-not-found]\n")
        .does_not_say("do not get its rpath");
}

/// As when an archive of a program, or a wheel beside NVIDIA's, is unpacked on another machine.
#[test]
fn a_program_finds_libraries_that_were_unpacked_with_it() {
    let installed = fresh("links-origin-cudnn");
    cudnn(&installed);
    let dir = workspace("links-origin", "\"rpath-origin\"");
    let script = LINK.replace(
        ".probe()",
        ".rpath(false).rpath_origin(\"../nvidia/cudnn/lib\").probe()",
    );
    let main = LIBRARY.replace("pub ", "") + "fn main() { println!(\"cuDNN {}\", version()); }\n";
    package(&dir, "rpath-origin", "", "", &script, ("main.rs", &main));
    build(&dir, &installed)
        .exits_with(0)
        .does_not_say("[library-not-found]");
    let unpacked = fresh("links-origin-unpacked");
    fs::create_dir_all(unpacked.join("bin")).unwrap();
    let moved = unpacked.join("bin/program");
    fs::copy(target().join("debug/rpath-origin"), &moved).unwrap();
    run(&mut program(&moved)).exits_with(127);
    fs::create_dir_all(unpacked.join("nvidia/cudnn")).unwrap();
    fs::rename(installed.join("lib"), unpacked.join("nvidia/cudnn/lib")).unwrap();
    run(&mut program(&moved)).exits_with(0).says("cuDNN 91400");
}

/// As in cudarc with `dynamic-linking` and in candle: another crate passes `-lcudnn` to the linker, but NVIDIA's wheel
/// only contains `libcudnn.so.9`.
#[test]
fn a_crate_that_uses_a_short_library_name_is_linked() {
    let installed = fresh("links-short-cudnn");
    cudnn(&installed);
    let dir = workspace("links-short", "\"short-sys\", \"short-app\"");
    let ask = "        println!(\"cargo::rustc-link-lib=cudnn\");\n";
    package(&dir, "short-sys", "", "", ask, ("lib.rs", LIBRARY));
    let program = PROGRAM.replace("rpath_kernels", "short_sys");
    let app = |script: &str| {
        let on = "short-sys = { path = \"../short-sys\" }";
        package(&dir, "short-app", "", on, script, ("main.rs", &program));
    };
    app("");
    build(&dir, &installed).exits_with(101).says("-lcudnn");
    app(LINK);
    build(&dir, &installed).exits_with(0);
    let start = || {
        run(&mut crate::support::program(
            target().join("debug/short-app"),
        ))
    };
    start().exits_with(0).says("cuDNN 91400\n");
    // The link is where the library is.
    let moved = fresh("links-short-moved");
    cudnn(&moved);
    fs::remove_dir_all(&installed).unwrap();
    build(&dir, &moved).exits_with(0);
    start().exits_with(0).says("cuDNN 91400\n");
}
