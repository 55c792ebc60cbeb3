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
            "\n`{}/nvidia/cudnn` was not created by cudnn-guard, so `fetch` does not change it  [fetch-failed]\n  \
             = help: fetch into another directory with `--to DIR`\n",
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
        "\nneither uv nor a Python is on PATH  [fetch-failed]\n  \
         = help: install uv (https://docs.astral.sh/uv/), which needs no root\n  \
         = help: install Python 3 with pip: `apt install python3-pip`, `dnf install python3-pip`\n"
    );
    assert_eq!(listing(&to), before);
}

/// If pip fails to download, its output is shown and no files remain.
#[cfg(unix)]
#[test]
fn a_failed_download_leaves_nothing_and_shows_the_output() {
    let dir = folder("failing");
    file(&dir, "bin/uv.broken", "ERROR: no \u{1b}[31mwheel\n");
    let (uv, to) = (dir.join("bin/uv"), dir.join("to"));
    let output = fetch(&dir, &[]);
    must_exit(&output, 1);
    let shown = complaint(&output);
    assert!(
        shown.contains("failed to fetch NVIDIA's wheels  [fetch-failed]\n"),
        "{shown}"
    );
    assert!(
        shown.contains("\n  output      ERROR: no [31mwheel\n"),
        "{shown}"
    );
    assert!(
        shown.contains(&format!("\n  command     {} pip install ", uv.display())),
        "{shown}"
    );
    assert_eq!(listing(&to), Vec::<String>::new());
}

/// On a terminal, the installer draws its progress bars and prints its error, which the finding does not repeat.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_the_installer_shows_its_own_bars() {
    let dir = folder("on-a-terminal");
    file(&dir, "bin/uv.broken", "ERROR: no \u{1b}[31mwheel\n");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/terminal/fetch");
    let with_uv = |has_uv: bool, arguments: &[&str]| {
        let command = command(&dir, arguments);
        if !has_uv {
            fs::remove_file(dir.join("bin/uv")).expect("uv removed");
        }
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
        text(&output.expect("script, of util-linux")).replace("\r\n", "\n")
    };
    let plain = with_uv(true, &["--color", "never"]);
    let order = [
        "to fetch",
        "\na bar, NO_COLOR=1\nERROR: no \u{1b}[31mwheel\n",
        "failed to fetch NVIDIA's wheels  [fetch-failed]\n",
        "= help: run `cudnn-guard explain fetch-failed` for a list of causes\n",
        "\n  output      see above; exit status: 1\n",
    ];
    must_contain_in_order(&plain, &order);
    fs::remove_file(dir.join("bin/uv.broken")).unwrap();
    let colored = with_uv(true, &["--color", "auto"]);
    assert!(colored.contains("\na bar, NO_COLOR=\n"), "{colored}");

    // pip draws its bars on standard output, so its errors can also be read.
    std::os::unix::fs::symlink(scripts.join("pip"), dir.join("bin/python3")).expect("a link");
    std::os::unix::fs::symlink(scripts.join("uv"), dir.join("bin/fake-uv")).expect("a link");
    fs::remove_dir_all(dir.join("to")).expect("removed");
    file(
        &dir,
        "bin/python3.broken",
        "ERROR: [Errno 28] No space left on device\n",
    );
    let of_pip = with_uv(false, &["--color", "never"]);
    let order = [
        "\nERROR: [Errno 28] No space left on device\n",
        "failed to fetch NVIDIA's wheels: the disk is full  [fetch-failed]\n",
        "\n  output      see above; exit status: 1\n",
    ];
    must_contain_in_order(&of_pip, &order);
}

#[cfg(target_os = "linux")]
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

#[cfg(unix)]
#[test]
fn a_crate_declares_the_versions_that_it_needs() {
    let dir = folder("of-a-crate");
    let document = include_str!("../../../docs/searching.md");
    let (_, table) = document.split_once("```toml\n").expect("an example");
    let manifest = table.split("```").next().expect("an end");
    file(&dir, "Cargo.toml", manifest);
    let fetched = || {
        command(&dir, &[])
            .current_dir(&dir)
            .output()
            .expect("cudnn-guard runs")
    };
    let output = fetched();
    must_exit(&output, 0);
    let shown = text(&output);
    let chosen = "  i chosen       CUDA 12.4 and cuDNN 9.10.2, with Cargo.toml\n";
    assert!(shown.starts_with(chosen), "{shown}");
    assert!(shown.contains("  ✓ CUDA toolkit 12.4.127 in "), "{shown}");
    assert!(shown.contains("  ✓ cuDNN        9.10.2.21 in "), "{shown}");
    assert!(dir.join("to/nvidia/curand").is_dir(), "{shown}");
    file(
        &dir,
        "Cargo.toml",
        &manifest.replace("\"12.4\"", "\"12.4.1\""),
    );
    let output = fetched();
    must_exit(&output, 1);
    assert_eq!(
        complaint(&output),
        "\n`cuda = \"12.4.1\"` in [package.metadata.cudnn-guard] of Cargo.toml is not valid  [config-invalid]\n  \
         = help: set it to a version in quotation marks, such as `cuda = \"13.0\"`\n"
    );
}

/// Simulates a driver for CUDA 12, and a GPU that the newest cuDNN does not support.
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
#[test]
fn the_chosen_versions_are_compatible_with_the_driver_and_the_gpu() {
    let dir = folder("of-a-machine");
    let driver = crate::support::simulated::simulated((9, 14, 0)).join("driver");
    let fetched = |gpu: &str, arguments: &[&str]| {
        let mut command = command(&dir, arguments);
        command.current_dir(&dir).env("LD_LIBRARY_PATH", &driver);
        command.env("SIM_CUDA", "12020").env("SIM_CAPABILITY", gpu);
        let output = command.output().expect("cudnn-guard runs");
        must_exit(&output, 0);
        text(&output)
    };
    let shown = fetched("6.1", &[]);
    let chosen = "  i chosen       CUDA 12, since the driver supports CUDA 12.2, and cuDNN 9.10.2, the last \
        for Simulated GPU\n";
    assert!(shown.starts_with(chosen), "{shown}");
    assert!(shown.contains("  ✓ CUDA toolkit 12.4.127 in "), "{shown}");
    assert!(shown.contains("  ✓ cuDNN        9.10.2.21 in "), "{shown}");
    // Installed versions stay, and a version on the command line overrides the choice.
    assert!(!fetched("9.0", &[]).contains("chosen"));
    assert!(!fetched("9.0", &["--cuda", "13"]).contains("chosen"));
    fs::remove_dir_all(dir.join("to")).expect("removed");
    let chosen = "  i chosen       CUDA 12, since the driver supports CUDA 12.2\n";
    let shown = fetched("9.0", &[]);
    assert!(shown.starts_with(chosen), "{shown}");
    assert!(shown.contains("  ✓ cuDNN        9.28.0.42 in "), "{shown}");
    let shown = fetched("9.0", &["--cuda", ">=12.4"]);
    let installed = "  ✓ CUDA toolkit 12.4.127 in ";
    assert!(
        shown.contains(installed) && !shown.contains("chosen"),
        "{shown}"
    );
    let shown = fetched("9.0", &["--cuda", ">=13"]);
    let newest = shown.contains("  ✓ CUDA toolkit 13.");
    assert!(newest && !shown.contains("chosen"), "{shown}");
    fs::remove_dir_all(dir.join("to")).expect("removed");
    let shown = fetched("9.0", &["--cuda", ">=12.4"]);
    assert!(shown.starts_with(chosen), "{shown}");
    // The cuDNN of a crate has precedence over the last one for a GPU.
    fs::remove_dir_all(dir.join("to")).expect("removed");
    let manifest = "[package.metadata.cudnn-guard]\ncuda = \">=12\"\ncudnn = \"9.28\"\n";
    file(&dir, "Cargo.toml", manifest);
    for arguments in [&["--cuda", ">=12"][..], &[]] {
        let shown = fetched("6.1", arguments);
        let named = "  i chosen       CUDA >=12 and cuDNN 9.28, with Cargo.toml\n";
        assert!(shown.starts_with(named), "{shown}");
        assert!(shown.contains(" cuDNN        9.28.0.42 "), "{shown}");
    }
}

#[cfg(unix)]
#[test]
fn a_cuda_without_wheels_is_refused() {
    let dir = folder("no-wheels");
    for (cuda, nearest) in [("14", "13"), ("10", "11")] {
        let output = fetch(&dir, &["--cuda", cuda]);
        must_exit(&output, 1);
        let message = format!(
            "\nthis cudnn-guard knows no wheels of CUDA {cuda}, only those of CUDA 13, 12, 11  [fetch-failed]\n  \
             = help: run `cudnn-guard fetch --cuda {nearest}`\n"
        );
        assert_eq!(complaint(&output), message);
        assert!(!dir.join("to").exists(), "{cuda}");
    }
}

/// The output of uv and pip for each cause.
#[cfg(unix)]
#[test]
fn each_cause_of_a_failed_download_has_its_message() {
    let dir = folder("causes");
    for (printed, message) in [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            "failed to fetch NVIDIA's wheels: the disk is full  [fetch-failed]\n  \
             = help: free a few gigabytes, or pass a directory on another disk with `--to DIR`\n",
        ),
        (
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
            "failed to fetch NVIDIA's wheels: a wheel does not have its hash  [fetch-failed]\n  \
             = help: ask the operator of the package index: the file is not the one that was published or locked\n",
        ),
        (
            "  Caused by: dns error",
            "failed to fetch NVIDIA's wheels: cannot reach the package index  [fetch-failed]\n  \
             = help: connect to the network; behind a proxy, set HTTPS_PROXY; for a mirror, set PIP_INDEX_URL or UV_INDEX_URL\n",
        ),
        (
            "ERROR: No matching distribution found for nvidia-cudnn-cu13==8.9.*",
            "failed to fetch NVIDIA's wheels: the package index has no such wheels for this platform  [fetch-failed]\n  \
             = help: look up the available versions at https://pypi.org/project/cuda-toolkit/#history and \
             https://pypi.org/project/nvidia-cudnn-cu13/#history, or -cu12, -cu11\n",
        ),
        (
            "zipfile.BadZipFile: File is not a zip file",
            "failed to fetch NVIDIA's wheels: a downloaded wheel is damaged  [fetch-failed]\n  \
             = help: empty the cache (`uv cache clean` or `python3 -m pip cache purge`), and run this command again\n",
        ),
    ] {
        file(&dir, "bin/uv.broken", printed);
        let output = fetch(&dir, &[]);
        must_exit(&output, 1);
        let shown = complaint(&output);
        assert!(shown.starts_with(&format!("\n{message}")), "{shown}");
    }
    fs::remove_file(dir.join("bin/uv.broken")).expect("removed");
    file(&dir, "bin/uv.killed", "");
    let output = fetch(&dir, &[]);
    must_exit(&output, 1);
    let shown = complaint(&output);
    let message = "\nthe installer was killed by signal 9  [fetch-failed]\n";
    assert!(shown.starts_with(message), "{shown}");
}

/// A wrong PYTHONHOME is not a missing Python.
#[cfg(unix)]
#[test]
fn a_python_without_pip_is_named_with_its_output() {
    let dir = folder("no-pip");
    let python =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/terminal/fetch/python3");
    fs::create_dir_all(dir.join("bin")).expect("a directory");
    std::os::unix::fs::symlink(python, dir.join("bin/python3")).expect("a link");
    let mut command = command(&dir, &[]);
    fs::remove_file(dir.join("bin/uv")).expect("uv removed");
    let output = command
        .env("PYTHONHOME", "/nowhere")
        .output()
        .expect("it runs");
    must_exit(&output, 1);
    let message = format!(
        "\nuv is not on PATH, and the Python on PATH cannot run pip  [fetch-failed]\n  \
         = help: unset PYTHONHOME, which tells Python where its own modules are\n  \
         = help: install uv (https://docs.astral.sh/uv/), which needs no root\n  \
         = help: install Python 3 with pip: `apt install python3-pip`, `dnf install python3-pip`\n  \
         command     {}/bin/python3 -m pip --version\n  \
         output      Fatal Python error: no module named 'encodings' in /nowhere\n",
        dir.display()
    );
    assert_eq!(complaint(&output), message);
    assert!(!dir.join("to").exists());
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
        "\ncannot create `{to}`  [io-error]\n  \
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
    let no_nvcc = "  i nvcc         NVIDIA's wheels for CUDA 11 and 12 do not contain it; to compile kernels, run `cudnn-guard fetch --cuda 13`, \
        or install CUDA 12.4 from NVIDIA's repository (`apt install cuda-toolkit-12-4`) or conda (`conda install -c nvidia \
        cuda-toolkit=12.4`)\n";
    // Printed before the download.
    assert!(shown.starts_with(no_nvcc), "{shown}");
    let (_, shown) = shown.split_once("eula.html\n\n").expect("the licenses");
    let (done, use_it) = shown.split_once("\nNVIDIA's licenses\n").expect("the end");
    let versions = format!(
        "  ✓ CUDA toolkit 12.4.127 in {home}/nvidia\n  \
         ✓ cuDNN        9.28.0.42 in {home}/nvidia/cudnn\n"
    );
    assert_eq!(
        done,
        format!(
            "  i to fetch     6 wheels, about 1.4 GB\n  \
             i because      nvidia-cuda-runtime-cu12 is missing\n{versions}"
        )
    );
    assert!(
        use_it.ends_with(&format!(
            "\n[env]\nCUDNN_GUARD_HOME = \"{home}\"\nCUDNN_PATH = \"{home}/nvidia/cudnn\"\n\n\
             To run: programs linked by cudnn-guard find the libraries\nthrough their rpath. For other programs, and for libraries\n\
             that open others while they run, such as NVRTC\n\n\
             export LD_LIBRARY_PATH={home}/nvidia/cudnn/lib:{home}/nvidia/cublas/lib:{home}/nvidia/cuda_cccl/lib:\
             {home}/nvidia/cuda_nvcc/lib:{home}/nvidia/cuda_nvrtc/lib:{home}/nvidia/cuda_runtime/lib\n"
        )),
        "{use_it}"
    );
    assert_eq!(
        installed(&to),
        "__init__.py cublas cuda_cccl cuda_nvcc cuda_nvrtc cuda_runtime cudnn nvrtc\n\
         nvidia_cublas_cu12-12.4.5.8.dist-info nvidia_cuda_cccl_cu12-12.4.127.post1.dist-info \
         nvidia_cuda_nvcc_cu12-12.4.131.dist-info nvidia_cuda_nvrtc_cu12-12.4.127.dist-info \
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
    let claims = fs::read_to_string(to.join(".cudnn-guard")).expect("the claims");
    assert!(claims.contains("nvidia/cu13\nnvidia/cublas\n"), "{claims}");
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
        shown.contains("  i because      nvidia-curand is missing\n"),
        "{shown}"
    );
    assert!(has("cu13/lib/libnvidia_curand.so.1"));
    // A library installs those that it needs.
    must_exit(&fetch(&dir, &["--with", "cufft"]), 0);
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

/// CUTLASS's wheel contains Python packages and depends on more. Only its headers are installed.
#[cfg(unix)]
#[test]
fn with_adds_the_headers_of_cutlass() {
    let dir = folder("with-cutlass");
    let (to, lock) = (dir.join("to"), dir.join("cuda.lock"));
    let header = to.join("cutlass_library/source/include/cutlass/cutlass.h");
    let output = fetch(
        &dir,
        &["--with", "cutlass", "--lock", lock.to_str().expect("text")],
    );
    must_exit(&output, 0);
    let shown = text(&output);
    assert!(header.is_file() && !to.join("pycute").exists(), "{shown}");
    let cuda_home = format!("\nCUDA_HOME = \"{}/nvidia/cu13\"\n", to.display());
    assert!(shown.contains(&cuda_home), "{shown}");
    let calls = fs::read_to_string(dir.join("bin/uv.log")).expect("the calls");
    assert!(calls.contains(" --no-deps nvidia-cutlass\n"), "{calls}");
    // The headers stay with another CUDA, and each file is checked.
    must_exit(&fetch(&dir, &["--cuda", "12"]), 0);
    must_exit(&fetch(&dir, &["--check"]), 0);
    fs::write(&header, "22").expect("a file");
    must_exit(&fetch(&dir, &["--check"]), 1);
    fs::remove_dir_all(&to).expect("removed");
    must_exit(&fetch(&dir, &["--lock", lock.to_str().expect("text")]), 0);
    assert!(header.is_file());
}

/// The lines printed for a shell can be pasted into one.
#[cfg(unix)]
#[test]
fn a_path_with_a_space_is_quoted_for_the_shell() {
    let dir = folder("it's a home");
    let output = fetch(&dir, &[]);
    must_exit(&output, 0);
    let shown = text(&output);
    let (before, line) = shown.rsplit_once("NVRTC\n\n").expect("the line");
    let nvidia = dir.join("to/nvidia").display().to_string();
    let quoted = nvidia.replace('\'', r"'\''");
    let nvcc = format!(
        "\nFor crates that run nvcc, such as cudarc\n\nexport PATH='{quoted}/cu13/bin':$PATH\n\nTo run: "
    );
    assert!(before.contains(&nvcc), "{before}");
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
fn in_the_user_data_directory_a_build_needs_no_variables() {
    let dir = folder("default-place");
    must_exit(&fetch(&dir, &[]), 0);
    let shown = text(&fetch(&dir, &[]));
    let needs = "\nTo build with it, add to .cargo/config.toml (the first line\nis enough for cudnn-guard, the others are for other crates)\n";
    let home = format!("CUDNN_GUARD_HOME = \"{}\"", dir.join("to").display());
    assert!(shown.contains(needs) && shown.contains(&home), "{shown}");

    let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    command
        .arg("fetch")
        .current_dir(&dir)
        .env_clear()
        .env("PATH", dir.join("bin"))
        .env("HOME", dir.join("home"))
        .env("XDG_DATA_HOME", "data")
        .env("LOCALAPPDATA", dir.join("local"));
    let output = command.output().expect("cudnn-guard runs");
    must_exit(&output, 0);
    let shown = text(&output);
    let needs = "\nTo build with it, do nothing more: cudnn-guard searches\nthere by default. For other crates, add to .cargo/config.toml\n\n[env]\nCUDA_HOME = ";
    assert!(shown.contains(needs), "{shown}");
    assert!(!shown.contains("CUDNN_GUARD_HOME"), "{shown}");
    assert!(dir.join("home/.local/share/cudnn-guard/nvidia").is_dir());
}
