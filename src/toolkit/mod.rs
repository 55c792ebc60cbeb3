//! Reads an installed toolkit from its files.

pub mod archives;
pub mod dependencies;
pub mod find_library;
pub mod missing_library;
pub mod nvcc;
pub mod nvcc_command;
pub mod nvcc_optimisation;
pub mod nvcc_output;
pub mod package_names;
pub mod version_file;

pub use find_library::shared_file;
pub use nvcc::NvccFault;
pub use nvcc_command::{
    NVCC_FLAGS, Plan, Product, all_flags, flags_of, include_dirs, parse_depfile,
};
pub use nvcc_optimisation::Optimisation;

use crate::model::text::version_header;
use crate::model::{Kind, Os, Platform, Toolkit};
use crate::runtime::binary::Elf;
use crate::runtime::facts::{LibraryName, Version};
use crate::search::{Tree, install_layout};
use crate::system::{Binary, Host, Sysroot, files};
use std::path::{Path, PathBuf};

/// Libraries with their own development package, and a header of each.
const HEADERS: [(&str, &str); 6] = [
    ("cublas", "cublas_v2.h"),
    ("cublasLt", "cublasLt.h"),
    ("cufft", "cufft.h"),
    ("curand", "curand.h"),
    ("cusolver", "cusolverDn.h"),
    ("cusparse", "cusparse.h"),
];

pub type Read = (Toolkit, Vec<PathBuf>);

/// Returns the toolkit in this directory, if the directory contains `cuda.h`, the compiler or the runtime library.
/// Subdirectories without their main file, such as `include` without `cuda.h`, are left out.
pub fn read_install(top: &Path, tree: &Tree, sysroot: Sysroot, host: &Host) -> Option<Read> {
    let platform = &host.platform;
    let mut include_dirs = existing(top, &tree.include, sysroot, platform);
    files::keep(&mut include_dirs, &|dir| {
        !dir.ends_with(install_layout::SHARED_INCLUDE)
            || sysroot.file(&dir.join("cuda.h")).is_some()
    });
    let nvcc = tree
        .nvcc
        .iter()
        .find_map(|nvcc| sysroot.file(&top.join(nvcc)))
        .filter(|nvcc| runs_on_builder(nvcc, host));
    let header = header(&include_dirs, sysroot);
    if header.is_none() {
        include_dirs.clear();
    }
    let mut link_dirs = existing(top, &tree.lib, sysroot, platform);
    // The architecture of the runtime library determines whether a directory is used.
    files::keep(&mut link_dirs, &|dir| {
        let cpu = runtime_in(dir, sysroot).and_then(|file| Elf::read(&file).ok()?.cpu());
        cpu.is_none_or(|cpu| cpu == platform.cpu)
    });
    let runtime = link_dirs.iter().find_map(|dir| runtime_in(dir, sysroot));
    if runtime.is_none() && platform.os == Os::Linux {
        link_dirs.clear();
    }
    if header.is_none() && nvcc.is_none() && runtime.is_none() {
        return None;
    }
    let found = match header {
        Some((Some(_), _)) => header,
        _ => own_version(top, sysroot).or(header),
    };
    let (version, version_file_path) = found.unzip();
    // 12.4 for `libcudart.so.12.4.127`. The SONAME `libcudart.so.12` is not sufficient.
    let from_name = || match LibraryName::of(&sysroot.canonical(runtime.as_deref()?))?.numbers[..] {
        [major, minor, _] => Some(Version::new(major, minor, 0)),
        _ => None,
    };
    let toolkit = Toolkit {
        root: top.to_path_buf(),
        version: version
            .flatten()
            .or_else(|| compiler_version(nvcc.as_deref(), sysroot, host))
            .or_else(from_name),
        stub_dirs: stubs(&link_dirs),
        include_dirs,
        link_dirs,
        nvcc,
        absent: Vec::new(),
    };
    let read = all_read(version_file_path, &toolkit);
    Some((toolkit, read))
}

/// Returns the toolkit around a compiler without running the compiler: `bin/nvcc` with `include/cuda.h` beside it. Nix,
/// Spack and others collect links to several packages in one directory. Their toolkit is beside the link.
pub fn containing(compiler: &Path, host: &Host) -> Option<Read> {
    let real = Sysroot { root: None }.canonical(compiler);
    let beside_link = || {
        let top = compiler.parent()?.parent()?;
        (top != Path::new("/usr")).then(|| beside(compiler, top, host))?
    };
    beside(&real, real.parent()?.parent()?, host).or_else(beside_link)
}

fn beside(compiler: &Path, top: &Path, host: &Host) -> Option<Read> {
    let platform = &host.platform;
    let sysroot = Sysroot { root: None };
    let tree = if top == Path::new("/usr") {
        install_layout::system(Kind::Toolkit, platform, top)
    } else {
        install_layout::toolkit(platform, top, "")
    };
    let is_inside = tree.nvcc.iter().any(|nvcc| top.join(nvcc) == compiler);
    if !is_inside || files::find_in(&files::below(top, &tree.include), "cuda.h").is_none() {
        return None;
    }
    read_install(top, &tree, sysroot, host).filter(|(toolkit, _)| !toolkit.link_dirs.is_empty())
}

/// Runs a compiler to find its toolkit.
pub fn from_nvcc(compiler: &Path, host: &Host) -> Result<Read, NvccFault> {
    let sysroot = Sysroot { root: None };
    let real = sysroot.canonical(compiler);
    let (compiler, mut layout) = match nvcc::layout(compiler, &host.answers) {
        Ok(layout) => (compiler, layout),
        // If nvcc is run through a link in another directory, it does not find its profile and cannot compile. A link
        // to another program, which ccache creates, does not point to an nvcc.
        Err(fault) if real.file_name() != compiler.file_name() || real == compiler => {
            return Err(fault);
        }
        Err(fault) => {
            let layout = nvcc::layout(&real, &host.answers);
            (&*real, layout.map_err(|_| fault)?)
        }
    };
    // Debian's compiler uses the system's headers without naming their directory.
    let mut include_dirs = layout.include_dirs;
    files::keep(&mut include_dirs, &files::is_dir);
    let mut found = header(&include_dirs, sysroot);
    if found.is_none() && include_dirs.is_empty() {
        found = header(&["/usr/include".into()], sysroot);
        if found.is_some() {
            layout.top = "/usr".into();
            include_dirs.push("/usr/include".into());
        }
    }
    let (version, version_file_path) = found.unzip();
    let mut link_dirs = layout.link_dirs;
    // A link may lead to the stubs.
    files::keep(&mut link_dirs, &|dir| {
        files::is_dir(dir) && !dir.ends_with("stubs")
    });
    let toolkit = Toolkit {
        root: layout.top,
        version: version
            .flatten()
            .or_else(|| compiler_version(Some(compiler), sysroot, host)),
        nvcc: Some(compiler.to_path_buf()),
        include_dirs,
        stub_dirs: stubs(&link_dirs),
        link_dirs,
        absent: Vec::new(),
    };
    let read = all_read(version_file_path, &toolkit);
    Ok((toolkit, read))
}

/// Returns the `cuda.h` in these directories, and the version in it.
fn header(dirs: &[PathBuf], sysroot: Sysroot) -> Option<(Option<Version>, PathBuf)> {
    let header = dirs
        .iter()
        .find_map(|dir| sysroot.file(&dir.join("cuda.h")))?;
    // `cuda.h` is a megabyte long, with the version in the first 20,000 bytes.
    let start = files::read_start(&header, 1 << 16).ok();
    let version = start.and_then(|text| version_header::cuda(&text));
    let in_rest = || version_header::cuda(&files::read(&header).ok()?);
    Some((version.or_else(in_rest), header))
}

/// Returns the libraries and headers that the toolkit is missing, out of these libraries and their headers.
pub fn absent(toolkit: &Toolkit, libs: &[String], platform: &Platform) -> Vec<String> {
    let is_in = |dirs: &[PathBuf], name: &str| files::find_in(dirs, name).is_some();
    let mut absent = Vec::new();
    for name in libs {
        let exists = shared_file(toolkit, name, platform).is_some()
            || is_in(&toolkit.stub_dirs, &format!("lib{name}.so"))
            || is_in(&toolkit.link_dirs, &format!("lib{name}_static.a"))
            || is_in(&toolkit.link_dirs, &format!("lib{name}.a"));
        if !exists {
            absent.push(name.clone());
        }
        for (library, header) in HEADERS {
            if library == name && !is_in(&toolkit.include_dirs, header) {
                absent.push(header.to_string());
            }
        }
    }
    absent
}

/// Returns the version in the toolkit's version file, for toolkits without headers, such as those for another CPU.
fn own_version(top: &Path, sysroot: Sysroot) -> Option<(Option<Version>, PathBuf)> {
    let read = |name, parse: fn(&str) -> Option<Version>| {
        let file = sysroot.file(&top.join(name))?;
        let start = files::read_start(&file, 1 << 16).ok()?;
        Some((Some(parse(&start)?), file))
    };
    read("version.json", version_file::json).or_else(|| read("version.txt", version_file::text))
}

/// Returns the files that were read: the file with the version (header, version file or compiler), nvcc.profile, and
/// the runtime library, whose file name contains the version.
fn all_read(version_file_path: Option<PathBuf>, toolkit: &Toolkit) -> Vec<PathBuf> {
    let mut read = Vec::new();
    if let Some(nvcc) = &toolkit.nvcc {
        read.push(nvcc.with_file_name("nvcc.profile"));
    }
    read.append(&mut files::join_each(&toolkit.link_dirs, "libcudart.so"));
    files::keep(&mut read, &files::is_file);
    if let Some(file) = version_file_path.or_else(|| toolkit.nvcc.clone()) {
        read.insert(0, file);
    }
    read
}

/// Returns `true` if a compiler can run on the build system. Scripts run on any CPU.
fn runs_on_builder(compiler: &Path, host: &Host) -> bool {
    let builder = host.builder();
    let cpu = || Binary::open(compiler, builder.os).ok()?.cpu();
    let is_same_os = (builder.os == Os::Windows) == (host.platform.os == Os::Windows);
    host.env.is_native(&host.platform) || is_same_os && cpu().is_none_or(|cpu| cpu == builder.cpu)
}

/// Returns the version that nvcc reports. Programs in an image are not run, because they may be for another CPU.
fn compiler_version(nvcc: Option<&Path>, sysroot: Sysroot, host: &Host) -> Option<Version> {
    match sysroot.root {
        Some(_) => None,
        None => nvcc::version(nvcc?, &host.answers).ok(),
    }
}

fn stubs(link_dirs: &[PathBuf]) -> Vec<PathBuf> {
    let mut stubs = files::join_each(link_dirs, "stubs");
    files::keep(&mut stubs, &files::is_dir);
    stubs
}

/// Returns a runtime library in this directory. The names are checked one by one, because listing a directory such as
/// `/usr/lib64` is slow.
fn runtime_in(dir: &Path, sysroot: Sysroot) -> Option<PathBuf> {
    let names = [
        "libcudart.so",
        "libcudart.so.13",
        "libcudart.so.12",
        "libcudart.so.11.0",
        "libcudart_static.a",
    ];
    names.iter().find_map(|name| sysroot.file(&dir.join(name)))
}

/// Joins a directory to the top, or to the top's link target if it starts with `..`. `#` is the top's own name.
fn joined(top: &Path, dir: &Path, sysroot: Sysroot) -> PathBuf {
    let mut path = if dir.starts_with("..") {
        sysroot.canonical(top)
    } else {
        top.to_path_buf()
    };
    for part in dir {
        if part == ".." {
            path.pop();
        } else if part == "#" {
            path.extend(top.file_name());
        } else {
            path.push(part);
        }
    }
    path
}

/// Returns the existing directories without duplicates: `include` is often a link to `targets/…/include`.
fn existing(top: &Path, dirs: &[PathBuf], sysroot: Sysroot, platform: &Platform) -> Vec<PathBuf> {
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for dir in dirs {
        let Some(dir) = sysroot.dir(&joined(top, dir, sysroot)) else {
            continue;
        };
        let real = sysroot.canonical(&dir);
        // `targets/sbsa-linux/lib` is for another CPU.
        let target = real.parent().unwrap_or(&real);
        let is_foreign = target.parent().is_some_and(|up| up.ends_with("targets"))
            && !(platform.toolkit_targets().iter()).any(|known| target.ends_with(known));
        if !seen.contains(&real) && !is_foreign {
            seen.push(real);
            found.push(dir);
        }
    }
    found
}
