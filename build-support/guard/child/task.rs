//! What the child is to try, and as text for a child that is this program started again.

use crate::runtime::convolution::case_result::{Scope, SuiteEvent};
use crate::runtime::convolution::suite;
use crate::runtime::driver::devices::Devices;
use crate::runtime::driver::query::{self, Driver, DriverProblem};
use crate::runtime::facts::built::Built;
#[cfg(windows)]
use crate::runtime::facts::codec::{self, Fields, join, row};
#[cfg(windows)]
use crate::runtime::facts::record;
use crate::runtime::facts::version::Version;
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::runtime::system::platform::Library;
#[cfg(windows)]
use std::path::PathBuf;

/// What is called besides the libraries themselves. A test hands in others.
#[derive(Clone, Copy)]
pub struct Functions {
    /// Asks the driver for its GPUs.
    pub driver: fn() -> Result<Driver, DriverProblem>,
    /// Convolves on the GPU of this number.
    pub convolve: fn(Library, Version, usize, Scope, &mut dyn FnMut(SuiteEvent)),
}

/// Those that a program has.
pub const REAL: Functions = Functions {
    driver: query::ask,
    convolve: suite::run,
};

/// What the child is to try.
#[derive(Clone)]
pub struct Task {
    /// By which functions.
    pub functions: Functions,
    /// The cuDNN; without one, only the driver is asked.
    pub main_library: Option<Library>,
    /// Its parts, in the order in which they are opened.
    pub parts: Vec<SubLibraryFile>,
    /// On which GPUs.
    pub devices: Devices,
    /// What the program was built with, and what its tables say of GPUs.
    pub built: Built,
    /// How much is convolved where there is a GPU, if anything.
    pub convolution: Option<Scope>,
}

/// What a child was told that is this program started again, and shares no memory with the first one.
#[cfg(windows)]
pub struct ToldTask {
    /// Where the answer goes.
    pub pipe: usize,
    main_library: Option<PathBuf>,
    task: Task,
}

#[cfg(windows)]
row!(Scope: extent, graph_only, is_explicit, newest_gpu; in_program: false);
#[cfg(windows)]
row!(SubLibraryFile: name, path, needed; version: None, told_by: None, defect: None);

#[cfg(windows)]
impl Task {
    /// As lines; the first one has the number of the pipe for the answer, and the last one is `end` with the token.
    pub fn to_text(&self, token: &str, pipe: usize) -> String {
        let mut lines = vec![codec::line("pipe", &pipe)];
        if let Some(path) = self.main_library.and_then(|library| library.path()) {
            lines.push(codec::line("main", &path));
        }
        for part in &self.parts {
            lines.push(codec::line("part", part));
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
}

#[cfg(windows)]
impl ToldTask {
    /// Reads the lines; none where they do not come to their end.
    pub fn parse(text: &str, token: &str) -> Option<Self> {
        let (mut pipe, mut main_library, mut whole) = (0, None, false);
        let mut task = Task {
            functions: REAL,
            main_library: None,
            parts: Vec::new(),
            devices: Devices::First,
            built: Built::default(),
            convolution: None,
        };
        codec::each_line(text, &mut |key, value| match key {
            "pipe" => codec::set(&mut pipe, value),
            "main" => main_library = Fields::decode(value),
            "part" => codec::push(&mut task.parts, value),
            "rank" => task.devices = Devices::Rank(usize::decode(value).unwrap_or_default()),
            "all" => task.devices = Devices::All,
            "devices" => task.devices = Devices::Listed(Vec::decode(value).unwrap_or_default()),
            "built" => task.built = record::parse(&String::decode(value).unwrap_or_default()),
            "convolution" => task.convolution = Fields::decode(value),
            "end" => whole = value == token,
            _ => {}
        });
        whole.then_some(Self {
            pipe,
            main_library,
            task,
        })
    }

    /// Returns the task itself, with its cuDNN opened.
    pub fn opened(&self) -> Task {
        let library = self.main_library.as_ref();
        Task {
            main_library: library.and_then(|path| Library::open_file(path).ok()),
            ..self.task.clone()
        }
    }
}
