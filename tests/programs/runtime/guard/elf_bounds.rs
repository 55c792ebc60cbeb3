//! Files crafted to use up memory or time. None is much larger than a megabyte.

use crate::support::installation::Folder;
use cudnn_guard::internals::binary::elf::Elf;
use cudnn_guard::internals::binary::ld_so_cache;
use cudnn_guard::internals::facts::record;
use cudnn_guard::internals::install::package_record;
use cudnn_guard::internals::loader::elf::search_list;
use std::ffi::OsStr;
use std::path::Path;

const ROWS: u64 = 20_000;

/// A 64-bit library with these tables, mapped at its file offsets.
#[derive(Default)]
struct Tables {
    /// The offset of each symbol's name in the string table, and whether the symbol is defined.
    names: Vec<(u32, bool)>,
    strings: Vec<u8>,
    gnu_hash: Vec<u32>,
    hash: Vec<u32>,
    /// The version of all symbols.
    version: u16,
    needed_versions: Vec<u8>,
    versions: Vec<u8>,
    needed: usize,
    /// Additional segments beyond the two real ones, and additional sections beyond the one real section.
    segments: u16,
    sections: u16,
}

impl Tables {
    fn bytes(&self) -> Vec<u8> {
        let mut file = vec![0; 64];
        let mut put = |bytes: &[u8]| {
            file.resize(file.len().next_multiple_of(8), 0);
            let at = file.len() as u64;
            file.extend(bytes);
            at
        };
        let rows = self.names.iter().flat_map(|(name, is_defined)| {
            let kind = [0x12, 0, (*is_defined).into(), 0];
            [&words(&[*name])[..], &kind, &[0; 16]].concat()
        });
        let rows: Vec<u8> = rows.collect();
        let symbols = put(&rows);
        let versions = halves(&vec![self.version; self.names.len()]);
        let mut dynamic = vec![6, symbols, 5, put(&self.strings)];
        dynamic.extend([10, self.strings.len() as u64, 0x6fff_fff0, put(&versions)]);
        for (tag, table) in [
            (0x6fff_fef5, &words(&self.gnu_hash)),
            (4, &words(&self.hash)),
            (0x6fff_fffe, &self.needed_versions),
            (0x6fff_fffc, &self.versions),
        ] {
            if !table.is_empty() {
                dynamic.extend([tag, put(table)]);
            }
        }
        dynamic.extend([1, 1].repeat(self.needed));
        let dynamic = longs(&dynamic);
        let dynamic_at = put(&dynamic);
        let size = rows.len() as u32;
        let section = words(&[
            0,
            11,
            0,
            0,
            0,
            0,
            symbols as u32,
            0,
            size,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
        ]);
        let sections_at = put(&section.repeat(usize::from(self.sections) + 1));
        let segments_at = put(&[]);
        let reach = segments_at + 56 * (u64::from(self.segments) + 2);
        put(&segment(2, dynamic_at, dynamic_at, dynamic.len() as u64));
        put(&segment(1, 0, 1 << 40, 0).repeat(usize::from(self.segments)));
        put(&segment(1, 0, 0, reach));
        let machine = if cfg!(target_arch = "aarch64") {
            183
        } else {
            62
        };
        file[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
        file[16..20].copy_from_slice(&halves(&[3, machine]));
        file[32..48].copy_from_slice(&longs(&[segments_at, sections_at]));
        file[54..62].copy_from_slice(&halves(&[56, self.segments + 2, 64, self.sections + 1]));
        file
    }
}

fn halves(numbers: &[u16]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

fn words(numbers: &[u32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

fn longs(numbers: &[u64]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

fn segment(kind: u32, offset: u64, address: u64, size: u64) -> Vec<u8> {
    let place = longs(&[offset, address, address, size, size, 8]);
    [words(&[kind, 4]), place].concat()
}

/// Returns the CPU time of this thread in seconds, which does not depend on the load of the machine.
fn seconds() -> f64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let spent: f64 = schedstat.split(' ').next().unwrap().parse().unwrap();
    spent / 1e9
}

/// Runs all queries that read tables, and returns the total length of the names that they returned.
fn ask(path: &Path) -> usize {
    let names: Vec<Vec<u8>> = (0..2000)
        .map(|one| format!("cudnnFunction{one}").into_bytes())
        .collect();
    let elf = Elf::open(path).unwrap();
    let wants = elf.named_imports();
    let needed = elf.needed_versions();
    let lists = [
        elf.calls(),
        elf.versions(),
        elf.needed(),
        elf.missing_symbols(names.iter().map(|name| &name[..])),
    ];
    let _ = (
        elf.release("graph"),
        elf.cuda_major(),
        elf.build_id(),
        elf.device_code(),
    );
    let wanted = wants.iter().map(|(file, name)| file.len() + name.len());
    let versions = needed.iter().flat_map(|(_, versions)| versions);
    lists
        .iter()
        .flatten()
        .chain(versions)
        .map(String::len)
        .chain(wanted)
        .sum()
}

#[test]
fn crafted_files_take_neither_memory_nor_time() {
    let folder = Folder::new();
    let path = folder.file("made");
    let text = |length: usize| [&[0][..], &vec![b'a'; length], &[0]].concat();
    // One library, from which one version is required.
    let one_version = [halves(&[1, 1]), words(&[1, 16, 0, 0, 0x2_0000, 1, 0])].concat();
    // A table with a single bucket in which every symbol has every hash, and a table with a loop.
    let any_hash =
        |hash: u32| [&[1, 1, 1, 0, 0, 0, 1][..], &vec![hash & !1; ROWS as usize]].concat();
    let hash = b"cudnnFunction7".iter().fold(5381_u32, |hash, byte| {
        hash.wrapping_mul(33).wrapping_add(u32::from(*byte))
    });
    let late = [&[1, ROWS as u32, 1, 0, 0, 0, ROWS as u32][..], &[1]].concat();
    let circle = (0..ROWS as u32).map(|index| (index + 1) % 2 + 1);
    let circle = [1, ROWS as u32, 1].into_iter().chain(circle).collect();
    let imported = || Tables {
        names: vec![(1, false); ROWS as usize],
        strings: text(4000),
        gnu_hash: late.clone(),
        ..Tables::default()
    };
    let defined = || Tables {
        names: vec![(1, true); ROWS as usize],
        strings: text(4000),
        ..Tables::default()
    };
    for (what, tables) in [
        (
            "one name of a megabyte",
            Tables {
                strings: text(1 << 20),
                version: 2,
                needed_versions: one_version.clone(),
                ..imported()
            },
        ),
        (
            "one name of 4000 bytes",
            Tables {
                version: 2,
                needed_versions: one_version.clone(),
                ..imported()
            },
        ),
        (
            "a chain of all symbols",
            Tables {
                gnu_hash: any_hash(hash),
                ..defined()
            },
        ),
        (
            "a hash chain with a loop",
            Tables {
                hash: circle,
                ..defined()
            },
        ),
        (
            "versions over each other",
            Tables {
                needed_versions: [
                    halves(&[1, 0xffff]),
                    words(&[1, 4, 1]),
                    words(&[1; 250_000]),
                ]
                .concat(),
                ..imported()
            },
        ),
        (
            "versions without end",
            Tables {
                versions: words(&[0, 0, 0, 20, 20]).repeat(50_000),
                ..imported()
            },
        ),
        (
            "many segments and sections",
            Tables {
                strings: text(60),
                version: 2,
                needed_versions: one_version,
                needed: 60_000,
                segments: 18_000,
                sections: 16_000,
                ..imported()
            },
        ),
    ] {
        std::fs::write(&path, tables.bytes()).unwrap();
        let start = seconds();
        let letters = ask(&path);
        let took = seconds() - start;
        assert!(letters <= 64 << 20, "{what}: {letters} bytes of names");
        assert!(took < 1.0, "{what}: {took} s");
    }
}

/// Otherwise a small file could use any amount of memory.
#[test]
fn overlapping_segments_are_not_constants() {
    let folder = Folder::new();
    let path = folder.file("over");
    let constants = |count: u8| {
        let mut file = vec![0; 64];
        file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        file[32] = 64;
        file[54] = 56;
        file[56] = count;
        let whole = 64 + u64::from(count) * 56;
        for _ in 0..count {
            file.extend(segment(1, 0, 0, whole));
        }
        std::fs::write(&path, &file).unwrap();
        let elf = Elf::read(&path).unwrap();
        elf.constants(u64::MAX).map(|bytes| bytes.len() as u64)
    };
    assert_eq!(constants(1), Some(64 + 56));
    assert_eq!(constants(2), None);
}

/// Builds a loader cache in which all entries have this name and this file, both offsets into `strings`.
fn cache(name: u32, file: u32, strings: &[u8]) -> Vec<u8> {
    let at = 48 + 24 * ROWS as u32;
    let entry = words(&[1, at + name, at + file, 0, 0, 0]);
    [
        &b"glibc-ld.so.cache1.1"[..],
        &words(&[ROWS as u32, strings.len() as u32, 0, 0, 0, 0, 0]),
        &entry.repeat(ROWS as usize),
        strings,
    ]
    .concat()
}

#[test]
fn crafted_caches_and_records_take_neither_memory_nor_time() {
    let a = |length: usize| vec![b'a'; length];
    let files = |bytes: &[u8]| -> usize {
        let files = ld_so_cache::parse(bytes, "libcudnn.so.9");
        let files = files.iter().map(|file| file.as_os_str());
        files.map(OsStr::len).sum()
    };
    let records = |bytes: &[u8]| record::find(bytes).len();
    let lines = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).unwrap();
        search_list::preloads(text).len() + package_record::parse(text, "a").len()
    };
    let mut wrong = Vec::new();
    let named = [&b"libcudnn.so.9\0"[..], &a(4000), &[0]].concat();
    let record = |text: &str| [b"cdnngrd\x01\xff\xff\xff\0", text.as_bytes()].concat();
    let ends_in_a_wrong_letter = [record("guard ").repeat(60_000), vec![0xff]].concat();
    for (what, bytes, ask) in [
        (
            "one name of 500 KB",
            cache(0, 0, &a(500_000)),
            &files as &dyn Fn(&[u8]) -> usize,
        ),
        (
            "one path of 500 KB",
            cache(0, 14, &[&named[..14], &a(500_000)].concat()),
            &files,
        ),
        ("one file again and again", cache(0, 14, &named), &files),
        ("no cache", vec![0; 1 << 20], &files),
        (
            "records without a text",
            record("").repeat(90_000),
            &records,
        ),
        ("records without an end", ends_in_a_wrong_letter, &records),
        ("lines", b"a/,,1\n".repeat(40_000), &lines),
    ] {
        let start = seconds();
        let count = ask(&bytes);
        let took = seconds() - start;
        if count > 1 << 20 || took > 1.0 {
            wrong.push(format!("{what}: {count} in {took} s"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
