//! The conditions under which cargo runs a build script again, and the programs that the script itself does not run
//! again.

use crate::support::builds::{check, crate_of, cudnn, toolkit, wheel, write};
use crate::support::{fresh, kill, project, repository, run};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

/// Builds, and returns whether the build script ran.
#[track_caller]
fn runs(dir: &Path, ask: &str, env: &[(&str, &Path)]) -> bool {
    let ran = run(check(dir, ask, env).arg("--verbose")).exits_with(0);
    ran.text().contains("build-script-build`")
}

/// Sets the date of everything below a directory, except links, to so many days ago: copies and tarballs keep old
/// dates.
fn date(dir: &Path, days: u64) {
    let then = SystemTime::now() - Duration::from_secs(days * 86_400);
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            date(&entry.path(), days);
        } else if entry.file_type().unwrap().is_file() {
            let file = fs::File::options().write(true).open(entry.path()).unwrap();
            file.set_modified(then).unwrap();
        }
    }
}

#[test]
fn another_version_with_an_older_date_runs_the_build_script() {
    let test = fresh("builds-replaced");
    let dir = crate_of("replaced");
    let ask = "cudnn=>=9";
    let venv = test.join("venv");
    let in_venv: [(&str, &Path); 1] = [("VIRTUAL_ENV", &venv)];
    wheel(&venv, 13, (9, 14, 0));
    date(&test, 20);
    runs(&dir, ask, &in_venv);
    assert!(!runs(&dir, ask, &in_venv), "nothing changed");
    write(&venv.join("lib/python3.12/site-packages/other.py"), "");
    assert!(!runs(&dir, ask, &in_venv), "an unrelated file");
    fs::remove_dir_all(venv.join("lib")).unwrap();
    wheel(&venv, 13, (9, 10, 2));
    date(&test, 40);
    assert!(runs(&dir, ask, &in_venv), "another wheel");
    assert!(!runs(&dir, ask, &in_venv), "nothing changed");

    let tarball = test.join("tarball");
    let unpacked: [(&str, &Path); 1] = [("CUDNN_PATH", &tarball)];
    cudnn(&tarball, (9, 14, 0), true);
    date(&test, 20);
    assert!(runs(&dir, ask, &unpacked), "a variable is set");
    assert!(!runs(&dir, ask, &unpacked), "nothing changed");
    fs::remove_dir_all(&tarball).unwrap();
    cudnn(&tarball, (9, 10, 2), true);
    date(&test, 40);
    assert!(runs(&dir, ask, &unpacked), "another tarball");
    assert!(runs(&dir, ask, &in_venv), "the variable is unset");
}

/// A link such as /usr/local/cuda is changed.
#[test]
fn a_symlink_to_another_version_runs_the_build_script() {
    let test = fresh("builds-switched");
    let dir = crate_of("switched");
    let ask = "cuda=>=12;cudnn=>=9";
    for (release, version) in [("new", (9, 14, 0)), ("old", (9, 10, 2))] {
        cudnn(&test.join("cudnn").join(release), version, true);
    }
    for (version, minor) in [(13000, 0), (13010, 1)] {
        let cuda = test.join(format!("cuda-{version}"));
        toolkit(&cuda, version, false);
        let runtime = format!("libcudart.so.13.{minor}.48");
        write(&cuda.join("lib64").join(&runtime), "");
        symlink(&runtime, cuda.join("lib64/libcudart.so")).unwrap();
    }
    let turn = |link: &str, target: &str| {
        let link = test.join(link);
        let _ = fs::remove_file(&link);
        symlink(test.join(target), link).unwrap();
    };
    let (cuda, dnn) = (test.join("cuda"), test.join("dnn"));
    let env: [(&str, &Path); 2] = [("CUDA_HOME", &cuda), ("CUDNN_PATH", &dnn)];
    turn("cuda", "cuda-13010");
    turn("dnn", "cudnn/new");
    date(&test, 20);
    runs(&dir, ask, &env);
    assert!(!runs(&dir, ask, &env), "nothing changed");
    turn("dnn", "cudnn/old");
    assert!(runs(&dir, ask, &env), "another cuDNN");
    assert!(!runs(&dir, ask, &env), "nothing changed");
    turn("cuda", "cuda-13000");
    assert!(runs(&dir, ask, &env), "another CUDA");
    assert!(!runs(&dir, ask, &env), "nothing changed");
}

/// CUDA is installed after a build without it. Its installer runs ldconfig, or sets a variable.
#[test]
fn a_newly_installed_cuda_runs_the_build_script() {
    let test = fresh("builds-appears");
    let image = test.join("image");
    let dir = crate_of("appears");
    let ask = "optional;cuda=>=12;cudnn=>=9";
    let env: [(&str, &Path); 1] = [("IMAGE", &image)];
    let cache = image.join("etc/ld.so.cache");
    write(&cache, "nothing");
    date(&test, 20);
    runs(&dir, ask, &env);
    assert!(!runs(&dir, ask, &env), "nothing changed");
    toolkit(&image.join("usr/local/cuda"), 13000, false);
    cudnn(&image.join("usr/local/cudnn"), (9, 14, 0), true);
    write(&cache, "cuDNN");
    assert!(runs(&dir, ask, &env), "it was installed");
    assert!(!runs(&dir, ask, &env), "nothing changed");
    fs::remove_dir_all(image.join("usr")).unwrap();
    assert!(runs(&dir, ask, &env), "it is gone");

    let elsewhere = test.join("elsewhere");
    toolkit(&elsewhere, 13000, false);
    cudnn(&elsewhere, (9, 14, 0), true);
    let named: [(&str, &Path); 3] = [
        ("IMAGE", &image),
        ("CUDA_HOME", &elsewhere),
        ("CUDNN_PATH", &elsewhere),
    ];
    assert!(runs(&dir, ask, &named), "variables name one");
    assert!(!runs(&dir, ask, &named), "nothing changed");

    // A crate that only needs CUDA has everything.
    runs(&dir, "cuda=>=12", &named);
    write(&cache, "another package");
    assert!(!runs(&dir, "cuda=>=12", &named), "another package");
}

#[test]
fn nvcc_inside_a_toolkit_is_not_run_to_find_the_toolkit() {
    let test = fresh("builds-beside");
    let cuda = test.join("cuda");
    toolkit(&cuda, 13000, false);
    write(&cuda.join("bin/nvcc"), "not a program");
    fs::create_dir_all(test.join("bin")).unwrap();
    let link = test.join("bin/nvcc");
    symlink(cuda.join("bin/nvcc"), &link).unwrap();
    let dir = crate_of("beside");
    run(&mut check(&dir, "cuda=>=13, <13.1", &[("NVCC", &link)])).exits_with(0);
}

/// nvcc hangs when it is queried and when it compiles, and so does the program that it starts. cargo is killed: by
/// itself, as on a machine that is short of memory, or with its process group.
#[test]
fn programs_that_a_build_script_runs_end_with_cargo() {
    let dir = crate_of("killed");
    for (hangs_at, group) in [("", ""), ("", "-"), ("add.cu", ""), ("add.cu", "-")] {
        let test = fresh("builds-killed");
        let (cuda, started) = (test.join("cuda"), test.join("started"));
        toolkit(&cuda, 13000, false);
        let real = cuda.join("bin/fixture");
        fs::create_dir_all(cuda.join("bin")).unwrap();
        symlink(repository().join("fixtures/nvcc/nvcc"), &real).unwrap();
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *{hangs_at}*) sleep 100 & echo $$ $! > '{}'; wait; esac\nexec '{}' \"$@\"\n",
            started.display(),
            real.display()
        );
        write(&cuda.join("bin/nvcc"), &script);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(cuda.join("bin/nvcc"), mode).unwrap();
        let mut command = check(&dir, "archs=80;kernels=src/add.cu", &[("CUDA_HOME", &cuda)]);
        command
            .process_group(0)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut cargo = command.spawn().unwrap();
        let nvcc = within(Duration::from_secs(300), || {
            let text = fs::read_to_string(&started).ok()?;
            text.ends_with('\n').then_some(text)
        });
        let nvcc = nvcc.expect("nvcc was started");
        let what = format!("{group}{}", cargo.id());
        kill("KILL", &what);
        cargo.wait().unwrap();
        for process in nvcc.split_whitespace() {
            let is_gone = || !Path::new("/proc").join(process).join("exe").exists();
            let gone = within(Duration::from_secs(5), || is_gone().then_some(()));
            assert!(
                gone.is_some(),
                "{hangs_at:?} {group:?}: process {process} of {nvcc} still runs"
            );
        }
    }
}

/// The build script's standard error, which cargo shows with `-vv`, names the program that it waits for.
#[test]
fn a_slow_program_is_named_and_stopped_at_the_deadline() {
    let test = fresh("builds-long");
    let cuda = test.join("cuda");
    toolkit(&cuda, 13000, false);
    let nvcc = cuda.join("bin/nvcc");
    write(&nvcc, "#!/bin/sh\ncase $1 in -c) exit 1; esac\nsleep 100\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&nvcc, mode).unwrap();
    let env: [(&str, &Path); 2] = [
        ("CUDA_HOME", &cuda),
        ("CUDNN_GUARD_PROGRAM_DEADLINE", Path::new("2.2")),
    ];
    let mut command = check(&crate_of("long"), "archs=80;kernels=src/add.cu", &env);
    let ran = run(command.arg("-vv")).exits_with(101);
    let asked = format!("{} --list-gpu-code", nvcc.display());
    let ran = ran.says(&format!(
        "[long 0.1.0] waiting for {asked}, at most 2.2 s in total\n"
    ));
    let lines = ran.stderr.lines();
    let warnings = lines.filter_map(|line| line.strip_prefix("warning: long@0.1.0: "));
    let warnings: Vec<&str> = warnings.collect();
    let headline = format!(
        "`{}` did not finish within 2.2 s and was stopped  [program-timeout]",
        nvcc.display()
    );
    let command = format!("  command     {asked}");
    let expected = [
        headline.as_str(),
        "  = help: run the command by hand to see where it hangs",
        "  = help: set CUDNN_GUARD_PROGRAM_DEADLINE=5 to give it more time",
        command.as_str(),
    ];
    assert_eq!(warnings[..4], expected);
}

/// Returns the result of `of`, if there is one in that time.
fn within<T>(time: Duration, of: impl Fn() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        match of() {
            None if begun.elapsed() < time => std::thread::sleep(Duration::from_millis(20)),
            found => return found,
        }
    }
}

/// A build script that uses a cuDNN that no machine has.
const FAR: &str = "fn main() {
    cudnn_guard::build(|| cudnn_guard::Config::new().cudnn(\">=99\").probe().map(drop));
}
";

/// Nothing else shows that another package has replaced it.
#[test]
#[ignore = "needs pkg-config"]
fn the_file_that_names_a_package_runs_the_build_script() {
    let test = fresh("builds-packaged");
    let dir = project("packaged", FAR, "fn main() {}\n");
    let packages = test.join("pkgconfig");
    let env: [(&str, &Path); 1] = [("PKG_CONFIG_PATH", &packages)];
    let package = |name: &str| {
        let prefix = test.join(name);
        cudnn(&prefix, (99, 3, 0), true);
        let text = format!(
            "prefix={}\nName: cudnn\nDescription: a package\nVersion: 99.3\n\
             Libs: -L${{prefix}}/lib -lcudnn\nCflags: -I${{prefix}}/include\n",
            prefix.display()
        );
        write(&packages.join("cudnn.pc"), &text);
    };
    package("one");
    date(&test, 20);
    assert!(runs(&dir, "", &env), "a variable is set");
    assert!(!runs(&dir, "", &env), "nothing changed");
    write(&packages.join("cublas-99.pc"), "");
    assert!(!runs(&dir, "", &env), "an unrelated file");
    package("two");
    assert!(runs(&dir, "", &env), "another package");
    assert!(!runs(&dir, "", &env), "nothing changed");
}
