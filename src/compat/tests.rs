use super::*;
use crate::runtime::facts::{Code, ComputeCapability, sub_libraries};
use crate::runtime::judge::{Cudnn, GpuSupport};

const BUILDS: &str = include_str!("../../fixtures/cudnn-builds.txt");

fn cc(text: &str) -> ComputeCapability {
    let (major, minor) = text.split_once('.').unwrap();
    ComputeCapability::new(major.parse().unwrap(), minor.parse().unwrap())
}

fn release(text: &str) -> Version {
    Version::parse(text).unwrap()
}

/// Returns the rows for a CPU as in the table.
fn gpus(build: &str) -> Vec<CudnnTargets> {
    let triple = match build {
        "aarch64-windows" => "aarch64-pc-windows-msvc".to_string(),
        cpu => format!("{cpu}-unknown-linux-gnu"),
    };
    super::gpus(&Platform::from_triple(&triple))
}

fn cudnn(version: &str, cuda: u32) -> Cudnn {
    let version = release(version);
    Cudnn { version, cuda }
}

fn lines(table: &'static str) -> Vec<&'static str> {
    rows(table, &|line| Some(line))
}

/// 27 builds, each with the targets that were read from its files.
#[test]
fn every_known_build_agrees_with_the_rules() {
    let mut compared = 0;
    for line in lines(BUILDS) {
        let [text, number, cuda, cpu, parts, yes, ptx, no] = columns(line).unwrap();
        let version = Version::from_cudnn(number.parse().unwrap());
        assert_eq!(version, release(text), "{line}");
        assert_eq!(version.to_string(), text);
        let parts: Vec<&str> = parts.split(',').collect();
        for needed in sub_libraries::needed(version, false) {
            assert!(parts.contains(&needed), "{needed}: {line}");
        }
        let (table, cuda) = (gpus(cpu), cuda.parse().unwrap());
        for (list, expected) in [
            (yes, GpuSupport::Yes),
            (ptx, GpuSupport::ByPtx),
            (no, GpuSupport::No),
        ] {
            for gpu in list.split(',').filter(|gpu| *gpu != "-") {
                assert_eq!(
                    Cudnn { version, cuda }.support(&table, cc(gpu)),
                    expected,
                    "{gpu}: {line}"
                );
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 27 * 18);
}

/// Versions between two builds that were read, and versions after all of them.
#[test]
fn between_builds_only_common_targets_are_known() {
    let table = gpus("x86_64");
    for (version, cuda, gpu, expected) in [
        // 9.6.0 has only PTX for Blackwell, 9.7.0 has machine code.
        ("9.6.0", 12, "9.0", GpuSupport::Yes),
        ("9.6.0", 12, "12.0", GpuSupport::ByPtx),
        ("9.7.0", 12, "12.0", GpuSupport::Yes),
        ("9.6.0", 12, "3.5", GpuSupport::No),
        ("9.10.1", 12, "6.1", GpuSupport::Yes),
        ("9.12.0", 12, "6.1", GpuSupport::No),
        ("9.12.0", 12, "12.1", GpuSupport::Yes),
        // The builds for CUDA 11 lost their PTX between 9.7.1 and 9.8.0.
        ("9.7.1", 11, "12.0", GpuSupport::ByPtx),
        ("9.7.2", 11, "12.0", GpuSupport::Unknown),
        ("9.8.0", 11, "12.0", GpuSupport::No),
        // Newer than all: support continues, dropped GPUs stay unsupported, and future GPUs are unknown.
        ("9.99.0", 13, "9.0", GpuSupport::Yes),
        ("9.99.0", 13, "7.0", GpuSupport::No),
        ("9.99.0", 13, "13.0", GpuSupport::Unknown),
        ("10.0.0", 13, "11.0", GpuSupport::Unknown),
        ("9.14.0", 12, "2.1", GpuSupport::No),
        // Older than all, or for an unknown CUDA major.
        ("7.6.5", 11, "2.1", GpuSupport::Unknown),
        ("9.28.0", 14, "9.0", GpuSupport::Unknown),
        // Machine code for cards need not run on a Jetson.
        ("9.28.0", 13, "8.7", GpuSupport::Unknown),
    ] {
        let support = cudnn(version, cuda).support(&table, cc(gpu));
        assert_eq!(support, expected, "{version} for CUDA {cuda} on {gpu}");
    }
    // Only builds for Thor's own architecture support it.
    let thor = cc("11.0");
    assert_eq!(cudnn("9.28.0", 13).support(&table, thor), GpuSupport::No);
    let table = gpus("aarch64");
    assert_eq!(cudnn("9.28.0", 13).support(&table, thor), GpuSupport::Yes);
    assert_eq!(
        cudnn("9.14.0", 13).support(&table, thor),
        GpuSupport::Unknown
    );
    assert!(gpus("riscv64").is_empty());
    // The builds for Windows on Arm contain less than those for Linux.
    let table = gpus("aarch64-windows");
    for (version, gpu, expected) in [
        ("9.28.1", "12.1", GpuSupport::Yes),
        ("9.28.1", "9.0", GpuSupport::No),
        ("9.26.1", "11.0", GpuSupport::No),
        ("9.25.0", "12.0", GpuSupport::Unknown),
    ] {
        let support = cudnn(version, 13).support(&table, cc(gpu));
        assert_eq!(support, expected, "{version} on {gpu}");
    }
}

#[test]
fn the_nearest_version_with_support_is_known() {
    let table = gpus("x86_64");
    let (pascal, blackwell) = (cc("6.1"), cc("12.0"));
    let last = |version| cudnn(version, 12).last_with(&table, pascal);
    assert_eq!(last("9.14.0"), Some(release("9.10.2")));
    assert_eq!(last("9.11.0"), Some(release("9.10.2")));
    assert_eq!(last("8.9.7"), None);
    let first = |version, cuda| cudnn(version, cuda).first_with(&table, blackwell);
    assert_eq!(first("9.1.0", 12), Some((release("9.7.0"), 12)));
    assert_eq!(first("9.10.2", 11), Some((release("9.7.0"), 12)));
    assert_eq!(first("9.28.0", 13), None);
    let newest = |version, cuda| cudnn(version, cuda).newest_gpu(&table);
    assert_eq!(newest("9.10.2", 11), Some(cc("9.0")));
    assert_eq!(newest("9.14.0", 12), Some(cc("12.1")));
}

#[test]
fn every_row_of_every_table_is_complete() {
    let cpus = ["x86_64", "aarch64", "aarch64-windows"];
    let all: Vec<CudnnTargets> = cpus.into_iter().flat_map(gpus).collect();
    assert_eq!(all.len(), lines(GPUS).len());
    for row in &all {
        assert!(row.first <= row.last, "{row:?}");
        let machine = row
            .code
            .iter()
            .filter(|target| target.code == Code::Machine);
        assert!(
            machine.map(|target| target.capability).is_sorted(),
            "{row:?}"
        );
    }
    for line in lines(GPUS) {
        let [.., code] = columns::<5>(line).unwrap();
        let printed = Target::parse_all(code)
            .iter()
            .map(Target::to_string)
            .collect::<Vec<_>>();
        assert_eq!(printed.join(" "), code);
    }
    for cpu in cpus {
        let mut table = gpus(cpu);
        table.sort_by_key(|row| (row.cuda, row.first));
        for pair in table.windows(2).filter(|pair| pair[0].cuda == pair[1].cuda) {
            assert!(pair[0].last < pair[1].first, "{pair:?}");
        }
    }
    assert_eq!(known_bad().len(), lines(KNOWN_BAD).len());
    for row in known_bad() {
        let good = row.good.unwrap_or(row.below);
        assert!(row.from < row.below && row.below <= good, "{row:?}");
        assert!(row.first_gpu <= row.last_gpu, "{row:?}");
    }
    let (minors, majors) = DRIVERS.split_once("\nmajor\n").unwrap();
    assert_eq!(releases().len(), lines(minors).len());
    let cudas: Vec<Version> = releases().into_iter().map(|(cuda, ..)| cuda).collect();
    assert!(cudas.is_sorted());
    let ptx: Vec<Version> = releases().into_iter().map(|(_, ptx, ..)| ptx).collect();
    assert!(ptx.is_sorted());
    assert_eq!(
        drivers(&Platform::from_triple("x86_64-unknown-linux-gnu")).len(),
        lines(majors).len()
    );
}

/// The PTX version counts, not the CUDA version. 12.6 writes the PTX version of 12.5.
#[test]
fn ptx_is_supported_from_the_driver_of_its_version_on() {
    let from = |cuda| ptx_from(release(cuda)).map(Version::short);
    assert_eq!(from("12.5").as_deref(), Some("12.5"));
    assert_eq!(from("12.6").as_deref(), Some("12.5"));
    assert_eq!(from("12.8.1").as_deref(), Some("12.8"));
    assert_eq!(from("13.5").as_deref(), Some("13.5"));
    // A version newer than the table counts as its newest.
    assert_eq!(from("14.2").as_deref(), Some("13.5"));
    assert_eq!(from("11.2"), None);
}

/// Linux and Windows.
#[test]
fn the_named_driver_depends_on_the_system() {
    let linux = Platform::from_triple("x86_64-unknown-linux-gnu");
    let windows = Platform::from_triple("x86_64-pc-windows-msvc");
    assert_eq!(
        drivers(&linux),
        [
            (11, "450.80.02".into()),
            (12, "525.60.13".into()),
            (13, "580.65.06".into())
        ]
    );
    assert_eq!(
        drivers(&windows),
        [
            (11, "452.39".into()),
            (12, "527.41".into()),
            (13, "580.88".into())
        ]
    );
    assert_eq!(driver_for(release("12.4"), &linux), Some("550.54.14"));
    assert_eq!(driver_for(release("12.4.1"), &windows), Some("551.61"));
    assert_eq!(driver_for(release("13.2"), &windows), None);
    assert_eq!(driver_for(release("13.9"), &linux), None);
}

#[test]
fn introduced_functions_are_sorted_by_version() {
    let introduced = introduced();
    assert_eq!(introduced.len(), lines(FUNCTIONS).len());
    let mut ordered: Vec<_> = introduced
        .iter()
        .map(|(name, version)| (version, name))
        .collect();
    ordered.sort();
    ordered.dedup();
    assert!(
        introduced
            .iter()
            .map(|(name, version)| (version, name))
            .eq(ordered)
    );
    for (name, version) in introduced {
        assert!(version > release("8.5.0"), "{name}");
    }
}
