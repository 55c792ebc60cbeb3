//! The versions that programs were built with or require, as named in the tables of verdicts: every version, under
//! every policy.

use cudnn_guard::internals::facts::{Built, Loader, Policy, Requirement, Version};

/// A requirement as the build lowers it: the first allowed version and the first one that is too new.
type Asked = (&'static str, [u32; 3], Option<[u32; 3]>);

const ASKED: &[Asked] = &[
    (">=8.5, <9", [8, 5, 0], Some([9, 0, 0])),
    (">=8.9, <10", [8, 9, 0], Some([10, 0, 0])),
    (">=9, <10", [9, 0, 0], Some([10, 0, 0])),
    (">=9.10.2, <9.28", [9, 10, 2], Some([9, 28, 0])),
    ("=9.14.0", [9, 14, 0], Some([9, 14, 1])),
    (">=9.28", [9, 28, 0], None),
    (">=8.6", [8, 6, 0], None),
];

fn version([major, minor, patch]: [u32; 3]) -> Version {
    Version::new(major, minor, patch)
}

/// Builds the record for `what`: a version, or a requirement under the policy of that name.
pub fn built(policy: &str, what: &str, loader: Loader) -> Built {
    let asked = ASKED.iter().find(|row| row.0 == what);
    assert_eq!(asked.is_some(), policy == "requirement", "{what}");
    Built {
        cudnn: asked.is_none().then(|| Version::parse(what).unwrap()),
        requirement: asked.map(|(text, from, below)| Requirement {
            text: (*text).into(),
            from: version(*from),
            below: below.map(version),
        }),
        policy: match policy {
            "compatible" => Policy::Compatible,
            "same minor" => Policy::SameMinor,
            "exact" => Policy::Exact,
            "requirement" => Policy::Requirement,
            other => panic!("{other}"),
        },
        loader,
        ..Built::default()
    }
}

/// Returns the verdict of a table cell with the ids of its findings: `=` passes, `x` is refused, and `?` is a major
/// version that a program does not even open, so the verdict is unknown. A linked program has such a version in its
/// process anyway.
pub fn verdict(cell: &str, linked: bool) -> &'static str {
    match cell {
        "=" => "pass",
        "?" if !linked => "unknown cudnn-not-loadable",
        _ => "fail cudnn-version-mismatch",
    }
}
