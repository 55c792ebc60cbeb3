//! What the build knew, as bytes in the program. The build writes them, the running program and `cudnn-guard inspect`
//! read them. A record is
//!
//! ```text
//! cdnngrd   seven letters
//! 1         one byte, the number of the format
//! length    four bytes, the lowest first: of what follows
//! text      UTF-8, one fact on a line: its key, a space, its value; the first line is the release that wrote it
//! ```
//!
//! Several crates of one program may have a record each. A key keeps its meaning for ever. What a later release adds is
//! skipped, and what an earlier one left out has a default; only a policy or a loader that is not known leaves open
//! what may be loaded. The number of the format tells people which keys to expect, and no reader asks for it.

use crate::runtime::facts::built::{Built, BuiltFinding, Loader, Policy, Requirement};
use crate::runtime::facts::compute_capability::Target;
use crate::runtime::facts::escape::{escape, unescape};
use crate::runtime::facts::finding::Severity;
use crate::runtime::facts::tables::{CudnnTargets, KnownBad};
use crate::runtime::facts::version::Version;
use std::convert::TryFrom;
use std::io::BufRead;

const MAGIC: &[u8] = b"cdnngrd";
const FORMAT: u8 = 1;
/// What every text begins with. A program that reads records holds the magic letters alone, too.
const FIRST: &str = "guard ";
/// No guard writes as much: what claims to be longer is no record.
const LONGEST: usize = 1 << 20;

const POLICIES: [(&str, Policy); 4] = [
    ("compatible", Policy::Compatible),
    ("same-minor", Policy::SameMinor),
    ("exact", Policy::Exact),
    ("requirement", Policy::Requirement),
];
const LOADERS: [(&str, Loader); 4] = [
    ("linked", Loader::Linked),
    ("dlopen", Loader::Dlopen),
    ("cudarc", Loader::Cudarc),
    ("static", Loader::Static),
];
const SEVERITIES: [Severity; 3] = [Severity::Error, Severity::Warning, Severity::Note];
/// Stands for a column that is empty.
const NONE: &str = "-";

/// The record of what a build knew.
pub fn encode(built: &Built) -> Vec<u8> {
    let text = text(built);
    let length = u32::try_from(text.len()).unwrap_or_default();
    let mut record = MAGIC.to_vec();
    record.push(FORMAT);
    record.extend_from_slice(&length.to_le_bytes());
    record.extend_from_slice(text.as_bytes());
    record
}

impl Built {
    /// Reads the record of this program. One that is no record leaves everything unknown.
    #[doc(hidden)]
    pub fn read(record: &[u8]) -> Self {
        match framed(record) {
            Some((text, _)) => parse(text),
            None => Self {
                not_understood: Some("a record that cannot be read".to_string()),
                ..Self::default()
            },
        }
    }
}

/// The records among other bytes, as in the constants of a program.
pub fn find(bytes: &[u8]) -> Vec<Built> {
    let mut found = Vec::new();
    let mut rest = bytes;
    // `skip_until` comes compiled with optimisation, and programs are large.
    while rest.skip_until(b'c').is_ok_and(|skipped| skipped > 0) {
        let letter = bytes.len().saturating_sub(rest.len() + 1);
        if let Some((text, after)) = bytes.get(letter..).and_then(framed) {
            found.push(parse(text));
            rest = after;
        }
    }
    found
}

/// The text of the record that these bytes begin with, and what follows it.
fn framed(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (_format, rest) = bytes.strip_prefix(MAGIC)?.split_first()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (text, after) = rest.split_at_checked(length.min(LONGEST))?;
    let text = std::str::from_utf8(text).ok()?;
    if text.starts_with(FIRST) {
        Some((text, after))
    } else {
        None
    }
}

/// The facts, one on a line.
pub fn text(built: &Built) -> String {
    let mut text = String::new();
    let mut fact = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            text.push_str(&format!("{} {}\n", key, escape(&value)));
        }
    };
    let version = |version: Option<Version>| version.map(|version| version.to_string());
    fact("guard", Some(built.written_by.clone()));
    fact("crate", built.package.clone());
    fact("cudnn", version(built.cudnn));
    let major = built.cudnn_cuda_major;
    fact("cudnn-cuda", major.map(|major| major.to_string()));
    fact("cuda", version(built.cuda));
    if let Some(asked) = &built.requirement {
        fact("requirement", Some(asked.text.clone()));
        fact("from", version(Some(asked.from)));
        fact("below", version(asked.below));
    }
    let policy = POLICIES.iter().find(|(_, one)| *one == built.policy);
    fact("policy", policy.map(|(word, _)| (*word).to_string()));
    let loader = LOADERS.iter().find(|(_, one)| *one == built.loader);
    fact("loader", loader.map(|(word, _)| (*word).to_string()));
    fact("cudarc", version(built.cudarc));
    let listed = |words: String| Some(words).filter(|words| !words.is_empty());
    fact("targets", listed(words(&built.targets)));
    fact("needs", listed(words(&built.needs)));
    fact("convolution", Some(built.convolution.to_string()));
    fact("require-gpu", Some(built.require_gpu.to_string()));
    for finding in &built.findings {
        let words = format!("{} {} {}", finding.severity, finding.id, finding.summary);
        fact("finding", Some(words));
    }
    let tables = &built.tables;
    for row in &tables.gpus {
        let columns = (row.first, row.last, row.cuda);
        let code = words(&row.code);
        let (first, last, cuda) = columns;
        fact("gpus", Some(format!("{first} {last} {cuda} {code}")));
    }
    for row in &tables.known_bad {
        let cublas = version(row.cublas).unwrap_or_else(|| NONE.to_string());
        let operation = row.operation.as_deref().unwrap_or(NONE);
        let releases = format!("{} {} {}", row.from, row.below, row.good);
        let words = format!("{} {} {} {}", releases, cublas, operation, row.what);
        fact("known-bad", Some(words));
    }
    for (cuda, first) in &tables.drivers {
        fact("driver", Some(format!("{cuda} {first}")));
    }
    fact("ptx", version(tables.ptx));
    for (release, ids) in &tables.build_ids {
        fact("build-ids", Some(format!("{release} {ids}")));
    }
    fact("absent", built.absent.clone());
    text
}

/// `Vec::extend` of an `Option` is nine functions more for each type.
fn push<T>(list: &mut Vec<T>, row: Option<T>) {
    if let Some(row) = row {
        list.push(row);
    }
}

/// Reads the lines.
pub fn parse(text: &str) -> Built {
    let mut built = Built::default();
    let (mut asked, mut from, mut below) = (None, None, None);
    for line in text.lines() {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        let value = unescape(value);
        match key {
            "guard" => built.written_by = value,
            "crate" => built.package = Some(value),
            "cudnn" => built.cudnn = Version::parse(&value),
            "cudnn-cuda" => built.cudnn_cuda_major = value.parse().ok(),
            "cuda" => built.cuda = Version::parse(&value),
            "requirement" => asked = Some(value),
            "from" => from = Version::parse(&value),
            "below" => below = Version::parse(&value),
            "policy" => match POLICIES.iter().find(|(word, _)| *word == value) {
                Some((_, policy)) => built.policy = *policy,
                None => built.not_understood = Some(line.to_string()),
            },
            "loader" => match LOADERS.iter().find(|(word, _)| *word == value) {
                Some((_, loader)) => built.loader = *loader,
                None => built.not_understood = Some(line.to_string()),
            },
            "cudarc" => built.cudarc = Version::parse(&value),
            "targets" => built.targets = Target::parse_all(&value),
            "needs" => {
                for word in value.split_whitespace() {
                    built.needs.push(word.to_string());
                }
            }
            "convolution" => built.convolution = value != "false",
            "require-gpu" => built.require_gpu = value == "true",
            "finding" => push(&mut built.findings, finding(&value)),
            "gpus" => push(&mut built.tables.gpus, gpus(&value)),
            "known-bad" => push(&mut built.tables.known_bad, known_bad(&value)),
            "driver" => {
                let row = value.split_once(' ');
                let row = row.and_then(|(cuda, first)| Some((cuda.parse().ok()?, first.into())));
                push(&mut built.tables.drivers, row);
            }
            "ptx" => built.tables.ptx = Version::parse(&value),
            "build-ids" => {
                let row = value.split_once(' ');
                let row =
                    row.and_then(|(release, ids)| Some((Version::parse(release)?, ids.into())));
                built.tables.build_ids.extend(row);
            }
            "absent" => built.absent = Some(value),
            _ => {}
        }
    }
    if let (Some(text), Some(from)) = (asked, from) {
        built.requirement = Some(Requirement { text, from, below });
    }
    built
}

fn finding(value: &str) -> Option<BuiltFinding> {
    let mut columns = value.splitn(3, ' ');
    let (severity, id, summary) = (columns.next()?, columns.next()?, columns.next()?);
    let known = SEVERITIES.iter().find(|one| one.to_string() == severity)?;
    Some(BuiltFinding {
        id: id.to_string(),
        severity: *known,
        summary: summary.to_string(),
    })
}

fn gpus(value: &str) -> Option<CudnnTargets> {
    let mut columns = value.splitn(4, ' ');
    Some(CudnnTargets {
        first: Version::parse(columns.next()?)?,
        last: Version::parse(columns.next()?)?,
        cuda: columns.next()?.parse().ok()?,
        code: Target::parse_all(columns.next()?),
    })
}

fn known_bad(value: &str) -> Option<KnownBad> {
    let mut columns = value.splitn(6, ' ');
    Some(KnownBad {
        from: Version::parse(columns.next()?)?,
        below: Version::parse(columns.next()?)?,
        good: Version::parse(columns.next()?)?,
        cublas: match columns.next()? {
            NONE => None,
            release => Some(Version::parse(release)?),
        },
        operation: Some(columns.next()?)
            .filter(|operation| *operation != NONE)
            .map(String::from),
        what: columns.next()?.to_string(),
    })
}

fn words<T: std::fmt::Display>(items: &[T]) -> String {
    let mut words = Vec::new();
    for item in items {
        words.push(item.to_string());
    }
    words.join(" ")
}
