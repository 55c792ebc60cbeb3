//! Refusals of `cudnn-guard fetch`, and the files that it leaves behind.

#[cfg(unix)]
mod at_once;
#[cfg(unix)]
mod check;
#[cfg(unix)]
mod lock;
#[cfg(unix)]
mod project;
#[cfg(unix)]
mod untrusted;
#[cfg(unix)]
mod write_config;

#[cfg(unix)]
use super::text;
use super::{complaint, cudnn_guard, file, folder, must_exit};
use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::process::Command;

/// Lists all files and links below a directory.
fn listing(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        found.push(entry.path().display().to_string());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(listing(&entry.path()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_directory_with_other_files_is_not_touched() {
    let to = folder("foreign");
    file(&to, "nvidia/cudnn/lib/libcudnn.so.9", "");
    let before = listing(&to);
    let output = cudnn_guard(&["fetch", "--to", to.to_str().expect("text")]);
    must_exit(&output, 1);
    assert_eq!(
        complaint(&output),
        format!(
            "\n`{}/nvidia/cudnn/lib/libcudnn.so.9` was not created by cudnn-guard, so `fetch` does not change its directory  [fetch-failed]\n  \
             = help: fetch into a new or empty directory with `--to DIR`\n",
            to.display()
        )
    );
    assert_eq!(listing(&to), before);
}

#[test]
fn without_python_the_message_says_what_to_install() {
    let to = folder("no-python");
    let before = listing(&to);
    let output = cudnn_guard(&["fetch", "--to", to.to_str().expect("text")]);
    must_exit(&output, 1);
    assert_eq!(
        complaint(&output),
        "\nneither uv nor a Python with pip is on PATH  [fetch-failed]\n  \
         = help: install uv (https://docs.astral.sh/uv/), which needs no root\n  \
         = help: install Python 3 with pip: `apt install python3-pip`, `dnf install python3-pip`, `winget install Python.Python.3.13`\n"
    );
    assert_eq!(listing(&to), before);
}

/// The installer prints its reason, which the finding does not repeat.
#[cfg(unix)]
#[test]
fn a_failed_download_leaves_nothing_and_shows_the_output() {
    let dir = folder("failing");
    file(&dir, "bin/uv.broken", "ERROR: no wheel\n");
    let (uv, to) = (dir.join("bin/uv"), dir.join("to"));
    let output = fetch(&dir, &[]);
    must_exit(&output, 1);
    let shown = complaint(&output);
    let order = [
        "ERROR: no wheel\n\nfailed to install NVIDIA's wheels  [fetch-failed]\n",
        "= help: run `cudnn-guard explain fetch-failed` for a list of causes\n",
        &format!("  command     {} pip install ", uv.display()),
        "\n  output      see above; exit status: 1\n",
    ];
    must_contain_in_order(&shown, &order);
    assert_eq!(listing(&to), [to.join(".fetch.lock").display().to_string()]);
    // Files that are installed stay.
    fs::remove_file(dir.join("bin/uv.broken")).expect("removed");
    must_exit(&fetch(&dir, &[]), 0);
    let before = listing(&to);
    file(&dir, "bin/uv.broken", "ERROR: no wheel\n");
    must_exit(&fetch(&dir, &["--cuda", "12"]), 1);
    assert_eq!(listing(&to), before);
}

/// On a terminal, the installer draws its progress bars.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_the_installer_shows_its_own_bars() {
    let dir = folder("on-a-terminal");
    let shown = |color: &str| {
        let command = command(&dir, &["--color", color]);
        let mut words = vec![command.get_program()];
        words.extend(command.get_args());
        // Quoted for a shell: the path of the checkout may contain a space.
        let words: Vec<_> = words
            .iter()
            .map(|word| format!("'{}'", word.to_str().unwrap()))
            .collect();
        let mut terminal = Command::new("script");
        terminal.args(["-qec", &words.join(" "), "/dev/null"]);
        terminal.env(
            "PATH",
            format!("{}:/usr/bin:/bin", dir.join("bin").display()),
        );
        terminal.env_remove("NO_COLOR");
        let output = terminal.stdin(std::process::Stdio::null()).output();
        fs::remove_dir_all(dir.join("to")).expect("removed");
        text(&output.expect("script, of util-linux")).replace("\r\n", "\n")
    };
    let plain = shown("never");
    assert!(plain.contains("\na bar, NO_COLOR=1\n"), "{plain}");
    let colored = shown("auto");
    assert!(colored.contains("\na bar, NO_COLOR=\n"), "{colored}");
}

#[cfg(unix)]
#[track_caller]
fn must_contain_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else {
            panic!("{part}:\n{text}");
        };
        rest = behind;
    }
}

/// Returns `fetch` into the directory `to` with the installer `fetch/uv`. The installer is a link: a program that was
/// just written may be busy because a child of another test has it open.
#[cfg(unix)]
fn command(dir: &Path, arguments: &[&str]) -> Command {
    let uv = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/terminal/fetch/uv");
    fs::create_dir_all(dir.join("bin")).expect("a directory");
    // The link exists when a second command is created.
    let _ = std::os::unix::fs::symlink(uv, dir.join("bin/uv"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    command
        .arg("fetch")
        .args(arguments)
        .arg("--to")
        .arg(dir.join("to"))
        .env_clear()
        .env("PATH", dir.join("bin"));
    command
}

#[cfg(unix)]
fn fetch(dir: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = command(dir, arguments);
    command.output().expect("cudnn-guard runs")
}

/// Simulates a driver for CUDA 12.
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
#[test]
fn the_chosen_version_is_compatible_with_the_driver() {
    let dir = folder("of-a-machine");
    let driver = crate::support::simulated::simulated((9, 14, 0)).join("driver");
    let fetched = |cuda: &str, arguments: &[&str]| {
        let mut command = command(&dir, arguments);
        command.current_dir(&dir).env("LD_LIBRARY_PATH", &driver);
        command.env("SIM_CUDA", cuda);
        let output = command.output().expect("cudnn-guard runs");
        must_exit(&output, 0);
        text(&output)
    };
    let shown = fetched("12020", &[]);
    let chosen = "  i chosen       CUDA 12, since the driver supports CUDA 12.2\n";
    assert!(shown.starts_with(chosen), "{shown}");
    assert!(shown.contains("  ✓ CUDA toolkit 12.4.127 in "), "{shown}");
    // Installed versions stay, and a version on the command line overrides the choice.
    assert!(!fetched("12020", &[]).contains("chosen"));
    assert!(!fetched("12020", &["--cuda", "13"]).contains("chosen"));
    fs::remove_dir_all(dir.join("to")).expect("removed");
    let shown = fetched("13000", &[]);
    let chosen = "  i chosen       CUDA 13.0, since the driver supports CUDA 13.0\n";
    assert!(shown.starts_with(chosen), "{shown}");
    assert!(shown.contains("  ✓ CUDA toolkit 13.0.88 in "), "{shown}");
}

#[test]
fn a_cuda_without_wheels_is_refused() {
    for cuda in ["14", "10", "12.4.1", ">=12"] {
        let output = cudnn_guard(&["fetch", "--cuda", cuda]);
        must_exit(&output, 2);
        let shown = complaint(&output);
        let message = format!(
            "invalid value '{cuda}' for '--cuda <VERSION>': write it as 13 or 13.0, from 11 to 13\n"
        );
        assert!(shown.contains(&message), "{shown}");
    }
}

#[cfg(unix)]
#[test]
fn a_python_without_pip_shows_its_reason() {
    let dir = folder("no-pip");
    let output = with_pip(&dir, &[]).output().expect("it runs");
    must_exit(&output, 0);
    fs::remove_dir_all(dir.join("to")).expect("removed");
    file(&dir, "bin/python3.broken", "");
    let output = with_pip(&dir, &[]).output().expect("it runs");
    must_exit(&output, 1);
    let message = "no pip\n\nneither uv nor a Python with pip is on PATH  [fetch-failed]\n";
    let shown = complaint(&output);
    assert!(shown.starts_with(message), "{shown}");
    assert!(!dir.join("to").exists());
}

/// Like [`command`], but with pip.
#[cfg(unix)]
fn with_pip(dir: &Path, arguments: &[&str]) -> Command {
    let command = command(dir, arguments);
    fs::remove_file(dir.join("bin/uv")).expect("uv removed");
    let pip = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/terminal/fetch/uv");
    let _ = std::os::unix::fs::symlink(pip, dir.join("bin/python3"));
    command
}

/// A file exists where the directory should be.
#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_created_is_reported() {
    let dir = folder("no-folder");
    file(&dir, "to", "");
    let output = fetch(&dir, &[]);
    must_exit(&output, 1);
    let to = dir.join("to").display().to_string();
    let message = format!(
        "\ncannot write to `{to}`  [io-error]\n  \
         = help: pass a directory that you can create or write to: `--to DIR`\n  \
         reason      File exists (os error 17)\n"
    );
    assert_eq!(complaint(&output), message);
}

/// Lists the directories below `nvidia` and the records, sorted.
#[cfg(unix)]
fn installed(to: &Path) -> String {
    let names = |dir: &Path| {
        let mut names: Vec<String> = fs::read_dir(dir)
            .expect("a directory")
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| !["nvidia", ".cudnn-guard", ".fetch.lock"].contains(&name.as_str()))
            .collect();
        names.sort();
        names.join(" ")
    };
    format!("{}\n{}", names(&to.join("nvidia")), names(to))
}

/// CUDA 12 is installed as one directory per wheel with the matching cuDNN, and replaces another CUDA.
#[cfg(unix)]
#[test]
fn cuda_12_replaces_13_and_the_output_says_that_nvcc_is_not_included() {
    let dir = folder("cuda-12");
    let to = dir.join("to");
    let home = to.display();
    must_exit(&fetch(&dir, &[]), 0);
    let cuda_13 = "__init__.py cu13 cublas cuda_nvrtc cudnn\n\
        nvidia_cublas-13.5.37.dist-info nvidia_cuda_cccl-13.5.37.dist-info nvidia_cuda_crt-13.5.37.dist-info \
        nvidia_cuda_nvcc-13.5.37.dist-info nvidia_cuda_nvrtc-13.5.37.dist-info \
        nvidia_cuda_runtime-13.5.37.dist-info nvidia_cudnn_cu13-9.28.1.4.dist-info nvidia_nvvm-13.5.37.dist-info";
    assert_eq!(installed(&to), cuda_13);

    let output = fetch(&dir, &["--cuda", "12.4"]);
    must_exit(&output, 0);
    let shown = text(&output);
    let no_nvcc = "  i nvcc         NVIDIA's wheels for CUDA 11 and 12 do not contain it; to compile kernels, install the \
        toolkit from NVIDIA's repository or conda, or run `cudnn-guard fetch --cuda 13` if the driver supports it\n";
    // Printed before the download.
    assert!(shown.starts_with(no_nvcc), "{shown}");
    let shown = shown.strip_prefix(no_nvcc).expect("no nvcc");
    let versions = format!(
        "  ✓ CUDA toolkit 12.4.127 in {home}/nvidia\n  \
         ✓ cuDNN        9.28.0.42 in {home}/nvidia/cudnn\n"
    );
    assert_eq!(
        shown,
        format!(
            "  i to fetch     NVIDIA's wheels, about 1 to 2 GB, into {home}\n  \
             i because      other versions or libraries are required\n  \
             i licenses     by downloading, you accept NVIDIA's licenses: https://docs.nvidia.com/cuda/eula/ and \
             https://docs.nvidia.com/deeplearning/cudnn/latest/reference/eula.html\n\
             {versions}\n\
             To build with it, add these lines to .cargo/config.toml (cudnn-guard finds the\n\
             user data directory without them, but other crates may not)\n\n\
             [env]\nCUDNN_GUARD_HOME = \"{home}\"\nCUDNN_PATH = \"{home}/nvidia/cudnn\"\n\n\
             To run: programs linked by cudnn-guard find the libraries through their rpath.\n\
             For other programs, and for libraries that open others while they run, such as\nNVRTC\n\n\
             export LD_LIBRARY_PATH={home}/nvidia/cudnn/lib:{home}/nvidia/cublas/lib:{home}/nvidia/cuda_cccl/lib:\
             {home}/nvidia/cuda_nvcc/lib:{home}/nvidia/cuda_nvrtc/lib:{home}/nvidia/cuda_runtime/lib\n"
        )
    );
    assert_eq!(
        installed(&to),
        "__init__.py cublas cuda_cccl cuda_nvcc cuda_nvrtc cuda_runtime cudnn nvrtc\n\
         nvidia_cublas_cu12-12.4.127.dist-info nvidia_cuda_cccl_cu12-12.4.127.dist-info \
         nvidia_cuda_nvcc_cu12-12.4.127.dist-info nvidia_cuda_nvrtc_cu12-12.4.127.dist-info \
         nvidia_cuda_runtime_cu12-12.4.127.dist-info nvidia_cudnn_cu12-9.28.0.42.dist-info"
    );
    assert!(
        to.join("nvidia/cuda_runtime/lib64/libnvidia_cuda_runtime_cu12.so")
            .is_file()
    );

    // cuDNN up to 9.1 searches here.
    let nvrtc = "nvidia/nvrtc/lib/libnvidia_cuda_nvrtc_cu12.so.1";
    assert!(to.join(nvrtc).is_file());

    // Without a version on the command line, the installed one stays.
    let shown = text(&fetch(&dir, &[]));
    assert!(
        shown.starts_with(&format!("{no_nvcc}{versions}")),
        "{shown}"
    );

    // Back to CUDA 13, with the links to cuBLAS and NVRTC.
    must_exit(&fetch(&dir, &["--cuda", "13"]), 0);
    assert_eq!(installed(&to), cuda_13);
    assert!(to.join("nvidia/cublas/lib/libnvidia_cublas.so.1").is_file());
}

/// Libraries are added to the installed ones, and stay when another CUDA is installed.
#[cfg(unix)]
#[test]
fn with_adds_libraries() {
    let dir = folder("with-libraries");
    let to = dir.join("to");
    let has = |file: &str| to.join("nvidia").join(file).is_file();
    must_exit(&fetch(&dir, &[]), 0);
    let shown = text(&fetch(&dir, &["--with", "curand"]));
    assert!(
        shown.contains("  i because      other versions or libraries are required\n"),
        "{shown}"
    );
    assert!(has("cu13/lib/libnvidia_curand.so.1"));
    must_exit(&fetch(&dir, &["--with", "cufft,nvjitlink"]), 0);
    for name in ["curand", "cufft", "nvjitlink"] {
        assert!(has(&format!("cu13/lib/libnvidia_{name}.so.1")), "{name}");
    }
    must_exit(&fetch(&dir, &["--check"]), 0);
    fs::remove_file(to.join("nvidia/cu13/lib/libnvidia_curand.so.1")).expect("removed");
    must_exit(&fetch(&dir, &["--check"]), 1);
    let shown = text(&fetch(&dir, &["--cuda", "12"]));
    assert!(shown.contains("  ✓ CUDA toolkit 12.4.127 in "), "{shown}");
    for name in ["curand", "cufft", "nvjitlink"] {
        assert!(!has(&format!("cu13/lib/libnvidia_{name}.so.1")), "{name}");
    }
    let file = |name: &str| format!("{name}/lib/libnvidia_{name}_cu12.so.1");
    must_exit(&fetch(&dir, &["--with", "curand,cufft"]), 0);
    assert!(has(&file("curand")) && has(&file("cufft")) && has(&file("nvjitlink")));
    let output = fetch(&dir, &["--with", "curant"]);
    must_exit(&output, 2);
    assert!(complaint(&output).contains("a similar value exists: 'curand'"));
}

/// The lines printed for a shell can be pasted into one.
#[cfg(unix)]
#[test]
fn a_path_with_a_space_is_quoted_for_the_shell() {
    let dir = folder("it's a home");
    let output = fetch(&dir, &[]);
    must_exit(&output, 0);
    let shown = text(&output);
    let (_, line) = shown.rsplit_once("NVRTC\n\n").expect("the line");
    let nvidia = dir.join("to/nvidia").display().to_string();
    let quoted = nvidia.replace('\'', r"'\''");
    assert_eq!(
        line,
        format!("export LD_LIBRARY_PATH='{quoted}/cudnn/lib:{quoted}/cu13/lib'\n")
    );
    let shell = Command::new("/bin/sh")
        .args(["-c", &format!("{line}printf %s \"$LD_LIBRARY_PATH\"")])
        .env_clear()
        .output()
        .expect("a shell runs");
    assert_eq!(
        text(&shell),
        format!("{nvidia}/cudnn/lib:{nvidia}/cu13/lib")
    );
}

/// A build searches the user's data directory by default. Build and `fetch` ignore a relative XDG_DATA_HOME, and
/// LOCALAPPDATA, which WSL may pass on.
#[cfg(unix)]
#[test]
fn the_default_is_the_user_data_directory() {
    let dir = folder("default-place");
    must_exit(&fetch(&dir, &[]), 0);
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    command
        .arg("fetch")
        .current_dir(&dir)
        .env_clear()
        .env("PATH", dir.join("bin"))
        .env("HOME", dir.join("home"))
        .env("XDG_DATA_HOME", "data")
        .env("LOCALAPPDATA", dir.join("local"));
    must_exit(&command.output().expect("cudnn-guard runs"), 0);
    assert!(dir.join("home/.local/share/cudnn-guard/nvidia").is_dir());
}
