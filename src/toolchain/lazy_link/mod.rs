//! Archives of functions that open their library when they are first called (`Link::Lazy`).

pub mod trampolines;

use crate::config::{Config, Link};
use crate::model::candidate::{Cudnn, LinkName, Toolkit};
use crate::model::platform::{Os, Platform};
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::finding::Finding;
use crate::system::directive::Library;
use crate::system::library_file::Binary;
use crate::system::out_dir::{create_dir, remove};
use crate::system::{Host, files};
use crate::toolkit::find_library;
use std::path::{Path, PathBuf};
use trampolines::{Cpu, Forwarded};

/// A reason why a library cannot be opened lazily.
pub enum LazyLinkFault<'a> {
    /// A target other than Linux on x86_64 or aarch64.
    Target(&'a str),
    /// A program without a loader: `-C target-feature=+crt-static`.
    StaticProgram,
    /// A library that this toolkit lacks.
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
    pub soname: String,
    /// The shared library whose functions the archive contains.
    pub file: PathBuf,
}

/// The archives of a build.
#[derive(Debug, Default)]
pub struct LazyLibraries {
    /// The directory of the archives. It contains nothing else, so that `-lcudnn` of other crates finds them.
    pub dir: PathBuf,
    pub libraries: Vec<LazyLibrary>,
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
    if config.link != Link::Lazy {
        return all;
    }
    let platform = &host.platform;
    let cpu = Cpu::named(&platform.cpu).filter(|_| platform.os == Os::Linux);
    let Some(cpu) = cpu else {
        all.findings
            .push(LazyLinkFault::Target(&platform.triple).finding());
        return all;
    };
    let features = host.env.var("CARGO_CFG_TARGET_FEATURE");
    let mut features = features.unwrap_or_default().split(',');
    if features.any(|feature| feature == "crt-static") {
        all.findings.push(LazyLinkFault::StaticProgram.finding());
        return all;
    }
    all.dir = Path::new(out_dir).join("cudnn-guard/lazy");
    let mut wanted = Vec::new();
    if let Some(cudnn) = cudnn {
        let version = cudnn.version();
        let version = version.map_or_else(String::new, |version| format!("cuDNN {version}"));
        wanted.extend(cudnn_file(cudnn).map(|file| ("cudnn", file, version)));
    }
    if let Some(toolkit) = toolkit {
        let version = toolkit.version;
        let version = version.map_or_else(String::new, |cuda| format!("CUDA {}", cuda.short()));
        for name in &config.libs {
            if let Some(file) = file(toolkit, name, platform) {
                wanted.push((name, file, version.clone()));
            }
        }
    }
    for (name, file, version) in wanted {
        match all.add(cpu, host, name, &file, &version) {
            Ok(library) => all.libraries.push(library),
            Err(finding) => all.findings.push(finding),
        }
    }
    all
}

impl LazyLibraries {
    fn add(
        &self,
        cpu: Cpu,
        host: &Host,
        name: &str,
        file: &Path,
        version: &str,
    ) -> Result<LazyLibrary, Finding> {
        let binary = match Binary::open(file, Os::Linux) {
            Ok(binary) => binary,
            Err(defect) => return Err(LazyLinkFault::Unreadable(file, Some(defect)).finding()),
        };
        let defect = binary.defect(file, &host.platform);
        let elf = binary.as_elf().filter(|_| defect.is_none());
        let names = elf.and_then(|elf| elf.functions().zip(elf.soname()));
        let Some((mut functions, soname)) = names else {
            return Err(LazyLinkFault::Unreadable(file, defect).finding());
        };
        functions.sort_unstable();
        functions.dedup();
        let is_invalid = |name: &&String| !trampolines::is_valid(name);
        let invalid = functions.iter().find(is_invalid);
        if let Some(name) = invalid.or(Some(&soname).filter(is_invalid)) {
            return Err(LazyLinkFault::Name(file, name).finding());
        }
        let assembly = cpu.assembly(&Forwarded {
            soname: &soname,
            version,
            functions: &functions,
        });
        create_dir(&self.dir)?;
        let sources = self.dir.with_file_name("lazy-sources");
        create_dir(&sources)?;
        let source = sources.join(format!("{name}.s"));
        let archive = self.dir.join(format!("lib{name}.a"));
        let is_current = files::read(&source).is_ok_and(|old| old == assembly);
        if !is_current || !files::is_file(&archive) {
            remove(&archive);
            files::write(&source, &assembly)?;
            assemble(host, &source, name, &archive)
                .map_err(|message| LazyLinkFault::NotAssembled(file, message).finding())?;
        }
        Ok(LazyLibrary {
            name: name.to_string(),
            soname,
            file: file.to_path_buf(),
        })
    }
}

/// Assembles the source beside it, and moves the archive to its directory.
fn assemble(host: &Host, source: &Path, name: &str, archive: &Path) -> Result<(), String> {
    let beside = source.parent().unwrap_or(source);
    let mut build = cc::Build::new();
    build.cargo_metadata(false).cargo_warnings(false);
    build
        .target(&host.platform.triple)
        .host(&host.builder().triple);
    build.opt_level(0).debug(false).out_dir(beside).file(source);
    build.try_compile(name).map_err(|error| error.to_string())?;
    let made = beside.join(format!("lib{name}.a"));
    std::fs::rename(made, archive).map_err(|error| error.to_string())
}

fn cudnn_file(cudnn: &Cudnn) -> Option<PathBuf> {
    let dir = cudnn.link_dir.as_ref()?;
    Some(match cudnn.link_name.as_ref()? {
        LinkName::Short(name) => dir.join(format!("lib{name}.so")),
        LinkName::Verbatim(file) => dir.join(file),
    })
}

/// Returns the file of a library of the toolkit, or of the stub for the driver's library.
pub fn file(toolkit: &Toolkit, name: &str, platform: &Platform) -> Option<PathBuf> {
    let mut dirs = toolkit.link_dirs.iter().chain(&toolkit.stub_dirs);
    dirs.find_map(|dir| {
        let library = find_library::library_in(dir, name, platform, toolkit.version)?;
        match library {
            Library::Verbatim(file) => Some(dir.join(file)),
            _ => Some(dir.join(format!("lib{name}.so"))),
        }
    })
}
