//! A `libcuda.so` to link with on machines without a driver. NVIDIA's installers contain one, but its wheels do not.

use crate::model::text::pattern::pattern;
use crate::system::files;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The return value of all functions in NVIDIA's own stub: `CUDA_ERROR_STUB_LIBRARY`.
const ANSWER: u32 = 34;
/// The headers in the toolkit's wheels that declare the driver's functions.
const HEADERS: [&str; 4] = ["cuda.h", "cudaEGL.h", "cudaGL.h", "cudaVDPAU.h"];
/// Functions from a header of a wheel that is not fetched.
const PROFILER: [&str; 3] = ["cuProfilerInitialize", "cuProfilerStart", "cuProfilerStop"];

/// Creates `lib/stubs/libcuda.so` from the functions in the headers, with the C compiler that Rust links with. A
/// directory without the headers or with a stub is left unchanged. Returns the stub, or the reason for messages.
pub fn add(dir: &Path) -> Option<Result<PathBuf, String>> {
    let stub = dir.join("lib/stubs/libcuda.so");
    if !cfg!(unix) || stub.exists() {
        return None;
    }
    let read = |name: &&str| files::read_to_string(&dir.join("include").join(name)).ok();
    let headers: Vec<String> = HEADERS.iter().filter_map(read).collect();
    if headers.is_empty() {
        return None;
    }
    let source: String = functions(&headers.concat())
        .iter()
        .map(|name| format!("int {name}(void) {{ return {ANSWER}; }}\n"))
        .collect();
    Some(compile(&source, &stub).map(|()| stub))
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
fn compile(source: &str, stub: &Path) -> Result<(), String> {
    if let Some(dir) = stub.parent() {
        fs::create_dir_all(dir).map_err(|error| error.to_string())?;
    }
    let mut child = Command::new("cc")
        .args(["-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libcuda.so.1"])
        .args(["-w", "-x", "c", "-", "-o"])
        .arg(stub)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot run `cc`: {error}"))?;
    let written = child
        .stdin
        .take()
        .map(|mut pipe| pipe.write_all(source.as_bytes()));
    let status = child.wait().map_err(|error| error.to_string())?;
    match written {
        Some(Ok(())) if status.success() => Ok(()),
        _ => Err(format!("`cc` failed, {status}")),
    }
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
        assert!(matches!(add(&dir), Some(Ok(_))));
        assert_eq!(add(&dir), None);
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
