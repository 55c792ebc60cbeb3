//! Archives of functions that open their library when they are first called (`Link::Lazy`).

mod import_library;
mod trampolines;

use crate::config::{Config, Link};
use crate::host_compiler::query::compilation;
use crate::model::{Cudnn, Os, Platform, Toolkit};
use crate::runtime::binary::Defect;
use crate::runtime::facts::Finding;
use crate::system::out_dir::{create_dir, remove};
use crate::system::{Binary, Host, files};
use crate::toolkit::find_library;
use import_library::ImportLibrary;
use std::path::{Path, PathBuf};
use trampolines::{Assembly, coff, elf};

/// A reason why a library cannot be opened lazily.
pub enum LazyLinkFault<'a> {
    /// A target for which there is no assembly.
    Target(&'a str),
    /// A program without the loader of glibc: for musl, or with `-C target-feature=+crt-static`.
    NoLoader,
    /// A library that is missing from this toolkit.
    NoLibrary(&'a Path, &'a str),
    /// A file whose symbols cannot be read.
    Unreadable(&'a Path, Option<Defect>),
    /// A name that assembly cannot contain.
    Name(&'a Path, &'a str),
    /// The message of the assembler or the archiver.
    NotAssembled(&'a Path, String),
}

/// A library that the program opens at its first call.
#[derive(Clone, Debug)]
pub struct LazyLibrary {
    /// The short name, such as `cudnn`, by which other crates link it too.
    pub name: String,
    /// The name by which it is opened: a SONAME, or the name of a DLL.
    pub soname: String,
    /// The shared library or import library whose functions the archive contains.
    pub file: PathBuf,
}

/// The libraries of a build.
#[derive(Debug, Default)]
pub struct LazyLibraries {
    /// The directory of the archives. It contains nothing else, so that `-lcudnn` of other crates finds them. For
    /// Microsoft's linker there are none.
    pub dir: PathBuf,
    pub libraries: Vec<LazyLibrary>,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    pub findings: Vec<Finding>,
}

/// Creates the archives in OUT_DIR, unless they are up to date. Outside a build script there are none.
pub fn build(
    config: &Config,
    host: &Host,
    toolkit: Option<&Toolkit>,
    cudnn: Option<&Cudnn>,
) -> LazyLibraries {
    let mut all = LazyLibraries::default();
    let Some(out_dir) = host.env.os_var("OUT_DIR") else {
        return all;
    };
    if config.link != Link::Lazy || (toolkit.is_none() && cudnn.is_none()) {
        return all;
    }
    let platform = &host.platform;
    let assembly = match (platform.os, platform.cpu.as_str()) {
        (Os::Linux, "x86_64") => Some(&elf::X86_64),
        (Os::Linux, "aarch64") => Some(&elf::AARCH64),
        (Os::Windows, "x86_64") if !platform.is_msvc() => Some(&coff::X86_64),
        _ => None,
    };
    if assembly.is_none() && !platform.is_msvc() {
        all.findings
            .push(LazyLinkFault::Target(&platform.triple).finding());
        return all;
    }
    let is_static = host.env.has_static_runtime();
    if platform.os == Os::Linux && (is_static || platform.triple.contains("musl")) {
        all.findings.push(LazyLinkFault::NoLoader.finding());
        return all;
    }
    all.dir = Path::new(out_dir).join("cudnn-guard/lazy");
    all.findings.extend(create_dir(&all.dir).err());
    let mut old = files::list(&all.dir).unwrap_or_default();
    let mut wanted = Vec::new();
    if let Some(cudnn) = cudnn {
        let version = cudnn.version();
        let version = version.map_or_else(String::new, |version| format!("cuDNN {version}"));
        if let (Some(dir), Some(library)) = (&cudnn.link_dir, &cudnn.link_library) {
            wanted.push(("cudnn", dir.join(library.file(platform.os)), version));
        }
    }
    if let Some(toolkit) = toolkit {
        let version = toolkit.version;
        let version = version.map_or_else(String::new, |cuda| format!("CUDA {}", cuda.short()));
        let mut add = |name| {
            if let Some(file) = file(toolkit, name, host) {
                let is_own = toolkit.link_dirs.iter().any(|dir| file.starts_with(dir));
                let version = if is_own { &version } else { "" };
                wanted.push((name, file, version.to_string()));
            }
        };
        for name in &config.libs {
            if name != "cudart" {
                add(name);
            }
        }
        add("cudart");
    }
    for (name, file, version) in wanted {
        let archive = all.archive(name);
        let added = match file.extension().is_some_and(|end| end == "a") {
            true => files::link(&file, &archive).map(|()| None),
            false => all.add(assembly, host, name, &file, &version),
        };
        match added {
            Ok(library) => all.libraries.extend(library),
            Err(finding) => all.findings.push(finding),
        }
        files::keep(&mut old, &|file| file != archive);
        all.files.push(file);
    }
    // Those of an earlier build would take over `-l` of other crates.
    old.iter().for_each(|file| remove(file));
    all
}

impl LazyLibraries {
    fn archive(&self, name: &str) -> PathBuf {
        self.dir.join(format!("lib{name}.a"))
    }

    /// Returns `None` for a library that opens its DLL itself, without an archive.
    fn add(
        &self,
        assembly: Option<&Assembly>,
        host: &Host,
        name: &str,
        file: &Path,
        version: &str,
    ) -> Result<Option<LazyLibrary>, Finding> {
        let (soname, mut functions) = match host.platform.os {
            Os::Windows => match ImportLibrary::read(&files::bytes(file)?) {
                Some(library) => (library.dll, library.functions),
                None => return Ok(None),
            },
            _ => exports(file, &host.platform)?,
        };
        let library = LazyLibrary {
            name: name.to_string(),
            soname,
            file: file.to_path_buf(),
        };
        let Some(assembly) = assembly else {
            return Ok(Some(library));
        };
        functions.sort_unstable();
        functions.dedup();
        let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
        if !library.soname.bytes().all(is_plain) {
            return Err(LazyLinkFault::Unreadable(file, None).finding());
        }
        if let Some(name) = functions.iter().find(|name| !trampolines::is_valid(name)) {
            return Err(LazyLinkFault::Name(file, name).finding());
        }
        let assembly = assembly.text(&library.soname, version, &functions);
        let sources = self.dir.with_file_name("lazy-sources");
        create_dir(&sources)?;
        let source = sources.join(format!("{name}.s"));
        let archive = self.archive(name);
        let is_current = files::read(&source).is_ok_and(|old| old == assembly);
        if !is_current || !files::is_file(&archive) || files::is_link(&archive) {
            remove(&archive);
            files::write(&source, &assembly)?;
            assemble(host, &source, name, &archive)
                .map_err(|message| LazyLinkFault::NotAssembled(file, message).finding())?;
        }
        Ok(Some(library))
    }
}

/// Returns the SONAME of a shared library for Linux, and its functions.
fn exports(file: &Path, platform: &Platform) -> Result<(String, Vec<String>), Finding> {
    let binary = Binary::open(file, Os::Linux)
        .map_err(|defect| LazyLinkFault::Unreadable(file, Some(defect)).finding())?;
    let defect = binary.defect(file, platform);
    let elf = binary.as_elf().filter(|_| defect.is_none());
    let exports = elf.and_then(|elf| elf.soname().zip(elf.functions()));
    exports.ok_or_else(|| LazyLinkFault::Unreadable(file, defect).finding())
}

/// Assembles the source beside it, and moves the archive to its directory.
fn assemble(host: &Host, source: &Path, name: &str, archive: &Path) -> Result<(), String> {
    let beside = source.parent().unwrap_or(source);
    let mut build = compilation(host);
    let built = build.out_dir(beside).file(source).try_compile(name);
    built.map_err(|error| error.to_string())?;
    let made = beside.join(format!("lib{name}.a"));
    std::fs::rename(made, archive).map_err(|error| error.to_string())
}

/// Returns the file of a library: of the toolkit, of the stub for the driver's library, or of the system.
///
/// Kernels register themselves with cudart before `main`, so it should not be missing. On Linux, it is the static one,
/// which `-lcudart` of other crates then links too. On Windows, programs use the DLL: see `plan_cudart`.
pub fn file(toolkit: &Toolkit, name: &str, host: &Host) -> Option<PathBuf> {
    let platform = &host.platform;
    let archive = find_library::static_cudart(toolkit, platform);
    archive.filter(|_| name == "cudart").or_else(|| {
        let mut dirs = toolkit.link_dirs.clone();
        dirs.extend_from_slice(&toolkit.stub_dirs);
        dirs.append(&mut find_library::linker_path(host));
        find_library::file_in(&dirs, name, platform, toolkit.version)
    })
}
