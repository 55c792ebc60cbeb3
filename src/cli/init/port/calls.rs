//! The translation of a builder's calls to those of cudnn-guard.

use crate::cli::init::port::Reason;
use crate::cli::init::port::arguments::{Values, line, string};
use std::path::Path;
use syn::{Expr, ExprMethodCall};

const CALLS: &str = include_str!("calls.txt");
/// The separator between two calls.
pub const BREAK: &str = "\n            .";

/// A builder of another crate.
pub struct Builder<'a> {
    tool: &'static str,
    pub line: usize,
    /// The call that creates the builder, and the variables that contain the builder or its result.
    pub names: Vec<String>,
    pub calls: Vec<&'a ExprMethodCall>,
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

impl Builder<'_> {
    pub fn new(tool: &'static str, made: String, line: usize) -> Self {
        Self {
            tool,
            line,
            names: vec![made],
            calls: Vec::new(),
        }
    }

    /// Returns the equivalent calls of cudnn-guard as a statement. `written` is for a file that the calls write.
    pub fn calls(
        &self,
        values: &Values,
        written: &mut Option<(String, String)>,
    ) -> Result<String, Reason> {
        if self.tool == "nvcc" {
            return self.command(values);
        }
        let mut state = CallState::default();
        let (mut calls, mut ends) = (Vec::new(), Vec::new());
        for call in &self.calls {
            let reason = || (line(&call.method), format!("`{}`", call.method));
            let new = self.call(call, values, &mut state).ok_or_else(reason)?;
            if call.method == "write" {
                calls.push(module(call, values, written).ok_or_else(reason)?);
            } else if new.ends_with(")?") {
                ends.push(new);
            } else if !new.is_empty() {
                calls.push(new);
            }
        }
        let what = match (&state.unfinished_flag, ends.len()) {
            (Some(flag), _) => format!("`{flag}` without a value"),
            (None, 0) => "a builder that compiles nothing".to_string(),
            (None, 1) => String::new(),
            _ => "a builder that compiles more than once".to_string(),
        };
        if !what.is_empty() {
            return Err((self.line, what));
        }
        calls.extend(state.targets());
        if self.tool != "cc" {
            calls.push("default_stream(cudnn_guard::DefaultStream::PerThread)".to_string());
        } else if state.files > 1 {
            calls.push("flag(\"-rdc=true\")".to_string());
        }
        if self.tool != "cc" && state.files == 0 {
            calls.push("files(\"src/**/*.cu\")".to_string());
        }
        calls.extend(ends);
        Ok(format!(
            "        gpu.kernels(){BREAK}{};\n",
            calls.join(BREAK)
        ))
    }

    /// Returns the equivalent call of cudnn-guard; empty if none is needed.
    fn call(
        &self,
        call: &ExprMethodCall,
        values: &Values,
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
            Some(new)
        })
    }
}

impl CallState {
    /// Returns the text for an argument, if it is of this kind.
    fn argument(&mut self, kind: &str, argument: &Expr, values: &Values) -> Option<String> {
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
            "text" => values.is_constant(argument).then(|| text.to_string()),
            "cap" => match text.parse().ok()? {
                ..90 => Some(text.to_string()),
                90..=120 => Some(format!("{text}a")),
                _ => Some(format!("{text}f")),
            },
            "files" | "once" => {
                let (text, files) = list()?;
                let is_again = kind == "once" && self.files > 0;
                self.files += files.len();
                (!is_again && files.iter().all(|file| file.ends_with(".cu"))).then_some(text)
            }
            "list" | "names" | "sources" | "flags" => {
                let (text, strings) = values.list(argument)?;
                let is_source = |one: &str| {
                    [".h", ".hpp", ".cuh", ".cu"]
                        .iter()
                        .any(|end| one.ends_with(end))
                };
                let is_valid = |one: &String| match kind {
                    "names" => !one.contains('/'),
                    "sources" => is_source(one),
                    "flags" => !one.contains("arch") && !one.contains("gencode"),
                    _ => true,
                };
                strings.iter().all(is_valid).then_some(text)
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
                None => Some(format!(
                    "flag({})",
                    self.argument("text", argument, values)?
                )),
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
                names.pop().filter(|_| names.is_empty()).map(str::to_string)
            }
            literal => string.filter(|it| format!("{it:?}") == literal),
        }
    }

    /// Returns the call for the targets that the flags choose.
    pub fn targets(&self) -> Option<String> {
        (!self.archs.is_empty()).then(|| format!("archs({:?})", self.archs))
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

/// Returns the call for the module of constants that `write` writes.
fn module(
    call: &ExprMethodCall,
    values: &Values,
    written: &mut Option<(String, String)>,
) -> Option<String> {
    let file = call.args.first()?;
    let texts = values.literals(values.text_of(file));
    let path = texts.iter().find(|text| text.ends_with(".rs"))?;
    let name = Path::new(path).file_stem()?.to_str()?;
    let is_root = ["lib", "mod", "main"].contains(&name);
    let name = if is_root { "ptx" } else { name };
    if string(file).is_some() {
        *written = Some((path.clone(), format!("{name}.rs")));
    } else if !texts.iter().any(|text| text == "OUT_DIR") {
        return None;
    }
    Some(format!("module({name:?})"))
}
