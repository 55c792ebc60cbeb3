//! The capabilities of this machine's CPU.

/// Returns the supported levels of the x86-64 psABI, the highest first, as the directories of `glibc-hwcaps` are named.
#[cfg(target_arch = "x86_64")]
pub fn hwcaps_levels() -> Vec<&'static str> {
    let second = is_x86_feature_detected!("sse4.2")
        && is_x86_feature_detected!("ssse3")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("cmpxchg16b");
    let third = second
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("movbe");
    let fourth = third
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    let all = [
        (fourth, "x86-64-v4"),
        (third, "x86-64-v3"),
        (second, "x86-64-v2"),
    ];
    let supported = all.into_iter().filter(|(is_supported, _)| *is_supported);
    supported.map(|(_, level)| level).collect()
}

/// Other architectures have no named levels.
#[cfg(not(target_arch = "x86_64"))]
pub fn hwcaps_levels() -> Vec<&'static str> {
    Vec::new()
}
