//! A stub or an outdated library that a program opens instead of NVIDIA's driver.

use super::image::Image;
use crate::support::run;
use std::fs;
use std::os::unix::fs::symlink;

/// Creates a driver without a GPU, and a stub, in directories of an image.
fn machine(name: &str) -> Image {
    let image = Image::new(name);
    let library = |path: &str, answer: u32| {
        let mut code = format!("int cuInit(unsigned flags) {{ return {answer}; }}\n");
        for call in [
            "cuDeviceGetCount",
            "cuDeviceGet",
            "cuDeviceGetName",
            "cuDeviceGetAttribute",
            "cuDriverGetVersion",
        ] {
            code += &format!("int {call}(void) {{ return {answer}; }}\n");
        }
        image.compile(path, &code, &["-shared", "-Wl,-soname,libcuda.so.1"]);
    };
    library("driver/libcuda.so.580.65.06", 100);
    symlink(
        "libcuda.so.580.65.06",
        image.at("driver").join("libcuda.so.1"),
    )
    .unwrap();
    library("cuda/lib64/stubs/libcuda.so", 34);
    image
}

/// Compiles a program that contains the strings of a cudarc that opens libraries itself.
fn with_cudarc(image: &Image, flags: &[&str]) {
    let code = "const char *words(void) {
            return \"\\\" shared library - searched for library names: \";
        }
        void _start(void) {}";
    image.compile("app/app", code, flags);
}

/// Returns the findings about stubs, with these directories of the image in LD_LIBRARY_PATH.
fn stubs(image: &Image, dirs: &[&str]) -> String {
    let dirs: Vec<_> = dirs.iter().map(|dir| image.at(dir)).collect();
    let dirs = std::env::join_paths(dirs).unwrap();
    let ran = run(image.here().env("LD_LIBRARY_PATH", dirs)).exits_with(0);
    let is_stub = ran.stdout.contains("so it cannot use a GPU");
    let on_cpu = ran.stdout.contains("the program does not use the GPU");
    assert_eq!(is_stub, on_cpu, "{}", ran.stdout);
    // A link to a stub is not a driver.
    assert!(!ran.stdout.contains("has no link"), "{}", ran.stdout);
    let mut found = String::new();
    for finding in image.findings(&ran).split("  ! warning: ") {
        if finding.contains("[driver-stub]") {
            found += finding;
        }
    }
    found
}

/// <https://github.com/lightonai/next-plaid/pull/50>: the driver is installed, but a stub precedes it.
#[test]
fn a_stub_that_a_program_opens_instead_of_the_driver_is_reported() {
    let image = machine("stubs");
    with_cudarc(&image, &[]);
    let gets = "`/app/app` opens libcuda.so and gets the toolkit's stub `/cuda/lib64/stubs/libcuda.so`, not NVIDIA's \
        driver, so it cannot use a GPU  [driver-stub]\n      ";
    let found = |evidence: &str| format!("{gets}{evidence}");
    // cudarc searches all directories for `libcuda.so` before it tries `libcuda.so.1`.
    let found_first = found(
        "= help: remove `/cuda/lib64/stubs` from LD_LIBRARY_PATH; cuDNN 8, and cudarc before 0.13, also need a link: \
         `ln -s /driver/libcuda.so.1 /driver/libcuda.so`\n      \
         found via   LD_LIBRARY_PATH, its entry `/cuda/lib64/stubs`\n      \
         available   /driver/libcuda.so.1\n",
    );
    assert_eq!(stubs(&image, &["driver", "cuda/lib64/stubs"]), found_first);
    assert_eq!(
        stubs(&image, &["cuda/lib64/stubs"]),
        found(
            "= help: install NVIDIA's driver, and remove `/cuda/lib64/stubs` from LD_LIBRARY_PATH: a stub is only for \
             linking\n      found via   LD_LIBRARY_PATH, its entry `/cuda/lib64/stubs`\n"
        )
    );
    with_cudarc(&image, &["-Wl,-rpath,$ORIGIN/../cuda/lib64/stubs"]);
    assert_eq!(
        stubs(&image, &["driver"]),
        found(
            "= help: build the program without `/app/../cuda/lib64/stubs` in its rpath; cuDNN 8, and cudarc before 0.13, \
             also need a link: `ln -s /driver/libcuda.so.1 /driver/libcuda.so`\n      \
             found via   the program's RUNPATH, its entry `/app/../cuda/lib64/stubs`\n      \
             available   /driver/libcuda.so.1\n"
        )
        .replace("stub `/cuda", "stub `/app/../cuda")
    );
    // The driver's own link precedes the stub.
    symlink("libcuda.so.1", image.at("driver/libcuda.so")).unwrap();
    assert_eq!(stubs(&image, &["driver"]), "");
    with_cudarc(&image, &[]);
    assert_eq!(stubs(&image, &["driver", "cuda/lib64/stubs"]), "");
    let found = stubs(&image, &["cuda/lib64/stubs", "driver"]);
    let help = "      = help: remove `/cuda/lib64/stubs` from LD_LIBRARY_PATH";
    assert_eq!(found.lines().nth(1), Some(help));
    assert_eq!(stubs(&image, &["driver"]), "");
}

/// The record of a guard names cudarc. Without a guard, an error message of cudarc in the program does.
#[test]
fn a_stub_that_cudarc_opens_in_a_program_with_a_guard_is_reported() {
    let image = machine("stub-cudarc");
    let record = "guard 0.1.0\nrequirement >=8\nfrom 8.9.7\npolicy requirement\nloader ";
    let found = |loader: &str| {
        image.program(&[&format!("{record}{loader}\n")], &[]);
        stubs(&image, &["driver", "cuda/lib64/stubs"])
    };
    assert!(found("cudarc").contains("opens libcuda.so and gets the toolkit's stub"));
    // A program that does not open libcuda.so.
    assert_eq!(found("dlopen"), "");
}

/// A program that does not use CUDA, on a machine with the stubs in LD_LIBRARY_PATH.
#[test]
fn a_stub_that_the_program_does_not_open_is_only_reported_for_the_machine() {
    let image = machine("stub-unused");
    fs::copy(
        image.at("cuda/lib64/stubs/libcuda.so"),
        image.at("cuda/lib64/stubs/libcuda.so.1"),
    )
    .unwrap();
    image.compile("app/app", "void _start(void) {}", &[]);
    // The finding is about the driver of the machine only.
    let found = stubs(&image, &["cuda/lib64/stubs"]);
    let machine = "`/cuda/lib64/stubs/libcuda.so.1` is a link-time stub, not NVIDIA's driver";
    assert!(found.starts_with(machine), "{found}");
    let code = "const char *name(void) { return \"libcuda.so.1\"; } void _start(void) {}";
    image.compile("app/app", code, &[]);
    let found = stubs(&image, &["cuda/lib64/stubs"]);
    assert!(found.contains("opens libcuda.so.1 and gets"), "{found}");
}

/// In an image, the driver may be mounted over a file of the system, but not over one in the program's own directories.
#[test]
fn a_copied_stub_in_an_image_is_reported() {
    let image = machine("stub-copied");
    fs::create_dir(image.at("copied")).unwrap();
    let copy = image.at("copied/libcuda.so.1");
    fs::copy(image.at("cuda/lib64/stubs/libcuda.so"), copy).unwrap();
    let link = "IMAGE/driver/libcuda.so.580.65.06";
    image.program(&[], &[link, "-Wl,-rpath,/copied"]);
    image.flat(&[]).says(
        "[driver-stub] = help: install NVIDIA's driver, and build the program without `/copied` in its rpath: a stub is \
         only for linking found via ",
    );
    fs::create_dir_all(image.at("usr")).unwrap();
    fs::rename(image.at("copied"), image.at("usr/lib")).unwrap();
    image.flat(&[]).does_not_say("[driver-stub]");
}

/// <https://github.com/ahmetoner/whisper-asr-webservice/issues/205>: a container only gets `libcuda.so.1`, but cuDNN 8
/// opens `libcuda.so`. <https://github.com/THU-MIG/yolov10/issues/395>: WSL provides both in one directory.
#[test]
fn a_missing_plain_name_that_cudnn_8_opens_is_reported() {
    let image = machine("plain-names");
    let words = |text: &str| format!("const char *words(void) {{ return \"{text}\"; }}");
    let part = |name: &str, code: &str| {
        image.library(&format!("cudnn/libcudnn{name}.so.8"), code, &[]);
    };
    let version = "const unsigned char cudnn_ops_infer_version[4] = { 7, 9, 8, 0 };\n";
    let blas = words("libcublasLt.so.12");
    part("", "int cudnnGetVersion(void) { return 8907; }");
    part("_ops_infer", &format!("{version}{blas}"));
    part(
        "_cnn_infer",
        &words(r"libnvrtc.so.%d\0libnvrtc.so\0libcuda.so"),
    );
    for name in ["libcublas.so.12", "libcublasLt.so.12", "libnvrtc.so.12"] {
        image.library(&format!("cuda/lib64/{name}"), "int x;", &[]);
    }
    let library = "IMAGE/cudnn/libcudnn.so.8";
    let rpath = "-Wl,-rpath,$ORIGIN/../cudnn";
    image.compile(
        "app/app",
        "void _start(void) {}",
        &["-Wl,--no-as-needed", library, rpath],
    );
    let missing = |dirs: &[&str]| -> String {
        let dirs: Vec<_> = ["cuda/lib64", "cudnn"].iter().chain(dirs).collect();
        let dirs = dirs.iter().map(|dir| image.at(dir));
        let mut command = image.here();
        command.env("LD_LIBRARY_PATH", std::env::join_paths(dirs).unwrap());
        let ran = run(&mut command).exits_with(0);
        let findings = image.findings(&ran);
        let mut lines = findings.lines();
        let mut found = String::new();
        while let Some(line) = lines.next() {
            if line.ends_with("[library-not-found]") {
                found += &format!("{}\n{}\n", line.trim(), lines.next().unwrap().trim());
            }
        }
        found
    };
    let finding = |name: &str, file: &str| {
        format!(
            "! warning: `/cudnn/libcudnn_cnn_infer.so.8` opens {name}, which the loader cannot find  [library-not-found]\n\
             = help: create a link with that name: `ln -s /{file} /{}/{name}`\n",
            file.rsplit_once('/').unwrap().0
        )
    };
    let driver = finding("libcuda.so", "driver/libcuda.so.1");
    assert_eq!(missing(&["driver"]), driver);
    // Without a driver, a link would not help.
    assert_eq!(missing(&[]), "");
    // cuDNN 8.5 opens only the plain name.
    part("_cnn_infer", &words(r"libnvrtc.so\0libcuda.so"));
    let nvrtc = finding("libnvrtc.so", "cuda/lib64/libnvrtc.so.12");
    assert_eq!(missing(&["driver"]), nvrtc + &driver);
    // The stub is found under the plain name.
    let found = stubs(
        &image,
        &["driver", "cudnn", "cuda/lib64", "cuda/lib64/stubs"],
    );
    let start = "`/cudnn/libcudnn_cnn_infer.so.8` opens libcuda.so and gets the toolkit's stub";
    assert!(found.starts_with(start), "{found}");
    // Later versions open `libcuda.so.1` first.
    part("_cnn_infer", &words(r"libcuda.so.1"));
    assert_eq!(missing(&["driver"]), "");
}

/// NVIDIA-NeMo/labs-molt#44: an image contains a cuda-compat package that is older than the driver of the host. The
/// root can be that of a running container.
#[test]
fn a_driver_library_that_is_older_than_the_kernel_module_is_reported() {
    let image = machine("compat");
    let module = image.at("proc/driver/nvidia/version");
    fs::create_dir_all(module.parent().unwrap()).unwrap();
    let loaded = |release: &str| {
        let words = "NVRM version: NVIDIA UNIX x86_64 Kernel Module";
        fs::write(&module, format!("{words}  {release}  Sun May 12 2024\n")).unwrap();
    };
    loaded("580.65.06");
    let compat = image.at("usr/local/cuda/compat");
    let put = |release: &str| {
        let _ = fs::remove_dir_all(&compat);
        fs::create_dir_all(&compat).unwrap();
        let file = format!("libcuda.so.{release}");
        fs::copy(image.at("driver/libcuda.so.580.65.06"), compat.join(&file)).unwrap();
        symlink(file, compat.join("libcuda.so.1")).unwrap();
    };
    put("535.104.05");
    let program = |rpath: &str| {
        let library = "IMAGE/driver/libcuda.so.580.65.06";
        let rpath = format!("-Wl,-rpath,{rpath}");
        image.program(&[], &[library, &rpath]);
    };
    program("/usr/local/cuda/compat:/driver");
    let gets = "`/app/app` opens libcuda.so.1 and gets `/usr/local/cuda/compat/libcuda.so.1` 535.104.05, which is older than kernel module 580.65.06, so it cannot use a GPU [driver-error] = help: ";
    let place = "found via the program's RUNPATH, its entry `/usr/local/cuda/compat`";
    let remove = "build the program without `/usr/local/cuda/compat` in its rpath";
    let output = || {
        image
            .flat(&[])
            .stdout
            .replace(image.0.to_str().unwrap(), "")
    };
    #[track_caller]
    fn contains(output: &str, text: &str) {
        assert!(output.contains(text), "no {text:?} in\n{output}");
    }
    let is_silent = || assert!(!output().contains("[driver-error]"), "{}", output());
    let found = format!("{gets}{remove} {place} available /driver/libcuda.so.1");
    contains(&output(), &found);
    // Without the library of the host.
    program("/usr/local/cuda/compat");
    let install = "and install the libraries of NVIDIA's driver 580.65.06";
    contains(&output(), &format!("{gets}{remove}, {install} {place}"));
    // Follow the help.
    program("/driver");
    is_silent();
    program("/usr/local/cuda/compat:/driver");
    // A newer package may be valid, and a package of the same version is.
    for release in ["580.65.06", "580.126.16", "590.44.01"] {
        put(release);
        is_silent();
    }
    put("580.82.07");
    loaded("580.126.16");
    contains(
        &output(),
        "580.82.07, which is older than kernel module 580.126.16",
    );
    // Jetson kernel modules use another version scheme.
    fs::create_dir_all(image.at("dev")).unwrap();
    fs::write(image.at("dev/nvmap"), "").unwrap();
    is_silent();
    fs::remove_file(image.at("dev/nvmap")).unwrap();
    // An image without a kernel module.
    fs::remove_file(&module).unwrap();
    is_silent();
}
