//! A report as text, in lines of about 80 columns.

use crate::runtime::convolution::CaseResult;
use crate::runtime::facts::{Finding, Loader, Version, printable};
use crate::runtime::report::{Contents, LoadedCudnn};
use std::fmt;
use std::path::Path;

/// Writes the report without the findings.
pub fn stack(report: &Contents, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let built = &report.built;
    let product = match built.loader {
        Loader::None => "CUDA",
        _ => "cuDNN",
    };
    write!(f, "{product}: {}", report.verdict())?;
    let mut with = Vec::new();
    with.extend(built.cudnn.map(|version| format!("cuDNN {version}")));
    let cuda = built.cuda.map(Version::short);
    with.extend(cuda.map(|version| format!("CUDA {version}")));
    let required = built.requirement.as_ref();
    with.extend(required.map(|required| format!("the requirement `{}`", required.text)));
    if with.is_empty() {
        with.push("nothing".to_string());
    }
    write_row(f, "built with", &with.join(", "))?;
    if let Some(loaded) = &report.loaded {
        let version = match loaded.version {
            Some((version, _)) => version.to_string(),
            None => "an unknown version".to_string(),
        };
        let mut text = format!("{}: {version}", loaded.path.display());
        if let Some(major) = loaded.cuda_major {
            text += &format!(", built for CUDA {major}");
        }
        write_row(f, "loaded", &text)?;
        write_row(f, "found via", &loaded.origin)?;
        parts(loaded, f)?;
    }
    if let Some(driver) = &report.driver {
        let mut text = driver.library.clone();
        if let Some(version) = &driver.version {
            text += &format!(" {version}");
        }
        if let Some(cuda) = driver.cuda {
            text += &format!(", supports CUDA {}", cuda.short());
        }
        write_row(f, "driver", &text)?;
        for device in &driver.devices {
            let text = format!("{}, compute capability {}", device.name, device.capability);
            write_row(f, "device", &text)?;
        }
    }
    for (result, times) in grouped(&report.outcomes) {
        write_row(f, "tested", &tested(&result, times))?;
    }
    for line in &report.unchecked {
        write_row(f, "not tested", line)?;
    }
    Ok(())
}

/// Groups the results by GPU, operation, data type, API and verdict. A group is the sum and the number of its results.
fn grouped(outcomes: &[CaseResult]) -> Vec<(CaseResult, usize)> {
    let mut all: Vec<(CaseResult, usize)> = Vec::new();
    for outcome in outcomes.iter().filter(|it| it.left_out.is_none()) {
        let same = |(it, _): &&mut (CaseResult, usize)| {
            it.device == outcome.device
                && it.operation == outcome.operation
                && it.data_type == outcome.data_type
                && it.api == outcome.api
                && it.verdict == outcome.verdict
        };
        let Some((sum, times)) = all.iter_mut().find(same) else {
            all.push((outcome.clone(), 1));
            continue;
        };
        *times += 1;
        sum.milliseconds += outcome.milliseconds;
        sum.tf32 = sum.tf32.max(outcome.tf32);
        if outcome.largest_error > sum.largest_error {
            sum.largest_error = outcome.largest_error;
        }
    }
    all
}

fn tested(result: &CaseResult, times: usize) -> String {
    let mut text = format!(
        "{} on {}: {}",
        result.title(),
        result.device,
        result.verdict
    );
    if times > 1 {
        text += &format!(", {times} times");
    }
    if let Some(error) = result.largest_error {
        text += &format!(", largest error {error:.1e}");
    }
    if result.tf32 == Some(true) {
        text.push_str(", rounded to TF32");
    }
    format!("{}, {:.1} ms", text, result.milliseconds)
}

/// Writes a line for each sub-library. The files in the main library's directory are listed below a line with the
/// directory. Other files have their full path.
fn parts(loaded: &LoadedCudnn, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let directory = loaded.path.parent().unwrap_or_else(|| Path::new(""));
    let inside = |path: &Path| path.parent() == Some(directory);
    let file = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        printable(&name.to_string_lossy())
    };
    let length = |path: &Path| file(path).chars().count();
    let beside = loaded.parts.iter().filter(|part| inside(&part.path));
    let width = beside.map(|part| length(&part.path)).max().unwrap_or(0);
    match (loaded.parts.is_empty(), width) {
        (true, _) => {}
        (false, 0) => write_row(f, "sub-libs", &"none next to the main library")?,
        (false, _) => write_row(f, "sub-libs", &directory.display())?,
    }
    for part in &loaded.parts {
        let version = match (part.version, part.told_by) {
            (Some(version), Some(by)) => format!("{} from {}", version, by.with_article()),
            _ => "version unknown".to_string(),
        };
        let name = match inside(&part.path) {
            true => file(&part.path),
            false => printable(&part.path.display().to_string()),
        };
        write!(f, "\n    {name}")?;
        // A width in the format string could panic, which would put this file's path into the program.
        for _ in name.chars().count()..width {
            f.write_str(" ")?;
        }
        write!(f, "  {version}")?;
    }
    Ok(())
}

/// Returns a finding in a line: its headline and the first help.
pub fn one_line(finding: &Finding) -> String {
    let help = finding.help.first();
    let help = help.map_or_else(String::new, |help| format!("; help: {help}"));
    format!("{}  [{}]{}", finding.summary, finding.id, help)
}

/// Joins lines. A program's output may have many, so only the first eight are kept.
pub fn in_one_line(value: &str) -> String {
    const MOST: usize = 8;
    let mut lines: Vec<&str> = value.lines().map(str::trim).collect();
    if lines.len() > MOST {
        lines.truncate(MOST);
        lines.push("...");
    }
    lines.join("; ")
}

pub fn write_row(f: &mut fmt::Formatter<'_>, label: &str, value: &dyn fmt::Display) -> fmt::Result {
    write!(f, "\n  {:<12}{}", label, printable(&value.to_string()))
}
