//! The facts of a build as bytes in the program. The build writes them; the running program and `cudnn-guard inspect`
//! read them. A record is
//!
//! ```text
//! cdnngrd   seven letters
//! 1         one byte, the number of the format
//! length    four bytes, little-endian: the length of the text
//! text      UTF-8, one fact on a line: its key, a space, its value; the first line is the version that wrote it
//! ```
//!
//! Several crates of one program may have a record each. The meaning of a key never changes. Keys of later versions are
//! skipped, and missing keys have defaults; only after an unknown policy or loader is it unknown what may be loaded.
//! The number of the format tells people which keys to expect; no reader checks it.

use crate::runtime::facts::codec::{displayed, join, named, row, split};
use crate::runtime::facts::{
    Built, BuiltFinding, CudnnTargets, Fields, KnownBad, Loader, Policy, Requirement, Target,
    Version, codec,
};
use std::io::BufRead;
use std::slice::from_ref;

const MAGIC: &[u8] = b"cdnngrd";
const FORMAT: u8 = 1;
/// The start of every text. A program that reads records contains the magic letters without it.
const FIRST: &str = "guard ";
/// A limit on the text, far above the longest that a guard writes.
const LONGEST: usize = 1 << 20;

displayed!(Version: Version::parse, Target: Target::parse);
named!(Policy {
    Compatible = "compatible",
    SameMinor = "same-minor",
    Exact = "exact",
    Requirement = "requirement",
});
named!(Loader {
    Linked = "linked",
    Dlopen = "dlopen",
    Cudarc = "cudarc",
    Static = "static",
    None = "none",
});
row!(BuiltFinding: severity, id, summary);
row!(CudnnTargets: first, last, cuda, code);
row!(KnownBad: from, below, good, several_gpus, cublas, good_cublas, operation, partial, first_gpu, last_gpu, what);

/// Defines the writer and the reader of the lines: the key, how often it occurs, and its member of [`Built`].
macro_rules! facts {
    (@write maybe $key:literal $member:expr, $text:ident) => { lines($text, $key, $member.as_slice()) };
    (@write each $key:literal $member:expr, $text:ident) => { lines($text, $key, &$member) };
    (@write words $key:literal $member:expr, $text:ident) => {
        if !$member.is_empty() {
            lines($text, $key, from_ref(&$member));
        }
    };
    (@write $once:ident $key:literal $member:expr, $text:ident) => { lines($text, $key, from_ref(&$member)) };
    (@read maybe $member:expr, $built:ident $key:ident $value:ident) => { $member = Fields::decode($value) };
    (@read each $member:expr, $built:ident $key:ident $value:ident) => { codec::push(&mut $member, $value) };
    (@read known $member:expr, $built:ident $key:ident $value:ident) => {
        match Fields::decode($value) {
            Some(value) => $member = value,
            None => $built.not_understood = Some(format!("{} {}", $key, $value)),
        }
    };
    (@read $once:ident $member:expr, $built:ident $key:ident $value:ident) => { codec::set(&mut $member, $value) };
    ($($key:literal $kind:ident $($member:ident).+;)+) => {
        fn write(built: &Built, text: &mut String) {
            $(facts!(@write $kind $key built.$($member).+, text);)+
        }

        #[cfg(feature = "runtime")]
        fn read(built: &mut Built, key: &str, value: &str) {
            match key {
                $($key => facts!(@read $kind built.$($member).+, built key value),)+
                _ => {}
            }
        }
    };
}

// How often a key occurs. `once`; `known`: once, and with an unknown value the program cannot be judged; `maybe`: if
// there is a value; `words`: once with all values, if there are any; `each`: once for every value.
facts! {
    "guard" once written_by;
    "crate" maybe package;
    "cudnn" maybe cudnn;
    "cudnn-cuda" maybe cudnn_cuda_major;
    "cuda" maybe cuda;
    "policy" known policy;
    "loader" known loader;
    "cudarc" maybe cudarc;
    "targets" words targets;
    "needs" words needs;
    "convolution" once convolution;
    "require-gpu" once require_gpu;
    "finding" each findings;
    "gpus" each tables.gpus;
    "known-bug" each tables.known_bad;
    "driver" each tables.drivers;
    "ptx" maybe tables.ptx;
    "build-ids" each tables.build_ids;
    "absent" maybe absent;
}

fn lines<T: Fields>(text: &mut String, key: &str, values: &[T]) {
    for value in values {
        *text += &codec::line(key, value);
        text.push('\n');
    }
}

pub fn encode(built: &Built) -> Vec<u8> {
    let text = text(built);
    let length = u32::try_from(text.len()).unwrap_or_default();
    let mut record = MAGIC.to_vec();
    record.push(FORMAT);
    record.extend_from_slice(&length.to_le_bytes());
    record.extend_from_slice(text.as_bytes());
    record
}

#[cfg(feature = "runtime")]
impl Built {
    /// Reads the record of this program. If the bytes are not a record, everything is unknown.
    pub fn read(record: &[u8]) -> Self {
        match split_record(record) {
            Some((text, _)) => parse(text),
            None => Self {
                not_understood: Some("a record that cannot be read".to_string()),
                ..Self::default()
            },
        }
    }
}

/// Finds the records among other bytes, as in the constants of a program.
#[cfg(feature = "runtime")]
pub fn find(bytes: &[u8]) -> Vec<Built> {
    let mut found = Vec::new();
    let mut rest = bytes;
    // `skip_until` is optimized even in debug builds, and programs are large.
    while rest.skip_until(b'c').is_ok_and(|skipped| skipped > 0) {
        let letter = bytes.len().saturating_sub(rest.len() + 1);
        if let Some((text, after)) = bytes.get(letter..).and_then(split_record) {
            found.push(parse(text));
            rest = after;
        }
    }
    found
}

/// Returns the text of the record at the start of these bytes, and the bytes after it.
#[cfg(feature = "runtime")]
fn split_record(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (_format, rest) = bytes.strip_prefix(MAGIC)?.split_first()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (text, after) = rest.split_at_checked(length.min(LONGEST))?;
    let text = std::str::from_utf8(text).ok()?;
    text.starts_with(FIRST).then_some((text, after))
}

/// Returns the facts, one on a line.
pub fn text(built: &Built) -> String {
    let mut text = String::new();
    write(built, &mut text);
    if let Some(required) = &built.requirement {
        lines(&mut text, "requirement", from_ref(&required.text));
        lines(&mut text, "from", from_ref(&required.from));
        lines(&mut text, "below", required.below.as_slice());
    }
    text
}

#[cfg(feature = "runtime")]
pub fn parse(text: &str) -> Built {
    let mut built = Built::default();
    let (mut required, mut from, mut below) = (None, None, None);
    codec::each_line(text, &mut |key, value| match key {
        "requirement" => required = String::decode(value),
        "from" => from = Version::decode(value),
        "below" => below = Version::decode(value),
        _ => read(&mut built, key, value),
    });
    if let (Some(text), Some(from)) = (required, from) {
        built.requirement = Some(Requirement { text, from, below });
    }
    built
}
