//! The task of a child, and its text for a child that is a second instance of this program.

use crate::runtime::convolution::{Scope, SuiteEvent, suite};
use crate::runtime::driver::{Devices, Driver, DriverProblem, query};
use crate::runtime::facts::codec::{self, Fields, join, row, split};
use crate::runtime::facts::{Built, Version, record};
use crate::runtime::install::SubLibraryFile;
use crate::runtime::system::Library;
use std::path::PathBuf;

/// The functions that call the driver and cuDNN. Tests replace them.
#[derive(Clone, Copy)]
pub struct Functions {
    /// Queries the driver for its GPUs.
    pub driver: fn() -> Result<Driver, DriverProblem>,
    /// Runs the convolutions on the GPU of this number.
    pub convolve: fn(Library, Version, usize, Scope, &mut dyn FnMut(SuiteEvent)),
}

impl Default for Functions {
    fn default() -> Self {
        Self {
            driver: query::driver,
            convolve: suite::run,
        }
    }
}

#[derive(Clone, Default)]
pub struct Task {
    /// If `None`, the child only opens the sub-libraries, each by its name.
    pub functions: Option<Functions>,
    /// The cuDNN; if `None`, the driver is only queried.
    pub main_library: Option<Library>,
    /// Its sub-libraries, in the order in which they are opened.
    pub parts: Vec<SubLibraryFile>,
    pub devices: Devices,
    pub built: Built,
    /// The convolutions to run if there is a GPU.
    pub convolution: Option<Scope>,
}

row!(Scope: extent, graph_only, is_explicit, newest_gpu; in_program: false);
row!(SubLibraryFile: name, path, needed, version; told_by: None, defect: None, origin: None);

impl Task {
    /// Returns the task as lines. The first line contains a number for [`process::enter_child`], and the last is `end`
    /// with the token.
    pub fn to_text(&self, token: &str, number: usize) -> String {
        let mut lines = vec![codec::line("number", &number)];
        if let Some(path) = self.main_library.and_then(|library| library.path()) {
            lines.push(codec::line("main", &path));
        }
        lines.extend(self.parts.iter().map(|part| codec::line("part", part)));
        if self.functions.is_none() {
            lines.push("opens".to_string());
        }
        match &self.devices {
            Devices::First => {}
            Devices::Rank(rank) => lines.push(codec::line("rank", rank)),
            Devices::All => lines.push("all".to_string()),
            Devices::Listed(numbers) => lines.push(codec::line("devices", numbers)),
        }
        lines.push(codec::line("built", &record::text(&self.built)));
        if let Some(scope) = &self.convolution {
            lines.push(codec::line("convolution", scope));
        }
        lines.push(codec::line("end", &token.to_string()));
        lines.join("\n") + "\n"
    }

    /// Parses the lines. Returns the number and the path of the cuDNN too, or `None` if the lines are truncated.
    pub fn parse(
        text: &str,
        token: &str,
        functions: Functions,
    ) -> Option<(usize, Option<PathBuf>, Self)> {
        let (mut number, mut main_library, mut is_complete) = (0, None, false);
        let mut task = Self {
            functions: Some(functions),
            ..Self::default()
        };
        codec::each_line(text, &mut |key, value| match key {
            "number" => codec::set(&mut number, value),
            "main" => main_library = Fields::decode(value),
            "part" => codec::push(&mut task.parts, value),
            "opens" => task.functions = None,
            "rank" => task.devices = Devices::Rank(usize::decode(value).unwrap_or_default()),
            "all" => task.devices = Devices::All,
            "devices" => task.devices = Devices::Listed(Vec::decode(value).unwrap_or_default()),
            "built" => task.built = record::parse(&String::decode(value).unwrap_or_default()),
            "convolution" => task.convolution = Fields::decode(value),
            "end" => is_complete = value == token,
            _ => {}
        });
        is_complete.then_some((number, main_library, task))
    }
}
