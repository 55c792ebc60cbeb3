//! `cudnn-guard demo --broken`: five stacks that do not fit, and what the guard says of each.

use super::{CUDA, Place, Stack, command_on};
use crate::simulator::{self, Simulated};
use crate::terminal::{harmless, heading, show};
use cudnn_guard::Verdict;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What is broken, in a copy of a sound cuDNN or in what it does.
struct Fault {
    title: &'static str,
    /// Done to the directory of the libraries, with that of an older cuDNN.
    files: fn(&Path, &Path) -> io::Result<()>,
    /// SIM_FAULT of the simulator.
    behaviour: &'static str,
}

const FAULTS: [Fault; 5] = [
    Fault {
        title: "One of the libraries is of an older cuDNN",
        files: |lib, older| {
            let name = "libcudnn_ops.so.9";
            fs::copy(older.join(name), lib.join(name)).map(drop)
        },
        behaviour: "",
    },
    Fault {
        title: "One of the libraries is missing",
        files: |lib, _| fs::remove_file(lib.join("libcudnn_cnn.so.9")),
        behaviour: "",
    },
    Fault {
        title: "A download ended too early",
        files: |lib, _| {
            let file = fs::OpenOptions::new()
                .write(true)
                .open(lib.join("libcudnn_graph.so.9"))?;
            file.set_len(file.metadata()?.len() / 2)
        },
        behaviour: "",
    },
    Fault {
        title: "cuDNN ends the process that calls it",
        files: |_, _| Ok(()),
        behaviour: "abort:cudnnConvolutionForward",
    },
    Fault {
        title: "The numbers are wrong",
        files: |_, _| Ok(()),
        behaviour: "wrong",
    },
];

/// Starts the program on each of them, and shows the first paragraph of what it says: pass if it is ended each time.
pub fn run(place: &Place, stack: &Stack, program: &Path) -> Result<Verdict, String> {
    let older = place.work.join("older");
    let what = Simulated {
        cudnn: (9, 10, 2),
        cuda: CUDA,
        leave_out: Vec::new(),
    };
    simulator::build(&place.fixtures().join("simulator"), &older, &what)?;
    let mut ended = 0;
    for fault in &FAULTS {
        let lib = broken(place, stack, fault, &older.join("lib64"))
            .map_err(|error| format!("cannot make a broken copy of the simulator: {error}"))?;
        let mut on_it = stack.clone();
        on_it.library_path[0] = lib;
        on_it.run = vec![("SIM_FAULT", fault.behaviour.to_string())];
        let output = command_on(&on_it, program)?
            .output()
            .map_err(|error| format!("cannot start `{}`: {error}", program.display()))?;
        ended += usize::from(output.status.code() == Some(78));
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().take_while(|line| !line.is_empty());
        let first: Vec<String> = first.map(harmless).collect();
        show(format!("\n{}{}\n", heading(fault.title), first.join("\n")));
    }
    Ok(match ended == FAULTS.len() {
        true => Verdict::Pass,
        false => Verdict::Fail,
    })
}

/// A copy of the sound libraries with this fault.
fn broken(place: &Place, stack: &Stack, fault: &Fault, older: &Path) -> io::Result<PathBuf> {
    let lib = place.work.join("broken");
    let _ = fs::remove_dir_all(&lib);
    fs::create_dir(&lib)?;
    for entry in fs::read_dir(&stack.library_path[0])? {
        let entry = entry?;
        // The short names are for the linker alone.
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), lib.join(entry.file_name()))?;
        }
    }
    (fault.files)(&lib, older)?;
    Ok(lib)
}
