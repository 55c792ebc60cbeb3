//! `fetch --write-config`: the file that cargo reads is extended, or the message names it.

use super::{command, fetch};
use crate::terminal::{complaint, file, folder, must_exit};
use std::fs;

#[test]
fn the_file_that_cargo_reads_is_extended_or_named() {
    let dir = folder("write-config");
    must_exit(&fetch(&dir, &[]), 0);
    let home = dir.join("to").display().to_string();
    for path in [".cargo/config.toml", ".cargo/config"] {
        let write = || {
            let mut command = command(&dir, &["--write-config"]);
            command.current_dir(&dir).output().expect("it runs")
        };
        file(&dir, path, "[build]\n");
        let table = format!(
            "[build]\n\n[env]\nCUDNN_GUARD_HOME = \"{home}\"\nCUDA_HOME = \"{home}/nvidia/cu13\"\nCUDNN_PATH = \"{home}/nvidia/cudnn\"\n"
        );
        for _ in 0..2 {
            must_exit(&write(), 0);
            assert_eq!(fs::read_to_string(dir.join(path)).expect("a file"), table);
        }
        // The wheels of CUDA 12 have no directory for CUDA_HOME.
        must_exit(&fetch(&dir, &["--cuda", "12"]), 0);
        must_exit(&write(), 0);
        let text = fs::read_to_string(dir.join(path)).expect("a file");
        let stale = format!("CUDA_HOME = \"{home}/nvidia/cu13\"\n");
        assert_eq!(text, table.replace(&stale, ""));
        must_exit(&fetch(&dir, &["--cuda", "13"]), 0);
        let lines = "[env]\nCUDNN_GUARD_HOME = \"/opt\"\n";
        file(&dir, path, lines);
        let output = write();
        must_exit(&output, 1);
        assert_eq!(
            complaint(&output),
            format!(
                "\ncannot extend `{path}`: it sets one of these variables differently, or is not TOML, or the path is not Unicode  [fetch-failed]\n  \
                 = help: add the lines above to `{path}` by hand\n"
            )
        );
        assert_eq!(fs::read_to_string(dir.join(path)).expect("a file"), lines);
    }
}
