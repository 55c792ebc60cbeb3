//! The task of a child, and its text for a child that is a second instance of this program.

use crate::runtime::convolution::{Scope, SuiteEvent, suite};
use crate::runtime::driver::{Devices, Driver, DriverProblem, query};
#[cfg(windows)]
use crate::runtime::facts::codec::{self, Fields, join, row, split};
#[cfg(windows)]
use crate::runtime::facts::record;
use crate::runtime::facts::{Built, Version};
use crate::runtime::install::SubLibraryFile;
use crate::runtime::system::Library;
#[cfg(windows)]
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
    pub functions: Functions,
    /// `true` if the child only opens the sub-libraries, each by its name.
    pub opens_only: bool,
    /// The cuDNN; if `None`, the driver is only queried.
    pub main_library: Option<Library>,
    /// Its sub-libraries, in the order in which they are opened.
    pub parts: Vec<SubLibraryFile>,
    pub devices: Devices,
    pub built: Built,
    /// The convolutions to run if there is a GPU.
    pub convolution: Option<Scope>,
}

#[cfg(windows)]
row!(Scope: extent, graph_only, is_explicit, newest_gpu; in_program: false);
#[cfg(windows)]
row!(SubLibraryFile: name, path, needed; version: None, told_by: None, defect: None, origin: None);

#[cfg(windows)]
impl Task {
    /// Returns the task as lines. The first line contains the handle of the answer pipe, and the last is `end` with the
    /// token.
    pub fn to_text(&self, token: &str, pipe: usize) -> String {
        let mut lines = vec![codec::line("pipe", &pipe)];
        if let Some(path) = self.main_library.and_then(|library| library.path()) {
            lines.push(codec::line("main", &path));
        }
        lines.extend(self.parts.iter().map(|part| codec::line("part", part)));
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

    /// Parses the lines, and opens the cuDNN. Returns the handle of the answer pipe too, or `None` if the lines are
    /// truncated.
    pub fn parse(text: &str, token: &str) -> Option<(usize, Self)> {
        let (mut pipe, mut main_library, mut is_complete) = (0, None::<PathBuf>, false);
        let mut task = Self::default();
        codec::each_line(text, &mut |key, value| match key {
            "pipe" => codec::set(&mut pipe, value),
            "main" => main_library = Fields::decode(value),
            "part" => codec::push(&mut task.parts, value),
            "rank" => task.devices = Devices::Rank(usize::decode(value).unwrap_or_default()),
            "all" => task.devices = Devices::All,
            "devices" => task.devices = Devices::Listed(Vec::decode(value).unwrap_or_default()),
            "built" => task.built = record::parse(&String::decode(value).unwrap_or_default()),
            "convolution" => task.convolution = Fields::decode(value),
            "end" => is_complete = value == token,
            _ => {}
        });
        if !is_complete {
            return None;
        }
        task.main_library = main_library.and_then(|path| Library::open_file(&path).ok());
        Some((pipe, task))
    }
}
