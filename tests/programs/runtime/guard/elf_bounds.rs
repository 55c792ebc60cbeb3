//! Files crafted to use up memory or time. None is much larger than a megabyte.

use crate::support::installation::Folder;
use cudnn_guard::internals::binary::elf::Elf;
use cudnn_guard::internals::binary::ld_so_cache;
use cudnn_guard::internals::facts::record;
use cudnn_guard::internals::install::package_record;
use cudnn_guard::internals::loader::elf::search_list;
use std::ffi::OsStr;
use std::path::Path;

const ROWS: usize = 20_000;
const GNU_HASH: u64 = 0x6fff_fef5;
const HASH: u64 = 4;
const NEEDED_VERSIONS: u64 = 0x6fff_fffe;
const VERSIONS: u64 = 0x6fff_fffc;
/// In seconds of CPU time. Each file takes about a tenth of it.
const LIMIT: f64 = 2.0;

/// A 64-bit library with these tables, mapped at its file offsets.
#[derive(Clone, Default)]
struct Tables {
    /// `true` for defined symbols, `false` for imported ones. The name of each is at offset 1 of the strings.
    is_defined: bool,
    /// The version of all symbols.
    version: u16,
    strings: Vec<u8>,
    /// The tables that a tag of the dynamic table names.
    tagged: Vec<(u64, Vec<u8>)>,
    needed: usize,
    /// Additional segments beyond the two real ones, and additional sections beyond the one real section.
    segments: u16,
    sections: u16,
}

impl Tables {
    /// Adds a table.
    fn with(mut self, tag: u64, table: &[u32]) -> Self {
        self.tagged.push((tag, words(table)));
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut file = vec![0; 64];
        let mut put = |bytes: &[u8]| {
            file.resize(file.len().next_multiple_of(8), 0);
            let at = file.len() as u64;
            file.extend(bytes);
            at
        };
        let mut row = [0; 24];
        (row[0], row[4], row[6]) = (1, 0x12, self.is_defined.into());
        let symbols = put(&row.repeat(ROWS));
        let numbers = put(&self.version.to_le_bytes().repeat(ROWS));
        let mut dynamic = vec![6, symbols, 0x6fff_fff0, numbers, 5, put(&self.strings)];
        dynamic.extend([10, self.strings.len() as u64]);
        for (tag, table) in &self.tagged {
            dynamic.extend([*tag, put(table)]);
        }
        dynamic.extend([1, 1].repeat(self.needed));
        let dynamic: Vec<u8> = dynamic.iter().flat_map(|word| word.to_le_bytes()).collect();
        let dynamic_at = put(&dynamic);
        let mut section = [0; 16];
        (section[1], section[6], section[8]) = (11, symbols as u32, 24 * ROWS as u32);
        let sections_at = put(&words(&section).repeat(usize::from(self.sections) + 1));
        let segments_at = put(&[]);
        let reach = segments_at + 56 * (u64::from(self.segments) + 2);
        let other = segment(1, 0, 1 << 40, 0).repeat(usize::from(self.segments));
        let dynamic = segment(2, dynamic_at, dynamic_at, dynamic.len() as u64);
        put(&[dynamic, other, segment(1, 0, 0, reach)].concat());
        file[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0");
        if cfg!(target_arch = "aarch64") {
            file[18] = 183;
        }
        file[32..40].copy_from_slice(&segments_at.to_le_bytes());
        file[40..48].copy_from_slice(&sections_at.to_le_bytes());
        let counts = [56, self.segments + 2, 64, self.sections + 1];
        file[54..62].copy_from_slice(&counts.map(u16::to_le_bytes).concat());
        file
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn segment(kind: u32, offset: u64, address: u64, size: u64) -> Vec<u8> {
    let mut segment = [kind.to_le_bytes(), 4_u32.to_le_bytes()].concat();
    for number in [offset, address, address, size, size, 8] {
        segment.extend(number.to_le_bytes());
    }
    segment
}

/// Calls a function up to three times, until it takes less than two seconds of CPU time. Returns its last result and
/// that time. Other programs on the machine only make a function slower, so one fast call is enough.
fn timed<T>(call: impl Fn() -> T) -> (T, f64) {
    let seconds = || {
        let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        let spent: f64 = schedstat.split(' ').next().unwrap().parse().unwrap();
        spent / 1e9
    };
    let once = || {
        let start = seconds();
        (call(), seconds() - start)
    };
    let first = once();
    (0..2).fold(first, |last, _| if last.1 < LIMIT { last } else { once() })
}

/// Runs all queries that read tables, and returns the total length of the names that they returned.
fn ask(path: &Path) -> usize {
    let names: Vec<Vec<u8>> = (0..2000)
        .map(|one| format!("cudnnFunction{one}").into_bytes())
        .collect();
    let elf = Elf::open(path).unwrap();
    let wants = elf.named_imports();
    let needed = elf.needed_versions();
    let imports = elf.imports().unwrap_or_default().into_iter();
    let _ = elf.bindings();
    let lists = [
        imports.map(|import| import.name).collect(),
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
    let rows = ROWS as u32;
    let text = |length: usize| [&[0][..], &vec![b'a'; length], &[0]].concat();
    // A table with a single bucket in which every symbol has every hash, and a table with a loop.
    let hash = b"cudnnFunction7".iter().fold(5381_u32, |hash, byte| {
        hash.wrapping_mul(33).wrapping_add(u32::from(*byte))
    });
    let any_hash = [&[1, 1, 1, 0, 0, 0, 1][..], &vec![hash & !1; ROWS]].concat();
    let circle: Vec<u32> = (0..rows).map(|index| (index + 1) % 2 + 1).collect();
    let circle = [&[1, rows, 1][..], &circle].concat();
    let defined = Tables {
        is_defined: true,
        strings: text(4000),
        ..Tables::default()
    };
    let imported = Tables {
        strings: text(4000),
        ..Tables::default()
    };
    let imported = imported.with(GNU_HASH, &[1, rows, 1, 0, 0, 0, rows, 1]);
    // One library, from which one version is required.
    let one_version = Tables {
        version: 2,
        ..imported.clone()
    };
    let one_version = one_version.with(NEEDED_VERSIONS, &[0x1_0001, 1, 16, 0, 0, 0x2_0000, 1, 0]);
    let over_each_other = [&[0xffff_0001, 1, 4, 1][..], &[1; 250_000]].concat();
    for (what, tables) in [
        (
            "one name of a megabyte",
            Tables {
                strings: text(1 << 20),
                ..one_version.clone()
            },
        ),
        ("one name of 4000 bytes", one_version.clone()),
        (
            "a chain of all symbols",
            defined.clone().with(GNU_HASH, &any_hash),
        ),
        ("a hash chain with a loop", defined.with(HASH, &circle)),
        (
            "versions over each other",
            imported.clone().with(NEEDED_VERSIONS, &over_each_other),
        ),
        (
            "versions without end",
            imported.with(VERSIONS, &[0, 0, 0, 20, 20].repeat(50_000)),
        ),
        (
            "many segments and sections",
            Tables {
                strings: text(60),
                needed: 60_000,
                segments: 18_000,
                sections: 16_000,
                ..one_version
            },
        ),
    ] {
        std::fs::write(&path, tables.bytes()).unwrap();
        let (letters, took) = timed(|| ask(&path));
        assert!(letters <= 64 << 20, "{what}: {letters} bytes of names");
        assert!(took < LIMIT, "{what}: {took} s");
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
        &entry.repeat(ROWS),
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
        let (count, took) = timed(|| ask(&bytes));
        if count > 1 << 20 || took >= LIMIT {
            wrong.push(format!("{what}: {count} in {took} s"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
