//! The report as text: first errors and their fixes, then one line per item with a mark.
//!
//! A mark appears only in the third column of a line, after two spaces. The command line tool relies on that for
//! colors.

#[cfg(feature = "cli")]
use crate::cudnn::device_code::gpu_code;
use crate::model::{Cudnn, Kind, joined};
use crate::report::ToolchainReport;
use crate::report::layout::{
    INDENT, Mark, below, columns, finding_text, pieces, row, shown, wrapped,
};
use crate::runtime::facts::finding_id::section;
use crate::runtime::facts::{Finding, FindingId, Section, Severity, Verdict, Version, printable};
use std::fmt::{self, Formatter};
use std::path::{Path, PathBuf};

/// The number of evidence lines beside a finding. Longer evidence is at the end of the report.
const LONG: usize = 4;

/// Writes the chosen CUDA and cuDNN in the alternate form, or else the complete report. Errors and their fixes come first,
/// since a terminal may show only the first lines. Long evidence comes last.
pub(super) fn report(report: &ToolchainReport, f: &mut Formatter<'_>) -> fmt::Result {
    if f.alternate() {
        return Lines { report, f }.stack();
    }
    for severity in [Severity::Error, Severity::Warning] {
        for finding in &report.with_severity(severity) {
            let text = finding_text(finding, LONG, columns(f));
            writeln!(f, "  {} {text}", mark(severity))?;
        }
    }
    let mut lines = Lines { report, f };
    lines.stack()?;
    lines.machine()?;
    if let Some(text) = &report.cudarc {
        lines.long_line(Section::Alone, Mark::Note, "cudarc", &printable(text))?;
    }
    findings(&report.with_severity(Severity::Note), f)?;
    others(report, f)?;
    long_evidence(report, f)?;
    verdict(report, f)
}

/// The section of a report with one line per item.
struct Lines<'a, 'f> {
    report: &'a ToolchainReport,
    f: &'a mut Formatter<'f>,
}

impl Lines<'_, '_> {
    fn stack(&mut self) -> fmt::Result {
        let report = self.report;
        match &report.toolkit {
            Some(toolkit) => {
                let version = toolkit.version.map(|version| version.short());
                let mark = Mark::tick_if(version.is_some());
                let text = format!("CUDA {}", at(version, &toolkit.root));
                self.line(Section::Toolkit, mark, "toolkit", &text)?;
                self.via(Kind::Toolkit)?;
                let (mark, text) = match &toolkit.nvcc {
                    Some(nvcc) => (Mark::Tick, shown(nvcc)),
                    None => (Mark::Absent, "missing".to_string()),
                };
                self.line(Section::Nvcc, mark, "nvcc", &text)?;
                self.host_compiler()?;
            }
            None => self.none(Section::Toolkit, "toolkit", Kind::Toolkit)?,
        }
        match &report.cudnn {
            Some(cudnn) => self.cudnn(cudnn),
            None => self.none(Section::Cudnn, "cuDNN", Kind::Cudnn),
        }
    }

    fn host_compiler(&mut self) -> fmt::Result {
        let machine = self.report.machine.as_ref();
        let compiler = machine.and_then(|one| one.host_compiler.as_deref());
        let (Some(compiler), false) = (compiler, self.f.alternate()) else {
            return Ok(());
        };
        let mark = Mark::tick_if(machine.is_some_and(|one| one.knows_host_compiler));
        let text = printable(compiler);
        self.line(Section::HostCompiler, mark, "host code", &text)
    }

    fn cudnn(&mut self, cudnn: &Cudnn) -> fmt::Result {
        let version = match (cudnn.header_version, cudnn.library_version) {
            (Some(header), Some(library)) if header != library => {
                Some(format!("{library}, with the headers of {header},"))
            }
            _ => cudnn
                .version()
                .map(|version| with_cuda_major(version, cudnn.cuda_major)),
        };
        let mark = Mark::tick_if(version.is_some());
        let text = at(version, &cudnn.root);
        self.line(Section::Cudnn, mark, "cuDNN", &text)?;
        self.via(Kind::Cudnn)?;
        let describe = |what: &Option<PathBuf>, version| match (what, version) {
            (Some(path), Some(version)) => (Mark::Tick, format!("{version} in {}", shown(path))),
            (Some(path), None) => (Mark::Unknown, format!("{}, version unknown", shown(path))),
            (None, _) => (Mark::Absent, "missing".to_string()),
        };
        let (mark, text) = describe(&cudnn.header, cudnn.header_version);
        self.line(Section::Alone, mark, "header", &text)?;
        let (mark, text) = describe(&cudnn.library, cudnn.library_version);
        self.line(Section::Alone, mark, "library", &text)?;
        if let (Some(owner), false) = (&cudnn.owner, self.f.alternate()) {
            let text = printable(&owner.to_string());
            self.line(Section::Alone, Mark::Tick, "owner", &text)?;
        }
        let (mark, text) = parts(cudnn, columns(self.f));
        self.line(Section::SubLibraries, mark, "sub-libs", &text)?;
        #[cfg(feature = "cli")] // a build reads none
        if !self.f.alternate() && !cudnn.gpu_codes.is_empty() {
            let text = gpu_code::describe(&cudnn.gpu_codes);
            self.long_line(Section::Alone, Mark::Tick, "GPU code", &text)?;
        }
        Ok(())
    }

    fn machine(&mut self) -> fmt::Result {
        let Some(machine) = &self.report.machine else {
            self.line(Section::Driver, Mark::Unknown, "driver", "not queried")?;
            return self.line(Section::Gpus, Mark::Unknown, "GPUs", "not queried");
        };
        let is_silent = |one: &Finding| one.id == FindingId::DriverError;
        let (mark, text) = match &machine.driver {
            None if self.report.findings.iter().any(is_silent) => (Mark::Unknown, "no answer"),
            _ => (Mark::Absent, "none"),
        };
        match &machine.driver {
            Some(driver) => {
                let mut text = String::new();
                if let Some(version) = &driver.version {
                    text += &format!("{version}, ");
                }
                if let Some(cuda) = driver.cuda {
                    text += &format!("supports CUDA {}, ", cuda.short());
                }
                text += &driver.library;
                let mark = Mark::tick_if(driver.cuda.is_some());
                self.line(Section::Driver, mark, "driver", &printable(&text))?;
            }
            None => self.line(Section::Driver, mark, "driver", text)?,
        }
        if machine.gpus.is_empty() {
            self.line(Section::Gpus, mark, "GPUs", text)?;
        }
        for (index, gpu) in machine.gpus.iter().enumerate() {
            let label = if index == 0 { "GPUs" } else { "" };
            let text = format!("{}, compute capability {}", gpu.name, gpu.capability);
            self.line(Section::Gpus, Mark::Tick, label, &printable(&text))?;
        }
        match joined(&machine.targets, " ") {
            none if none.is_empty() => self.line(Section::Targets, Mark::Absent, "targets", "none"),
            targets => self.long_line(Section::Targets, Mark::Tick, "targets", &targets),
        }
    }

    /// Writes one item. An error about it makes its mark a cross; a warning replaces a tick or a question mark.
    fn line(&mut self, about: Section, mark: Mark, label: &str, text: &str) -> fmt::Result {
        let has = |severity: Severity| {
            let is_about = |one: &Finding| one.severity == severity && section(one.id) == about;
            about != Section::Alone && self.report.findings.iter().any(is_about)
        };
        let mark = match mark {
            _ if has(Severity::Error) => Mark::Cross,
            Mark::Absent => mark,
            _ if has(Severity::Warning) => Mark::Warning,
            mark => mark,
        };
        row(self.f, mark, label, text)
    }

    /// Writes one item, on several lines if necessary.
    fn long_line(&mut self, about: Section, mark: Mark, label: &str, text: &str) -> fmt::Result {
        let text = wrapped(text, INDENT, columns(self.f));
        self.line(about, mark, label, &text)
    }

    /// Writes why no installation of this kind is chosen.
    fn none(&mut self, about: Section, label: &str, kind: Kind) -> fmt::Result {
        let report = self.report;
        // A search that was not allowed is the reason.
        let has = |id| report.findings.iter().any(|one| one.id == id);
        let forbidden = (has(FindingId::PlatformUnsupported) || has(FindingId::ConfigInvalid))
            && !(has(FindingId::CudaNotFound) || has(FindingId::CudnnNotFound));
        let (mark, text) = match report.candidates.iter().any(|one| one.kind() == kind) {
            _ if report.unrequired.contains(&kind) => (Mark::Absent, "not required"),
            true => (Mark::Absent, "none compatible"),
            false if forbidden && report.candidates.is_empty() => (Mark::Unknown, "not searched"),
            false => (Mark::Absent, "not found"),
        };
        self.line(about, mark, label, text)
    }

    /// Writes how the item on the line above was found.
    fn via(&mut self, kind: Kind) -> fmt::Result {
        let Some(via) = self.report.via(kind) else {
            return Ok(());
        };
        below(self.f, &format!("found via {via}"))
    }
}

/// Returns a version for messages: `9.14.0 for CUDA 13`.
pub(crate) fn with_cuda_major(version: Version, cuda_major: Option<u32>) -> String {
    let suffix = cuda_major.map(|major| format!(" for CUDA {major}"));
    format!("{version}{}", suffix.unwrap_or_default())
}

/// Lists sub-libraries, `graph 9.14.0, ops 9.14.0`, with no line break between name and version. The mark is a tick if
/// none is missing and all have the same version.
pub(crate) fn parts(cudnn: &Cudnn, columns: usize) -> (Mark, String) {
    let files = cudnn.installed.files();
    let Some(first) = files.first().map(|file| file.version) else {
        return (Mark::Absent, "none found".to_string());
    };
    let is_same = first.is_some() && files.iter().all(|file| file.version == first);
    let mark = Mark::tick_if(is_same && cudnn.installed.missing.is_empty());
    let mut names = Vec::new();
    for part in files {
        let version = part.version.map(|version| format!(" {version}"));
        names.push(printable(&part.name) + &version.unwrap_or_default());
    }
    let names = names.join(",\n");
    let parts: Vec<&str> = names.lines().collect();
    (mark, pieces(&parts, INDENT, columns))
}

/// Writes findings with all of their evidence, after an empty line.
pub(crate) fn findings(findings: &[&Finding], f: &mut Formatter<'_>) -> fmt::Result {
    for (index, finding) in findings.iter().enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        let text = finding_text(finding, usize::MAX, columns(f));
        write!(f, "{gap}  {} {text}", mark(finding.severity))?;
    }
    Ok(())
}

fn mark(severity: Severity) -> Mark {
    match severity {
        Severity::Error => Mark::Cross,
        Severity::Warning => Mark::Warning,
        Severity::Note => Mark::Note,
    }
}

/// Writes the evidence that is too long to be beside its finding.
fn long_evidence(report: &ToolchainReport, f: &mut Formatter<'_>) -> fmt::Result {
    for severity in [Severity::Error, Severity::Warning] {
        for finding in &report.with_severity(severity) {
            for (label, value) in &finding.evidence {
                if value.lines().count() > LONG {
                    writeln!(f, "\n{label}, for {}", finding.id)?;
                    for text in value.lines() {
                        writeln!(f, "  {}", wrapped(&printable(text), 4, columns(f)))?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Writes the installations that were not chosen.
fn others(report: &ToolchainReport, f: &mut Formatter<'_>) -> fmt::Result {
    let others = report.candidates.iter().filter(|other| !other.is_chosen());
    for (index, other) in others.enumerate() {
        if index == 0 {
            writeln!(f, "\nalso found")?;
        }
        let (title, root) = (other.title(), shown(other.root()));
        let built = other.cudnn().and_then(|cudnn| cudnn.cuda_major);
        let built = built.map_or(String::new(), |major| format!(" for CUDA {major}"));
        writeln!(f, "  {title}{built} at {root}")?;
        let mut texts = vec![format!("found via {}", other.via)];
        let reason = other.rejected.as_ref();
        texts.extend(reason.map(|reason| format!("not chosen: {reason}")));
        for text in texts {
            writeln!(f, "    {}", wrapped(&printable(&text), 4, columns(f)))?;
        }
    }
    Ok(())
}

fn verdict(report: &ToolchainReport, f: &mut Formatter<'_>) -> fmt::Result {
    let verdict = report.verdict();
    let mut why = Vec::new();
    for (severity, one) in [(Severity::Error, "error"), (Severity::Warning, "warning")] {
        match report.with_severity(severity).len() {
            0 => {}
            1 => why.push(format!("1 {one}")),
            several => why.push(format!("{several} {one}s")),
        }
    }
    if verdict == Verdict::Unknown {
        why.extend(report.unchecked().into_iter().map(String::from));
    }
    if why.is_empty() {
        why.push("all versions are compatible".to_string());
    }
    writeln!(f, "\nverdict: {verdict} ({})", why.join("; "))
}

/// Returns `9.14.0 at /usr/local/cuda`.
fn at(version: Option<String>, root: &Path) -> String {
    let version = version.unwrap_or_else(|| "of unknown version".to_string());
    format!("{version} at {}", shown(root))
}
