//! The output of `cargo demo`.

use super::{must_exit, text};
use crate::support::{fresh, program, repository, target};
use std::fs;

#[path = "../../../examples/demo/directory.rs"]
mod directory;

#[test]
#[ignore = "builds a consumer and two simulators"]
fn each_of_five_broken_installations_is_reported() {
    let mut demo = program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    demo.args(["demo", "--broken"]).current_dir(repository());
    let output = demo.env("CARGO_TARGET_DIR", target()).output();
    let output = output.expect("cargo runs");
    must_exit(&output, 0);
    let shown = text(&output);
    let mut rest = shown.as_str();
    for wanted in [
        "One sub-library has an older version\n",
        "[parts-mixed]\n",
        "One sub-library is missing\n",
        "[parts-missing]\n",
        "One sub-library is truncated\n",
        "[library-damaged]\n",
        "cuDNN crashes the process that calls it\n",
        "[cudnn-aborted]\n",
        "The results are wrong\n",
        "[convolution-wrong]\n",
        "\nverdict: pass (the guard has to stop the program on all five)\n",
    ] {
        rest = rest
            .split_once(wanted)
            .unwrap_or_else(|| panic!("no {wanted} in\n{rest}\nof\n{shown}"))
            .1;
    }
}

#[test]
fn the_demo_uses_only_a_directory_that_it_created() {
    let dir = fresh("demo-directory");
    let own = dir.join("demo");
    directory::create(&own).expect("a new directory");
    directory::create(&own).expect("the same directory");

    let other = dir.join("other");
    fs::create_dir(&other).expect("a directory");
    fs::write(other.join("report.json"), "mine").expect("a file");
    let refused = |path: &std::path::Path| {
        let expected = format!(
            "cannot use `{}`: the demo did not create it\n  = help: move or remove it",
            path.display()
        );
        assert_eq!(directory::create(path), Err(expected));
    };
    refused(&other);
    assert_eq!(fs::read_dir(&other).expect("a directory").count(), 1);
    refused(&other.join("report.json"));
    #[cfg(unix)]
    for target in [&own, &dir.join("nowhere")] {
        let link = dir.join("link");
        std::os::unix::fs::symlink(target, &link).expect("a link");
        refused(&link);
        fs::remove_file(&link).expect("a link");
    }
}
