//! The guard leaves nothing behind in a long-running program or on its machine. `.ci/soak` runs these tests.

use crate::runtime::quiet::setup::environment_of;
use crate::support::circumstances::{command, installed};
use crate::support::{Ran, run, scratch};
use std::process::Command;
use std::time::Instant;

/// The largest growth in resident kB over 10,000 checks. The measured growth was 28, all of it within the first
/// thousand. With two CPUs, the kernel's own count may be off by this much.
const MOST_GROWTH: u64 = 256;

/// Prints the other processes besides the shell, and the contents of the temporary directories, after the program has
/// run.
const ALONE: &str = r#"
mount -t tmpfs none /tmp && mount -t tmpfs none /dev/shm || exit 125
times=$1; shift
while [ "$times" -gt 0 ]; do "$@" || exit; times=$((times - 1)); done
echo left: /proc/[0-9]* /tmp/* /tmp/.[!.]* /dev/shm/* /dev/shm/.[!.]*
"#;
const NOTHING_LEFT: &str = "left: /proc/1 /tmp/* /tmp/.[!.]* /dev/shm/* /dev/shm/.[!.]*";

/// Runs the program on the simulator `times` times, isolated from other processes and writers.
fn alone(times: u32, acts: &[&str], variables: &[(&str, &str)]) -> Ran {
    let tree = installed((9, 14, 0));
    let program = command(acts, &[tree.join("lib64"), tree.join("driver")]);
    // The checkout may be in /tmp, which is mounted over.
    let copy = scratch("soak").join("program");
    run(Command::new("cp").arg(program.get_program()).arg(&copy)).exits_with(0);
    let mut shell = Command::new("unshare");
    shell.args(["-rmpf", "--mount-proc", "sh", "-c", ALONE, "sh"]);
    shell.arg(times.to_string()).arg(&copy);
    shell.args(program.get_args());
    environment_of(&program, &mut shell);
    shell.envs(variables.iter().copied()).env_remove("TMPDIR");
    run(&mut shell).exits_with(0)
}

fn how_many(variable: &str) -> u32 {
    let number = std::env::var(variable).unwrap_or_else(|_| panic!("{variable}: see .ci/soak"));
    number.parse().unwrap()
}

#[test]
#[ignore = "needs the right to mount, and minutes: .ci/soak"]
fn a_program_that_checks_repeatedly_does_not_grow() {
    let checks = how_many("SOAK_CHECKS");
    let began = Instant::now();
    let ran = alone(1, &["soak"], &[("ODD_CHECKS", &checks.to_string())]);
    assert_eq!(ran.stderr, "");
    let mut lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.pop(), Some(NOTHING_LEFT));
    let rows: Vec<Vec<u64>> = lines
        .iter()
        .map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect())
        .collect();
    let step = rows.len().div_ceil(10);
    println!("checks passed resident_kB files threads children");
    for (at, line) in lines.iter().enumerate() {
        if at == 0 || (at + 1) % step == 0 {
            println!("{line}");
        }
    }
    took("check()", checks, began);
    // The first hundred checks are the warm-up.
    for row in &rows {
        assert_eq!(row[0], row[1], "not all pass");
        assert_eq!(row[3..], rows[0][3..], "files, threads, children");
        assert!(row[2] <= rows[0][2] + MOST_GROWTH, "memory grows");
    }
    assert_eq!(rows[0][5], 0, "children");
}

fn took(what: &str, times: u32, began: Instant) {
    let each = began.elapsed().as_secs_f64() * 1000.0 / f64::from(times);
    println!("{times} {what}, {each:.0} ms each");
}

#[test]
#[ignore = "needs the right to mount, and minutes: .ci/soak"]
fn programs_that_start_leave_nothing_behind() {
    let startups = how_many("SOAK_STARTUPS");
    let began = Instant::now();
    let ran = alone(startups, &["startup", "went-on"], &[]);
    // A program that does not pass prints why.
    assert_eq!(ran.stderr, "");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let (left, went_on) = lines.split_last().unwrap();
    assert_eq!(went_on.len(), startups as usize);
    assert_eq!(*left, NOTHING_LEFT);
    took("startup()", startups, began);
}
