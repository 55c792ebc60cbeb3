//! Links and a stub of the driver, which compilers and cuDNN expect but which NVIDIA's wheels do not contain.

use crate::Finding;
use crate::cli::fetch::fault;
use crate::cli::terminal::show_step;
use crate::model::text::pattern::pattern;
use crate::system::{files, on_path};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

/// Adds `libcudnn.so` for `libcudnn.so.9`, `lib64` for `lib`, and the stub to directories of wheels. Existing files stay.
pub fn add(nvidia: &Path, tmp: &Path) -> Result<(), Finding> {
    let dirs = files::list(nvidia).unwrap_or_default().into_iter();
    for dir in dirs.filter(|dir| dir.join("lib").is_dir()) {
        let lib = dir.join("lib");
        link("lib", &dir.join("lib64"))?;
        for name in files::names(&lib)? {
            let name = name.to_string_lossy();
            if let Some((stem, _)) = name.split_once(".so.") {
                link(&name, &lib.join(format!("{stem}.so")))?;
            }
        }
        if let Err(why) = add_stub(&dir, tmp) {
            show_step("i", "libcuda.so", format!("no stub to link against: {why}"));
        }
    }
    // Some versions of cuDNN, up to 9.14 for CUDA 13 and up to 9.1 before, search in directories that no wheel fills.
    for (dir, to) in [
        ("cublas", "cu13"),
        ("cuda_nvrtc", "cu13"),
        ("nvrtc", "cuda_nvrtc"),
    ] {
        // Only the directories of wheels have this link.
        if files::exists(&nvidia.join(to).join("lib64")) {
            let dir = nvidia.join(dir);
            fs::create_dir_all(&dir).map_err(fault::io("create", &dir))?;
            link(&format!("../{to}/lib"), &dir.join("lib"))?;
        }
    }
    Ok(())
}

fn link(to: &str, at: &Path) -> Result<(), Finding> {
    match files::exists(at) {
        true => Ok(()),
        false => files::link(Path::new(to), at),
    }
}

/// Compiles a `libcuda.so` to link with on machines without a driver, if the driver's header is in a directory. A program
/// that is linked with it loads the driver's own `libcuda.so.1`. Like those of NVIDIA's stub, its functions return
/// `CUDA_ERROR_STUB_LIBRARY`.
fn add_stub(dir: &Path, tmp: &Path) -> io::Result<()> {
    let header = |name| files::read(&dir.join("include").join(name)).unwrap_or_default();
    let headers = ["cuda.h", "cudaEGL.h", "cudaGL.h", "cudaVDPAU.h"].map(header);
    let (text, name) = (headers.concat(), pattern(r"\bcu[A-Z]\w*"));
    let names: BTreeSet<&str> = name.find_iter(&text).map(|it| it.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    // Declared in a header of a wheel that is not fetched.
    let names = names.into_iter().chain(["cuProfilerInitialize"]);
    let define = |name| format!("int {name}(void) {{ return 34; }}\n");
    let (source, library) = (tmp.join("stub.c"), tmp.join("libcuda.so"));
    fs::write(&source, names.map(define).collect::<String>())?;
    let cc = on_path("cc", &env::var_os("PATH").unwrap_or_default());
    let cc = cc.ok_or_else(|| io::Error::other("there is no `cc` on PATH"))?;
    let args = "-shared -fPIC -nostdlib -w -Wl,-soname,libcuda.so.1 -o";
    let mut command = Command::new(cc);
    command.args(args.split(' ')).args([&library, &source]);
    let status = command.status()?;
    if !status.success() {
        return Err(io::Error::other(format!("`cc` failed, {status}")));
    }
    fs::create_dir_all(dir.join("lib/stubs"))?;
    fs::rename(library, dir.join("lib/stubs/libcuda.so"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A made-up toolkit, and a program that is linked with the stub.
    #[test]
    fn a_program_links_and_finds_libraries_where_older_versions_search() {
        let name = format!("cudnn-guard-additions-{}", std::process::id());
        let nvidia = env::temp_dir().join(name);
        let cuda = nvidia.join("cu13");
        for (file, text) in [
            ("lib/libcublasLt.so.13", ""),
            ("lib/libnvrtc.so.13", ""),
            (
                "include/cuda.h",
                "#define cuMemAlloc                 cuMemAlloc_v2\n\
                 #define cuMemcpyHtoD      __CUDA_API_PTDS(cuMemcpyHtoD_v2)\n\
                 CUresult CUDAAPI cuInit(unsigned int Flags);\n\
                 CUresult CUDAAPI\ncuLinkDestroy(CUlinkState state);\n",
            ),
            (
                "main.c",
                "int cuInit(unsigned), cuMemAlloc_v2(void), cuMemcpyHtoD_v2(void), cuLinkDestroy(void);\n\
                 int main(void) { return cuInit(0) + cuMemAlloc_v2() + cuMemcpyHtoD_v2() + cuLinkDestroy(); }\n",
            ),
        ] {
            fs::create_dir_all(cuda.join(file).parent().unwrap()).unwrap();
            fs::write(cuda.join(file), text).unwrap();
        }
        add(&nvidia, &nvidia).unwrap();
        for file in [
            "cu13/lib64/libnvrtc.so",
            "cublas/lib/libcublasLt.so.13",
            "cuda_nvrtc/lib/libnvrtc.so.13",
        ] {
            assert!(nvidia.join(file).is_file(), "{file}");
        }
        assert!(!nvidia.join("nvrtc").exists());
        let status = Command::new("cc")
            .current_dir(&cuda)
            .args("main.c -Llib/stubs -lcuda -o main".split(' '))
            .status();
        assert!(status.unwrap().success());
        let program = fs::read(cuda.join("main")).unwrap();
        let contains = |name: &[u8]| program.windows(name.len()).any(|window| window == name);
        assert!(contains(b"\0libcuda.so.1\0"));
        fs::remove_dir_all(&nvidia).unwrap();
    }
}
