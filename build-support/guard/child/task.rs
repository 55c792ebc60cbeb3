//! What the child is to try, and as text for a child that is this program started again.

#[cfg(windows)]
use crate::runtime::child::protocol;
#[cfg(windows)]
use crate::runtime::convolution::case_result::Extent;
use crate::runtime::convolution::case_result::{Scope, SuiteEvent};
use crate::runtime::convolution::suite;
use crate::runtime::driver::devices::Devices;
use crate::runtime::driver::query::{self, Driver, DriverProblem};
use crate::runtime::facts::built::Built;
#[cfg(windows)]
use crate::runtime::facts::compute_capability::ComputeCapability;
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
pub struct Task<'a> {
    /// By which functions.
    pub functions: Functions,
    /// The cuDNN; without one, only the driver is asked.
    pub main_library: Option<Library>,
    /// Its parts, in the order in which they are opened.
    pub parts: &'a [SubLibraryFile],
    /// On which GPUs.
    pub devices: &'a Devices,
    /// What the program was built with, and what its tables say of GPUs.
    pub built: &'a Built,
    /// How much is convolved where there is a GPU, if anything.
    pub convolution: Option<Scope>,
}

/// What a child was told that is this program started again, and shares no memory with the first one.
#[cfg(windows)]
pub struct ToldTask {
    /// Where the answer goes.
    pub pipe: usize,
    main_library: Option<PathBuf>,
    parts: Vec<SubLibraryFile>,
    devices: Devices,
    built: Built,
    convolution: Option<Scope>,
}

#[cfg(windows)]
impl Task<'_> {
    /// As lines; the first one has the number of the pipe for the answer, and the last one is `end` with the token.
    pub fn to_text(&self, token: &str, pipe: usize) -> String {
        let mut lines = vec![protocol::line("pipe", &[&pipe.to_string()])];
        if let Some(path) = self.main_library.and_then(|library| library.path()) {
            lines.push(protocol::line("main", &[&protocol::path_field(&path)]));
        }
        for part in self.parts {
            let needed = if part.needed { "needed" } else { "" };
            let path = protocol::path_field(&part.path);
            lines.push(protocol::line("part", &[&part.name, &path, needed]));
        }
        match self.devices {
            Devices::First => {}
            Devices::Rank(rank) => lines.push(protocol::line("rank", &[&rank.to_string()])),
            Devices::All => lines.push(protocol::line("devices", &["all"])),
            Devices::Listed(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
                lines.push(protocol::line("devices", &[&numbers.join(",")]));
            }
        }
        lines.push(protocol::line("built", &[&record::text(self.built)]));
        if let Some(scope) = self.convolution {
            let newest = scope.newest_gpu.map(|newest| newest.to_string());
            let extent = match scope.extent {
                Extent::Quick => "quick",
                Extent::Thorough => "thorough",
            };
            let flags = [scope.graph_only, scope.asked].map(|flag| flag.to_string());
            let [graph_only, asked] = &flags;
            let fields = [extent, graph_only, asked, newest.as_deref().unwrap_or("")];
            lines.push(protocol::line("convolution", &fields));
        }
        lines.push(protocol::line("end", &[token]));
        lines.join("\n") + "\n"
    }
}

#[cfg(windows)]
impl ToldTask {
    /// Reads the lines; none where they do not come to their end.
    pub fn parse(text: &str, token: &str) -> Option<Self> {
        let mut task = Self {
            pipe: 0,
            main_library: None,
            parts: Vec::new(),
            devices: Devices::First,
            built: Built::default(),
            convolution: None,
        };
        let mut whole = false;
        protocol::each_line(text, &mut |kind, fields| match (kind, fields) {
            ("pipe", [number]) => task.pipe = number.parse().unwrap_or_default(),
            ("main", [path]) => task.main_library = Some(protocol::path(path)),
            ("part", [name, path, needed]) => task.parts.push(SubLibraryFile::new(
                name,
                protocol::path(path),
                None,
                *needed == "needed",
            )),
            ("rank", [rank]) => task.devices = Devices::Rank(rank.parse().unwrap_or_default()),
            ("devices", [devices]) => {
                task.devices = Devices::parse(devices).unwrap_or(Devices::First);
            }
            ("built", [text]) => task.built = record::parse(text),
            ("convolution", [extent, graph_only, asked, newest]) => {
                let newest = newest.split_once('.');
                let newest = newest.and_then(|(major, minor)| {
                    Some(ComputeCapability::new(
                        major.parse().ok()?,
                        minor.parse().ok()?,
                    ))
                });
                task.convolution = Some(Scope {
                    extent: match *extent {
                        "thorough" => Extent::Thorough,
                        _ => Extent::Quick,
                    },
                    graph_only: *graph_only == "true",
                    in_program: false,
                    asked: *asked == "true",
                    newest_gpu: newest,
                });
            }
            ("end", [end]) => whole = *end == token,
            _ => {}
        });
        Some(task).filter(|_| whole)
    }

    /// The task itself, with its cuDNN opened.
    pub fn with(&self, run: &mut dyn FnMut(&Task<'_>)) {
        let library = self.main_library.as_ref();
        run(&Task {
            functions: REAL,
            main_library: library.and_then(|path| Library::open_file(path).ok()),
            parts: &self.parts,
            devices: &self.devices,
            built: &self.built,
            convolution: self.convolution,
        });
    }
}
