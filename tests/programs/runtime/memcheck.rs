//! The guard under valgrind's memcheck, including the child in which it calls cuDNN. `.ci/valgrind` runs this test.

use crate::support::{built, cargo, consumers, fresh, program, repository, run, simulator};

#[test]
#[ignore = "needs valgrind: .ci/valgrind"]
fn the_guard_and_its_child_have_no_memory_errors_or_leaks() {
    run(&mut cargo(consumers(), &["build", "-p", "application"])).exits_with(0);
    let sound = fresh("memcheck-9.28");
    simulator::build("cc", (9, 28, 0), &sound).unwrap();
    let logs = fresh("memcheck-logs");
    let libraries = [sound.join("lib64"), sound.join("driver")];
    let suppressions = repository().join(".ci/valgrind.supp");
    // `startup()` and then `check()`: one process and two children, plus children whose first answer came too late.
    run(program("valgrind")
        .args([
            "--quiet",
            "--leak-check=full",
            "--show-leak-kinds=definite,possible",
        ])
        .arg("--errors-for-leak-kinds=definite,possible")
        .arg(format!("--suppressions={}", suppressions.display()))
        .arg(format!("--log-file={}/%p", logs.display()))
        .arg("--error-exitcode=99")
        .arg(built("application"))
        .env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap())
        .env("CUDNN_GUARD_DEADLINE", "120"))
    .exits_with(0)
    .says("cuDNN: pass")
    .says("largest error");
    let logs: Vec<String> = std::fs::read_dir(logs)
        .unwrap()
        .map(|log| std::fs::read_to_string(log.unwrap().path()).unwrap())
        .collect();
    assert!(logs.len() >= 3, "{}", logs.len());
    assert!(logs.concat().is_empty(), "{}", logs.concat());
}
