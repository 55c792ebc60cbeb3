//! `cudnn-guard manual`: writes the pages for `man`.

use crate::cli::reference::{exit_codes, list, paragraphs, variables};
use crate::cli::{command_line, terminal};
use crate::model::text::pattern::pattern;
use clap::{ArgMatches, Command, value_parser};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

pub fn command() -> Command {
    Command::new("manual")
        .about("Generate man pages")
        .after_help(
            "Examples:\n  cudnn-guard manual ~/.local/share/man/man1\n  man cudnn-guard-doctor",
        )
        .arg(
            terminal::operand("dir", "DIR", "Output directory")
                .required(true)
                .value_parser(value_parser!(PathBuf)),
        )
}

/// Writes one page for the program and one for each command.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let dir = arguments.get_one::<PathBuf>("dir").expect("required");
    match write_pages(dir) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::show_on_stderr(format!(
                "cannot write man pages to `{}`: {error}\n  = help: choose a directory that you can write to\n",
                dir.display()
            ));
            ExitCode::from(1)
        }
    }
}

fn write_pages(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut program = command_line().disable_help_subcommand(true);
    program.build();
    for command in program.get_subcommands().chain([&program]) {
        let name = command.get_display_name().unwrap_or("cudnn-guard");
        fs::write(dir.join(format!("{name}.1")), page(command, &program)?)?;
    }
    Ok(())
}

fn page(command: &Command, program: &Command) -> io::Result<Vec<u8>> {
    let mut text = paragraphs(command);
    text.retain(|text| !text.contains(":\n"));
    let about = command.get_about().map(|about| format!("{about}."));
    text.splice(..0, about);
    let man = Man::new(command.clone().long_about(text.join("\n\n")))
        .source(concat!("cudnn-guard ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut rest = Roff::default();
    rest.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in exit_codes(command, program) {
        rest.control("TP", [])
            .text([bold(code)])
            .text([roman(meaning)]);
    }
    rest.control("SH", ["ENVIRONMENT"]);
    // Links to other documents, and the marks of code.
    let marks = pattern(r" \(\[[^\]]*\]\)|`|\\");
    let plain = |text| marks.replace_all(text, "").into_owned();
    for (names, meaning) in variables() {
        let (names, meaning) = (plain(names), plain(meaning));
        rest.control("TP", [])
            .text([bold(names)])
            .text([roman(meaning)]);
    }
    rest.control("SH", ["EXAMPLES"]);
    for example in list(command, "Examples:") {
        rest.control("PP", []).text([bold(example)]);
    }
    rest.to_writer(&mut page)?;
    Ok(page)
}
