//! A bad sub-library in one directory and a working cuDNN in another. Which of them a program loads depends on how it
//! opens cuDNN. A program without a guard shows the result, and the guard has to agree with it.

use super::farm::{Farm, real};
use super::judged::{Start, windows};
use super::{V9_14, V9_28, V9_28_CUDA_12};
use crate::support::repository;
use crate::windows::wine::windows::Windows;
use std::fs;

const PART: &str = "cudnn_ops64_9.dll";
const SOUND: &str = r"C:\cuDNN";

/// The result of each program. A row is the kind and place of the bad sub-library, a column the way the program opens
/// cuDNN. `BLESS=1` writes the table, if the guard agrees with all of it.
const TABLE: &str = include_str!("layouts.txt");

/// The place of the bad sub-library.
const PLACES: [(&str, &str); 8] = [
    ("beside the program", r"C:\own"),
    ("PATH first", r"C:\bad"),
    ("PATH last", r"C:\bad"),
    ("System32", r"C:\windows\system32"),
    ("working directory", r"C:\bad"),
    ("AddDllDirectory", r"C:\bad"),
    (
        "installer",
        r"C:\Program Files\NVIDIA\CUDNN\v9.14\bin\13.0\x64",
    ),
    ("wheel", r"C:\env\Lib\site-packages\nvidia\cudnn\bin"),
];
/// The kind of the bad sub-library, and the number of places to test. In the last kind it works, but the other directory
/// is missing it.
const KINDS: [(&str, usize); 7] = [
    ("of 9.14", 8),
    ("for CUDA 12", 3),
    ("for ARM64", 3),
    ("empty", 3),
    ("a text", 3),
    ("held open", 3),
    ("the only one", 8),
];
/// The ways a program opens cuDNN: by name through the guard, by name before the guard, by path, from a directory of
/// `AddDllDirectory` without those of PATH, or as a linked program.
const WAYS: [&str; 5] = ["name", "before", "path", "added", "linked"];

fn bad_part(windows: &Windows, kind: &str, place: &str) -> Farm {
    let farm = Farm::at(windows, place.strip_prefix(r"C:\").unwrap());
    match kind {
        "of 9.14" => farm.from(V9_14, PART),
        "for CUDA 12" => farm.from(V9_28_CUDA_12, PART),
        "for ARM64" => farm.from(V9_28, PART).for_cpu(PART, 0xaa64),
        "empty" => farm.with(PART, b""),
        // A copy instead of a link, or the working file would be held open too.
        "held open" => farm.with(PART, &fs::read(real(V9_28).join(PART)).unwrap()),
        "the only one" => farm.from(V9_28, PART),
        _ => farm.with(PART, b"version https://git-lfs.github.com/spec/v1\n"),
    }
}

/// Returns how the program is started, and its act that opens cuDNN.
fn start(
    windows: &Windows,
    kind: &str,
    (place, dir): (&str, &str),
    way: &str,
) -> (Start, [&'static str; 2]) {
    let is_added = way == "added";
    let mut path = match (place, is_added) {
        ("PATH first", false) => format!("{dir};{SOUND}"),
        ("PATH last", false) => format!("{SOUND};{dir}"),
        ("PATH first" | "PATH last", true) => dir.to_string(),
        (_, false) => SOUND.to_string(),
        (_, true) => String::new(),
    };
    if place == "wheel" {
        path += r";C:\env\Scripts";
    }
    let program = if way == "linked" { "linked" } else { "nine" };
    let mut start = Start::of(program).path(&path);
    if place == "beside the program" {
        start = start.within(windows, dir);
    }
    if place == "working directory" {
        start = start.does(&["change-directory", dir]);
    }
    if place == "AddDllDirectory" {
        start = start.does(&["add-dll-directory", dir]);
    }
    if is_added {
        start = start.does(&["add-dll-directory", SOUND, "default-directories"]);
    }
    if kind == "held open" {
        start = start.does(&["hold", &format!(r"{dir}\{PART}")]);
    }
    let opened = match way {
        "path" => r"C:\cuDNN\cudnn64_9.dll",
        _ => "cudnn64_9.dll",
    };
    (start, ["load", opened])
}

/// Follows the first help, and returns how the program is then started.
fn followed(windows: &Windows, start: Start, stderr: &str) -> Start {
    let mut lines = stderr.lines();
    let help = lines.find_map(|line| line.strip_prefix("  = help: "));
    let help = help.unwrap_or_else(|| panic!("{stderr}"));
    let mut words = help.split('`');
    match words.next().unwrap() {
        "remove " => return start.without(words.next().unwrap()),
        "remove the " => {
            assert_eq!(words.next(), Some("cudnn*.dll"));
            let dir = windows.unix(words.nth(1).unwrap());
            fs::remove_file(dir.join(PART)).unwrap();
        }
        "close the program that uses it, such as an installer, and restart this program" => {
            return start.does_not("hold");
        }
        "reinstall cuDNN 9.28.0 in " => {
            assert_eq!(words.next(), Some(SOUND));
            Farm::of(windows, "cuDNN", "9.28");
        }
        _ => panic!("{help}"),
    }
    start
}

#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn the_guard_agrees_with_windows_in_each_layout() {
    let windows = &*windows();
    let (mut table, mut wrong, mut cells) = (String::new(), String::new(), 0);
    for (kind, places) in KINDS {
        for place in &PLACES[..places] {
            table += &format!("{kind:<14}{:<20}", place.0);
            for way in WAYS {
                let sound = Farm::of(windows, "cuDNN", "9.28");
                if kind == "the only one" {
                    sound.without(PART);
                }
                let bad = bad_part(windows, kind, place.1);
                let (start, load) = start(windows, kind, *place, way);
                let before: &[&str] = if ["name", "linked"].contains(&way) {
                    &[]
                } else {
                    &load
                };
                let acts = [before, &["startup", "went-on"]].concat();
                let plain = start.run(windows, &["use", load[1]]);
                let ran = start.run(windows, &acts);
                let works = plain.code == Some(0) && plain.stdout == "92800 0 0 0 0\n";
                table += &format!("{:<8}", if works { "works" } else { "fails" });
                let mut is_right = match works {
                    true => ran.code == Some(0) && ran.stdout == "went on\n",
                    false => ran.code == Some(78) && ran.stderr.contains(PART),
                };
                if is_right && !works {
                    let helped = followed(windows, start, &ran.stderr).run(windows, &acts);
                    is_right = helped.code == Some(0) && helped.stdout == "went on\n";
                }
                cells += 1;
                if !is_right {
                    let (plain, ran) = (plain.text(), ran.text());
                    wrong += &format!("{kind}, {}, {way}: {works}\n{plain}\n{ran}\n\n", place.0);
                }
                let _ = fs::remove_file(bad.file(PART));
            }
            table = format!("{}\n", table.trim_end());
        }
    }
    let _ = fs::remove_dir_all(windows.drive().join("Program Files/NVIDIA"));
    assert!(wrong.is_empty(), "{table}{wrong}");
    assert_eq!(cells, 155);
    if std::env::var_os("BLESS").is_some() {
        let file = "tests/programs/windows/real_wine/layouts.txt";
        fs::write(repository().join(file), &table).unwrap();
        return;
    }
    assert_eq!(table, TABLE, "BLESS=1 writes the new table");
}
