//! The translation of a builder's calls to those of cudnn-guard.

use crate::cli::init::port::Reason;
use crate::cli::init::port::arguments::{Values, string};
use crate::cli::init::port::redundant::is_out_dir;
use crate::cli::init::port::text::line;
use std::path::Path;
use syn::{Expr, ExprMethodCall};

const CALLS: &str = include_str!("calls.txt");
/// The separator between two calls.
pub const BREAK: &str = "\n            .";

/// The flags that the other crates add themselves.
const PER_THREAD: &str = "\"--default-stream\", \"per-thread\"]";

/// A builder of another crate.
pub struct Builder<'a> {
    tool: &'static str,
    pub line: usize,
    /// The indexes of the statement that creates the builder, and of the last one that calls its methods.
    pub index: usize,
    pub last: usize,
    /// The variables that contain the builder or its result.
    pub names: Vec<String>,
    pub calls: Vec<&'a ExprMethodCall>,
    /// The translated calls that are not written yet, and those that compile.
    new: Vec<String>,
    ends: Vec<String>,
    state: CallState,
    /// Each statement is translated in its place, because others are between them or contain some.
    pub is_changed: bool,
    /// The number of statements of the block that call its methods.
    pub statements: usize,
    /// A nested statement does.
    pub is_nested: bool,
    /// `true` if it builds a library.
    pub is_library: bool,
    /// `true` if it compiles CUDA.
    pub has_cuda: bool,

    is_declared: bool,
    is_finished: bool,
}

/// State from the calls of one builder.
#[derive(Default)]
pub struct CallState {
    files: usize,
    /// The flags that choose targets.
    archs: Vec<String>,
    /// The first word of a flag whose second word is the next flag.
    pub unfinished_flag: Option<String>,
}

impl<'a> Builder<'a> {
    pub fn new(tool: &'static str, line: usize, index: usize) -> Self {
        Self {
            tool,
            line,
            index,
            last: index,
            names: Vec::new(),
            calls: Vec::new(),
            new: Vec::new(),
            ends: Vec::new(),
            state: CallState::default(),
            statements: 0,
            is_library: false,
            is_nested: false,
            is_changed: false,
            has_cuda: tool != "cc",
            is_declared: false,
            is_finished: false,
        }
    }

    /// Translates calls. `written` is for a file that they write.
    pub fn add(
        &mut self,
        calls: &[&'a ExprMethodCall],
        values: &Values<'a>,
        written: &mut Option<(String, String)>,
    ) -> Result<(), Reason> {
        self.calls.extend(calls);
        if self.tool == "nvcc" {
            return Ok(());
        }
        for call in calls {
            let reason = || (line(&call.method), format!("`{}`", call.method));
            let mut state = std::mem::take(&mut self.state);
            let new = self.call(call, values, &mut state).ok_or_else(reason)?;
            self.state = state;
            if call.method == "write" {
                self.new
                    .push(module(call, values, written).ok_or_else(reason)?);
            } else if new.ends_with(")?") {
                self.ends.push(new);
            } else if !new.is_empty() && (self.tool == "cc" || !new.contains(PER_THREAD)) {
                self.new.push(new);
            }
        }
        Ok(())
    }

    /// Counts the last files again, because they are added in a loop.
    pub fn repeat(&mut self) {
        self.state.files += usize::from(self.state.files > 0);
    }

    /// Returns `true` if a call compiles.
    pub fn is_complete(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Returns the statement, or the value, for the calls since the last one. The first declares the builder.
    pub fn written(&mut self, column: usize, is_value: bool) -> Result<String, Reason> {
        if self.is_finished || !self.ends.is_empty() {
            return Err((
                self.line,
                "a builder that compiles in a nested block".to_string(),
            ));
        }
        if let Some(flag) = &self.state.unfinished_flag {
            return Err((self.line, format!("`{flag}` without a value")));
        }
        let name = self.names.first().filter(|_| self.tool != "nvcc").cloned();
        let name = name.ok_or((self.line, "a builder without a variable".to_string()))?;
        self.new.extend(self.state.targets());
        if !self.is_declared {
            self.is_declared = true;
            self.add_stream();
            let calls = std::mem::take(&mut self.new);
            let is_mutable = self.is_nested || self.statements > 2;
            let mutable = if is_mutable { "mut " } else { "" };
            return Ok(format!(
                "let {mutable}{name} = {};",
                call_chain("gpu.kernels()", &calls, column)
            ));
        }
        let calls = std::mem::take(&mut self.new);
        if calls.is_empty() {
            return Ok(if is_value { name } else { String::new() });
        }
        let mut new = format!("{name}.{}", calls.join("."));
        if new.contains(BREAK) || new.len() > 80 {
            new = call_chain(&name, &calls, column);
        }
        Ok(if is_value {
            new
        } else {
            format!("{name} = {new};")
        })
    }

    /// Returns the statement that compiles.
    pub fn finish(
        &mut self,
        values: &Values<'a>,
        column: usize,
        is_shared: bool,
    ) -> Result<String, Reason> {
        if self.tool == "nvcc" {
            return self.command(values, column);
        }
        self.is_finished = true;
        let what = match (&self.state.unfinished_flag, self.ends.len()) {
            (Some(flag), _) => format!("`{flag}` without a value"),
            (None, 0) => "a builder that compiles nothing".to_string(),
            (None, 1) => String::new(),
            _ => "a builder that compiles more than once".to_string(),
        };
        if !what.is_empty() {
            return Err((self.line, what));
        }
        self.new.extend(self.state.targets());
        if !self.is_declared {
            self.add_stream();
        }
        if self.tool == "cc" && self.state.files > 1 {
            self.new.push("flag(\"-rdc=true\")".to_string());
        }
        if self.tool != "cc" && self.state.files == 0 {
            self.new.push("files(\"src/**/*.cu\")".to_string());
        }
        if is_shared && self.ends[0].starts_with("compile(") {
            self.new
                .push("cudart(cudnn_guard::Cudart::Shared)".to_string());
        }
        let mut calls = std::mem::take(&mut self.new);
        calls.append(&mut self.ends);
        let start = match self.is_declared {
            true => &self.names[0],
            false => "gpu.kernels()",
        };
        Ok(format!("{};", call_chain(start, &calls, column)))
    }

    fn add_stream(&mut self) {
        if self.tool != "cc" {
            let stream = "default_stream(cudnn_guard::DefaultStream::PerThread)";
            self.new.push(stream.to_string());
        }
    }

    /// Returns the equivalent call of cudnn-guard; empty if none is needed.
    fn call(
        &self,
        call: &'a ExprMethodCall,
        values: &Values<'a>,
        state: &mut CallState,
    ) -> Option<String> {
        CALLS.lines().find_map(|line| {
            let (old, new) = line.split_once(" =>")?;
            let mut kinds = old.strip_prefix(self.tool)?.strip_prefix(' ')?.split(' ');
            if call.method != kinds.next()? || kinds.clone().count() != call.args.len() {
                return None;
            }
            let mut new = new.trim_start().replace(").", &format!("){BREAK}"));
            for (at, (kind, argument)) in kinds.zip(&call.args).enumerate() {
                let argument = state.argument(kind, argument, values)?;
                new = new.replace(&format!("${at}"), &argument);
            }
            state.files += usize::from(new.starts_with("files") && state.files == 0);
            // A library is always in `OUT_DIR`.
            if new == "out_dir()" || new.starts_with("out_dir(") && self.is_library {
                new.clear();
            }
            Some(new)
        })
    }
}

impl CallState {
    /// Returns the text for an argument, if it is of this kind.
    fn argument<'a>(
        &mut self,
        kind: &str,
        argument: &'a Expr,
        values: &Values<'a>,
    ) -> Option<String> {
        let string = string(argument);
        let list = || match string.clone() {
            Some(one) => Some((format!("{one:?}"), vec![one])),
            None => values.list(argument),
        };
        let text = values.text_of(argument);
        match kind {
            "any" => Some(String::new()),
            "str" => string.map(|it| format!("{it:?}")),
            "word" => string.map(|it| it.trim_end_matches('/').to_string()),
            "text" => Some(text.to_string()),
            "out" => {
                let is_out_dir = is_out_dir(values.literals(text), &[]);
                Some(if is_out_dir {
                    String::new()
                } else {
                    text.to_string()
                })
            }
            "each" => {
                let dirs = list()?.1.into_iter();
                let dirs: Vec<String> = dirs.map(|dir| format!("include({dir:?})")).collect();
                Some(dirs.join(BREAK))
            }
            "number" => text.parse::<u32>().ok().map(|_| text.to_string()),
            "cap" => match text.parse().ok()? {
                ..90 => Some(text.to_string()),
                90..=120 => Some(format!("{text}a")),
                _ => Some(format!("{text}f")),
            },
            "file" => {
                self.files += 1;
                let is_other = string.is_some_and(|it| !it.ends_with(".cu"));
                (!is_other).then(|| text.to_string())
            }
            "files" | "once" => {
                let is_again = kind == "once" && self.files > 0;
                let is_other =
                    |file: &str| [".c", ".cc", ".cpp"].iter().any(|end| file.ends_with(end));
                let (text, count, is_valid) = match list() {
                    Some((text, files)) => (
                        text,
                        files.len(),
                        files.iter().all(|file| file.ends_with(".cu")),
                    ),
                    // The number is not known.
                    None => (values.unchanged(argument, |file| !is_other(file))?, 2, true),
                };
                self.files += count;
                (!is_again && is_valid).then_some(text)
            }
            "list" | "names" | "sources" | "flags" => {
                let is_source = |one: &str| {
                    [".h", ".hpp", ".cuh", ".cu"]
                        .iter()
                        .any(|end| one.ends_with(end))
                };
                let is_valid = |one: &str| match kind {
                    "names" => !one.contains('/'),
                    "sources" => is_source(one),
                    "flags" => !chooses_targets(one) && one != "legacy",
                    _ => true,
                };
                match values.list(argument) {
                    Some((text, all)) => all.iter().all(|one| is_valid(one)).then_some(text),
                    // An unknown list may contain other files.
                    None if kind == "sources" => None,
                    None => values.unchanged(argument, is_valid),
                }
            }
            "dirs" => {
                let dirs = list()?.1.into_iter().map(|header| {
                    let dir = header.rsplit_once('/').map_or(".", |(dir, _)| dir);
                    let dir = dir.split("/*").next().unwrap_or_default();
                    format!("include({dir:?})")
                });
                let mut dirs: Vec<String> = dirs.collect();
                dirs.dedup();
                Some(dirs.join(BREAK))
            }
            "flag" => match string {
                Some(flag) => self.flag(&flag),
                None if self.unfinished_flag.is_some() => None,
                None if is_target(&values.literals(text)) => Some(format!("archs([{text}])")),
                None => {
                    let is_valid = |one: &str| !chooses_targets(one) && !one.contains("stream");
                    let mut texts = values.literals(text).into_iter();
                    texts
                        .all(|one| is_valid(&one))
                        .then(|| format!("flag({text})"))
                }
            },
            "library" if string.as_ref().is_some_and(|it| !it.contains('.')) => string,
            "library" => {
                let texts = values.literals(text);
                let names = texts
                    .iter()
                    .filter_map(|it| it.strip_suffix(".a").or(it.strip_suffix(".lib")));
                let mut names: Vec<&str> = names.filter_map(|it| it.rsplit('/').next()).collect();
                names
                    .iter_mut()
                    .for_each(|it| *it = it.strip_prefix("lib").unwrap_or(it));
                names.dedup();
                if let ([], [one]) = (&names[..], &texts[..]) {
                    names.extend((!one.contains(['.', '/'])).then_some(&**one));
                }
                let name = names
                    .pop()
                    .filter(|name| names.is_empty() && !name.contains('{'));
                name.map(str::to_string)
            }
            literal => (text == literal).then(String::new),
        }
    }

    /// Returns the call for the targets that the flags choose.
    pub fn targets(&mut self) -> Option<String> {
        let archs = std::mem::take(&mut self.archs);
        (!archs.is_empty()).then(|| format!("archs({archs:?})"))
    }

    /// Returns the call for a flag: empty if it is part of the list of targets.
    pub fn flag(&mut self, flag: &str) -> Option<String> {
        if let Some(unfinished_flag) = self.unfinished_flag.take() {
            self.archs.push(format!("{unfinished_flag}={flag}"));
            return Some(String::new());
        }
        let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
        match name {
            "-gencode" | "--generate-code" | "-arch" | "--gpu-architecture" => {
                if value.is_empty() {
                    self.unfinished_flag = Some(name.to_string());
                } else {
                    self.archs.push(flag.to_string());
                }
                Some(String::new())
            }
            "--default-stream" | "-default-stream" | "-code" | "--gpu-code" | "-I" | "-D" => None,
            _ => Some(match (flag.strip_prefix("-I"), name.strip_prefix("-D")) {
                (Some(dir), _) => format!("include({dir:?})"),
                (_, Some(name)) if flag.contains('=') => format!("define({name:?}, {value:?})"),
                (_, Some(name)) => format!("define({name:?}, None)"),
                _ => format!("flag({flag:?})"),
            }),
        }
    }
}

/// Returns `true` if a flag that is computed from these strings chooses a target.
fn is_target(strings: &[String]) -> bool {
    let starts = [
        "-gencode=arch=",
        "--generate-code=arch=",
        "-arch=sm_",
        "--gpu-architecture=sm_",
    ];
    let [one] = strings else {
        return false;
    };
    starts.iter().any(|start| one.starts_with(start))
}

fn chooses_targets(flag: &str) -> bool {
    flag.contains("arch") || flag.contains("gencode")
}

/// Formats calls, one in each line.
pub fn call_chain(start: &str, calls: &[String], column: usize) -> String {
    if let ([one], true) = (calls, start != "gpu.kernels()" && !calls[0].contains(BREAK)) {
        return format!("{start}.{one}");
    }
    let separator = format!("\n{}.", " ".repeat(column + 4));
    let calls = calls
        .iter()
        .map(|call| format!("{separator}{}", call.replace(BREAK, &separator)));
    start.to_string() + &calls.collect::<String>()
}

/// Returns the call for the module of constants that `write` writes.
fn module<'a>(
    call: &'a ExprMethodCall,
    values: &Values<'a>,
    written: &mut Option<(String, String)>,
) -> Option<String> {
    let file = call.args.first()?;
    let texts = values.literals(values.text_of(file));
    let path = texts.iter().find(|text| text.ends_with(".rs"))?;
    let name = Path::new(path).file_stem()?.to_str()?;
    let others = texts.iter().filter(|text| *text != path).cloned().collect();
    if name.contains('{') || string(file).is_none() && !is_out_dir(others, &[]) {
        return None;
    }
    let is_root = ["lib", "mod", "main"].contains(&name);
    let name = if is_root { "ptx" } else { name };
    if string(file).is_some() {
        *written = Some((path.clone(), format!("{name}.rs")));
    } else if !texts.iter().any(|text| text == "OUT_DIR") {
        return None;
    }
    Some(format!("module({name:?})"))
}
