//! A `libcuda.so` to link with on machines without a driver. NVIDIA's installers contain one, but its wheels do not.

use crate::model::text::pattern::pattern;
use crate::system::files;
use crate::system::programs::on_path;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The return value of all functions in NVIDIA's own stub: `CUDA_ERROR_STUB_LIBRARY`.
const ANSWER: u32 = 34;
/// The headers in the toolkit's wheels that declare the driver's functions.
const HEADERS: [&str; 4] = ["cuda.h", "cudaEGL.h", "cudaGL.h", "cudaVDPAU.h"];
/// Functions from a header of a wheel that is not fetched.
const PROFILER: [&str; 3] = ["cuProfilerInitialize", "cuProfilerStart", "cuProfilerStop"];

/// Creates the stub from the functions in the headers, with the C compiler that Rust links with. A directory without the
/// headers is left unchanged. Returns the reason for messages if there is no stub.
pub fn add(dir: &Path, tmp: &Path) -> Option<Result<(), String>> {
    let read = |name: &&str| files::read_to_string(&dir.join("include").join(name)).ok();
    let headers: Vec<String> = HEADERS.iter().filter_map(read).collect();
    let is_possible = cfg!(unix) && !headers.is_empty();
    is_possible.then(|| compile(&functions(&headers.concat()), &dir.join("lib/stubs"), tmp))
}

/// Returns the functions of the driver: the declared ones, and the targets of `#define`.
fn functions(header: &str) -> BTreeSet<&str> {
    let names = "(?m)CUDAAPI[ \n]*(cu[A-Z][A-Za-z0-9_]*)|\
                 ^#define cu[^ \n]* +(?:[A-Za-z0-9_]+\\()?(cu[A-Z][A-Za-z0-9_]*)";
    let names = pattern(names);
    let found = names.captures_iter(header);
    let names = found.filter_map(|found| found.get(1).or(found.get(2)));
    names.map(|name| name.as_str()).chain(PROFILER).collect()
}

/// Compiles the stub. A program linked with it loads the driver's own `libcuda.so.1`.
fn compile(functions: &BTreeSet<&str>, stubs: &Path, tmp: &Path) -> Result<(), String> {
    let (source, library) = (tmp.join("stub.c"), tmp.join("libcuda.so"));
    let define = |name: &&str| format!("int {name}(void) {{ return {ANSWER}; }}\n");
    let text: String = functions.iter().map(define).collect();
    fs::write(&source, text).map_err(|error| error.to_string())?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cc = on_path("cc", &path).ok_or("there is no `cc` on PATH")?;
    let output = Command::new(cc)
        .args(["-shared", "-fPIC", "-nostdlib", "-w"])
        .args(["-Wl,-soname,libcuda.so.1", "-o"])
        .args([&library, &source])
        .output()
        .map_err(|error| format!("cannot run `cc`: {error}"))?;
    if !output.status.success() {
        return Err(format!("`cc` failed, {}", output.status));
    }
    let moved = fs::create_dir_all(stubs);
    let moved = moved.and_then(|()| fs::rename(&library, stubs.join("libcuda.so")));
    moved.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_the_targets_of_macros_are_read() {
        let header = "#define cuMemAlloc                 cuMemAlloc_v2\n\
             #define cuMemcpyHtoD      __CUDA_API_PTDS(cuMemcpyHtoD_v2)\n\
             #define cudaThing 1\n#define CUDAAPI __stdcall\n\
             typedef void (CUDA_CB *CUhostFn)(void *userData);\n\
             CUresult CUDAAPI cuInit(unsigned int Flags);\n\
             CUresult CUDAAPI\ncuLinkDestroy(CUlinkState state);\n\
             __CUDA_DEPRECATED CUresult CUDAAPI cuLaunch(CUfunction f);\n\
             CUresult CUDAAPI cuMemAlloc(CUdeviceptr *dptr, size_t bytesize);\n";
        assert_eq!(
            functions(header).into_iter().collect::<Vec<_>>(),
            [
                "cuInit",
                "cuLaunch",
                "cuLinkDestroy",
                "cuMemAlloc",
                "cuMemAlloc_v2",
                "cuMemcpyHtoD_v2",
                "cuProfilerInitialize",
                "cuProfilerStart",
                "cuProfilerStop",
            ]
        );
    }

    /// A program that is linked with the stub requests the driver's own library.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_links_with_the_stub() {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-stub-{}", std::process::id()));
        fs::create_dir_all(dir.join("include")).expect("a folder");
        let header = "CUresult CUDAAPI cuInit(unsigned int Flags);\n";
        fs::write(dir.join("include/cuda.h"), header).expect("a header");
        fs::write(
            dir.join("main.c"),
            "int cuInit(unsigned); int main(void) { return cuInit(0); }\n",
        )
        .expect("a program");
        assert_eq!(add(&dir, &dir), Some(Ok(())));
        let status = Command::new("cc")
            .arg(dir.join("main.c"))
            .arg("-L")
            .arg(dir.join("lib/stubs"))
            .args(["-lcuda", "-o"])
            .arg(dir.join("main"))
            .status()
            .expect("cc runs");
        assert!(status.success());
        let program = fs::read(dir.join("main")).expect("the program");
        let contains = |name: &[u8]| program.windows(name.len()).any(|window| window == name);
        assert!(contains(b"\0libcuda.so.1\0"));
        fs::remove_dir_all(&dir).expect("room again");
    }
}
