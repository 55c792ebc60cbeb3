//! The record of the build, written and read back.

use super::program::tables;
use cudnn_guard::internals::facts::record::{encode, find};
use cudnn_guard::internals::facts::{
    Built, BuiltFinding, KnownBad, Loader, Policy, Requirement, Severity, Tables, Target, Verdict,
    Version,
};
use cudnn_guard::runtime::BuiltRecord;

/// Returns a record with every field set.
fn full() -> Built {
    let mut tables = tables();
    tables.known_bad.push(KnownBad {
        cublas: Some(Version::new(12, 9, 0)),
        operation: Some("conv3d-bf16".into()),
        what: "compute wrong numbers in three-dimensional bf16 convolutions".into(),
        ..tables.known_bad[0].clone()
    });
    tables.build_ids = vec![(Version::new(9, 14, 0), "f62fed59 c278eb8a".into())];
    Built {
        written_by: "0.1.0".into(),
        package: Some("app 0.1.0".into()),
        cudnn: Some(Version::new(9, 14, 0)),
        cudnn_cuda_major: Some(13),
        cuda: Some(Version::new(13, 0, 2)),
        requirement: Some(Requirement {
            text: ">=9.1, <10".into(),
            from: Version::new(9, 1, 0),
            below: Some(Version::new(10, 0, 0)),
        }),
        policy: Policy::SameMinor,
        loader: Loader::Cudarc,
        cudarc: Some(Version::new(0, 19, 2)),
        targets: Target::parse_all("sm_80 sm_90a compute_120f"),
        convolution: false,
        require_gpu: true,
        needs: vec!["adv".into(), "conv3d-bf16".into()],
        findings: vec![BuiltFinding {
            id: "parts-missing".into(),
            severity: Severity::Warning,
            summary: "`a\\b` and\r\nmore".into(),
        }],
        tables,
        absent: Some("no CUDA\nhere".into()),
        not_understood: None,
        linked_in: None,
    }
}

fn framed(format: u8, text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap().to_le_bytes();
    [b"cdnngrd", &[format][..], &length, text.as_bytes()].concat()
}

#[test]
fn a_written_record_is_read_back() {
    assert_eq!(Built::read(&encode(&full())), full());
    let nothing = Built::default();
    assert_eq!(Built::read(&encode(&nothing)), nothing);
    for policy in [Policy::Compatible, Policy::Exact, Policy::Requirement] {
        for loader in [Loader::Linked, Loader::Dlopen, Loader::Static] {
            let built = Built {
                policy,
                loader,
                ..full()
            };
            assert_eq!(Built::read(&encode(&built)), built);
        }
    }
}

/// A record from before the tables were added.
#[test]
fn fields_missing_from_an_earlier_version_have_defaults() {
    let text = "guard 0.0.9\ncrate app 0.1.0\ncudnn 9.14.0\ncuda 13.0\n";
    let read = Built::read(&framed(1, text));
    let wanted = Built {
        written_by: "0.0.9".into(),
        package: Some("app 0.1.0".into()),
        cudnn: Some(Version::new(9, 14, 0)),
        cuda: Some(Version::new(13, 0, 0)),
        ..Built::default()
    };
    assert_eq!(read, wanted);
    assert_eq!(read.policy, Policy::Compatible);
    assert!(read.convolution && !read.require_gpu);
    assert_eq!(read.tables, Tables::default());
}

#[test]
fn additions_of_a_later_version_are_skipped() {
    let text = String::from_utf8(encode(&full())[12..].to_vec()).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let later =
        format!("{first}\ncolour blue\nodd\n{rest}gpus 10\nknown-bad 9.1.0\nfinding x\ndriver y\n");
    assert_eq!(Built::read(&framed(7, &later)), full());
}

/// Checking by another rule than the build requested would not help.
#[test]
fn an_unknown_policy_is_not_guessed() {
    for line in ["policy newer", "loader by-hand"] {
        let bytes = framed(2, &format!("guard 0.9.0\n{line}\n"));
        assert_eq!(Built::read(&bytes).not_understood.as_deref(), Some(line));
        let record = BuiltRecord::new(bytes.leak());
        for result in [record.check_version(), record.check()] {
            let failure = result.unwrap_err();
            assert_eq!(failure.verdict(), Verdict::Unknown);
            let text = failure.to_string();
            assert!(
                text.starts_with(&format!(
                    "this program was built with a rule that this version of cudnn-guard does not know  \
                     [unknown-newer-version]\n  \
                     = help: use the same version of cudnn-guard in [dependencies] and [build-dependencies] of \
                     Cargo.toml\n  written by  cudnn-guard 0.9.0\n  rule        {line}\n"
                )),
                "{text}"
            );
        }
    }
}

#[test]
fn records_of_several_crates_are_found_separately() {
    let other = Built {
        package: Some("other 0.1.0".into()),
        ..Built::default()
    };
    let bytes = [
        &b"cc\0cdnngrd and its like"[..],
        &encode(&full()),
        b"cdnngr",
        &encode(&other),
        b"\0c",
    ]
    .concat();
    assert_eq!(find(&bytes), [full(), other]);
}

#[test]
fn a_damaged_record_does_not_panic() {
    let whole = encode(&full());
    for length in 0..whole.len() {
        assert!(Built::read(&whole[..length]).not_understood.is_some());
        assert!(find(&whole[..length]).is_empty(), "{length}");
    }
    for place in 0..whole.len() {
        let mut bent = whole.clone();
        bent[place] = !bent[place];
        let _ = Built::read(&bent);
        find(&bent);
    }
    let huge = framed(1, "guard 0.1.0\n");
    let huge = [&huge[..8], &u32::MAX.to_le_bytes(), &huge[12..]].concat();
    assert!(find(&huge).is_empty());
}
