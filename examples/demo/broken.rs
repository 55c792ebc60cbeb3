//! `cargo demo --broken`: five incompatible stacks, and the guard's message for each.

use crate::{Stack, command_on, not_started, simulator};
use cudnn_guard::Verdict;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A fault in a copy of a complete cuDNN, or in its behavior.
struct Fault {
    title: &'static str,
    /// Changes the directory of the libraries. The second directory is that of an older cuDNN.
    files: fn(&Path, &Path) -> io::Result<()>,
    /// The value of SIM_FAULT for the simulator.
    behavior: &'static str,
}

const FAULTS: [Fault; 5] = [
    Fault {
        title: "One sub-library has an older version",
        files: |lib, older| {
            let name = "libcudnn_ops.so.9";
            fs::copy(older.join(name), lib.join(name)).map(drop)
        },
        behavior: "",
    },
    Fault {
        title: "One sub-library is missing",
        files: |lib, _| fs::remove_file(lib.join("libcudnn_cnn.so.9")),
        behavior: "",
    },
    Fault {
        title: "One sub-library is truncated",
        files: |lib, _| {
            let file = fs::OpenOptions::new()
                .write(true)
                .open(lib.join("libcudnn_graph.so.9"))?;
            file.set_len(file.metadata()?.len() / 2)
        },
        behavior: "",
    },
    Fault {
        title: "cuDNN crashes the process that calls it",
        files: |_, _| Ok(()),
        behavior: "abort:cudnnConvolutionForward",
    },
    Fault {
        title: "The results are wrong",
        files: |_, _| Ok(()),
        behavior: "wrong",
    },
];

/// Runs the program on each stack, and shows the first paragraph of its output. Passes if the guard stops the program
/// each time.
pub fn run(work: &Path, stack: &Stack, program: &Path) -> Result<Verdict, String> {
    let older = work.join("older");
    simulator::build("cc", (9, 10, 2), &older)?;
    let mut ended = 0;
    for fault in &FAULTS {
        let lib = broken(work, stack, fault, &older.join("lib64"))
            .map_err(|error| format!("cannot make a broken copy of the simulator: {error}"))?;
        let mut on_it = stack.clone();
        on_it.library_path[0] = lib;
        let mut command = command_on(&on_it, program)?;
        let output = command.env("SIM_FAULT", fault.behavior).output();
        let output = output.map_err(not_started(program))?;
        ended += usize::from(output.status.code() == Some(78));
        let output = String::from_utf8_lossy(&output.stderr);
        let first = output.lines().take_while(|line| !line.is_empty());
        let first: Vec<&str> = first.collect();
        println!("\n{}\n{}", fault.title, first.join("\n"));
    }
    Ok(if ended == FAULTS.len() {
        Verdict::Pass
    } else {
        Verdict::Fail
    })
}

fn broken(work: &Path, stack: &Stack, fault: &Fault, older: &Path) -> io::Result<PathBuf> {
    let lib = work.join("broken");
    let _ = fs::remove_dir_all(&lib);
    fs::create_dir(&lib)?;
    for entry in fs::read_dir(&stack.library_path[0])? {
        let entry = entry?;
        // Only the linker uses the short names.
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), lib.join(entry.file_name()))?;
        }
    }
    (fault.files)(&lib, older)?;
    Ok(lib)
}
