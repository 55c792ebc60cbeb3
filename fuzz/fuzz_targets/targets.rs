//! Lists of GPUs and of versions, as users write them.

#![no_main]

use cudnn_guard::fuzzing::dialect::{Dialect, Word, read};
use cudnn_guard::fuzzing::{Requirements, target_list};
use cudnn_guard::internals::driver::devices::Devices;
use cudnn_guard::internals::facts::{Target, Version};
use cudnn_guard_fuzz::expect_printable;
use libfuzzer_sys::fuzz_target;

/// A quarter of the maximum length of an environment variable, because the text is read four times.
const LONGEST: usize = 1 << 15;

fuzz_target!(|bytes: &[u8]| {
    let bytes = bytes.get(..LONGEST).unwrap_or(bytes);
    let text = &*String::from_utf8_lossy(bytes);
    for dialect in [
        Dialect::Ours,
        Dialect::CMake,
        Dialect::Torch,
        Dialect::ComputeCap,
    ] {
        match read(dialect, text) {
            Ok(words) => check_round_trip(words),
            Err(word) => assert!(!word.is_empty() && text.contains(word), "{word:?}"),
        }
    }
    if let Some(target) = Target::parse(text) {
        assert_eq!(Target::parse(&target.to_string()), Some(target));
    }
    for target in Target::parse_all(text) {
        assert_eq!(Target::parse(&target.to_string()), Some(target));
    }
    if let Some(version) = Version::parse(text) {
        assert_eq!(Version::parse(&version.to_string()), Some(version));
    }
    match Devices::parse(text) {
        Some(Devices::Listed(numbers)) => assert!(!numbers.is_empty()),
        Some(devices) => assert_eq!(devices, Devices::All),
        None => {}
    }
    let (requirements, invalid) = Requirements::parse(Some(text), Some(text));
    for requirement in [requirements.cuda, requirements.cudnn].iter().flatten() {
        assert_eq!(requirement.text, text);
        assert!(requirement.admits(requirement.from), "{requirement:?}");
        assert!(
            requirement
                .below
                .is_none_or(|below| !requirement.admits(below))
        );
    }
    for finding in invalid {
        expect_printable(&finding.to_string());
    }
});

/// Checks that a list survives a round trip through every syntax that can express it.
fn check_round_trip(words: Vec<Word>) {
    let mut gencodes = Vec::new();
    for word in words {
        if let Word::Targets(targets) = word {
            gencodes.extend(targets);
        }
    }
    // Invalid targets are rejected before they are printed.
    gencodes.retain(|gencode| gencode.is_valid());
    let list = target_list(gencodes);
    let back = |dialect, text: &str| {
        let words = read(dialect, text).unwrap_or_else(|word| panic!("{word:?} of {text:?}"));
        let of = |word: Word| match word {
            Word::Targets(targets) => targets,
            other => panic!("{other:?} of {text:?}"),
        };
        target_list(words.into_iter().flat_map(of).collect())
    };
    assert_eq!(back(Dialect::Ours, &list.to_string()), list);
    assert_eq!(back(Dialect::Torch, &list.nvcc().join(" ")), list);
}
