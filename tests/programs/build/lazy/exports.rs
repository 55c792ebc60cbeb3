//! Libraries with as many functions as CUDA's, each called through `Link::Lazy`.

use crate::support::builds::{toolkit, write};
use crate::support::{Ran, cargo, fresh, project, run};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const LIBRARIES: [&str; 5] = ["cublas", "cuda", "cudart", "cudnn", "cusolver"];
/// The largest library, cuSOLVER, has about this number of functions.
const FUNCTIONS: u32 = 1000;
/// The number of all functions.
pub const COUNT: u32 = FUNCTIONS * LIBRARIES.len() as u32;

/// Compiles a library for each of CUDA's, in which every function returns its own number, and a program that calls all of
/// them. Returns the output of the program.
pub fn call_all(triple: &str, c_compiler: &str, start: impl Fn(&Path) -> Ran) -> Ran {
    let cuda = fresh(&format!("lazy-exports-{triple}"));
    toolkit(&cuda, 13000, false);
    let lib = cuda.join("lib64");
    // With the static one, cudart needs no forwarding.
    std::fs::remove_file(lib.join("libcudart_static.a")).unwrap();
    let compile = |file: &Path, source: &str, arguments: &[&str]| {
        let code = file.with_extension("c");
        write(&code, source);
        let mut compiler = Command::new(c_compiler);
        compiler
            .args(["-O1", "-w", "-fno-builtin", "-fPIC", "-o"])
            .arg(file);
        run(compiler.args(arguments).arg(&code)).exits_with(0);
    };
    let (mut declarations, mut calls) = (String::new(), String::new());
    let mut count = 0;
    for name in LIBRARIES {
        let mut library = String::new();
        for number in 0..FUNCTIONS {
            let function = format!("{name}Function{number}");
            count += 1;
            writeln!(
                library,
                "int {function}(int more) {{ return {count} + more; }}"
            )
            .unwrap();
            writeln!(declarations, "int {function}(int);").unwrap();
            writeln!(calls, "    failed += {function}(7) != {count} + 7;").unwrap();
        }
        let soname = format!("-Wl,-soname,lib{name}.so.1");
        compile(
            &lib.join(format!("lib{name}.so")),
            &library,
            &["-shared", &soname],
        );
        std::fs::rename(
            lib.join(format!("lib{name}.so")),
            lib.join(format!("lib{name}.so.1")),
        )
        .unwrap();
        std::os::unix::fs::symlink(format!("lib{name}.so.1"), lib.join(format!("lib{name}.so")))
            .unwrap();
    }
    let code = fresh(&format!("lazy-exports-code-{triple}"));
    let caller = format!(
        "{declarations}int call_all(void) {{\n    int failed = 0;\n{calls}    return failed;\n}}\n"
    );
    compile(&code.join("caller.o"), &caller, &["-c"]);
    run(Command::new("ar")
        .arg("rcs")
        .arg(code.join("libcaller.a"))
        .arg(code.join("caller.o")))
    .exits_with(0);
    let script = format!(
        "fn main() {{\n    println!(\"cargo::rustc-link-search=native={}\");\n    \
         println!(\"cargo::rustc-link-lib=static=caller\");\n    cudnn_guard::build(|| {{\n        \
         let config = cudnn_guard::Config::new().cuda(\">=13\").libs({LIBRARIES:?});\n        \
         config.link(cudnn_guard::Link::Lazy).probe()?.link();\n        Ok(())\n    }});\n}}\n",
        code.display()
    );
    let main = format!(
        "use cudnn_guard as _;\nunsafe extern \"C\" {{ fn call_all() -> i32; }}\n\
         fn main() {{ println!(\"{{}} of {count} failed\", unsafe {{ call_all() + call_all() }}); }}\n"
    );
    let name = format!("lazy-exports-{}", triple.split('-').next().unwrap());
    let dir = project(&name, &script, &main);
    let target = crate::support::target();
    let mut command = cargo(&dir, &["build", "--target", triple]);
    command.env("CUDA_HOME", &cuda).env("CUDA_PATH", &cuda);
    command.env(
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
        "aarch64-linux-gnu-gcc",
    );
    run(&mut command).exits_with(0);
    start(&target.join(triple).join("debug").join(name))
}

#[test]
#[cfg(target_arch = "x86_64")]
fn every_function_is_called_through() {
    let ran = call_all("x86_64-unknown-linux-gnu", "cc", |program| {
        run(&mut Command::new(program))
    });
    assert_eq!(ran.exits_with(0).stdout, format!("0 of {COUNT} failed\n"));
}
