//! The crate as it is published, in a program with vendored dependencies: no registry, no network, no clone.

use crate::foreign::qemu::MAIN;
use crate::support::{cargo, fresh, program, project, repository, run};
use std::fs;
use std::path::PathBuf;

const BUILD: &str = r#"use cudnn_guard::{Config, Link};

fn main() {
    cudnn_guard::build(|| {
        let gpu = Config::new().cudnn(">=8.5").link(Link::Runtime).probe()?;
        gpu.link();
        gpu.guard().write()
    });
}
"#;
/// Unpacks the package into a directory without other files of the repository.
fn published() -> PathBuf {
    let into = fresh("published");
    let target = into.join("target");
    let package = ["package", "--no-verify", "--allow-dirty", "--quiet"];
    run(cargo(repository(), &package).env("CARGO_TARGET_DIR", &target)).exits_with(0);
    let name = concat!("cudnn-guard-", env!("CARGO_PKG_VERSION"));
    let file = target.join("package").join(format!("{name}.crate"));
    run(program("tar").current_dir(&into).arg("-xf").arg(file)).exits_with(0);
    into.join(name)
}

#[test]
#[ignore = "packages this crate and compiles it once more: half a minute"]
fn a_vendored_program_is_built_without_a_registry() {
    let package = published();
    let dir = project("vendored", BUILD, MAIN);
    let manifest = dir.join("Cargo.toml");
    let own = fs::read_to_string(&manifest).unwrap();
    let (here, there) = (
        repository().display().to_string(),
        package.display().to_string(),
    );
    fs::write(&manifest, own.replace(&here, &there)).unwrap();
    // Its output is the configuration that uses it.
    let _ = fs::remove_dir_all(dir.join(".cargo"));
    let config = run(&mut cargo(&dir, &["vendor"])).exits_with(0).stdout;
    fs::create_dir(dir.join(".cargo")).unwrap();
    fs::write(dir.join(".cargo/config.toml"), config).unwrap();
    run(cargo(&dir, &["build", "--frozen"])
        .env("CARGO_HOME", fresh("vendored-home"))
        .env("CARGO_TARGET_DIR", dir.join("target")))
    .exits_with(0);
    run(&mut program(dir.join("target/debug/vendored")))
        .exits_with(0)
        .says("started\n");
}
