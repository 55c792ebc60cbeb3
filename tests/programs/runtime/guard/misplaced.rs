//! A cuDNN that is not on the loader's search path. The report names its file and why the loader does not find it, and
//! the help makes the loader find it.

use super::program::{GPU, check, command, run_in, startup};
use crate::support::installation::{Folder, sound};
use crate::support::{cache_of, rows, wrapped};
use cudnn_guard::internals::loader::elf::misplaced;
use cudnn_guard::internals::loader::misplaced::Wanted;
use cudnn_guard::internals::loader::system::System;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Returns a directory with a cuDNN in this subdirectory.
fn cudnn_in(dir: &str) -> Folder {
    Folder::new().with_cudnn_in(dir, "9.14.0")
}

/// Checks the message without a GPU and the failure with a GPU. After following the help, the program prints nothing.
#[track_caller]
fn must_be_fixed_by_help(
    folder: &Folder,
    variables: &[(&str, &str)],
    file: &str,
    export: &str,
    reason: &str,
) {
    let here = |text: &str| text.replace("HERE", folder.text());
    let text = here(&format!(
        "cannot load `libcudnn.so.9`; `HERE/{file}` exists, but the loader does not search there  [cudnn-not-loadable]
  = help: run `export LD_LIBRARY_PATH={export}` before you start the program
  reason      {reason}
  loader      libcudnn.so.9: cannot open shared object file: No such file or directory
"
    ));
    startup(folder, variables).must_be_unknown(&text);
    let beside_gpu = [&[GPU], variables].concat();
    let ran = check(folder, &beside_gpu);
    ran.must_be("fail", &["cudnn-not-loadable"]);
    assert!(ran.text.starts_with(&text), "{}", ran.text);
    let help = ran.json["findings"][0]["help"][0].as_str().unwrap();
    let export = help.split('`').nth(1).unwrap();
    let program = command("startup", &folder.0);
    let line = format!("{export}; exec \"$@\"");
    let mut shell = wrapped(&["/bin/sh", "-c", &line, "sh"], &program);
    let done = shell.envs(beside_gpu).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stderr), "", "{export}");
    assert_eq!(done.status.code(), Some(0));
}

/// A value of LD_LIBRARY_PATH, the value that the help sets, and the reason.
const ENTRIES: &str = "\
~/dnn/lib:/usr/lib | HERE/opt/dnn/lib:/usr/lib | begins with `~`, which a shell expands but the loader does not
/usr/lib:$HOME/dnn/lib | /usr/lib:HERE/opt/dnn/lib | begins with `$HOME`, which a shell expands but the loader does not
\"HERE/opt/dnn/lib\" | HERE/opt/dnn/lib | has quotation marks, which the loader treats as part of the name
/usr/lib,HERE/opt/dnn/lib | /usr/lib:HERE/opt/dnn/lib | is a single directory to the loader: separate directories with a colon and no space
/usr/lib: HERE/opt/dnn/lib | /usr/lib:HERE/opt/dnn/lib | is a single directory to the loader: separate directories with a colon and no space
HERE/opt/dnn | HERE/opt/dnn/lib | is a parent directory, and the loader does not search subdirectories
HERE/opt:/usr/lib | HERE/opt/dnn/lib:/usr/lib | is a parent directory, and the loader does not search subdirectories
HERE/opt/dnn/lib64 | HERE/opt/dnn/lib | does not exist
HERE/opt/dnn/lib/libcudnn.so.9 | HERE/opt/dnn/lib | is the file itself, but the loader only searches directories
";

#[test]
fn an_entry_that_the_loader_reads_differently_is_reported() {
    let opt = cudnn_in("opt/dnn/lib");
    let file = "opt/dnn/lib/libcudnn.so.9";
    let at = |text: &str| text.replace("HERE", opt.text());
    let home = ("HOME", &*at("HERE/opt"));
    for [value, export, why] in rows(ENTRIES) {
        let entry = value.strip_prefix("/usr/lib:").unwrap_or(value);
        let entry = entry.trim_end_matches(":/usr/lib");
        let why = format!("the entry `{entry}` of LD_LIBRARY_PATH {why}");
        let variables = [home, ("LD_LIBRARY_PATH", &*at(value))];
        must_be_fixed_by_help(&opt, &variables, file, export, &why);
    }
}

#[test]
fn a_directory_with_a_space_in_its_name_is_one_entry() {
    let odd = cudnn_in("o'dd one/lib");
    must_be_fixed_by_help(
        &odd,
        &[("LD_LIBRARY_PATH", odd.at("o'dd one"))],
        "o'dd one/lib/libcudnn.so.9",
        "'HERE/o'\\''dd one/lib'",
        "the entry `HERE/o'dd one` of LD_LIBRARY_PATH is a parent directory, and the loader does not search subdirectories",
    );
    let whole = odd.at("o'dd one/lib");
    startup(&odd, &[GPU, ("LD_LIBRARY_PATH", whole)]).must_say("");
}

#[test]
fn a_cudnn_in_an_active_environment_is_named() {
    let lib = "venv/lib/python3.12/site-packages/nvidia/cudnn/lib";
    let venv = cudnn_in(lib);
    must_be_fixed_by_help(
        &venv,
        &[
            ("LD_LIBRARY_PATH", "/usr/lib"),
            ("VIRTUAL_ENV", venv.at("venv")),
        ],
        &format!("{lib}/libcudnn.so.9"),
        &format!("HERE/{lib}:/usr/lib"),
        "VIRTUAL_ENV is `HERE/venv`, but the loader ignores that variable",
    );
    let conda = cudnn_in("conda/lib");
    must_be_fixed_by_help(
        &conda,
        &[("LD_LIBRARY_PATH", ""), ("CONDA_PREFIX", conda.at("conda"))],
        "conda/lib/libcudnn.so.9",
        "HERE/conda/lib",
        "CONDA_PREFIX is `HERE/conda`, but the loader ignores that variable",
    );
}

/// Windows finds DLLs through PATH.
#[test]
fn a_cudnn_in_a_directory_of_path_is_named() {
    let folder = cudnn_in("opt/lib");
    let path = format!("/usr/bin:{}", folder.file("opt/lib").display());
    must_be_fixed_by_help(
        &folder,
        &[("LD_LIBRARY_PATH", ""), ("PATH", &path)],
        "opt/lib/libcudnn.so.9",
        "HERE/opt/lib",
        "PATH contains its directory, but the loader reads LD_LIBRARY_PATH instead",
    );
    // An entry without the library, and a relative entry.
    let path = format!("/usr/bin:{}:opt/lib", folder.text());
    let ran = run_in(
        &folder.0,
        "startup",
        &folder.0,
        &[("LD_LIBRARY_PATH", ""), ("PATH", &path)],
    );
    assert!(!ran.stderr.contains("PATH names"), "{}", ran.stderr);
}

/// sudo drops LD_LIBRARY_PATH, and systemd does not read the variables of a shell, so an `export` does not help there.
#[test]
fn the_variable_is_set_where_the_program_is_started() {
    let conda = cudnn_in("conda/lib");
    let program = command("startup", &conda.0);
    let name = Path::new(program.get_program()).file_name().unwrap();
    let name = name.to_str().unwrap();
    let help = |script: &str, variables: &[(&str, &str)]| {
        let mut shell = wrapped(&["/bin/sh", "-c", script, "sh"], &program);
        shell.env("LD_LIBRARY_PATH", "");
        shell.env("CONDA_PREFIX", conda.file("conda"));
        let output = shell.envs(variables.iter().copied()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let help = stderr
            .lines()
            .find_map(|line| line.strip_prefix("  = help: "));
        let help = help.unwrap_or_else(|| panic!("{stderr}"));
        help.replace(conda.text(), "HERE")
    };
    let sudo = format!("/opt/{name} an argument");
    assert_eq!(
        help("exec \"$@\"", &[("SUDO_COMMAND", &sudo)]),
        "run `sudo env LD_LIBRARY_PATH=HERE/conda/lib PROGRAM`: sudo drops the variable of your shell"
    );
    assert_eq!(
        help("export SYSTEMD_EXEC_PID=$$; exec \"$@\"", &[]),
        "add `Environment=\"LD_LIBRARY_PATH=HERE/conda/lib\"` to `[Service]` in the unit, run `systemctl daemon-reload`, and restart the service"
    );
    let with_percent = [("LD_LIBRARY_PATH", "/opt/50%/lib")];
    assert_eq!(
        help("export SYSTEMD_EXEC_PID=$$; exec \"$@\"", &with_percent),
        "add `Environment=\"LD_LIBRARY_PATH=HERE/conda/lib:/opt/50%%/lib\"` to `[Service]` in the unit, run `systemctl daemon-reload`, and restart the service"
    );
    // A shell started by sudo, and a terminal started by systemd.
    let export = "run `export LD_LIBRARY_PATH=HERE/conda/lib` before you start the program";
    let shell = [("SUDO_COMMAND", "/bin/bash"), ("INVOCATION_ID", "0a1b")];
    assert_eq!(help("exec \"$@\"", &shell), export);
    let terminal = [("SYSTEMD_EXEC_PID", "1"), ("SUDO_COMMAND", "")];
    assert_eq!(help("exec \"$@\"", &terminal), export);
}

/// The directory of `cudnn-guard fetch`, the variable that sets it, and the reason in the report.
const FETCHED: &str = "\
guard | CUDNN_GUARD_HOME | guard | CUDNN_GUARD_HOME is `HERE/guard`, but the loader ignores that variable
data/cudnn-guard | XDG_DATA_HOME | data | `cudnn-guard fetch` installed it, but the loader does not search there
home/.local/share/cudnn-guard | HOME | home | `cudnn-guard fetch` installed it, but the loader does not search there
";

/// A cuDNN installed by `cudnn-guard fetch`, in a directory set by a variable and in the default directory.
#[test]
fn a_fetched_cudnn_is_named() {
    let lib = "nvidia/cudnn/lib";
    for [dir, variable, value, reason] in rows(FETCHED) {
        let lib = format!("{dir}/{lib}");
        let fetched = cudnn_in(&lib);
        must_be_fixed_by_help(
            &fetched,
            &[("LD_LIBRARY_PATH", ""), (variable, fetched.at(value))],
            &format!("{lib}/libcudnn.so.9"),
            &format!("HERE/{lib}"),
            reason,
        );
    }
    // A relative directory is ignored.
    let fetched = cudnn_in("data/cudnn-guard/nvidia/cudnn/lib");
    for relative in [
        ("XDG_DATA_HOME", "data"),
        ("CUDNN_PATH", "data/cudnn-guard/nvidia/cudnn"),
    ] {
        let variables = [("LD_LIBRARY_PATH", ""), relative];
        let ran = run_in(&fetched.0, "startup", &fetched.0, &variables);
        assert!(!ran.stderr.contains("exists"), "{}", ran.stderr);
    }
}

/// The program may open the cuBLAS of the same wheels, unless the loader finds another one.
#[test]
fn the_cublas_beside_a_fetched_cudnn_is_named_too() {
    let lib = "guard/nvidia/cudnn/lib";
    let fetched = cudnn_in(lib);
    let cublas = fetched.file("guard/nvidia/cu13/lib/libcublas.so.13");
    fs::create_dir_all(cublas.parent().unwrap()).unwrap();
    fs::copy(fetched.file(&format!("{lib}/libcudnn.so.9")), &cublas).unwrap();
    let home = ("CUDNN_GUARD_HOME", fetched.at("guard"));
    let reason = "CUDNN_GUARD_HOME is `HERE/guard`, but the loader ignores that variable";
    let both = format!("HERE/{lib}:HERE/guard/nvidia/cu13/lib");
    for (value, export) in [
        ("", both),
        (
            fetched.at("guard/nvidia/cu13/lib"),
            format!("HERE/{lib}:HERE/guard/nvidia/cu13/lib"),
        ),
        (
            "/usr/lib",
            format!("HERE/{lib}:HERE/guard/nvidia/cu13/lib:/usr/lib"),
        ),
    ] {
        let variables = [("LD_LIBRARY_PATH", value), home];
        let file = format!("{lib}/libcudnn.so.9");
        must_be_fixed_by_help(&fetched, &variables, &file, &export, reason);
    }
}

/// cargo adds its own directories whenever it runs a program.
#[test]
fn the_directories_that_cargo_adds_are_left_out() {
    let conda = cudnn_in("conda/lib");
    let program = command("startup", &conda.0).get_program().to_owned();
    let profile = Path::new(&program).parent().unwrap().display();
    let value = format!(
        "{profile}/build/sys-0a1b/out:{profile}/deps:{profile}:/rust/lib/rustlib/x86_64-unknown-linux-gnu/lib:/rust/lib:/usr/lib"
    );
    let variables = [
        ("LD_LIBRARY_PATH", &*value),
        ("CARGO", "/rust/bin/cargo"),
        ("CONDA_PREFIX", conda.at("conda")),
    ];
    must_be_fixed_by_help(
        &conda,
        &variables,
        "conda/lib/libcudnn.so.9",
        "HERE/conda/lib:/usr/lib",
        "CONDA_PREFIX is `HERE/conda`, but the loader ignores that variable",
    );
}

/// A cuDNN that the program cannot run with is not suggested. The program was built with 9.14.0.
#[test]
fn a_cudnn_of_an_unsuitable_version_is_not_named() {
    let both = cudnn_in("guard/nvidia/cudnn/lib").with_cudnn_in("conda/lib", "9.10.2");
    let conda = ("CONDA_PREFIX", both.at("conda"));
    must_be_fixed_by_help(
        &both,
        &[
            ("LD_LIBRARY_PATH", ""),
            conda,
            ("CUDNN_GUARD_HOME", both.at("guard")),
        ],
        "guard/nvidia/cudnn/lib/libcudnn.so.9",
        "HERE/guard/nvidia/cudnn/lib",
        "CUDNN_GUARD_HOME is `HERE/guard`, but the loader ignores that variable",
    );
    let stderr = startup(&both, &[("LD_LIBRARY_PATH", ""), conda]).stderr;
    assert!(!stderr.contains("exists"), "{stderr}");
}

/// A relative entry names a different directory depending on where the program is started.
#[test]
fn a_relative_entry_is_reported() {
    let folder = cudnn_in("opt/lib");
    let start = |dir: &str| {
        let gpu_and_path = [GPU, ("LD_LIBRARY_PATH", "opt/lib")];
        run_in(&folder.file(dir), "startup", &folder.0, &gpu_and_path)
    };
    let stderr = start("opt").stderr;
    assert!(
        stderr.contains("  = help: write full paths in LD_LIBRARY_PATH, separated by colons\n"),
        "{stderr}"
    );
    let reason = "\n  reason      the entry `opt/lib` of LD_LIBRARY_PATH is relative and does not exist in the working directory\n";
    assert!(stderr.contains(reason), "{stderr}");
    assert_eq!(start("").stderr, "");
}

#[test]
fn a_directory_missing_from_the_loader_cache_is_named() {
    let cudnn = cudnn_in("lib");
    let names = ["libcudnn.so.9".to_string()];
    let conf = cudnn.file("etc/ld.so.conf.d");
    std::fs::create_dir_all(&conf).unwrap();
    let include = "include ld.so.conf.d/*.conf\n";
    std::fs::write(cudnn.file("etc/ld.so.conf"), include).unwrap();
    let wanted = Wanted {
        names: &names,
        suits: &|_| true,
    };
    let system = System {
        root: Some(cudnn.0.clone()),
        ..System::default()
    };
    let found = || misplaced::by_configuration(&wanted, &system);
    std::fs::write(conf.join("a.conf"), "# /x\n/nowhere\n").unwrap();
    // `ldconfig` reads only the files that are included.
    let text = "/nowhere\n/lib  # cuDNN\n";
    std::fs::write(conf.join("b.disabled"), text).unwrap();
    std::fs::write(conf.join(".hidden.conf"), text).unwrap();
    assert!(found().is_none());
    std::fs::write(conf.join("b.conf"), text).unwrap();
    let uncached = found().unwrap();
    assert_eq!(uncached.file, Some(cudnn.file("lib/libcudnn.so.9")));
    assert_eq!(
        uncached.reason(),
        "`/etc/ld.so.conf.d/b.conf` lists its directory, but /etc/ld.so.cache does not contain it yet"
    );
    assert_eq!(uncached.help(), "run `ldconfig` as root");
    let cache = cache_of(&[("libcudnn.so.9", "/lib/libcudnn.so.9")]);
    std::fs::write(cudnn.file("etc/ld.so.cache"), cache).unwrap();
    assert!(found().is_none());
}

/// Reads the system's own configuration, and follows the help.
#[test]
#[ignore = "needs the right to mount"]
fn ldconfig_is_suggested_and_fixes_it() {
    let cudnn = sound();
    let folder = Folder::new();
    let script = "cp -r /etc/ld.so.conf.d \"$D/conf\" && echo \"$LIB\" > \"$D/conf/zz-cudnn.conf\" \
        && mount --bind \"$D/conf\" /etc/ld.so.conf.d && cp /etc/ld.so.cache \"$D/cache\" \
        && mount --bind \"$D/cache\" /etc/ld.so.cache && \"$@\"; echo \"$?\" >&2; \
        ldconfig -C \"$D/new\" 2>/dev/null && cat \"$D/new\" > \"$D/cache\" && exec \"$@\"";
    let program = command("startup", &folder.0);
    let mut shell = wrapped(&["unshare", "-rm", "sh", "-c", script, "sh"], &program);
    shell.env_remove("LD_LIBRARY_PATH").env(GPU.0, GPU.1);
    shell.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let ran = shell
        .env("D", &folder.0)
        .env("LIB", &cudnn.0)
        .output()
        .unwrap();
    let text = String::from_utf8(ran.stderr).unwrap();
    let path = cudnn.text();
    let expected = format!(
        "\
cannot load `libcudnn.so.9`; `{path}/libcudnn.so.9` exists, but the loader does not search there  [cudnn-not-loadable]
  = help: run `ldconfig` as root
"
    );
    let reason = "  reason      `/etc/ld.so.conf.d/zz-cudnn.conf` lists its directory, but /etc/ld.so.cache does not contain it yet\n";
    assert!(
        text.starts_with(&expected) && text.contains(reason),
        "{text}"
    );
    assert!(text.ends_with("\n78\n"), "{text}");
    assert_eq!(ran.status.code(), Some(0));
}

/// In a setuid program, the loader ignores LD_LIBRARY_PATH and removes it from the environment.
#[test]
#[ignore = "needs root: starts a setuid program as another user"]
fn a_setuid_program_reports_the_ignored_variable() {
    let (cudnn, folder) = (sound(), Folder::new());
    let own = folder.file("program");
    // A separate process writes the copy: a file that this process has open for writing would also be open in a child
    // that another test forks at that moment.
    let mut install = Command::new("install");
    install
        .args(["-m", "4755"])
        .arg(std::env::current_exe().unwrap())
        .arg(&own);
    assert!(install.status().unwrap().success());
    let program = command("startup", &cudnn.0);
    let mut setuid = Command::new(own);
    setuid.args(program.get_args()).env_clear().uid(65534);
    for (name, value) in program.get_envs() {
        setuid.env(name, value.unwrap());
    }
    let output = setuid.output().unwrap();
    let path = cudnn.text();
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        format!(
            "\
cudnn-guard: unknown: cannot load `libcudnn.so.9`; `{path}/libcudnn.so.9` exists, but the loader does not search there  [cudnn-not-loadable]
  = help: add `{path}` to /etc/ld.so.conf, and run `ldconfig` as root
  reason      the entry `{path}` of LD_LIBRARY_PATH is that directory, but the loader ignores the variable for a program with elevated privileges (setuid)
  loader      libcudnn.so.9: cannot open shared object file: No such file or directory
"
        )
    );
}
