//! `fetch --write-config` if the user has to add the lines by hand: the message names the file that cargo reads.

use super::{command, fetch};
use crate::terminal::{complaint, file, folder, must_exit};

#[test]
fn the_message_names_the_file_that_cargo_reads() {
    let dir = folder("write-config-by-hand");
    must_exit(&fetch(&dir, &[]), 0);
    for (path, lines, message) in [
        (
            ".cargo/config.toml",
            "[env]\nCUDNN_GUARD_HOME = \"/opt\"\n",
            "cannot extend `.cargo/config.toml`: it names one of these variables, is not TOML, or replaces config.toml  [fetch-failed]\n  \
             = help: add the lines above to `.cargo/config.toml` by hand\n",
        ),
        (
            ".cargo/config",
            "[build]\n",
            "cannot extend `.cargo/config`: it names one of these variables, is not TOML, or replaces config.toml  [fetch-failed]\n  \
             = help: add the lines above to `.cargo/config` by hand\n",
        ),
    ] {
        file(&dir, path, lines);
        let mut command = command(&dir, &["--write-config"]);
        let output = command.current_dir(&dir).output().expect("it runs");
        must_exit(&output, 1);
        assert_eq!(complaint(&output), format!("\n{message}"));
    }
}
