//! What `cudnn-guard demo` shows.

use super::{must_exit, text};
use std::process::Command;

#[test]
#[ignore = "builds a consumer of its own, and three simulators"]
fn each_of_five_broken_stacks_is_told() {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    demo.args(["demo", "--broken"])
        .env_remove("LD_LIBRARY_PATH");
    let output = demo.output().expect("cudnn-guard runs");
    must_exit(&output, 0);
    let shown = text(&output);
    let mut rest = shown.as_str();
    for told in [
        "One of the libraries is of an older cuDNN\n",
        "[parts-mixed]\n",
        "One of the libraries is missing\n",
        "[parts-missing]\n",
        "A download ended too early\n",
        "[library-damaged]\n",
        "cuDNN ends the process that calls it\n",
        "[cudnn-aborted]\n",
        "The numbers are wrong\n",
        "[convolution-wrong]\n",
        "\nverdict: pass (the program has to be ended on all five)\n",
    ] {
        rest = rest
            .split_once(told)
            .unwrap_or_else(|| panic!("no {told} in\n{rest}\nof\n{shown}"))
            .1;
    }
}
