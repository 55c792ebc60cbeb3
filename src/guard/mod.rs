//! The runtime guard that a build writes for its program.

pub mod guard_file;
pub mod linked_in;
pub mod needs;
pub mod tables;
pub mod text;
pub mod without_directories;

use crate::compat::{cargo_lock, cudarc};
use crate::config::Link;
use crate::cudnn::build_ids;
use crate::error::Error;
use crate::model::{Cudnn, Os, Platform};
use crate::runtime::facts::{Built, BuiltFinding, Loader, Policy};
use crate::runtime::judge::rules;
use crate::system::{Directive, Host, cargo, cargo_cannot_take};
use crate::toolchain::Toolchain;
use crate::{Finding, Severity, Version, compat};
use tables::tables;
use without_directories::without_directories;

/// The runtime guard of a program. [`write`](Self::write) writes the file that the program includes:
///
/// ```no_run
/// use cudnn_guard::{Config, Link, Loader};
///
/// cudnn_guard::build(|| {
///     let gpu = Config::new().cudnn(">=9.1, <10").link(Link::Runtime).probe()?;
///     gpu.guard().loader(Loader::Cudarc).needs(["adv"]).write()
/// });
/// ```
#[derive(Debug)]
#[must_use = "nothing is written until `write` is called"]
pub struct Guard<'a> {
    toolchain: &'a Toolchain,
    policy: Option<Policy>,
    loader: Option<Loader>,
    /// The facts that the guard will contain.
    built: Built,
}

/// A guard that cannot be written.
pub enum InvalidGuard<'a> {
    /// This setting concerns cuDNN, which the build script does not require.
    NoRequirement(&'static str),
    Loader(Loader, Link),
    /// A policy that refers to the build's cuDNN, although `Link::Runtime` has none.
    Policy(Policy),
    /// A need that is neither a sub-library of cuDNN nor one of these operations.
    UnknownNeed(&'a str, Vec<&'a str>),
    /// A guard outside a build script.
    NoOutDir,
}

impl Toolchain {
    /// Creates the runtime guard of the program that is being built.
    pub fn guard(&self) -> Guard<'_> {
        Guard {
            toolchain: self,
            policy: None,
            loader: None,
            built: package_facts(&self.host),
        }
    }
}

impl Guard<'_> {
    /// Sets which versions of cuDNN the program may load. Default: [`Policy::Compatible`], or [`Policy::Requirement`]
    /// with [`Link::Runtime`], since the build then uses no cuDNN.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Sets how the program loads cuDNN. Default: as implied by [`Config::link`](crate::Config::link).
    pub fn loader(mut self, loader: Loader) -> Self {
        self.loader = Some(loader);
        self
    }

    /// Sets whether the guard computes small convolutions and compares the results. Default: `true`.
    pub fn convolution(mut self, on: bool) -> Self {
        self.built.convolution = on;
        self
    }

    /// Sets whether a missing GPU, an unresponsive driver, or a missing cuDNN is a failure. Default: `false`, the verdict
    /// is unknown.
    pub fn require_gpu(mut self, on: bool) -> Self {
        self.built.require_gpu = on;
        self
    }

    /// Declares what the program uses in addition to convolutions: sub-libraries of cuDNN (`adv`, without which a
    /// program may silently fall back to the CPU), and operations that some versions compute incorrectly (`attention`,
    /// `conv3d-bf16`, `conv3d-tf32`). If such a sub-library is missing, the program stops. A version with a known bug
    /// in the operation stops the build and the program. If only some shapes or GPUs are affected, it is a warning.
    /// `onnxruntime` declares that the program uses its CUDA provider; the guard recognizes programs with the crate ort.
    pub fn needs<S: Into<String>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.built.needs.extend(words.into_iter().map(Into::into));
        self
    }

    /// Writes `$OUT_DIR/cudnn_guard.rs`. It includes the targets of the kernels that this build script compiles, before
    /// or after this call.
    ///
    /// If the build script does not require cuDNN, the program is checked without it: the driver, the GPU, and whether
    /// the kernels run there. The file then has only `startup` and `check`.
    ///
    /// # Errors
    /// `config-invalid` if policy, loader and link contradict each other, or if `needs` contains an unknown word. `known-bad-release` if the cuDNN has a known bug in what the program needs.
    /// `io-error` if the file cannot be written.
    pub fn write(self) -> Result<(), Error> {
        let toolchain = self.toolchain;
        let needs = &self.built.needs;
        if let Some(fault) = needs::unknown(needs, &compat::known_bad()) {
            return Err(fault.finding().into());
        }
        if let Some(error) = &toolchain.absent {
            return toolchain.write_guard(absent(error, &toolchain.host));
        }
        let link = toolchain.config.link;
        let Some(requirement) = toolchain.requirements.cudnn.clone() else {
            return self.write_without_cudnn();
        };
        let runtime = link == Link::Runtime;
        let (usual_loader, usual_policy) = match link {
            Link::Dynamic => (Loader::Linked, Policy::Compatible),
            Link::Static => (Loader::Static, Policy::Compatible),
            Link::Runtime => (Loader::Dlopen, Policy::Requirement),
            // The first call opens cuDNN by its SONAME.
            Link::Lazy => (Loader::Dlopen, Policy::Compatible),
        };
        let loader = self.loader.unwrap_or(usual_loader);
        let policy = self.policy.unwrap_or(usual_policy);
        contradiction(link, loader, policy)?;
        let cudnn = toolchain.cudnn().filter(|_| !runtime);
        let with = cudnn.and_then(|cudnn| cudnn.version());
        let first = with.filter(|_| policy != Policy::Requirement);
        let first = first.unwrap_or(requirement.from);
        let cuda = toolchain.cuda_version().filter(|_| !runtime);
        let mut known_bad = Vec::new();
        if let Some(version) = with {
            known_bad = needs::known_bad(needs, &compat::known_bad(), version);
            toolchain.allowed.apply(&mut known_bad);
            let stops = |finding: &Finding| finding.severity == Severity::Error;
            if known_bad.iter().any(stops) {
                return Err(Error::new(known_bad));
            }
            known_bad.iter().for_each(cargo::warn);
        }
        let platform = &toolchain.host.platform;
        let mut built = Built {
            cudnn: with,
            cudnn_cuda_major: cudnn.and_then(|cudnn| cudnn.cuda_major),
            tables: tables(platform, first, cuda, &self.built),
            cuda,
            requirement: Some(requirement),
            policy,
            loader,
            cudarc: cudarc_version(loader, &toolchain.host),
            ..self.built
        };
        built.findings = recorded(toolchain.findings().iter().chain(&known_bad));
        if platform.os == Os::Linux && platform.cpu == "x86_64" {
            built.tables.build_ids = build_ids::embedded_in(&rules::majors(&built));
        }
        for directive in delay_load_directives(loader, platform, cudnn) {
            cargo::emit(&directive);
        }
        toolchain.write_guard(built)
    }

    /// Writes the guard of a program that uses no cuDNN.
    fn write_without_cudnn(self) -> Result<(), Error> {
        let toolchain = self.toolchain;
        for (setting, is_set) in [
            ("policy", self.policy.is_some()),
            (
                "loader",
                self.loader.is_some_and(|loader| loader != Loader::None),
            ),
            ("needs", !self.built.needs.is_empty()),
        ] {
            if is_set {
                return Err(InvalidGuard::NoRequirement(setting).finding().into());
            }
        }
        let is_linked = toolchain.config.link != Link::Runtime;
        let cuda = toolchain.cuda_version().filter(|_| is_linked);
        toolchain.write_guard(Built {
            tables: tables::of_driver(&toolchain.host.platform, cuda),
            cuda,
            loader: Loader::None,
            convolution: false,
            findings: recorded(toolchain.findings().iter()),
            ..self.built
        })
    }
}

/// Returns findings of the build as the guard records them.
fn recorded<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<BuiltFinding> {
    let mut recorded = Vec::new();
    for finding in findings {
        if finding.severity != Severity::Note {
            recorded.push(BuiltFinding {
                id: finding.id.to_string(),
                severity: finding.severity,
                summary: without_directories(&finding.summary),
            });
        }
    }
    recorded
}

/// Returns the linker arguments that delay-load cuDNN's DLL, so that the guard can report a missing one. Without a
/// guard, Windows' own error message is better than a crash at the first call.
fn delay_load_directives(
    loader: Loader,
    platform: &Platform,
    cudnn: Option<&Cudnn>,
) -> Vec<Directive> {
    let version = cudnn.and_then(Cudnn::version);
    let Some(version) = version.filter(|_| loader == Loader::Linked && platform.is_msvc()) else {
        return Vec::new();
    };
    let dll = platform.cudnn_library(version.major);
    let mut directives = Directive::delay_loading(&dll).to_vec();
    // cargo does not pass linker arguments on to the programs that depend on a crate with a `links` key.
    directives.push(Directive::Metadata("delayed".into(), dll));
    directives
}

impl Guard<'static> {
    /// Writes a guard for a program that is built without CUDA. Its verdict is unknown, `built-without-cuda`, with the
    /// reason. Use it if the build script handles the error of `probe` itself. With
    /// [`optional`](crate::Config::optional), [`write`](Self::write) does this.
    ///
    /// # Errors
    /// `config-invalid` outside a build script, `io-error` where the file cannot be written.
    pub fn write_absent(error: &Error) -> Result<(), Error> {
        let host = crate::Config::new().host();
        guard_file::write(&host, &absent(error, &host), Some(&[]))
    }
}

fn contradiction(link: Link, loader: Loader, policy: Policy) -> Result<(), Error> {
    let fits = match link {
        Link::Dynamic => !matches!(loader, Loader::Static | Loader::None),
        Link::Static => loader == Loader::Static,
        Link::Lazy => loader == Loader::Dlopen,
        Link::Runtime => matches!(loader, Loader::Dlopen | Loader::Cudarc),
    };
    if !fits {
        return Err(InvalidGuard::Loader(loader, link).finding().into());
    }
    if link == Link::Runtime && policy != Policy::Requirement {
        return Err(InvalidGuard::Policy(policy).finding().into());
    }
    Ok(())
}

/// Returns the facts about a program that is built without CUDA.
fn absent(error: &Error, host: &Host) -> Built {
    let mut reasons = Vec::new();
    for finding in error.findings() {
        reasons.push(without_directories(&finding.summary));
    }
    Built {
        policy: Policy::Requirement,
        convolution: false,
        absent: Some(reasons.join("; ")),
        ..package_facts(host)
    }
}

/// Returns the facts that do not depend on CUDA: the package and the version of cudnn-guard.
fn package_facts(host: &Host) -> Built {
    let name = host.env.var("CARGO_PKG_NAME");
    let package = name.zip(host.env.var("CARGO_PKG_VERSION"));
    Built {
        written_by: env!("CARGO_PKG_VERSION").to_string(),
        package: package.map(|(name, version)| format!("{name} {version}")),
        ..Built::default()
    }
}

/// Returns the version of cudarc in Cargo.lock, on which the library names depend.
fn cudarc_version(loader: Loader, host: &Host) -> Option<Version> {
    if loader != Loader::Cudarc {
        return None;
    }
    let (file, lock) = cargo_lock::find(&host.env)?;
    if cargo_cannot_take(&file).is_none() {
        cargo::emit(&Directive::RerunIfChanged(file));
    }
    cudarc::only_in_lock(&lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictory_settings_are_reported_before_writing() {
        let text =
            |link, loader, policy| contradiction(link, loader, policy).unwrap_err().to_string();
        assert_eq!(
            text(Link::Dynamic, Loader::Static, Policy::Compatible),
            "`Loader::Static` contradicts `Link::Dynamic`  [config-invalid]\n  \
             = help: remove `.loader(..)`: `.link(..)` already determines it\n  \
             see         cudnn-guard explain config-invalid"
        );
        assert!(contradiction(Link::Runtime, Loader::Cudarc, Policy::Requirement).is_ok());
        assert!(contradiction(Link::Runtime, Loader::Dlopen, Policy::Exact).is_err());
    }

    #[test]
    fn microsofts_linker_delay_loads_the_dll() {
        let lines = |loader, triple: &str, major| {
            let cudnn = Cudnn {
                header_version: Some(Version::new(major, 1, 0)),
                ..Cudnn::default()
            };
            let platform = Platform::from_triple(triple);
            let lines = delay_load_directives(loader, &platform, Some(&cudnn)).into_iter();
            lines.map(|line| line.to_string()).collect::<Vec<_>>()
        };
        let msvc = "x86_64-pc-windows-msvc";
        assert_eq!(
            lines(Loader::Linked, msvc, 8),
            [
                "cargo::rustc-link-arg=/DELAYLOAD:cudnn64_8.dll",
                "cargo::rustc-link-arg=/INCLUDE:__pfnDliFailureHook2",
                "cargo::rustc-link-arg=delayimp.lib",
                "cargo::rustc-link-arg=/IGNORE:4199",
                "cargo::metadata=delayed=cudnn64_8.dll",
            ]
        );
        assert_eq!(lines(Loader::Linked, "aarch64-pc-windows-msvc", 9).len(), 5);
        for triple in ["x86_64-pc-windows-gnu", "x86_64-unknown-linux-gnu"] {
            assert_eq!(lines(Loader::Linked, triple, 9), [""; 0], "{triple}");
        }
        assert_eq!(lines(Loader::Dlopen, msvc, 9), [""; 0]);
    }
}
