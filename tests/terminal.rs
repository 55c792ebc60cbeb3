//! The terminal program, run as a person runs it.
#![cfg(feature = "cli")]
// A test looks at files and starts programs as a person does.
#![allow(clippy::disallowed_methods)]

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[path = "../src/bin/cudnn-guard/simulator.rs"]
mod simulator;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of this test's own, empty.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("terminal")
        .join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder");
    path
}

fn file(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("its folder");
    fs::write(path, text).expect("a file");
}

/// Runs with nothing of this machine's environment.
fn cudnn_guard(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
        .args(arguments)
        .env_clear()
        .env("HOME", "/nowhere")
        .output()
        .expect("cudnn-guard runs")
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[track_caller]
fn must_exit(output: &Output, code: i32) {
    assert_eq!(
        output.status.code(),
        Some(code),
        "{}{}",
        text(output),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn ids(json: &Value) -> Vec<&str> {
    json["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|finding| finding["severity"] == "error")
        .filter_map(|finding| finding["id"].as_str())
        .collect()
}

/// All files and links below a folder.
fn listing(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a folder").flatten() {
        found.push(entry.path().display().to_string());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(listing(&entry.path()));
        }
    }
    found.sort();
    found
}

/// A toolkit and a cuDNN as NVIDIA's archives lie in /usr/local, with libraries that tell nothing.
fn usr_local(root: &Path) {
    file(
        root,
        "usr/local/cuda/include/cuda.h",
        "#define CUDA_VERSION 13000\n",
    );
    file(root, "usr/local/cuda/bin/nvcc", "");
    file(
        root,
        "usr/local/cuda/include/cudnn_version.h",
        "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 14\n#define CUDNN_PATCHLEVEL 0\n",
    );
    file(
        root,
        "usr/local/cuda/include/cudnn.h",
        "#include \"cudnn_version.h\"\n",
    );
    let needed = "_graph _ops _cnn _heuristic _engines_precompiled _engines_runtime_compiled";
    for part in [""].into_iter().chain(needed.split(' ')) {
        library(root, &format!("usr/local/cuda/lib64/libcudnn{part}.so.9"));
    }
}

/// The shortest file that is a library, with nothing in it.
fn library(root: &Path, path: &str) {
    file(root, path, "");
    let mut bytes = [0; 64];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    bytes[16] = 3;
    bytes[18] = if cfg!(target_arch = "aarch64") {
        183
    } else {
        62
    };
    fs::write(root.join(path), bytes).expect("a library");
}

#[test]
fn a_command_line_that_is_wrong_exits_with_2() {
    for arguments in [
        &[][..],
        &["nonsense"],
        &["doctor", "--nonsense"],
        &["doctor", "--cuda", "new"],
        &["doctor", "--cudnn", "9;1"],
        &["doctor", "--root", "/nowhere/at/all"],
        &["fetch", "--cuda", "thirteen"],
        &["fetch", "--cudnn", "9.1.2.3"],
        &["demo", "more"],
    ] {
        must_exit(&cudnn_guard(arguments), 2);
    }
}

#[test]
fn a_machine_with_nothing_fails_and_says_what_is_missing() {
    let root = folder("nothing");
    let root = root.to_str().expect("text");
    let output = cudnn_guard(&["doctor", "--root", root]);
    must_exit(&output, 1);
    let shown = text(&output);
    assert!(shown.contains("  ✗ toolkit   not found\n"), "{shown}");
    assert!(shown.contains("[cuda-not-found]\n"), "{shown}");
    assert!(shown.contains("  ✗ cuDNN     not found\n"), "{shown}");
    assert!(shown.contains("[cudnn-not-found]\n"), "{shown}");
    assert!(
        shown.ends_with(
            "\nverdict: fail (2 errors)\n\
             `cudnn-guard explain cuda-not-found` tells how to see that by hand and how to mend it\n"
        ),
        "{shown}"
    );

    let output = cudnn_guard(&["doctor", "--json", "--root", root]);
    must_exit(&output, 1);
    let json: Value = serde_json::from_str(&text(&output)).expect("JSON");
    assert_eq!(json["verdict"], "fail");
    assert_eq!(json["toolkit"], Value::Null);
    assert_eq!(ids(&json), ["cuda-not-found", "cudnn-not-found"]);
}

#[test]
fn what_lies_below_a_root_is_found_there() {
    let root = folder("found");
    usr_local(&root);
    let root = root.to_str().expect("text");
    let output = cudnn_guard(&["doctor", "--json", "--root", root]);
    must_exit(&output, 0);
    let json: Value = serde_json::from_str(&text(&output)).expect("JSON");
    let names: Vec<&String> = json.as_object().expect("an object").keys().collect();
    assert_eq!(
        names,
        [
            "candidates",
            "cudnn",
            "driver",
            "findings",
            "gpus",
            "schema",
            "targets",
            "toolkit",
            "verdict"
        ]
    );
    assert_eq!(json["toolkit"]["version"], "13.0");
    assert_eq!(json["cudnn"]["version"], "9.14.0");
    assert_eq!(json["cudnn"]["library_version"], Value::Null);
    // The GPUs of this machine are not those of that system.
    assert_eq!(json["verdict"], "unknown");
}

#[test]
fn a_requirement_that_is_not_met_fails() {
    let root = folder("unmet");
    usr_local(&root);
    let root = root.to_str().expect("text");
    let output = cudnn_guard(&["doctor", "--json", "--root", root, "--cudnn", ">=9.20"]);
    must_exit(&output, 1);
    let json: Value = serde_json::from_str(&text(&output)).expect("JSON");
    assert_eq!(ids(&json), ["cudnn-requirement-unmet"]);
}

#[test]
fn a_text_that_is_not_for_a_terminal_has_no_colours() {
    let root = folder("colours");
    let output = cudnn_guard(&["doctor", "--root", root.to_str().expect("text")]);
    assert!(!output.stdout.contains(&0x1b));
}

#[test]
fn cuda_12_is_not_fetched() {
    let to = folder("cuda-12").join("new");
    let to = to.to_str().expect("text");
    let output = cudnn_guard(&["fetch", "--cuda", "12.4", "--to", to]);
    must_exit(&output, 1);
    assert!(text(&output).contains("[fetch-failed]"));
    assert!(!Path::new(to).exists());
}

#[test]
fn nothing_is_written_into_a_folder_of_somebody_elses() {
    let to = folder("foreign");
    file(&to, "nvidia/cudnn/lib/libcudnn.so.9", "");
    let before = listing(&to);
    let output = cudnn_guard(&["fetch", "--to", to.to_str().expect("text")]);
    must_exit(&output, 1);
    assert_eq!(
        text(&output),
        format!(
            "\n`{}/nvidia/cudnn` was not put there by cudnn-guard, which adds nothing to it  [fetch-failed]\n  \
             = help: fetch into another folder with `--to DIR`\n",
            to.display()
        )
    );
    assert_eq!(listing(&to), before);
}

#[test]
fn a_machine_without_python_is_told_what_to_install() {
    let to = folder("no-python");
    let before = listing(&to);
    let output = cudnn_guard(&["fetch", "--to", to.to_str().expect("text")]);
    must_exit(&output, 1);
    assert_eq!(
        text(&output),
        "\nneither uv nor a Python with pip is on PATH  [fetch-failed]\n  \
         = help: install uv (https://docs.astral.sh/uv/), which needs no root\n  \
         = help: or install Python 3 with pip: `apt install python3-pip`, `dnf install python3-pip`\n"
    );
    assert_eq!(listing(&to), before);
}

/// A pip that cannot fetch: its words are shown, and nothing is left behind.
#[cfg(unix)]
#[test]
fn a_download_that_fails_leaves_nothing_and_shows_the_words() {
    use std::os::unix::fs::PermissionsExt;
    let dir = folder("failing");
    file(
        &dir,
        "bin/uv",
        "#!/bin/sh\nprintf 'ERROR: no \\033[31mwheel\\n' >&2\nexit 1\n",
    );
    let uv = dir.join("bin/uv");
    fs::set_permissions(&uv, fs::Permissions::from_mode(0o755)).expect("a program");
    let to = dir.join("to");
    let output = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
        .args(["fetch", "--to"])
        .arg(&to)
        .env_clear()
        .env("PATH", dir.join("bin"))
        .output()
        .expect("cudnn-guard runs");
    must_exit(&output, 1);
    let shown = text(&output);
    assert!(
        shown.contains("NVIDIA's wheels could not be fetched  [fetch-failed]\n"),
        "{shown}"
    );
    assert!(
        shown.contains("\n  it said     ERROR: no [31mwheel\n"),
        "{shown}"
    );
    assert!(
        shown.contains(&format!("\n  command     {} pip install ", uv.display())),
        "{shown}"
    );
    assert_eq!(listing(&to), Vec::<String>::new());
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn a_machine_with_everything_passes() {
    let root = folder("simulated");
    let what = simulator::Simulated {
        cudnn: (9, 14, 0),
        cuda: (13, 0),
        leave_out: Vec::new(),
    };
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/simulator");
    simulator::build(&sources, &root, &what).expect("the simulator");
    let doctor = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
            .arg("doctor")
            .args(arguments)
            .env_clear()
            .env("CUDA_HOME", &root)
            .env("CUDNN_PATH", &root)
            .env("LD_LIBRARY_PATH", root.join("driver"))
            .output()
            .expect("cudnn-guard runs")
    };
    let output = doctor(&[]);
    must_exit(&output, 0);
    let shown = text(&output);
    assert!(
        shown.contains(&format!(
            "  ✓ cuDNN     9.14.0 for CUDA 13 at {}\n",
            root.display()
        )),
        "{shown}"
    );
    assert!(
        shown.contains("  ✓ GPUs      Simulated GPU, compute capability 9.0\n"),
        "{shown}"
    );
    assert!(
        shown.ends_with("\nverdict: pass (what is here fits together)\n"),
        "{shown}"
    );
    let json: Value = serde_json::from_str(&text(&doctor(&["--json"]))).expect("JSON");
    assert_eq!(json["verdict"], "pass");
    assert_eq!(json["driver"]["cuda"], "13.0");
    assert_eq!(json["gpus"][0]["name"], "Simulated GPU");
    assert_eq!(json["gpus"][0]["compute_capability"], "9.0");
    let parts = json["cudnn"]["parts"].as_array().expect("parts");
    assert!(
        parts.iter().any(|part| part["name"] == "graph"
            && part["version"] == "9.14.0"
            && part["told_by"] == "symbol cudnn_graph_version"),
        "{parts:?}"
    );
}

/// ARC-04: what stands in the files of a cuDNN that somebody made smaller counts for more than what NVIDIA's has.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn the_doctor_reads_which_gpus_a_cudnn_serves() {
    let root = folder("pruned");
    let what = simulator::Simulated {
        cudnn: (9, 14, 0),
        cuda: (13, 0),
        leave_out: Vec::new(),
    };
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/simulator");
    simulator::build(&sources, &root, &what).expect("the simulator");
    // A fatbin of NVIDIA's format: machine code for 7.5, and PTX for 8.0.
    let mut code = b"\x50\xed\x55\xba\x01\0\x10\0\xa0\0\0\0\0\0\0\0".to_vec();
    for (kind, capability) in [(2, 75), (1, 80)] {
        let mut entry = [0; 80];
        (entry[0], entry[4], entry[8], entry[28]) = (kind, 64, 16, capability);
        code.extend(entry);
    }
    fs::write(root.join("code"), code).expect("device code");
    for part in ["ops", "cnn"] {
        let library = root.join(format!("lib64/libcudnn_{part}.so.9"));
        let added = Command::new("objcopy")
            .arg("--add-section")
            .arg(format!(".nv_fatbin={}", root.join("code").display()))
            .arg(fs::canonicalize(&library).expect("a part"))
            .status();
        assert!(added.expect("objcopy runs").success());
    }
    let doctor = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
            .arg("doctor")
            .args(arguments)
            .env_clear()
            .env("CUDA_HOME", &root)
            .env("CUDNN_PATH", &root)
            .env("LD_LIBRARY_PATH", root.join("driver"))
            .output()
            .expect("cudnn-guard runs");
        must_exit(&output, 0);
        text(&output)
    };
    let shown = doctor(&[]);
    assert!(
        shown.contains("\n  ✓ GPU code  7.5, PTX 8.0, read off its parts\n"),
        "{shown}"
    );
    assert!(
        shown.contains(
            "cuDNN 9.14.0 for CUDA 13 has only PTX, which the driver has to compile, for\n    \
             Simulated GPU, whose compute capability is 9.0  [gpu-newer-than-cudnn]\n      \
             serves      compute capabilities up to 7.5\n"
        ),
        "{shown}"
    );
    let json: Value = serde_json::from_str(&doctor(&["--json"])).expect("JSON");
    assert_eq!(
        json["cudnn"]["gpu_codes"],
        serde_json::json!(["sm_75", "compute_80"])
    );
}

#[test]
fn targets_without_any_cuda() {
    let output = cudnn_guard(&["targets", "9.0+PTX", "RTX 4090", "90a", "--cuda", "12.4"]);
    must_exit(&output, 0);
    assert_eq!(
        text(&output),
        "targets    sm_89 sm_90 compute_90 sm_90a\n\
         chosen by  the command line\n\
         nvcc       what CUDA 12.4 is known to do\n\
         flags      -gencode=arch=compute_89,code=sm_89\n           \
         -gencode=arch=compute_90,code=sm_90\n           \
         -gencode=arch=compute_90,code=compute_90\n           \
         -gencode=arch=compute_90a,code=sm_90a\n\
         CMake      89-real;90;90a-real\n\
         PyTorch    8.9;9.0+PTX;9.0a\n"
    );
    let json = "{\"targets\":[\"sm_86\"],\"flags\":[\"-gencode=arch=compute_80,code=sm_86\"],\"findings\":[]}\n";
    for list in ["8.6(8.0)", "-gencode=arch=compute_80,code=sm_86"] {
        let output = cudnn_guard(&["targets", "--json", "--", list]);
        must_exit(&output, 0);
        assert_eq!(text(&output), json);
    }
}

/// CMP-09: what an nvcc does not know yet, and from which CUDA on it is known.
#[test]
fn targets_that_a_cuda_does_not_have() {
    let output = cudnn_guard(&["targets", "120", "--cuda", "12.4"]);
    must_exit(&output, 1);
    assert_eq!(
        text(&output),
        "error: CUDA 12.4 cannot compile for sm_120, which the command line asks for  [arch-unsupported-by-nvcc]\n  \
         found       the command line: \"120\"\n  \
         nvcc knows  sm_50 sm_52 sm_53 sm_60 sm_61 sm_62 sm_70 sm_72 sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_90a\n  \
         served by   sm_120: CUDA 12.8 and newer\n  \
         = help: write targets that this nvcc knows, or choose another CUDA toolkit with CUDA_HOME\n"
    );
    let output = cudnn_guard(&["targets", "70", "--cuda", "13.0", "--json"]);
    must_exit(&output, 1);
    let json: Value = serde_json::from_str(&text(&output)).expect("JSON");
    assert_eq!(ids(&json), ["arch-unsupported-by-nvcc"]);
    assert_eq!(json["flags"], serde_json::json!([]));
    must_exit(&cudnn_guard(&["targets", "80", "--cuda", "new"]), 2);
}

/// Runs with the nvidia-smi of fixtures/smi, and with a driver that cannot be opened, whatever this machine has.
#[cfg(unix)]
fn with_gpus(list: &str, env: &[(&str, &str)]) -> Output {
    let smi = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/smi");
    let no_driver = folder("no-driver");
    file(&no_driver, "libcuda.so.1", "");
    Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
        .args(["targets", list, "--cuda", "12.9", "--json"])
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", smi.display()))
        .env("LD_LIBRARY_PATH", no_driver)
        .envs(env.iter().copied())
        .output()
        .expect("cudnn-guard runs")
}

/// CFG-14, ARC-05: all GPUs that programs see, and in a release build a word on those that are left out.
#[cfg(unix)]
#[test]
fn every_gpu_of_this_machine_is_a_target() {
    let targets = |output: &Output| {
        let json: Value = serde_json::from_str(&text(output)).expect("JSON");
        let ids: Vec<Value> = json["findings"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|finding| finding["id"].clone())
            .collect();
        (json["targets"].clone(), Value::from(ids))
    };
    let json = |list: &[&str]| serde_json::json!(list);
    type Case<'a> = (
        &'a str,
        &'a [(&'a str, &'a str)],
        &'a [&'a str],
        &'a [&'a str],
    );
    let cases: [Case; 5] = [
        (
            "auto",
            &[],
            &["sm_61", "compute_61", "sm_86", "compute_86"],
            &[],
        ),
        (
            "auto",
            &[("PROFILE", "release")],
            &["sm_61", "compute_61", "sm_86", "compute_86"],
            &["kernels-not-covering-gpu"],
        ),
        ("80", &[("PROFILE", "release")], &["sm_80"], &[]),
        (
            "native",
            &[("CUDA_VISIBLE_DEVICES", "GPU-1b")],
            &["sm_86"],
            &[],
        ),
        ("native", &[("CUDA_VISIBLE_DEVICES", "")], &[], &["no-gpu"]),
    ];
    for (list, env, wanted, ids) in cases {
        let output = with_gpus(list, env);
        assert_eq!(
            targets(&output),
            (json(wanted), json(ids)),
            "{list} {env:?}"
        );
    }
}

/// CFG-08: cudarc wants one of its CUDA features enabled, and this is the one that fits.
#[test]
fn doctor_names_the_feature_of_cudarc_that_fits() {
    let root = folder("doctor-cudarc");
    usr_local(&root);
    file(
        &root,
        "Cargo.lock",
        "version = 4\n\n[[package]]\nname = \"cudarc\"\nversion = \"0.17.3\"\n",
    );
    let doctor = |dir: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        command.args(["doctor", "--root"]).arg(&root);
        command.current_dir(dir).env_clear().env("HOME", "/nowhere");
        text(&command.output().expect("cudnn-guard runs"))
    };
    let said = doctor(&root);
    let wanted = "  \u{2013} cudarc    0.17.3 in Cargo.lock: its feature cuda-13000, or the newest before\n              \
         it that it has, fits CUDA 13.0 of the toolkit here; choose an\n              \
         older one to run with older drivers\n";
    assert!(said.contains(wanted), "{said}");
    assert!(!doctor(&root.join("usr")).contains("Cargo.lock"));
}

/// CFG-11: what is there and may not be read is not missing.
#[cfg(target_os = "linux")]
#[test]
fn what_this_user_may_not_read_is_not_missing() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    // Not below the build's own folder, which another user may be kept from.
    let root = std::env::temp_dir().join(format!("cudnn-guard-forbidden-{}", std::process::id()));
    usr_local(&root);
    let program = root.join("cudnn-guard");
    fs::copy(env!("CARGO_BIN_EXE_cudnn-guard"), &program).expect("a copy");
    let headers = root.join("usr/local/cuda/include");
    let mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    for name in ["cudnn.h", "cudnn_version.h"] {
        mode(&headers.join(name), 0o000);
    }
    file(&root, "private/cudnn/include/cudnn.h", "");
    mode(&root.join("private"), 0o000);
    let doctor = |env: &[(&str, &Path)]| {
        let mut command = Command::new(&program);
        command.args(["doctor", "--root"]).arg(&root).env_clear();
        command.envs(env.iter().copied());
        // root may read everything.
        if fs::read(headers.join("cudnn.h")).is_ok() {
            command.uid(65534).gid(65534);
        }
        text(&command.output().expect("it runs")).replace(root.to_str().expect("text"), "$ROOT")
    };
    let unread = doctor(&[]);
    let private = doctor(&[("CUDNN_PATH", &root.join("private/cudnn"))]);
    mode(&root.join("private"), 0o755);
    fs::remove_dir_all(&root).expect("removed");
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        plain(&unread).contains(
            "at `$ROOT/usr/local/cuda` may not be read by this user [cudnn-headers-missing] \
             found via NVIDIA's usual directory: $ROOT/usr/local/cuda/include/cudnn_version.h \
             = help: let everybody read them: `sudo chmod -R a+rX $ROOT/usr/local/cuda/include` \
             = help: or set CUDNN_INCLUDE_DIR to a directory that holds cudnn.h and may be read"
        ),
        "{unread}"
    );
    assert!(
        plain(&private).contains(
            "`CUDNN_PATH` is set to `$ROOT/private/cudnn`, where this user may not look \
             [variable-unusable] \
             = help: let this user look there: `ls -ld` of each directory above shows who may \
             = help: or set CUDNN_PATH to a directory that this user may read"
        ),
        "{private}"
    );
}
