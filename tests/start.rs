//! Programs started on another machine than they were built on. `cudnn-guard inspect` reports functions and libraries
//! that are missing there, before the loader or the program fails. The driver is that of the simulator.
#![cfg(all(feature = "cli", target_os = "linux", target_env = "gnu"))]
#![allow(clippy::disallowed_methods)] // tests make files and run programs

mod support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::circumstances::installed;
use support::{Ran, fresh, program, run};

/// The simulator's driver, and a newer driver that differs by one additional function.
struct Machine(PathBuf);

impl Machine {
    fn new(name: &str) -> Self {
        let dir = fresh(&format!("start-{name}"));
        for folder in ["newer", "driver", "lib64"] {
            fs::create_dir(dir.join(folder)).unwrap();
        }
        let driver = installed((9, 14, 0)).join("driver/libcuda.so.1");
        fs::copy(driver, dir.join("driver/libcuda.so.1")).unwrap();
        let machine = Self(dir);
        machine.compile(
            "newer/libcuda.so.1",
            "int cuLogsCurrent(void *at, unsigned flags) { return at != 0 && flags; }",
            &["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"],
        );
        machine
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    fn compile(&self, path: &str, code: &str, flags: &[&str]) {
        let into = self.at(path);
        let source = into.with_extension("c");
        fs::write(&source, code).unwrap();
        let mut cc = Command::new("cc");
        cc.arg("-o").arg(&into).arg(&source).args(flags);
        run(&mut cc).exits_with(0);
    }

    /// Runs the program with this driver.
    fn started(&self, path: &str, driver: &str) -> Ran {
        run(program(self.at(path)).env("LD_LIBRARY_PATH", self.at(driver)))
    }

    /// Returns the exit code and the JSON findings of `inspect` with this driver. `$M` replaces the machine's
    /// directory.
    fn inspected(&self, path: &str, driver: &str) -> (Option<i32>, Vec<Value>) {
        let mut command = program(env!("CARGO_BIN_EXE_cudnn-guard"));
        command.arg("inspect").arg("--json").arg(self.at(path));
        // Variables of the guard cannot allow what the loader does not find.
        command.env("CUDNN_GUARD_ALLOW", "driver-too-old,library-not-found");
        let ran = run(command.env("LD_LIBRARY_PATH", self.at(driver)));
        let text = ran.stdout.replace(self.0.to_str().unwrap(), "$M");
        let json: Value = serde_json::from_str(&text).unwrap();
        (ran.code, json["findings"].as_array().unwrap().clone())
    }

    /// Returns the only finding of `inspect`, which exits with this code.
    #[track_caller]
    fn finding(&self, path: &str, driver: &str, exit: i32) -> Value {
        let (code, mut findings) = self.inspected(path, driver);
        assert_eq!((code, findings.len()), (Some(exit), 1), "{findings:?}");
        findings.remove(0)
    }

    /// Returns the finding about missing functions of the driver.
    fn too_old(&self, path: &str, driver: &str) -> Option<Value> {
        let (_, findings) = self.inspected(path, driver);
        findings
            .into_iter()
            .find(|one| one["id"] == "driver-too-old")
    }
}

fn newer(machine: &Machine) -> String {
    machine.at("newer/libcuda.so.1").display().to_string()
}

/// A program is linked against a function of a later driver.
#[test]
fn a_function_missing_from_an_older_driver_is_reported() {
    let machine = Machine::new("linked");
    let code = "int cuLogsCurrent(void *, unsigned); int cuInit(unsigned) __attribute__((weak));
        int main(int count, char **words) { (void)words; return count > 1 ? cuLogsCurrent(0, 0) : 0; }";
    machine.compile("app", code, &["-Wl,-z,now", &newer(&machine)]);
    machine.compile("lazy", code, &["-Wl,-z,lazy", &newer(&machine)]);
    machine.started("app", "newer").exits_with(0);
    machine
        .started("app", "driver")
        .exits_with(127)
        .says("undefined symbol: cuLogsCurrent");
    // With lazy binding, the program fails only when it calls the function.
    machine.started("lazy", "driver").exits_with(0);
    // A Rust program exports nothing, so its symbol hash table is empty.
    let rust = "unsafe extern \"C\" { fn cuLogsCurrent(a: *mut u8, b: u32) -> i32; }
        fn main() { if std::env::args().count() > 1 { unsafe { cuLogsCurrent(std::ptr::null_mut(), 0) }; } }";
    fs::write(machine.at("rust.rs"), rust).unwrap();
    run(Command::new("rustc")
        .args(["--edition", "2024", "-o"])
        .args([machine.at("rust"), machine.at("rust.rs")])
        .arg(format!(
            "-Clink-args=-Wl,--no-as-needed {}",
            newer(&machine)
        )))
    .exits_with(0);
    machine.started("rust", "newer").exits_with(0);
    for app in ["app", "lazy", "rust"] {
        let finding = machine.finding(app, "driver", 1);
        assert_eq!(finding["id"], "driver-too-old");
        assert_eq!(finding["severity"], "error");
        assert_eq!(
            finding["summary"],
            format!(
                "`$M/{app}` calls cuLogsCurrent, which the NVIDIA driver at `$M/driver/libcuda.so.1` does not contain"
            )
        );
        assert_eq!(
            finding["help"],
            serde_json::json!([
                "upgrade the NVIDIA driver",
                "build the program with the CUDA version that `nvidia-smi` shows"
            ])
        );
        assert_eq!(machine.inspected(app, "newer").0, Some(0), "{app}");
        assert_eq!(machine.too_old(app, "newer"), None);
    }
}

/// A library of the program calls the function. The program and another library export nothing.
#[test]
fn a_missing_function_that_a_library_calls_is_reported() {
    let machine = Machine::new("library");
    let shared = ["-shared", "-fPIC", "-Wl,--hash-style=gnu"];
    machine.compile("libempty.so", "static int nothing;", &shared);
    let code = "int cuLogsCurrent(void *, unsigned); int use(void) { return cuLogsCurrent(0, 0); }";
    let driver = newer(&machine);
    let flags = [&shared[..], &["-Wl,-z,now", &driver]].concat();
    machine.compile("libuser.so", code, &flags);
    let code = "int use(void); int main(int count, char **words) { (void)words; return count > 1 ? use() : 0; }";
    let here = format!("-Wl,--no-as-needed,-rpath,{}", machine.0.display());
    let libraries =
        ["libempty.so", "libuser.so"].map(|name| machine.at(name).display().to_string());
    let [empty, user] = &libraries;
    let flags = [
        "-Wl,--hash-style=gnu",
        "-Wl,--allow-shlib-undefined",
        &here,
        empty,
        user,
    ];
    machine.compile("app", code, &flags);
    machine.started("app", "newer").exits_with(0);
    machine.started("app", "driver").exits_with(127);
    let finding = machine.finding("app", "driver", 1);
    assert_eq!(finding["id"], "driver-too-old");
    let start =
        "`$M/libuser.so` calls cuLogsCurrent, which the NVIDIA driver at `$M/driver/libcuda.so.1`";
    assert!(
        finding["summary"].as_str().unwrap().starts_with(start),
        "{finding}"
    );
    assert_eq!(machine.inspected("app", "newer").0, Some(0));
    assert_eq!(machine.too_old("app", "newer"), None);
}

/// Another library exports the function, or the reference is weak.
#[test]
fn a_function_that_exists_elsewhere_or_is_optional_is_not_reported() {
    let machine = Machine::new("elsewhere");
    machine.compile(
        "libshim.so",
        "int cuLogsCurrent(void *at, unsigned flags) { return at != 0 && flags; }",
        &["-shared", "-fPIC", "-Wl,-soname,libshim.so"],
    );
    let shim = machine.at("libshim.so").display().to_string();
    let here = format!("-Wl,-rpath,{}", machine.0.display());
    let call = "int main(int count, char **words) { (void)words; return count > 1 ? cuLogsCurrent(0, 0) : 0; }";
    let strong = format!("int cuLogsCurrent(void *, unsigned); {call}");
    let all = ["-Wl,--no-as-needed,-z,now", &newer(&machine), &shim, &here];
    machine.compile("strong", &strong, &all);
    let weak = format!("int cuLogsCurrent(void *, unsigned) __attribute__((weak)); {call}");
    machine.compile("weak", &weak, &all[..2]);
    for app in ["strong", "weak"] {
        machine.started(app, "driver").exits_with(0);
        let (code, findings) = machine.inspected(app, "driver");
        assert_eq!((code, &findings[..]), (Some(0), &[][..]));
    }
}

/// cudarc 0.15 to 0.18 looks functions up without being linked to a driver.
#[test]
fn a_cudarc_that_looks_up_functions_of_a_newer_driver_is_reported() {
    let machine = Machine::new("cudarc");
    let code = |panics: &str| {
        format!(
            "const char *names[] = {{ \"cuInit\", \"cuLogsCurrent\", \"{panics}\" }};
            int main(int count, char **words) {{ return names[count] == words[0]; }}"
        )
    };
    machine.compile("eager", &code("Expected symbol in library"), &[]);
    machine.compile("lazy", &code("Missing symbol"), &[]);
    // The program may never use the driver.
    let finding = machine.finding("eager", "driver", 0);
    assert_eq!(finding["id"], "driver-too-old");
    assert_eq!(finding["severity"], "warning");
    assert_eq!(
        finding["summary"],
        "the cudarc in `$M/eager` will panic when it first uses the driver: it looks up cuLogsCurrent, which is missing from `$M/driver/libcuda.so.1`"
    );
    assert_eq!(finding["evidence"]["built for"], "CUDA 12.9");
    for (app, driver) in [("eager", "newer"), ("lazy", "driver")] {
        assert_eq!(machine.too_old(app, driver), None, "{app} {driver}");
    }
}

/// The program was linked with libcudart of one CUDA version, but an older libcudart or that of another CUDA
/// version is installed.
#[test]
fn an_incompatible_or_missing_libcudart_is_reported() {
    let machine = Machine::new("cudart");
    let make = |major: u32, functions: &str| {
        let name = format!("libcudart.so.{major}");
        let own = format!("-Wl,-soname,{name}");
        machine.compile(
            &format!("lib64/{name}"),
            functions,
            &["-shared", "-fPIC", &own],
        );
        machine.at("lib64").join(name)
    };
    let old = "int cudaMalloc(void) { return 0; }";
    let cudart = make(
        12,
        &format!("{old} int cudaLogsCurrent(void) {{ return 0; }}"),
    );
    machine.compile(
        "app",
        "int cudaMalloc(void); int cudaLogsCurrent(void); int main(void) { return cudaMalloc() + cudaLogsCurrent(); }",
        &["-Wl,-z,now", cudart.to_str().unwrap()],
    );
    machine.started("app", "lib64").exits_with(0);
    make(12, old);
    machine.started("app", "lib64").exits_with(127);
    let only_error = |path: &Path| {
        let (code, mut findings) = machine.inspected("app", path.to_str().unwrap());
        assert_eq!(code, Some(1), "{findings:?}");
        findings.retain(|one| one["severity"] == "error");
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0]["id"], "library-not-found");
        findings.remove(0)
    };
    let finding = only_error(Path::new("lib64"));
    assert_eq!(
        finding["summary"],
        "`$M/app` calls cudaLogsCurrent, which `$M/lib64/libcudart.so.12` does not contain"
    );
    assert_eq!(
        finding["help"][0],
        "add the directory of the libcudart that the program was linked with to LD_LIBRARY_PATH, or install that version"
    );
    fs::remove_file(machine.at("lib64/libcudart.so.12")).unwrap();
    make(13, old);
    machine
        .started("app", "lib64")
        .exits_with(127)
        .says("libcudart.so.12: cannot open shared object file");
    let finding = only_error(Path::new("lib64"));
    assert_eq!(
        finding["summary"],
        "`$M/app` needs libcudart.so.12, which the loader cannot find"
    );
    assert_eq!(
        finding["help"][0],
        "install the libraries of CUDA 12, which the driver does not include, or add their directory to LD_LIBRARY_PATH"
    );
}

/// Returns the directory of a set of `.ci/wheels.py` or `.ci/debian`.
fn real(set: &str) -> PathBuf {
    let folder = std::env::var_os("CUDNN_GUARD_REAL")
        .expect("set CUDNN_GUARD_REAL to the directory of .ci/wheels.py");
    PathBuf::from(folder).join(set)
}

/// NVIDIA's own driver for CUDA 12.2 has the functions of versions up to 12.2, and none of the later ones.
#[test]
#[ignore = "needs real NVIDIA files: CUDNN_GUARD_REAL"]
fn a_real_driver_is_missing_only_later_functions() {
    let machine = Machine::new("real");
    let code = "const char *names[] = { \"cuGraphNodeGetEnabled\", \"cuModuleGetLoadingMode\", \"cuLaunchKernelEx\",
        \"cuCtxGetId\", \"cuCoredumpGetAttribute\", \"cuGraphAddNode\", \"cuFuncGetName\", \"cuCtxFromGreenCtx\",
        \"cuCtxRecordEvent\", \"cuMemcpyBatchAsync\", \"cuLogsCurrent\", \"cuGreenCtxGetId\", \"cuGraphGetId\",
        \"Expected symbol in library\" };
        int cudaMalloc(void **, unsigned long) __attribute__((weak));
        int main(int count, char **words) { return names[count] == words[0] && cudaMalloc(0, 0); }";
    machine.compile("eager", code, &["-Wl,--unresolved-symbols=ignore-all"]);
    let driver = real("debian/usr/lib/x86_64-linux-gnu/nvidia/current");
    let too_old = |app: &str| machine.too_old(app, driver.to_str().unwrap());
    let finding = too_old("eager").unwrap();
    let summary = finding["summary"].as_str().unwrap();
    assert!(
        summary.contains(" looks up cuCtxFromGreenCtx, which "),
        "{summary}"
    );
    assert_eq!(
        finding["evidence"]["also"],
        "cuCtxRecordEvent\ncuFuncGetName\ncuGraphGetId\ncuGreenCtxGetId\ncuLogsCurrent\ncuMemcpyBatchAsync"
    );
    // The CUDA runtime looks up the same names, and works without them.
    let runtime = real("cuda-cu13/nvidia/cu13/lib/libcudart_static.a");
    let code = code.replace("__attribute__((weak))", "");
    let all = [runtime.to_str().unwrap(), "-lpthread", "-ldl", "-lrt"];
    machine.compile("runtime", &code, &all);
    assert_eq!(too_old("runtime"), None);
}
