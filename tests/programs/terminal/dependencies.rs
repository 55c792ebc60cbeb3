//! Findings of `cudnn-guard doctor` about what nvcc and cuDNN also need: a host compiler and other CUDA libraries.

use super::doctor::library;
use super::{file, folder};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the doctor with these variables and no others, and returns its output.
fn doctor(variables: &[(&str, &str)], arguments: &[&str]) -> String {
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    doctor.arg("doctor").args(arguments).env_clear();
    doctor.env("PATH", "/usr/bin:/bin");
    let output = doctor.envs(variables.iter().copied()).output();
    String::from_utf8(output.expect("cudnn-guard runs").stdout).expect("text")
}

#[test]
fn the_host_compiler_and_the_origin_of_a_missing_one_are_named() {
    use std::os::unix::fs::symlink;
    let root = folder("dependencies-host-compiler");
    let toolkit = root.join("cuda");
    file(&toolkit, "include/cuda.h", "#define CUDA_VERSION 13000\n");
    library(&toolkit, "lib64/libcudart.so");
    let nvcc = toolkit.join("bin/nvcc");
    fs::create_dir(toolkit.join("bin")).expect("its directory");
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvcc/nvcc");
    symlink(ours, &nvcc).expect("a link");
    let home = ("CUDA_HOME", toolkit.to_str().expect("text"));
    let shown = doctor(&[home], &[]);
    assert!(shown.contains("\n  ✓ host code gcc "), "{shown}");
    let json: Value = serde_json::from_str(&doctor(&[home], &["--json"])).expect("JSON");
    let named = json["host_compiler"].as_str().unwrap_or_default();
    assert!(
        named.starts_with("gcc ") && named.contains(" at /"),
        "{json}"
    );

    // The output of nvcc 13.5.
    let words = "/opt/none/g++: No such file or directory\nnvcc fatal   : Failed to preprocess host compiler properties.";
    for dir in [toolkit.join("bin"), root.join("wrap")] {
        let nvcc = dir.join("nvcc");
        let _ = fs::remove_file(&nvcc);
        // Written by another program: a file that this process holds open while another test forks cannot be executed.
        fs::create_dir_all(&dir).expect("its directory");
        let script = format!(
            "#!/bin/sh\n[ $1 = --list-gpu-code ] && echo sm_75 && exit\necho '{words}' >&2\nexit 1\n"
        );
        let write = r#"printf %s "$1" >"$0" && chmod 755 "$0""#;
        let written = Command::new("sh")
            .args(["-c", write])
            .arg(nvcc)
            .arg(script)
            .status();
        assert!(written.expect("sh runs").success());
    }
    let ccbin = ("NVCC_CCBIN", "/opt/none/g++");
    let help =
        "set NVCC_CCBIN to an existing compiler, or unset it: there is no compiler `/opt/none/g++`";
    let shown = doctor(&[home, ccbin], &[]);
    assert!(
        shown.contains("\n  ! host code none that nvcc can start  (warning)\n"),
        "{shown}"
    );
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!(" = help: {help} ")), "{shown}");

    // An nvcc outside of its toolkit has to be queried for the toolkit's location.
    let wrapper = root.join("wrap/nvcc").display().to_string();
    for (variable, value, headline) in [
        (
            "NVCC",
            &*wrapper,
            &*format!(
                "NVCC is set to `{wrapper}`, which cannot start its host compiler  [variable-unusable]"
            ),
        ),
        (
            "PATH",
            &*format!("{}:/usr/bin:/bin", root.join("wrap").display()),
            "no CUDA toolkit was found  [cuda-not-found]",
        ),
    ] {
        let json = doctor(&[(variable, value), ccbin], &["--json"]);
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let finding = &json["findings"][0];
        let actual = format!(
            "{}  [{}]",
            finding["summary"].as_str().unwrap(),
            finding["id"].as_str().unwrap()
        );
        assert_eq!(actual, headline);
        assert_eq!(finding["help"][0], help);
    }
}

/// Returns the CPU seconds of cudnn-guard, and the memory in MB that it used beyond the peak of this process, which the
/// kernel counts for every child process too.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(clippy::zombie_processes, reason = "wait4 waits for it")]
fn spent(arguments: &[&str], variables: &[(&str, &str)]) -> (f64, i64) {
    unsafe extern "C" {
        fn wait4(pid: u32, status: *mut i32, options: i32, usage: *mut [i64; 18]) -> i32;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    command
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/bin:/bin");
    command
        .envs(variables.iter().copied())
        .stdout(Stdio::null());
    let child = command
        .stderr(Stdio::null())
        .spawn()
        .expect("cudnn-guard runs");
    let (mut status, mut usage) = (0, [0; 18]);
    // SAFETY: `struct rusage` is 18 numbers: two times of two each, in seconds and microseconds, then KB of memory.
    let ended = unsafe { wait4(child.id(), &mut status, 0, &mut usage) };
    assert_eq!((ended.unsigned_abs(), status & 0x7f), (child.id(), 0));
    let [user, user_part, system, system_part, most, ..] = usage;
    let seconds = (user + system) as f64 + (user_part + system_part) as f64 / 1e6;
    let status = fs::read_to_string("/proc/self/status").expect("its status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|text| text.split_whitespace().next()?.parse().ok());
    (seconds, (most - peak.unwrap_or(0)).max(0) >> 10)
}

/// Tests sparse files of 3 GB, and files of 1 MB that repeat the same line.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn huge_files_need_little_memory_and_time() {
    let root = folder("dependencies-made");
    let tops = ["cuda", "cudnn", "image"].map(|name| root.join(name).display().to_string());
    let [cuda, cudnn, image] = &tops;
    library(&root, "cuda/lib64/libcudart.so");
    library(&root, "cudnn/lib/libcudnn.so.9");
    fs::create_dir_all(root.join("image/usr/lib")).expect("a directory");
    fs::copy("/bin/true", root.join("image/true")).expect("a program");
    let program = format!("{image}/true");
    let doctor = ["doctor"];
    let inspect = ["inspect", "--root", image, &program];
    let variables = [("CUDA_HOME", cuda.as_str()), ("CUDNN_PATH", cudnn)];
    let header = "cudnn/include/cudnn_version.h";
    let mut wrong = Vec::new();
    for (arguments, path, line) in [
        (&doctor[..], header, None),
        (&doctor, "cuda/include/cuda.h", None),
        (&doctor, "cuda/version.json", None),
        (&inspect, "image/etc/ld.so.cache", None),
        (&doctor, header, Some("/* #define CUDNN_MAJOR 9\n")),
        (&doctor, header, Some("*//*")),
        (
            &doctor,
            "cudnn/include/cudnn.h",
            Some("#include \"x/cudnn.h\"\n"),
        ),
        (
            &doctor,
            "cuda/include/cuda.h",
            Some("/* #define CUDA_VERSION 13000\n"),
        ),
        (
            &doctor,
            "cuda/version.json",
            Some("\"cuda\":{\"version\":\"12."),
        ),
        (&doctor, "cuda/version.txt", Some("CUDA Version ")),
        (
            &doctor,
            "cuda/bin/nvcc.profile",
            Some("CICC_PATH = $(TOP)/x\n"),
        ),
        (&inspect, "image/etc/ld.so.conf", Some("/a\n")),
        (&inspect, "image/etc/ld.so.conf", Some("include *.conf\n")),
        (&inspect, "image/etc/ld.so.preload", Some("liba.so\n")),
    ] {
        let text = line.map(|line| line.repeat((1 << 20) / line.len()));
        file(&root, path, &text.unwrap_or_default());
        if line.is_none() {
            let made = fs::OpenOptions::new().write(true).open(root.join(path));
            made.expect("the file")
                .set_len(3 << 30)
                .expect("a sparse file");
        }
        let (seconds, megabytes) = spent(arguments, &variables);
        if seconds > 5.0 || megabytes > 100 {
            wrong.push(format!("{path} {line:?}: {seconds} s, {megabytes} MB"));
        }
        fs::remove_file(root.join(path)).expect("removed");
    }
    assert_eq!(wrong, Vec::<String>::new());
}
