//! The table of `runtime::crashes::planted`, on Windows.

use super::{V9_14, cudnn, guarded, windows};
use crate::runtime::crashes::planted::{self, Planted, System};

fn check_all_reports(planted: Vec<Planted>) {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    let bin = cudnn(V9_14);
    let system = System {
        thorough: &|variables| guarded(windows, &[&bin], &["thorough"], variables),
        abort: "STATUS_STACK_BUFFER_OVERRUN, 0xC0000409: abort()",
        segv: "STATUS_ACCESS_VIOLATION, 0xC0000005",
        patience: &[4, 16, 64],
    };
    planted::check_all_reports(planted, &system);
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_crash_or_a_hang_names_the_tested_step() {
    check_all_reports(planted::legacy());
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_crash_or_a_hang_in_the_graph_api_names_the_tested_step() {
    check_all_reports(planted::graph());
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_crash_before_a_convolution_names_the_convolution() {
    check_all_reports(planted::on_the_way());
}
