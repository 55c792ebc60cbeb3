//! Programs with libtorch: the linker drops its CUDA library, because they call none of its functions.

use super::image::Image;
use std::fs;

const CPU: &str = "IMAGE/opt/torch/libtorch_cpu.so";
const CUDA: &str = "IMAGE/opt/torch/libtorch_cuda.so";

fn image(name: &str) -> Image {
    let image = Image::new(name);
    image.library("opt/torch/libtorch_cpu.so", "int cpu;", &[]);
    image.library("opt/torch/libtorch_cuda.so", "int cuda;", &[]);
    image
}

fn program(image: &Image, libraries: &[&str]) {
    let rpath = "-Wl,-rpath,/opt/torch";
    image.program(&[], &[libraries, &[rpath]].concat());
}

/// LaurentMazare/tch-rs#980.
#[test]
fn a_program_without_the_cuda_library_of_libtorch_is_reported() {
    let image = image("torch");
    program(
        &image,
        &["-Wl,--as-needed", CUDA, "-Wl,--no-as-needed", CPU],
    );
    let wanted = "  ! warning: `/app/app` does not load libtorch_cuda.so, so libtorch computes on the CPU  [not-loaded-yet]\n      \
        = help: add `println!(\"cargo::rustc-link-arg=-Wl,--no-as-needed,-ltorch_cuda,--as-needed\");` to the program's build.rs\n      \
        available   /opt/torch/libtorch_cuda.so\n      \
        reason      linkers omit unused libraries\n";
    let output = image.findings(&image.inspect(&[]).exits_with(0));
    assert!(output.contains(wanted), "{output}");
    let verdict = "\nverdict: unknown (the program does not use the GPU; ";
    assert!(output.contains(verdict), "{output}");
    // Follow the help.
    let flags = "-Wl,--no-as-needed,-ltorch_cuda,--as-needed";
    program(&image, &["-LIMAGE/opt/torch", CPU, flags]);
    let output = image.inspect(&[]).stdout;
    assert!(!output.contains("not-loaded-yet"), "{output}");
}

#[test]
fn complete_libtorch_setups_are_not_reported() {
    let silent = |image: &Image| {
        let output = image.inspect(&[]).stdout;
        assert!(!output.contains("not-loaded-yet"), "{output}");
    };
    // The umbrella library of libtorch loads both.
    let image = image("torch-sound");
    let both = ["-Wl,--no-as-needed", CPU, CUDA];
    image.library("opt/torch/libtorch.so", "int nothing;", &both);
    program(&image, &["IMAGE/opt/torch/libtorch.so"]);
    silent(&image);
    // A program that opens the CUDA library itself.
    let code = "const char name[] = \"libtorch_cuda.so\"; void _start(void) {}\n";
    let flags = ["-Wl,--no-as-needed", CPU, "-Wl,-rpath,/opt/torch"];
    image.compile("app/app", code, &flags);
    silent(&image);
    // A library of the program that opens the CUDA library.
    let opener = "const char name[] = \"libtorch_cuda.so\";";
    image.library("opt/own/libopener.so", opener, &[]);
    let own = ["IMAGE/opt/own/libopener.so", "-Wl,-rpath,/opt/own"];
    let code = "void _start(void) {}\n";
    image.compile("app/app", code, &[&flags[..], &own[..]].concat());
    silent(&image);
    // A Python extension module: Python loads all of libtorch.
    image.compile(
        "app/app",
        "int nothing;",
        &[&flags[..], &["-shared"]].concat(),
    );
    silent(&image);
    // A libtorch for the CPU.
    fs::remove_file(image.at("opt/torch/libtorch_cuda.so")).unwrap();
    program(&image, &[CPU]);
    silent(&image);
}
