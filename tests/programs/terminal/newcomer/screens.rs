//! The image in docs/screens. `BLESS=1` redraws it.

use super::machine::{Machine, SHOWN};
use crate::support::builds::wheel;
use crate::support::repository;
use anstyle::{Color, RgbColor};
use anstyle_svg::{Term, WIN10_CONSOLE};
use std::fs;

/// The output of the doctor for a cuDNN built for another CUDA major.
#[test]
fn the_image_in_the_documentation_is_current() {
    let mut machine = Machine::image(true);
    wheel(&machine.at("me/venv"), 12, (9, 10, 2));
    machine.set_to("VIRTUAL_ENV", &["me/venv"]);
    let (output, _) = machine.doctor(&["--redact", "--color", "always"]);
    let screen = format!("$ cudnn-guard doctor\n{}", output.replace(SHOWN, ""));
    let dark = Term::new()
        .palette(WIN10_CONSOLE)
        .fg_color(Color::Rgb(RgbColor(0xd0, 0xd0, 0xd0)))
        .bg_color(Color::Rgb(RgbColor(0x10, 0x14, 0x18)));
    let drawn = dark.render_svg(screen.trim_end());
    let file = repository().join("docs/screens/doctor-80-dark.svg");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&file, &drawn).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == drawn, "{}: BLESS=1 redraws it", file.display());
}
