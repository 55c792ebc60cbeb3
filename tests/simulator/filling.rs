//! The second set of numbers in the short formats, whose results need all bits of the format.

use super::kinds::{OPERATIONS, rows, tried};
use crate::V9_14;
use cudnn_guard::internals::convolution::case;
use cudnn_guard::internals::convolution::reference::{self, Operands};
use cudnn_guard::internals::convolution::tolerance::{Tolerance, compare};

/// NUM-02: f16 results of 8 bits, which small whole numbers do not detect.
#[test]
fn the_thorough_check_finds_results_with_too_few_bits() {
    for (operation, words, _, _) in OPERATIONS {
        let only = format!("{operation} f16");
        let set = [("SIM_FAULT", "short"), ("SIM_ONLY", &only)];
        let ended = tried("thorough", V9_14, &set);
        ended.must_have(&format!(
            "error: cuDNN 9.14.0 computed a wrong {words} in f16 on Simulated GPU: every number is rounded to the 8 bits of bf16  [convolution-wrong]"
        ));
        let times = if operation == "fused" { 2 } else { 3 };
        assert_eq!(rows(&ended, ": fail").len(), times, "{}", ended.report);
    }
    let set = [("SIM_FAULT", "short"), ("SIM_ONLY", "graph forward f16")];
    let ended = tried("thorough", V9_14, &set);
    ended.must_have("forward convolution in f16 through the graph API on Simulated GPU: every number is rounded to the 8 bits of bf16");
    assert_eq!(rows(&ended, ": fail").len(), 1, "{}", ended.report);
    // An engine may store its partial sums in the format.
    let ended = tried("thorough", V9_14, &[("SIM_PARTIAL", "1")]);
    assert_eq!(rows(&ended, ": fail").len(), 0, "{}", ended.report);
    assert_eq!(rows(&ended, ": pass").len(), rows(&ended, "").len());
}

/// The conditions on the second set: no sum of magnitudes exceeds what the format represents, so no partial sum is
/// rounded; and with one bit less than the format has, some result of each operation is wrong.
#[test]
fn results_that_fill_the_format_are_exact() {
    let cases = case::thorough().into_iter().chain(case::thorough_graph());
    let (mut shown, mut all) = (0, 0);
    for case in cases.filter(|case| case.fills) {
        let operands = Operands::filling(&case);
        let expected = reference::convolve(&case, &operands);
        let tolerance = Tolerance::for_case(&case, false, &expected);
        let precision = case.data_type.precision();
        let (mut largest, mut cut) = (0.0_f64, Vec::new());
        for it in &expected {
            assert_eq!((it.value, it.value.fract()), (it.magnitude, 0.0));
            assert_eq!(tolerance.bound(it), 0.25);
            largest = largest.max(it.value);
            // One bit less, truncated.
            let unit = 2f64.powi((it.value.log2().floor() as i32 + 2 - precision).max(0));
            cut.push(((it.value / unit).floor() * unit) as f32);
        }
        let most = 2f64.powi(precision);
        assert!(
            largest > most * 0.6 && largest <= most,
            "{case:?} {largest}"
        );
        all += 1;
        shown += usize::from(compare(&cut, &expected, &tolerance).wrong > 0);
    }
    assert_eq!(shown, all);
    assert!(all > 50);
}
