//! The inspection for people, laid out as the doctor's report is.

use crate::inspection::Inspection;
use crate::inspection::preflight::within;
use crate::model::candidate::Cudnn;
use crate::model::linkage::Format;
use crate::report::text::{INDENT, Mark, below, part, pieces, shown, wrapped};
use crate::runtime::facts::built::{Built, Loader};
use crate::runtime::facts::finding::{Severity, Verdict, printable};
use crate::runtime::facts::finding_id::FindingId;
use std::fmt::{
    Formatter, {self},
};

/// Everything.
pub(super) fn inspection(inspection: &Inspection, f: &mut Formatter<'_>) -> fmt::Result {
    let picture = &inspection.picture;
    let format = match inspection.linkage.format {
        Format::Elf => "ELF",
        Format::Pe => "PE",
    };
    let program = shown(&picture.program);
    let cpu = &inspection.linkage.cpu;
    line(
        f,
        Mark::Tick,
        "program",
        &format!("{program}, {format} for {cpu}"),
    )?;
    for guard in &picture.guards {
        writeln!(
            f,
            "{:INDENT$}{}",
            "",
            wrapped(&printable(&built(guard)), INDENT)
        )?;
    }
    if picture.guards.is_empty() {
        writeln!(f, "{:INDENT$}without the facts of a guard", "")?;
    }
    cudnn(inspection, f)?;
    libraries(inspection, f)?;
    driver(inspection, f)?;
    for (index, finding) in inspection.findings.iter().enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        let mark = match finding.severity {
            Severity::Error => Mark::Cross,
            Severity::Warning | Severity::Note => Mark::Dash,
        };
        write!(f, "{gap}  {mark} ")?;
        below(f, finding, 4)?;
    }
    let errors = inspection.findings.iter();
    let errors = errors
        .filter(|finding| finding.severity == Severity::Error)
        .count();
    let why = match inspection.verdict() {
        Verdict::Pass => "what it was built with and what is here fit together".to_string(),
        Verdict::Fail if errors == 1 => "1 error".to_string(),
        Verdict::Fail => format!("{errors} errors"),
        Verdict::Unknown => inspection.unknown.join("; "),
    };
    let why = match inspection.lenient {
        _ if errors == 0 => why,
        Some("off") => format!("{why}; under CUDNN_GUARD=off the guard does not look"),
        Some(_) => format!("{why}; under CUDNN_GUARD=warn the guard ends no program"),
        None => why,
    };
    writeln!(
        f,
        "\nverdict: {} ({})",
        inspection.verdict(),
        printable(&why)
    )
}

/// ``app 0.1.0, built with cuDNN 9.14.0 for CUDA 13 and CUDA 13.0, linked, asks for `>=9.1` ``
fn built(built: &Built) -> String {
    let mut words = vec![built.package.clone().unwrap_or_else(|| "a crate".into())];
    if built.absent.is_some() {
        words.push("built without CUDA".into());
        return words.join(", ");
    }
    let flavour = built
        .cudnn_cuda_major
        .map_or(String::new(), |major| format!(" for CUDA {major}"));
    words.extend(
        built
            .cudnn
            .map(|cudnn| format!("built with cuDNN {cudnn}{flavour}")),
    );
    words.extend(
        built
            .requirement
            .as_ref()
            .map(|asked| format!("asks for cuDNN `{}`", asked.text)),
    );
    words.push(
        match built.loader {
            Loader::Linked => "is linked with it",
            Loader::Dlopen => "opens it by its name",
            Loader::Cudarc => "lets cudarc open it",
            Loader::Static => "holds it",
        }
        .into(),
    );
    if !built.targets.is_empty() {
        let targets: Vec<String> = built.targets.iter().map(ToString::to_string).collect();
        words.push(format!("kernels for {}", targets.join(" ")));
    }
    words.join(", ")
}

fn cudnn(inspection: &Inspection, f: &mut Formatter<'_>) -> fmt::Result {
    let mut within = inspection.picture.guards.iter().filter_map(within);
    if let Some(cudnn) = within.next() {
        let text = format!("{}, linked into the program itself", release(&cudnn));
        line(f, Mark::Tick, "cuDNN", &text)?;
        if inspection.cudnn().is_none() {
            return Ok(());
        }
    }
    let Some(cudnn) = inspection.cudnn() else {
        let is_wrong = inspection
            .picture
            .missing
            .iter()
            .any(|one| one.name.starts_with("libcudnn"));
        let mark = if is_wrong && inspection.verdict() == Verdict::Fail {
            Mark::Cross
        } else {
            Mark::Dash
        };
        return line(f, mark, "cuDNN", "none that the loader comes to");
    };
    let version = release(cudnn);
    let library = cudnn.library.as_deref().map_or(String::new(), shown);
    line(
        f,
        inspection.mark(OF_CUDNN),
        "cuDNN",
        &format!("{version} at {library}"),
    )?;
    writeln!(
        f,
        "{:INDENT$}found via {}",
        "",
        printable(&inspection.picture.found_via)
    )?;
    let last = cudnn.parts.len().saturating_sub(1);
    let parts = cudnn.parts.iter().enumerate();
    let parts: Vec<String> = parts
        .map(|(index, of)| part(of) + if index < last { "," } else { "" })
        .collect();
    let text = pieces(parts.iter().map(String::as_str), INDENT);
    line(f, inspection.mark(OF_PARTS), "parts", &text)
}

/// `9.14.0 for CUDA 13`
fn release(cudnn: &Cudnn) -> String {
    let flavour = cudnn
        .cuda_major
        .map_or(String::new(), |major| format!(" for CUDA {major}"));
    cudnn
        .library_version
        .map_or("of unknown release".into(), |version| {
            format!("{version}{flavour}")
        })
}

const OF_CUDNN: &[FindingId] = &[FindingId::CudnnVersionMismatch, FindingId::CudnnNotLoadable];
const OF_PARTS: &[FindingId] = &[
    FindingId::PartsMissing,
    FindingId::PartsMixed,
    FindingId::LibraryDamaged,
    FindingId::WrongArchitecture,
];
const OF_LIBRARIES: &[FindingId] = &[FindingId::LibraryNotFound];
const OF_DRIVER: &[FindingId] = &[FindingId::DriverTooOld];

impl Inspection {
    /// A cross if an error of these was found.
    fn mark(&self, ids: &[FindingId]) -> Mark {
        let mut findings = self.findings.iter();
        let is_wrong = findings.any(|one| one.severity == Severity::Error && ids.contains(&one.id));
        if is_wrong { Mark::Cross } else { Mark::Tick }
    }
}

fn libraries(inspection: &Inspection, f: &mut Formatter<'_>) -> fmt::Result {
    let picture = &inspection.picture;
    let found = picture.objects.len().saturating_sub(1);
    if picture.objects.is_empty() {
        return line(f, Mark::Dash, "libraries", "not followed");
    }
    let names: Vec<&str> = picture
        .missing
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    let text = if names.is_empty() {
        format!("{found}, all found")
    } else {
        format!("{found} found, not {}", names.join(", "))
    };
    let mark = match inspection.mark(OF_LIBRARIES) {
        Mark::Tick if !names.is_empty() => Mark::Dash,
        mark => mark,
    };
    line(f, mark, "libraries", &wrapped(&printable(&text), INDENT))
}

fn driver(inspection: &Inspection, f: &mut Formatter<'_>) -> fmt::Result {
    let Some(driver) = &inspection.driver else {
        let asked = inspection
            .findings
            .iter()
            .any(|one| one.id == FindingId::DriverMissing);
        let text = if asked && inspection.picture.root.is_none() {
            "none here"
        } else {
            "not asked"
        };
        return line(f, Mark::Dash, "driver", text);
    };
    let cuda = driver.cuda.map_or(String::new(), |cuda| {
        format!("runs CUDA up to {}, ", cuda.short())
    });
    let text = printable(&format!("{cuda}{}", driver.library));
    line(f, inspection.mark(OF_DRIVER), "driver", &text)?;
    for gpu in &inspection.picture.gpus {
        let text = format!("{}, compute capability {}", gpu.name, gpu.capability);
        line(f, Mark::Tick, "GPU", &printable(&text))?;
    }
    Ok(())
}

fn line(f: &mut Formatter<'_>, mark: Mark, label: &str, text: &str) -> fmt::Result {
    writeln!(f, "  {mark} {label:<9} {text}")
}
