//! The report for people: one line per thing with a tick, a cross or a dash, and under a cross what to do.
//!
//! A mark stands only ever in the third column of a line, behind two spaces: that is how the terminal program
//! knows what to colour.

use crate::choice::message_format::{product, release};
use crate::choice::select_pair::kind_of;
use crate::compat::cudarc;
#[cfg(feature = "cli")]
use crate::cudnn::device_code::gpu_code;
use crate::model::candidate::{Cudnn, Part};
use crate::model::found_via::FoundVia;
use crate::report::Report;
use crate::report::layout::{INDENT, Mark, pieces, shown, wrapped};
use crate::report::section::{ReportSection, has_line, thing};
use crate::runtime::facts::finding::{Finding, Severity, Verdict, printable};
use crate::runtime::facts::version::Version;
use crate::search::search_step::Kind;
use std::fmt::{self, Formatter};
use std::path::{Path, PathBuf};

/// Everything.
pub(super) fn report(report: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    stack(report, f)?;
    machine(report, f)?;
    cudarc(report, f)?;
    let own = report
        .findings
        .iter()
        .filter(|finding| !has_line(report, thing(finding.id)));
    apart(f, own)?;
    others(report, f)?;
    verdict(report, f)
}

/// The chosen CUDA and cuDNN.
pub(super) fn stack(report: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    match &report.toolkit {
        Some(toolkit) => {
            let version = toolkit.version.map(|version| version.short());
            let text = format!("CUDA {}", at(version, &toolkit.root));
            line(
                f,
                report,
                ReportSection::Toolkit,
                Mark::Tick,
                "toolkit",
                &text,
            )?;
            via(f, report.via(Kind::Toolkit))?;
            let (mark, text) = match &toolkit.nvcc {
                Some(nvcc) => (Mark::Tick, shown(nvcc)),
                None => (Mark::Dash, "not there".to_string()),
            };
            line(f, report, ReportSection::Nvcc, mark, "nvcc", &text)?;
            findings(f, report, ReportSection::Nvcc)?;
            host_compiler(report, f)?;
        }
        None => {
            let text = none(report, Kind::Toolkit);
            line(
                f,
                report,
                ReportSection::Toolkit,
                Mark::Dash,
                "toolkit",
                text,
            )?;
        }
    }
    findings(f, report, ReportSection::Toolkit)?;
    match &report.cudnn {
        Some(cudnn) => chosen_cudnn(report, cudnn, f),
        None => {
            let text = none(report, Kind::Cudnn);
            line(f, report, ReportSection::Cudnn, Mark::Dash, "cuDNN", text)?;
            findings(f, report, ReportSection::Cudnn)
        }
    }
}

/// What nvcc takes for host code.
fn host_compiler(report: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    let section = ReportSection::HostCompiler;
    let machine = report.machine.as_ref().filter(|_| !f.alternate());
    if let Some(compiler) = machine.and_then(|one| one.host_compiler.as_deref()) {
        let mut noticed = report.findings.iter();
        let mark = match noticed.any(|one| thing(one.id) == section) {
            true => Mark::Dash,
            false => Mark::Tick,
        };
        line(f, report, section, mark, "host code", &printable(compiler))?;
    }
    findings(f, report, section)
}

/// Why none is chosen.
fn none(report: &Report, kind: Kind) -> &'static str {
    match report.candidates.iter().any(|one| kind_of(one) == kind) {
        _ if report.unasked.contains(&kind) => "not asked for",
        true => "none that fits",
        false => "not found",
    }
}

fn chosen_cudnn(report: &Report, cudnn: &Cudnn, f: &mut Formatter<'_>) -> fmt::Result {
    let version = cudnn
        .version()
        .map(|version| with_flavour(version, cudnn.cuda_major));
    let text = at(version, &cudnn.root);
    line(f, report, ReportSection::Cudnn, Mark::Tick, "cuDNN", &text)?;
    via(f, report.via(Kind::Cudnn))?;
    let told = |what: &Option<PathBuf>, version| match (what, version) {
        (Some(path), Some(version)) => (Mark::Tick, format!("{version} in {}", shown(path))),
        (Some(path), None) => (Mark::Dash, format!("{}, release not told", shown(path))),
        (None, _) => (Mark::Dash, "not there".to_string()),
    };
    let (mark, text) = told(&cudnn.header, cudnn.header_version);
    line(f, report, ReportSection::Itself, mark, "header", &text)?;
    let (mark, text) = told(&cudnn.library, cudnn.library_version);
    line(f, report, ReportSection::Itself, mark, "library", &text)?;
    if let (Some(owner), false) = (&cudnn.owner, f.alternate()) {
        let text = printable(&owner.to_string());
        line(f, report, ReportSection::Itself, Mark::Tick, "owner", &text)?;
    }
    findings(f, report, ReportSection::Cudnn)?;
    let (mark, text) = match cudnn.parts.is_empty() {
        true => (Mark::Dash, "none seen".to_string()),
        false => (Mark::Tick, parts(cudnn)),
    };
    line(f, report, ReportSection::Parts, mark, "parts", &text)?;
    findings(f, report, ReportSection::Parts)?;
    #[cfg(feature = "cli")] // a build reads none
    if !f.alternate() && !cudnn.gpu_codes.is_empty() {
        let text = wrapped(&gpu_code::describe(&cudnn.gpu_codes), INDENT);
        line(
            f,
            report,
            ReportSection::Itself,
            Mark::Tick,
            "GPU code",
            &text,
        )?;
    }
    Ok(())
}

/// `9.14.0 for CUDA 13`
pub(crate) fn with_flavour(version: Version, cuda_major: Option<u32>) -> String {
    let flavour = cuda_major.map(|major| format!(" for CUDA {major}"));
    format!("{version}{}", flavour.unwrap_or_default())
}

/// `graph 9.14.0, ops 9.14.0`: a part and its release stay together.
pub(crate) fn parts(cudnn: &Cudnn) -> String {
    let last = cudnn.parts.len().saturating_sub(1);
    let parts = cudnn.parts.iter().enumerate();
    let parts: Vec<String> = parts
        .map(|(index, of)| part(of) + if index < last { "," } else { "" })
        .collect();
    pieces(parts.iter().map(String::as_str), INDENT)
}

/// `graph 9.14.0`; a part that does not tell its release is named alone.
fn part(part: &Part) -> String {
    match part.version {
        Some(version) => printable(&format!("{} {version}", part.name)),
        None => printable(&part.name),
    }
}

fn machine(report: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    let Some(machine) = &report.machine else {
        line(
            f,
            report,
            ReportSection::Driver,
            Mark::Dash,
            "driver",
            "not asked",
        )?;
        return line(
            f,
            report,
            ReportSection::Gpus,
            Mark::Dash,
            "GPUs",
            "not asked",
        );
    };
    match &machine.driver {
        Some(driver) => {
            let cuda = driver.cuda.map_or(String::new(), |cuda| {
                format!("runs CUDA up to {}, ", cuda.short())
            });
            let text = match &driver.version {
                Some(version) => format!("{version}, {cuda}{}", driver.library),
                None => format!("{cuda}{}", driver.library),
            };
            let text = printable(&text);
            line(
                f,
                report,
                ReportSection::Driver,
                Mark::Tick,
                "driver",
                &text,
            )?;
        }
        None => line(
            f,
            report,
            ReportSection::Driver,
            Mark::Dash,
            "driver",
            "none here",
        )?,
    }
    findings(f, report, ReportSection::Driver)?;
    if machine.gpus.is_empty() {
        line(
            f,
            report,
            ReportSection::Gpus,
            Mark::Dash,
            "GPUs",
            "none here",
        )?;
    }
    for (index, gpu) in machine.gpus.iter().enumerate() {
        let label = if index == 0 { "GPUs" } else { "" };
        let text = format!("{}, compute capability {}", gpu.name, gpu.capability);
        line(
            f,
            report,
            ReportSection::Gpus,
            Mark::Tick,
            label,
            &printable(&text),
        )?;
    }
    findings(f, report, ReportSection::Gpus)?;
    let targets: Vec<String> = machine.targets.iter().map(ToString::to_string).collect();
    if targets.is_empty() {
        line(
            f,
            report,
            ReportSection::Targets,
            Mark::Dash,
            "targets",
            "none",
        )?;
    } else {
        let text = wrapped(&targets.join(" "), INDENT);
        line(
            f,
            report,
            ReportSection::Targets,
            Mark::Tick,
            "targets",
            &text,
        )?;
    }
    findings(f, report, ReportSection::Targets)
}

/// Which of cudarc's features fits, for a crate that uses it.
fn cudarc(report: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    let toolkit = report.toolkit.as_ref().and_then(|one| one.version);
    let driver = report.machine.as_ref().and_then(|one| one.driver.as_ref());
    let advice = cudarc::advice(toolkit, driver.and_then(|driver| driver.cuda));
    let Some((release, advice)) = report.cudarc.as_ref().zip(advice) else {
        return Ok(());
    };
    let text = printable(&format!("{release} in Cargo.lock: {advice}"));
    let text = wrapped(&text, INDENT);
    line(
        f,
        report,
        ReportSection::Itself,
        Mark::Dash,
        "cudarc",
        &text,
    )
}

/// One thing; an error about it turns its mark into a cross.
fn line(
    f: &mut Formatter<'_>,
    report: &Report,
    about: ReportSection,
    mark: Mark,
    label: &str,
    text: &str,
) -> fmt::Result {
    let mut errors = report
        .findings
        .iter()
        .filter(|one| one.severity == Severity::Error);
    let wrong = about != ReportSection::Itself && errors.any(|error| thing(error.id) == about);
    let mark = if wrong { Mark::Cross } else { mark };
    writeln!(f, "  {mark} {label:<9} {text}")
}

/// How the thing on the line above was found.
fn via(f: &mut Formatter<'_>, via: Option<&FoundVia>) -> fmt::Result {
    match via {
        Some(via) => writeln!(f, "{:INDENT$}found via {}", "", printable(&via.to_string())),
        None => Ok(()),
    }
}

/// What was noticed about the thing on the line above; the stack alone (`{:#}`) leaves notes out.
fn findings(f: &mut Formatter<'_>, report: &Report, about: ReportSection) -> fmt::Result {
    for finding in report.findings.iter().filter(|one| thing(one.id) == about) {
        if !f.alternate() || finding.severity != Severity::Note {
            write!(f, "    ")?;
            below(f, finding, 4)?;
        }
    }
    Ok(())
}

/// Findings that stand below no line of their own.
pub(crate) fn apart<'a>(
    f: &mut Formatter<'_>,
    findings: impl Iterator<Item = &'a Finding>,
) -> fmt::Result {
    for (index, finding) in findings.enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        let mark = match finding.severity {
            Severity::Error => Mark::Cross,
            Severity::Warning | Severity::Note => Mark::Dash,
        };
        write!(f, "{gap}  {mark} ")?;
        below(f, finding, 4)?;
    }
    Ok(())
}

/// A finding whose first line is already indented. Only its headline is broken between words: evidence and help
/// hold paths and commands to be pasted.
fn below(f: &mut Formatter<'_>, finding: &Finding, indent: usize) -> fmt::Result {
    for (index, text) in finding.to_string().lines().enumerate() {
        if index == 0 {
            writeln!(f, "{}", wrapped(text, indent))?;
        } else {
            writeln!(f, "{:indent$}{text}", "")?;
        }
    }
    Ok(())
}

/// Everything that was not chosen.
fn others(report: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    let others = report.candidates.iter().filter(|other| !other.chosen);
    for (index, other) in others.enumerate() {
        if index == 0 {
            writeln!(f, "\nalso found")?;
        }
        let (product, root) = (product(other), shown(other.root()));
        writeln!(f, "  {product} {} at {root}", release(other))?;
        let reason = match &other.rejected {
            Some(reason) => reason.to_string(),
            None => "not looked into".into(),
        };
        writeln!(f, "    found via {}", printable(&other.via.to_string()))?;
        writeln!(f, "    not chosen: {}", wrapped(&printable(&reason), 4))?;
    }
    Ok(())
}

fn verdict(report: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    let why = match report.verdict() {
        Verdict::Pass => "what is here fits together".to_string(),
        Verdict::Fail if report.errors() == 1 => "1 error".to_string(),
        Verdict::Fail => format!("{} errors", report.errors()),
        Verdict::Unknown => report.unchecked().join("; "),
    };
    writeln!(f, "\nverdict: {} ({why})", report.verdict())
}

/// `9.14.0 at /usr/local/cuda`
fn at(version: Option<String>, root: &Path) -> String {
    let version = version.unwrap_or_else(|| "of unknown release".to_string());
    format!("{version} at {}", shown(root))
}
