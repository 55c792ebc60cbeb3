//! The capabilities of this machine's CPU.

/// Returns the supported levels of the x86-64 psABI, the highest first, by the names of the `glibc-hwcaps` directories.
#[cfg(target_arch = "x86_64")]
pub fn hwcaps_levels() -> Vec<&'static str> {
    macro_rules! has {
        ($($feature:tt)*) => { true $(&& is_x86_feature_detected!($feature))* };
    }
    let second = has!("sse4.2" "ssse3" "popcnt" "cmpxchg16b");
    let third = second && has!("avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe");
    let fourth = third && has!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl");
    let all = [
        (fourth, "x86-64-v4"),
        (third, "x86-64-v3"),
        (second, "x86-64-v2"),
    ];
    let supported = all.into_iter().filter(|(is_supported, _)| *is_supported);
    supported.map(|(_, level)| level).collect()
}

/// Returns nothing, because other architectures have no named levels.
#[cfg(not(target_arch = "x86_64"))]
pub fn hwcaps_levels() -> Vec<&'static str> {
    Vec::new()
}
