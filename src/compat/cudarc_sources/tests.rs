use super::*;

/// The output of `cargo tree` 1.85. The target and the host have separate features.
#[test]
fn cargo_reports_the_features_and_the_packages_that_require_it() {
    let tree = "0cublas,cuda-12080,driver|cudarc v0.16.6\n1cuda,default|candle-core v0.9.1\n1|app v0.1.0 (/work/app)\n\n\
        0driver|cudarc v0.16.6\n1|tool v0.2.0-rc.1 (proc-macro)\n";
    let resolved = parse(tree, None);
    let features = ["cublas", "cuda-12080", "driver", "driver"];
    assert_eq!(resolved.features, features);
    let required_by = ["candle-core 0.9.1", "app 0.1.0", "tool 0.2.0-rc.1"];
    assert_eq!(resolved.required_by, required_by);
    let none = parse("0|cudarc v0.16.6\nwarning: none\n", None);
    assert_eq!(none.features, [""]);
    assert!(none.required_by.is_empty());
}

/// No table contains the versions of a later cudarc.
#[test]
fn a_feature_contains_the_number_of_a_version() {
    let of = |names: &[&str], prefix| {
        let found = versions(names.iter().copied(), prefix).into_iter();
        found.map(Version::short).collect::<Vec<_>>()
    };
    let names = ["cuda-14010", "cuda-12090", "cudnn-10000", "cudnn-09021"];
    assert_eq!(of(&names, CUDA), ["12.9", "14.1"]);
    assert_eq!(of(&names, CUDNN), ["9.21", "10.0"]);
    let others = [BY_SYSTEM, "cuda-1209", "cuda-120900", "cudnn"];
    assert!(of(&others, CUDA).is_empty() && of(&others, CUDNN).is_empty());
}

const BY_SYSTEM: &str = "cuda-version-from-build-system";
