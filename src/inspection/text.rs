//! The inspection as text, in the layout of the doctor's report.

use crate::inspection::Inspection;
use crate::inspection::preflight::within;
use crate::model::{Cudnn, joined};
use crate::report::layout::{INDENT, Mark, below, columns, row, shown, wrapped};
use crate::report::text::{findings, parts, with_cuda_major};
use crate::runtime::facts::finding_id::{FindingId as Id, section};
use crate::runtime::facts::{Built, Finding, Loader, Section, Severity, Verdict, printable};
use std::fmt::{self, Formatter};

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let input = &self.input;
        let format = if self.linkage.is_pe { "PE" } else { "ELF" };
        let program = shown(&input.program);
        let cpu = &self.linkage.cpu;
        let text = format!("{program}, {format} for {cpu}");
        row(f, Mark::Tick, "program", &text)?;
        for guard in &input.guards {
            below(f, &built(guard))?;
        }
        if input.guards.is_empty() {
            below(f, "no cudnn-guard record found")?;
        }
        cudnn(self, f)?;
        libraries(self, f)?;
        driver(self, f)?;
        findings(&Vec::from_iter(&self.findings), f)?;
        let is_error = |one: &&Finding| one.severity == Severity::Error;
        let errors = self.findings.iter().filter(is_error).count();
        let verdict = self.verdict();
        let mut why = match verdict {
            Verdict::Pass => "the program is compatible with this system".to_string(),
            Verdict::Fail if errors == 1 => "1 error".to_string(),
            Verdict::Fail => format!("{errors} errors"),
            Verdict::Unknown => self.unknown.join("; "),
        };
        why += match self.lenient {
            Some("off") if errors > 0 => "; with CUDNN_GUARD=off, the guard checks nothing",
            Some(_) if errors > 0 => "; with CUDNN_GUARD=warn, the guard only warns",
            _ => "",
        };
        writeln!(f, "\nverdict: {verdict} ({})", printable(&why))
    }
}

/// Describes a guard: ``app 0.1.0, built with cuDNN 9.14.0 for CUDA 13 and CUDA 13.0, requires cuDNN `>=9.1`, links cuDNN ``.
fn built(built: &Built) -> String {
    let mut words = vec![built.package.clone().unwrap_or_else(|| "a crate".into())];
    if built.absent.is_some() {
        words.push("built without CUDA".into());
        return words.join(", ");
    }
    if let Some(cudnn) = built.cudnn {
        let version = with_cuda_major(cudnn, built.cudnn_cuda_major);
        words.push(format!("built with cuDNN {version}"));
    }
    if let Some(requirement) = &built.requirement {
        words.push(format!("requires cuDNN `{}`", requirement.text));
    }
    let loader = match built.loader {
        Loader::Linked => "links cuDNN",
        Loader::Dlopen => "opens cuDNN by name",
        Loader::Cudarc => "opens cuDNN through cudarc",
        Loader::Static => "contains cuDNN",
        Loader::None => "uses no cuDNN",
    };
    words.push(loader.into());
    if !built.targets.is_empty() {
        words.push(format!("kernels for {}", joined(&built.targets, " ")));
    }
    words.join(", ")
}

fn cudnn(inspection: &Inspection, f: &mut Formatter<'_>) -> fmt::Result {
    let input = &inspection.input;
    if let Some(cudnn) = input.guards.iter().find_map(within) {
        let text = format!("{}, linked into the program itself", release(&cudnn));
        row(f, Mark::Tick, "cuDNN", &text)?;
        if input.cudnn.is_none() {
            return Ok(());
        }
    }
    let Some(cudnn) = &input.cudnn else {
        if input.graph.objects.is_empty() {
            return row(f, Mark::Unknown, "cuDNN", "not checked");
        }
        let is_unused = input
            .guards
            .iter()
            .all(|guard| guard.loader == Loader::None);
        if is_unused && !input.guards.is_empty() {
            return row(f, Mark::Absent, "cuDNN", "not used by the program");
        }
        let mut missing = input.graph.missing.iter();
        let is_wrong = missing.any(|one| one.name.starts_with("libcudnn"));
        let mark = if is_wrong && inspection.verdict() == Verdict::Fail {
            Mark::Cross
        } else {
            Mark::Absent
        };
        return row(f, mark, "cuDNN", "none found by the loader");
    };
    let library = cudnn.library.as_deref().map_or(String::new(), shown);
    let text = format!("{} at {library}", release(cudnn));
    let is_about = |id| matches!(id, Id::CudnnVersionMismatch | Id::CudnnNotLoadable);
    let mark = match cudnn.main_library_defect() {
        Some(_) => Mark::Cross,
        None => inspection.mark(cudnn.library_version.is_some(), is_about),
    };
    row(f, mark, "cuDNN", &text)?;
    // The program can be cuDNN itself.
    if let Some(found_via) = input.found_via() {
        below(f, &format!("found via {found_via}"))?;
    }
    let (mark, parts) = parts(cudnn, columns(f));
    let is_about = |id| section(id) == Section::SubLibraries && id != Id::CudnnNotLoadable;
    let mark = inspection.mark(mark == Mark::Tick, is_about);
    row(f, mark, "sub-libs", &parts)
}

/// Returns a version for messages: `9.14.0 for CUDA 13`.
fn release(cudnn: &Cudnn) -> String {
    match cudnn.library_version {
        Some(version) => with_cuda_major(version, cudnn.cuda_major),
        None => "unknown version".into(),
    }
}

impl Inspection {
    /// Returns a cross or an exclamation mark if a finding about the row is an error or a warning.
    fn mark(&self, is_known: bool, is_about: impl Fn(Id) -> bool) -> Mark {
        let findings = self.findings.iter().filter(|one| is_about(one.id));
        let severities: Vec<Severity> = findings.map(|one| one.severity).collect();
        match () {
            () if severities.contains(&Severity::Error) => Mark::Cross,
            () if severities.contains(&Severity::Warning) => Mark::Warning,
            () => Mark::tick_if(is_known),
        }
    }
}

fn libraries(inspection: &Inspection, f: &mut Formatter<'_>) -> fmt::Result {
    let input = &inspection.input;
    let found = input.graph.objects.len().saturating_sub(1);
    if input.graph.objects.is_empty() {
        return row(f, Mark::Unknown, "libraries", "not checked");
    }
    let missing = input.graph.missing.iter();
    let names: Vec<&str> = missing.map(|one| one.name.as_str()).collect();
    let text = if names.is_empty() {
        format!("{found}, all found")
    } else {
        format!("{found} found, missing: {}", names.join(", "))
    };
    let is_complete = input.graph.objects.iter().all(|one| one.defect.is_none());
    let is_about = |id| matches!(id, Id::LibraryNotFound | Id::CudaLibrariesMixed);
    let mark = match inspection.mark(is_complete, is_about) {
        Mark::Tick if !names.is_empty() => Mark::Absent,
        mark => mark,
    };
    let text = wrapped(&printable(&text), INDENT, columns(f));
    row(f, mark, "libraries", &text)
}

fn driver(inspection: &Inspection, f: &mut Formatter<'_>) -> fmt::Result {
    let Some(driver) = &inspection.input.driver else {
        let mut findings = inspection.findings.iter();
        let is_missing = findings.any(|one| one.id == Id::DriverMissing);
        let (mark, text) = if is_missing && inspection.input.root.is_none() {
            (Mark::Absent, "none")
        } else {
            (Mark::Unknown, "not queried")
        };
        return row(f, mark, "driver", text);
    };
    let cuda = driver.cuda.map_or(String::new(), |cuda| {
        format!("supports CUDA {}, ", cuda.short())
    });
    let text = printable(&format!("{cuda}{}", driver.library));
    let mark = inspection.mark(driver.cuda.is_some(), |id| section(id) == Section::Driver);
    row(f, mark, "driver", &text)?;
    for gpu in &driver.devices {
        let text = format!("{}, compute capability {}", gpu.name, gpu.capability);
        let is_about = |id| matches!(section(id), Section::Gpus | Section::Targets);
        let mark = inspection.mark(true, is_about);
        row(f, mark, "GPU", &printable(&text))?;
    }
    Ok(())
}
