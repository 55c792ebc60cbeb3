//! Reads the targets of the fatbins in a library. Only headers are read; nearly all of the rest is code.
//!
//! NVIDIA does not document the format, which has not changed since CUDA 11: a header of 16 bytes, then entries, each a
//! header and the code. The next fatbin follows, possibly after zeros.

#[cfg(test)]
pub mod made;

use crate::runtime::binary::{contains, number};
use crate::runtime::facts::{Code, ComputeCapability, Suffix, Target};

/// The start of every fatbin: a mark, the version of the format, and the size of the header.
pub const START: [u8; 8] = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
/// The size of a fatbin's header, and the minimum size of an entry's header, which includes the suffix.
const HEAD: u64 = 16;
const ENTRY: u64 = 48;

/// A limit above the size of machine code without a function, which nvcc's device linker adds for its default target.
const EMPTY: u64 = 4096;

/// A limit for damaged files. No sub-library has even a tenth as many.
const MAX_HEADERS: u32 = 1 << 17;
/// A limit for damaged files. About twenty targets exist.
const MAX_TARGETS: usize = 256;

/// Returns the targets in `size` bytes of fatbins, or `None` if they are invalid. `read` returns bytes at an offset.
pub fn targets(
    size: u64,
    read: &mut dyn FnMut(u64, u64) -> Option<Vec<u8>>,
) -> Option<Vec<Target>> {
    let mut found = Vec::new();
    let (mut at, mut end) = (0, 0);
    for _ in 0..MAX_HEADERS {
        if at < end {
            let entry = Entry::parse(&read(at, ENTRY)?)?;
            let is_empty = entry.size <= EMPTY && !has_code(&read(at, entry.size)?);
            at = entry.size.checked_add(at).filter(|next| *next <= end)?;
            let is_new = |target: &Target| !is_empty && !found.contains(target);
            if let Some(new) = entry.target.filter(is_new) {
                found.push(new);
            }
            if found.len() > MAX_TARGETS {
                return None;
            }
        } else if at < size {
            let start = read(at, (size - at).min(4 * HEAD))?;
            let zeros = start.iter().take_while(|byte| **byte == 0).count();
            if zeros > 0 {
                at += zeros as u64;
                continue;
            }
            if !start.starts_with(&START) {
                return None;
            }
            let length = number(&start, 8, 8)?;
            at += HEAD;
            end = at.checked_add(length).filter(|end| *end <= size)?;
        } else {
            found.sort();
            return Some(found);
        }
    }
    None
}

/// Returns `false` for machine code, an ELF file that is not compressed, without the section of a function.
fn has_code(entry: &[u8]) -> bool {
    !contains(entry, b'\x7f', b"ELF") || contains(entry, b'.', b"text.")
}

struct Entry {
    /// The target, or `None` if the code is neither machine code nor PTX.
    target: Option<Target>,
    /// The size, including the header.
    size: u64,
}

impl Entry {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let code = match number(bytes, 0, 2)? {
            1 => Some(Code::Ptx),
            2 => Some(Code::Machine),
            _ => None,
        };
        let head = number(bytes, 4, 4)?;
        let arch = u32::try_from(number(bytes, 28, 4)?).ok()?;
        let suffix = match number(bytes, 40, 8)? {
            flags if flags & 1 << 20 != 0 => Suffix::Arch,
            flags if flags & 1 << 21 != 0 => Suffix::Family,
            _ => Suffix::None,
        };
        let size = number(bytes, 8, 8)?.checked_add(head)?;
        let target = code.map(|code| Target {
            capability: ComputeCapability::from_number(arch),
            suffix,
            code,
        });
        (head >= ENTRY).then_some(Self { target, size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cudnn::device_code::fatbin::made::fatbin;

    fn targets_in(bytes: &[u8]) -> Option<String> {
        let mut read = |at: u64, size: u64| {
            let at = usize::try_from(at).ok()?;
            let end = at.checked_add(usize::try_from(size).ok()?)?;
            bytes.get(at..end).map(<[u8]>::to_vec)
        };
        let found = targets(bytes.len() as u64, &mut read)?;
        let words: Vec<String> = found.iter().map(Target::to_string).collect();
        Some(words.join(" "))
    }

    #[test]
    fn targets_are_in_numeric_order() {
        let first = fatbin("sm_120f compute_120f sm_90a sm_75");
        let second = fatbin("sm_100 sm_75");
        let both = [&[0; 8][..], &first, &[0; 200], &second, &[0; 24]].concat();
        let all = Some("sm_75 sm_90a sm_100 sm_120f compute_120f".to_string());
        assert_eq!(targets_in(&both), all);
        assert_eq!(targets_in(&[first, second].concat()), all);
        assert_eq!(targets_in(&[]), Some(String::new()));
        assert_eq!(targets_in(&fatbin("")), Some(String::new()));
    }

    #[test]
    fn an_entry_without_code_is_skipped() {
        let mut bytes = fatbin("sm_75 sm_80");
        bytes[16] = 16;
        assert_eq!(targets_in(&bytes), Some("sm_80".to_string()));
    }

    #[test]
    fn a_damaged_fatbin_has_no_targets() {
        let valid = fatbin("sm_75 compute_90");
        for length in 1..valid.len() {
            assert_eq!(targets_in(&valid[..length]), None, "{length}");
        }
        let bent = |at: usize, bytes: &[u8]| {
            let mut bent = valid.clone();
            bent[at..at + bytes.len()].copy_from_slice(bytes);
            targets_in(&bent)
        };
        assert_eq!(bent(0, &[1]), None); // no mark
        assert_eq!(bent(4, &[2]), None); // another version
        assert_eq!(bent(6, &[17]), None); // another header
        assert_eq!(bent(8, &[0xff; 8]), None); // impossibly long
        assert_eq!(bent(20, &[0; 4]), None); // an entry without a header
        assert_eq!(bent(20, &[47, 0, 0, 0, 41]), None); // a header that is too short
        assert_eq!(bent(24, &[0xff; 8]), None);
        assert_eq!(bent(24, &[0, 0, 1]), None); // an entry that ends after its fatbin
        assert_eq!(bent(24, &[1]), None);
        for at in 0..valid.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                bent(at, &[byte]);
            }
        }
    }

    /// Each is compared with all before it.
    #[test]
    fn more_targets_than_gpus_exist_are_rejected() {
        let many = |count| {
            (10..10 + count)
                .map(|number| format!("sm_{number} "))
                .collect()
        };
        let count = |count| {
            let words: String = many(count);
            Some(targets_in(&fatbin(&words))?.split(' ').count())
        };
        assert_eq!(count(MAX_TARGETS), Some(MAX_TARGETS));
        assert_eq!(count(MAX_TARGETS + 1), None);
    }

    #[test]
    fn endless_entries_are_rejected() {
        let mut reads = 0;
        let mut zeros = |_: u64, size: u64| {
            reads += 1;
            Some(vec![0; usize::try_from(size).unwrap()])
        };
        assert_eq!(targets(u64::MAX, &mut zeros), None);
        assert_eq!(reads, MAX_HEADERS);
    }
}
