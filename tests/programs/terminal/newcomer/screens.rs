//! The images in docs/screens: terminals of 80 and 120 columns, dark and light, with and without colors.
//!
//! `BLESS=1` redraws them.

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

/// Returns the doctor's output for a cuDNN built for another CUDA major.
fn doctor(columns: usize, color: &str) -> String {
    let mut machine = Machine::image(true);
    wheel(&machine.at("me/venv"), 12, (9, 10, 2));
    machine.set_to("VIRTUAL_ENV", &["me/venv"]);
    let (output, _) = machine.doctor_in(columns, &["--redact", "--color", color]);
    format!("$ cudnn-guard doctor\n{}", output.replace(SHOWN, ""))
}

/// Returns the page of that finding.
fn explain(columns: usize) -> String {
    let mut explain = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    explain.args(["explain", "cuda-flavour-mismatch", "--color", "always"]);
    let output = run(explain.env("COLUMNS", columns.to_string())).stdout;
    format!("$ cudnn-guard explain cuda-flavour-mismatch\n{output}")
}

#[test]
fn the_images_in_the_documentation_are_current() {
    let pictures = [
        ("doctor-80-dark", DARK, doctor(80, "always")),
        ("doctor-80-light", LIGHT, doctor(80, "always")),
        ("doctor-80-plain", DARK, doctor(80, "never")),
        ("doctor-120-dark", DARK, doctor(120, "always")),
        ("doctor-120-light", LIGHT, doctor(120, "always")),
        ("explain-80-dark", DARK, explain(80)),
    ];
    for (name, terminal, screen) in pictures {
        let drawn = terminal.render_svg(screen.trim_end());
        let file = repository().join(format!("docs/screens/{name}.svg"));
        if std::env::var_os("BLESS").is_some() {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, &drawn).unwrap();
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        assert!(kept == drawn, "docs/screens/{name}.svg: BLESS=1 redraws it");
    }
}
