//! Broken setups.

use super::farm::Farm;
use super::judged::{SetUp, Start};
use super::{V8_9_5, V8_9_7, V9_10, V9_14, V9_28};
use crate::windows::wine::windows::Windows;
use std::fs;

/// A broken setup, the id of its finding, and the file that the finding has to name.
pub struct Fault {
    pub start: Start,
    pub id: &'static str,
    pub culprit: &'static str,
}

/// All faults, by name.
pub const ALL: &[SetUp<Fault>] = &[
    ("a sub-library removed", part_removed),
    ("an older cuDNN first on PATH", older_first),
    ("a sub-library of another version", part_of_another_release),
    ("a sub-library of another cuDNN 8", part_of_another_8),
    ("a truncated sub-library", part_cut_short),
    ("a sub-library for another CPU", part_for_another_cpu),
    ("only cudnn64_9.dll beside the program", alone),
    ("two sub-libraries first on PATH", parts_first),
    ("a sub-library that no convolution uses", unused_part_first),
    ("a sub-library beside the program", part_beside_the_program),
    ("only cudnn64_9.dll", first_library_alone),
    ("a truncated cudnn64_9.dll", first_library_cut),
    ("an empty cudnn64_9.dll", first_library_empty),
    ("a text file as cudnn64_9.dll", first_library_a_text),
    ("a directory as a sub-library", part_a_directory),
    ("a 32-bit cuDNN first on PATH", of_32_bits_first),
    ("installed, but not on PATH", installed),
    ("only the other major version", other_major),
    ("cuDNN 8 under the name of cuDNN 9", renamed),
    ("an empty sub-library first on PATH", empty_part_first),
];

const MAIN_OF_9: &str = "cudnn64_9.dll";
const PART_OF_9: &str = "cudnn_ops64_9.dll";
const PART_OF_8: &str = "cudnn_cnn_infer64_8.dll";

pub fn part_removed(windows: &Windows) -> Fault {
    let farm = Farm::of(windows, "cuDNN", V8_9_7).without(PART_OF_8);
    Fault {
        start: Start::of("eight").path(&farm.path),
        id: "parts-missing",
        culprit: PART_OF_8,
    }
}

pub fn older_first(windows: &Windows) -> Fault {
    let (older, newer) = (
        Farm::of(windows, "older", V9_10),
        Farm::of(windows, "cuDNN", V9_28),
    );
    Fault {
        start: Start::of("nine").path(&format!("{};{}", older.path, newer.path)),
        id: "cudnn-version-mismatch",
        culprit: r"C:\older\cudnn64_9.dll",
    }
}

pub fn part_of_another_release(windows: &Windows) -> Fault {
    let farm = Farm::of(windows, "cuDNN", V9_28).from(V9_14, PART_OF_9);
    Fault {
        start: Start::of("nine").path(&farm.path),
        id: "parts-mixed",
        culprit: PART_OF_9,
    }
}

pub fn part_of_another_8(windows: &Windows) -> Fault {
    let farm = Farm::of(windows, "cuDNN", V8_9_7).from(V8_9_5, PART_OF_8);
    Fault {
        start: Start::of("eight").path(&farm.path),
        id: "parts-mixed",
        culprit: PART_OF_8,
    }
}

pub fn part_cut_short(windows: &Windows) -> Fault {
    let farm = Farm::of(windows, "cuDNN", V9_28).cut(PART_OF_9, 1_000_000);
    Fault {
        start: Start::of("nine").path(&farm.path),
        id: "library-damaged",
        culprit: r"C:\cuDNN\cudnn_ops64_9.dll",
    }
}

pub fn part_for_another_cpu(windows: &Windows) -> Fault {
    let farm = Farm::of(windows, "cuDNN", V9_28).for_cpu(PART_OF_9, 0xaa64);
    Fault {
        start: Start::of("nine").path(&farm.path),
        id: "wrong-architecture",
        culprit: r"C:\cuDNN\cudnn_ops64_9.dll",
    }
}

pub fn alone(windows: &Windows) -> Fault {
    let own = Farm::empty(windows, "own").from(V9_28, "cudnn64_9.dll");
    let other = Farm::of(windows, "older", V9_14);
    Fault {
        start: Start::of("nine")
            .path(&other.path)
            .within(windows, &own.path),
        id: "parts-mixed",
        culprit: r"C:\older",
    }
}

pub fn parts_first(windows: &Windows) -> Fault {
    let good = Farm::of(windows, "cuDNN", V9_28);
    let stale = Farm::empty(windows, "stale").from(V9_14, PART_OF_9);
    let stale = stale.from(V9_14, "cudnn_cnn64_9.dll");
    Fault {
        start: Start::of("nine").path(&format!("{};{}", stale.path, good.path)),
        id: "parts-mixed",
        culprit: r"C:\stale",
    }
}

pub fn unused_part_first(windows: &Windows) -> Fault {
    let good = Farm::of(windows, "cuDNN", V9_28);
    let stale = Farm::empty(windows, "stale").from(V9_14, "cudnn_adv64_9.dll");
    Fault {
        start: Start::of("nine").path(&format!("{};{}", stale.path, good.path)),
        id: "parts-mixed",
        culprit: r"C:\stale",
    }
}

pub fn part_beside_the_program(windows: &Windows) -> Fault {
    let good = Farm::of(windows, "cuDNN", V9_28);
    let own = Farm::empty(windows, "own").from(V9_14, PART_OF_9);
    Fault {
        start: Start::of("nine")
            .path(&good.path)
            .within(windows, &own.path),
        id: "parts-mixed",
        culprit: r"C:\own",
    }
}

fn first_library_alone(windows: &Windows) -> Fault {
    let farm = Farm::empty(windows, "cuDNN").from(V9_28, MAIN_OF_9);
    Fault {
        start: Start::of("nine").path(&farm.path),
        id: "parts-missing",
        culprit: PART_OF_9,
    }
}

fn first_library_cut(windows: &Windows) -> Fault {
    let farm = Farm::of(windows, "cuDNN", V9_28).cut(MAIN_OF_9, 100_000);
    Fault {
        start: Start::of("nine").path(&farm.path),
        id: "library-damaged",
        culprit: r"C:\cuDNN\cudnn64_9.dll",
    }
}

fn first_library_empty(windows: &Windows) -> Fault {
    let farm = Farm::of(windows, "cuDNN", V9_28).with(MAIN_OF_9, b"");
    Fault {
        start: Start::of("nine").path(&farm.path),
        id: "cudnn-not-loadable",
        culprit: r"C:\cuDNN\cudnn64_9.dll",
    }
}

fn first_library_a_text(windows: &Windows) -> Fault {
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 272496\n";
    let farm = Farm::of(windows, "cuDNN", V9_28).with(MAIN_OF_9, pointer);
    Fault {
        start: Start::of("nine").path(&farm.path),
        id: "cudnn-not-loadable",
        culprit: r"C:\cuDNN\cudnn64_9.dll",
    }
}

fn part_a_directory(windows: &Windows) -> Fault {
    let farm = Farm::of(windows, "cuDNN", V9_28).without(PART_OF_9);
    fs::create_dir(farm.file(PART_OF_9)).unwrap();
    Fault {
        start: Start::of("nine").path(&farm.path),
        id: "parts-missing",
        culprit: PART_OF_9,
    }
}

pub fn of_32_bits_first(windows: &Windows) -> Fault {
    let file = "cudnn64_9.dll";
    let small = Farm::empty(windows, "small")
        .from(V9_28, file)
        .for_cpu(file, 0x14c);
    let good = Farm::of(windows, "cuDNN", V9_28);
    Fault {
        start: Start::of("nine").path(&format!("{};{}", small.path, good.path)),
        id: "cudnn-not-loadable",
        culprit: r"C:\small\cudnn64_9.dll",
    }
}

/// A cuDNN installed by NVIDIA's installer, which does not change PATH.
pub fn installed(windows: &Windows) -> Fault {
    let place = r"Program Files\NVIDIA\CUDNN\v9.28\bin\13.0\x64";
    Farm::of(windows, place, V9_28);
    Fault {
        start: Start::of("nine"),
        id: "cudnn-not-loadable",
        culprit: r"C:\Program Files\NVIDIA\CUDNN\v9.28\bin\13.0\x64\cudnn64_9.dll",
    }
}

pub fn other_major(windows: &Windows) -> Fault {
    let farm = Farm::of(windows, "cuDNN", V8_9_7);
    Fault {
        start: Start::of("nine").path(&farm.path),
        id: "cudnn-not-loadable",
        culprit: r"C:\cuDNN\cudnn64_8.dll",
    }
}

fn renamed(windows: &Windows) -> Fault {
    let farm = Farm::of(windows, "cuDNN", V8_9_7);
    fs::rename(farm.file("cudnn64_8.dll"), farm.file(MAIN_OF_9)).unwrap();
    Fault {
        start: Start::of("nine").path(&farm.path),
        id: "cudnn-version-mismatch",
        culprit: r"C:\cuDNN\cudnn64_9.dll",
    }
}

pub fn empty_part_first(windows: &Windows) -> Fault {
    let good = Farm::of(windows, "cuDNN", V9_28);
    let stale = Farm::empty(windows, "stale").with(PART_OF_9, b"");
    Fault {
        start: Start::of("nine").path(&format!("{};{}", stale.path, good.path)),
        id: "library-damaged",
        culprit: r"C:\stale\cudnn_ops64_9.dll",
    }
}

/// Removes installed cuDNNs, so that the next test does not find them.
pub fn uninstall(windows: &Windows) {
    let _ = fs::remove_dir_all(windows.drive().join("Program Files/NVIDIA"));
}
