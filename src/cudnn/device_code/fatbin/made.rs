//! Fatbins for tests.

use crate::runtime::facts::{Code, Suffix, Target};

/// Creates a fatbin with an entry for each target: a header of 64 bytes and 24 bytes of code.
pub fn fatbin(targets: &str) -> Vec<u8> {
    let entries: Vec<u8> = Target::parse_all(targets)
        .into_iter()
        .flat_map(|target| {
            let mut entry = [0x5a; 88];
            let mut set =
                |at: usize, bytes: &[u8]| entry[at..at + bytes.len()].copy_from_slice(bytes);
            let kind: u16 = if target.code == Code::Ptx { 1 } else { 2 };
            let flags: u64 = match target.suffix {
                Suffix::None => 0x11,
                Suffix::Arch => 0x11 | 1 << 20,
                Suffix::Family => 0x11 | 1 << 21,
            };
            set(0, &kind.to_le_bytes());
            set(2, &0x101_u16.to_le_bytes());
            set(4, &64_u32.to_le_bytes());
            set(8, &24_u64.to_le_bytes());
            set(28, &target.capability.number().to_le_bytes());
            set(40, &flags.to_le_bytes());
            entry
        })
        .collect();
    let head = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    [&head[..], &(entries.len() as u64).to_le_bytes(), &entries].concat()
}
