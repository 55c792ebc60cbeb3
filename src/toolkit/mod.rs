//! Reads what a toolkit's directory says of it.

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

use crate::model::candidate::Toolkit;
use crate::model::platform::{Os, Platform};
use crate::model::text::version_header;
use crate::runtime::binary::elf::Elf;
use crate::runtime::facts::library_name::LibraryName;
use crate::runtime::facts::version::Version;
use crate::search::install_layout;
use crate::search::search_step::{Kind, Tree};
use crate::system::sysroot::Sysroot;
use crate::system::{Host, files};
use crate::toolkit::find_library::shared_file;
use crate::toolkit::nvcc::NvccFault;
use std::path::{Path, PathBuf};

/// Libraries that have a development package of their own, and a header of each.
const HEADERS: [(&str, &str); 6] = [
    ("cublas", "cublas_v2.h"),
    ("cublasLt", "cublasLt.h"),
    ("cufft", "cufft.h"),
    ("curand", "curand.h"),
    ("cusolver", "cusolverDn.h"),
    ("cusparse", "cusparse.h"),
];

/// A toolkit, and the files that were read to know it.
pub type Read = (Toolkit, Vec<PathBuf>);

/// The toolkit in this directory: there is one if `cuda.h`, the compiler or the runtime library lies there. Of what is
/// not there, it has no directories: `include` without `cuda.h` is none.
pub fn read_install(top: &Path, tree: &Tree, sysroot: Sysroot, host: &Host) -> Option<Read> {
    let platform = &host.platform;
    let mut include_dirs = existing(top, &tree.include, sysroot, platform);
    include_dirs.retain(|dir| {
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
    // Where a runtime lies beside the rest, it tells what processor the directory is for.
    link_dirs.retain(|dir| {
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
    let (version, mut told_by) = header.unzip();
    let mut version = version.flatten();
    let own = version.is_none().then(|| own_version(top, sysroot));
    if let Some((own, file)) = own.flatten() {
        (version, told_by) = (Some(own), Some(file));
    }
    let named = || release_in_name(&sysroot.canonical(runtime.as_deref()?));
    let toolkit = Toolkit {
        root: top.to_path_buf(),
        version: version
            .or_else(|| compiler_version(nvcc.as_deref(), sysroot, host))
            .or_else(named),
        stub_dirs: stubs(&link_dirs),
        include_dirs,
        link_dirs,
        nvcc,
        absent: Vec::new(),
    };
    let read = all_read(told_by, &toolkit);
    Some((toolkit, read))
}

/// The toolkit that a compiler stands in, where that shows without running it: `bin/nvcc` with `include/cuda.h` beside.
/// Nix, Spack and their like gather links to several packages in one directory: there it is beside the link.
pub fn containing(compiler: &Path, host: &Host) -> Option<Read> {
    let real = Sysroot { root: None }.canonical(compiler);
    let gathered = || {
        let top = compiler.parent()?.parent()?;
        (top != Path::new("/usr")).then(|| beside(compiler, top, host))?
    };
    beside(&real, real.parent()?.parent()?, host).or_else(gathered)
}

fn beside(compiler: &Path, top: &Path, host: &Host) -> Option<Read> {
    let platform = &host.platform;
    let sysroot = Sysroot { root: None };
    let tree = if top == Path::new("/usr") {
        install_layout::system(Kind::Toolkit, platform, top)
    } else {
        install_layout::toolkit(platform, top, "")
    };
    let has_header = |dir| files::is_file(&top.join(dir).join("cuda.h"));
    let stands = tree.nvcc.iter().any(|nvcc| top.join(nvcc) == compiler);
    if !stands || !tree.include.iter().any(has_header) {
        return None;
    }
    read_install(top, &tree, sysroot, host).filter(|(toolkit, _)| !toolkit.link_dirs.is_empty())
}

/// The toolkit that a compiler says is its own.
pub fn from_nvcc(compiler: &Path, host: &Host) -> Result<Read, NvccFault> {
    let sysroot = Sysroot { root: None };
    let real = sysroot.canonical(compiler);
    let (compiler, mut layout) = match nvcc::layout(compiler, &host.answers) {
        Ok(layout) => (compiler, layout),
        // Called by a link from elsewhere, nvcc does not find the profile beside it, and could compile nothing. A link
        // to another program, as ccache has them, leads to no nvcc.
        Err(fault) if real.file_name() != compiler.file_name() || real == compiler => {
            return Err(fault);
        }
        Err(fault) => {
            let layout = nvcc::layout(&real, &host.answers);
            (&*real, layout.map_err(|_| fault)?)
        }
    };
    // Debian's compiler takes the headers from the system without naming their directory.
    let mut include_dirs = layout.include_dirs;
    include_dirs.retain(|dir| files::is_dir(dir));
    let mut found = header(&include_dirs, sysroot);
    if found.is_none() && include_dirs.is_empty() {
        found = header(&["/usr/include".into()], sysroot);
        if found.is_some() {
            layout.top = "/usr".into();
            include_dirs.push("/usr/include".into());
        }
    }
    let (version, told_by) = found.unzip();
    let mut link_dirs = layout.link_dirs;
    link_dirs.retain(|dir| files::is_dir(dir) && !dir.ends_with("stubs"));
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
    let read = all_read(told_by, &toolkit);
    Ok((toolkit, read))
}

/// Returns the `cuda.h` in these directories, and the version in it.
fn header(dirs: &[PathBuf], sysroot: Sysroot) -> Option<(Option<Version>, PathBuf)> {
    let mut headers = dirs.iter().map(|dir| dir.join("cuda.h"));
    let header = headers.find_map(|header| sysroot.file(&header))?;
    // `cuda.h` has a megabyte, and says its release in the first twenty thousand bytes.
    let start = files::read_start(&header, 1 << 16).ok();
    let version = start.and_then(|text| version_header::cuda(&text));
    let whole = || version_header::cuda(&files::read(&header).ok()?);
    Some((version.or_else(whole), header))
}

/// What of these libraries a toolkit does not have: their files, and the headers that they are used by.
pub fn absent(toolkit: &Toolkit, libs: &[String], platform: &Platform) -> Vec<String> {
    let is_in = |dirs: &[PathBuf], files: &[String]| {
        let mut all = dirs
            .iter()
            .flat_map(|dir| files.iter().map(move |file| dir.join(file)));
        all.any(|path| files::is_file(&path))
    };
    let mut absent = Vec::new();
    for name in libs {
        let archives = [format!("lib{name}_static.a"), format!("lib{name}.a")];
        let is_there = shared_file(toolkit, name, platform).is_some()
            || is_in(&toolkit.stub_dirs, &[format!("lib{name}.so")])
            || is_in(&toolkit.link_dirs, &archives);
        if !is_there {
            absent.push(name.clone());
        }
        let header = HEADERS.iter().find(|(library, _)| library == name);
        let header = header.map(|(_, header)| header.to_string());
        absent.extend(
            header.filter(|header| !is_in(&toolkit.include_dirs, std::slice::from_ref(header))),
        );
    }
    absent
}

/// What the toolkit's own file says of its release: where no header does, as in what is for another processor alone.
fn own_version(top: &Path, sysroot: Sysroot) -> Option<(Version, PathBuf)> {
    let told = |name, parse: fn(&str) -> Option<Version>| {
        let file = sysroot.file(&top.join(name))?;
        let start = files::read_start(&file, 1 << 16).ok()?;
        Some((parse(&start)?, file))
    };
    told("version.json", version_file::json).or_else(|| told("version.txt", version_file::text))
}

/// The file that told the release: the header, else that of the toolkit itself, else the compiler. With it the runtime, whose file is named after its
/// release.
fn all_read(told_by: Option<PathBuf>, toolkit: &Toolkit) -> Vec<PathBuf> {
    let mut read = Vec::new();
    if let Some(nvcc) = &toolkit.nvcc {
        read.push(nvcc.with_file_name("nvcc.profile"));
    }
    for dir in &toolkit.link_dirs {
        read.push(dir.join("libcudart.so"));
    }
    read.retain(|path| files::is_file(path));
    if let Some(file) = told_by.or_else(|| toolkit.nvcc.clone()) {
        read.insert(0, file);
    }
    read
}

/// Whether a compiler is a program of the system that builds. Some are scripts, which run on any processor.
fn runs_on_builder(compiler: &Path, host: &Host) -> bool {
    let (builder, target) = (host.builder(), &host.platform);
    if (builder.os, &builder.cpu) == (target.os, &target.cpu) {
        return true;
    }
    let cpu = Elf::read(compiler).ok().and_then(|file| file.cpu());
    (builder.os == Os::Windows) == (target.os == Os::Windows)
        && cpu.is_none_or(|cpu| cpu == builder.cpu)
}

/// Nothing of an image is run: it may be for another processor.
fn compiler_version(nvcc: Option<&Path>, sysroot: Sysroot, host: &Host) -> Option<Version> {
    match sysroot.root {
        Some(_) => None,
        None => nvcc::version(nvcc?, &host.answers).ok(),
    }
}

fn stubs(link_dirs: &[PathBuf]) -> Vec<PathBuf> {
    link_dirs
        .iter()
        .map(|dir| dir.join("stubs"))
        .filter(|dir| files::is_dir(dir))
        .collect()
}

/// A runtime library in this directory, in whatever form. Asked for by name, since `/usr/lib64` is long.
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

/// 12.4.127 of `libcudart.so.12.4.127`. The SONAME alone tells no release: `libcudart.so.12`.
fn release_in_name(file: &Path) -> Option<Version> {
    match LibraryName::of(file)?.numbers[..] {
        [major, minor, _] => Some(Version::new(major, minor, 0)),
        _ => None,
    }
}

/// A directory below the top, or beside what it is a link to: `#` is the top's own name.
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

/// Whether a toolkit keeps this directory for another processor: `targets/sbsa-linux/lib`.
fn is_foreign(real: &Path, platform: &Platform) -> bool {
    let mut parts = real.iter().rev().skip(1);
    let target = parts.next().and_then(|name| name.to_str());
    parts.next().is_some_and(|parent| parent == "targets")
        && target.is_some_and(|target| !platform.toolkit_targets().contains(&target))
}

/// Those of the directories that are there, each once: `include` is often a link to `targets/…/include`.
fn existing(top: &Path, dirs: &[PathBuf], sysroot: Sysroot, platform: &Platform) -> Vec<PathBuf> {
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for dir in dirs
        .iter()
        .filter_map(|dir| sysroot.dir(&joined(top, dir, sysroot)))
    {
        let real = sysroot.canonical(&dir);
        if !seen.contains(&real) && !is_foreign(&real, platform) {
            seen.push(real);
            found.push(dir);
        }
    }
    found
}
