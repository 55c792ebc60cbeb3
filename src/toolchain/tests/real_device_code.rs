//! The device code in NVIDIA's own wheels: in each sub-library, and the GPUs that all of them support.

use crate::compat;
use crate::cudnn::device_code;
use crate::cudnn::device_code::gpu_code::tests::format_targets;
use crate::model::{Found, Platform};
use crate::runtime::facts::{Target, sub_libraries};
use crate::toolchain::tests::real::{found_for, wheels};

const LINUX: &str = "x86_64-unknown-linux-gnu";
const ARM: &str = "aarch64-unknown-linux-gnu";
const WINDOWS: &str = "x86_64-pc-windows-msvc";

const FAMILIES: &str = "sm_75 sm_80 sm_86 sm_90a sm_100f sm_120f compute_120f";

/// A wheel, its system, the device code in most of its core sub-libraries, and the exceptions.
type Build = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// A build with PTX of several generations, and the newest one for each system.
const BUILDS: [Build; 4] = [
    (
        "cudnn-cu12-8.9.7",
        LINUX,
        "sm_50 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 sm_90 compute_90",
        &[
            (
                "cnn_infer",
                "sm_50 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 sm_90 sm_90a compute_52 compute_90",
            ),
            (
                "cnn_train",
                "sm_50 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 sm_90 compute_52 compute_90",
            ),
        ],
    ),
    (
        "cudnn-cu13-9.28",
        LINUX,
        FAMILIES,
        &[("ops", "sm_75 sm_80 sm_90a sm_100f sm_120f compute_120f")],
    ),
    (
        "cudnn-cu13-9.28-aarch64",
        ARM,
        "sm_75 sm_80 sm_86 sm_90a sm_100f sm_110f sm_120f compute_120f",
        &[(
            "ops",
            "sm_75 sm_80 sm_90a sm_100f sm_110f sm_120f compute_120f",
        )],
    ),
    (
        "cudnn-win-cu13-9.28",
        WINDOWS,
        FAMILIES,
        &[("ops", "sm_75 sm_80 sm_90a sm_100f sm_120f compute_120f")],
    ),
];

/// The table matches the device code.
#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn device_code_is_read_correctly() {
    for (wheel, triple, of_most, others) in BUILDS {
        let platform = Platform::from_triple(triple);
        let path = wheels().join(wheel).join("nvidia/cudnn");
        // The newest wheel for Windows cannot be linked, so it is not chosen.
        let found = found_for(triple, &[("CUDNN_PATH", path)]).candidates;
        let cudnn = found.into_iter().find_map(|one| match one.found {
            Found::Cudnn(cudnn) => Some(cudnn),
            Found::Toolkit(_) => None,
        });
        let cudnn = cudnn.unwrap();
        let mut core = cudnn.installed.files();
        core.retain(|part| sub_libraries::find(&part.name).is_some_and(|it| it.has_gpu_code));
        let count = if wheel.contains("-8.") { 6 } else { 4 };
        assert_eq!(core.len(), count, "{wheel}");
        for part in core {
            let other = others.iter().find(|(name, _)| *name == part.name);
            let expected = other.map_or(of_most, |(_, code)| code);
            let held = device_code::read_library(&part.path, platform.os).unwrap();
            let held: Vec<Target> = held.into_iter().collect();
            assert_eq!(format_targets(&held), expected, "{wheel}: {}", part.name);
        }
        let read = device_code::read(&cudnn, platform.os);
        let (version, rows) = (cudnn.version().unwrap(), compat::gpus(&platform));
        let row = rows.iter().find(|row| {
            Some(row.cuda) == cudnn.cuda_major && row.first <= version && version <= row.last
        });
        let table = format_targets(&row.unwrap().code);
        assert_eq!(format_targets(&read), table, "{wheel}");
    }
}
