//! The pictures in docs/screens: terminals of 80 and of 120 columns, dark and light, with colours and without.
//!
//! `BLESS=1` draws them anew.

use super::machine::{Machine, SHOWN};
use crate::support::builds::wheel;
use crate::support::{repository, run};
use anstyle_svg::{Term, WIN10_CONSOLE};
use std::fs;
use std::process::Command;

const DARK: Term = Term::new()
    .palette(WIN10_CONSOLE)
    .fg_color(anstyle::Color::Rgb(anstyle::RgbColor(0xd0, 0xd0, 0xd0)))
    .bg_color(anstyle::Color::Rgb(anstyle::RgbColor(0x10, 0x14, 0x18)));
const LIGHT: Term = Term::new()
    .palette(WIN10_CONSOLE)
    .fg_color(anstyle::Color::Rgb(anstyle::RgbColor(0x18, 0x18, 0x18)))
    .bg_color(anstyle::Color::Rgb(anstyle::RgbColor(0xff, 0xff, 0xff)));

/// The doctor's screen of a cuDNN for another CUDA.
fn doctor(columns: usize, color: &str) -> String {
    let mut machine = Machine::image(true);
    wheel(&machine.at("me/venv"), 12, (9, 10, 2));
    machine.set_to("VIRTUAL_ENV", &["me/venv"]);
    let (said, _) = machine.doctor_in(columns, &["--redact", "--color", color]);
    format!("$ cudnn-guard doctor\n{}", said.replace(SHOWN, ""))
}

/// The page of that finding.
fn explain(columns: usize) -> String {
    let mut explain = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    explain.args(["explain", "cuda-flavour-mismatch", "--color", "always"]);
    let said = run(explain.env("COLUMNS", columns.to_string())).stdout;
    format!("$ cudnn-guard explain cuda-flavour-mismatch\n{said}")
}

#[test]
fn the_pictures_in_the_documents_are_of_this_version() {
    let pictures = [
        ("doctor-80-dark", DARK, doctor(80, "always")),
        ("doctor-80-light", LIGHT, doctor(80, "always")),
        ("doctor-80-plain", DARK, doctor(80, "never")),
        ("doctor-120-dark", DARK, doctor(120, "always")),
        ("doctor-120-light", LIGHT, doctor(120, "always")),
        ("explain-80-dark", DARK, explain(80)),
    ];
    for (name, terminal, said) in pictures {
        let drawn = terminal.render_svg(said.trim_end());
        let file = repository().join(format!("docs/screens/{name}.svg"));
        if std::env::var_os("BLESS").is_some() {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, &drawn).unwrap();
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            kept == drawn,
            "docs/screens/{name}.svg: BLESS=1 draws it anew"
        );
    }
}
