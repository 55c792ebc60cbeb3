//! The time and memory that `doctor` and `inspect` need for files that are not what they seem.

use super::doctor::library;
use super::{file, folder};
use std::fs;
use std::process::{Command, Stdio};

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
