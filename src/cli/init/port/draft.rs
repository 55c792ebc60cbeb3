//! The calls for the options that a script passes to nvcc in loops or closures.

use crate::cli::init::port::arguments::{Values, literals, string};
use crate::cli::init::port::block::calls_of;
use crate::cli::init::port::calls::{CallState, call_chain};
use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, File};

/// The words of all commands in the order of the text.
struct Words<'a> {
    values: Values<'a>,
    words: Vec<String>,
}

impl<'a> Visit<'a> for Words<'a> {
    fn visit_expr_method_call(&mut self, call: &'a ExprMethodCall) {
        // The receiver contains the calls before this one.
        visit::visit_expr_method_call(self, call);
        let root = self.values.text_of(calls_of(&call.receiver).0);
        let is_other = root.ends_with(')') && !root.contains("\"nvcc\"");
        if is_other || call.method != "arg" && call.method != "args" {
            return;
        }
        let list = call
            .args
            .first()
            .and_then(|list| self.values.elements(list));
        let elements = list.map_or(call.args.iter().cloned().collect(), |(_, list)| list);
        let words = elements
            .iter()
            .map(|one: &Expr| string(one).unwrap_or_default());
        self.words.extend(words);
    }
}

/// Returns the calls of cudnn-guard for the options of all nvcc commands in a script.
pub fn of(text: &str, file: &File) -> String {
    let mut all = Words {
        values: Values::new("nvcc", text, file),
        words: Vec::new(),
    };
    all.visit_file(file);
    let Words { words, .. } = all;
    let (mut state, mut calls, mut is_ptx) = (CallState::default(), Vec::new(), false);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-ptx" | "--ptx" => is_ptx = true,
            "-o" | "--output-file" | "-odir" | "--output-directory" | "-ccbin" => {
                drop(words.next())
            }
            "-c" | "--compile" | "-lib" | "--lib" | "-v" | "--verbose" | "--version"
            | "--list-gpu-code" | "--list-gpu-arch" => {}
            "--default-stream" | "-default-stream" => {
                let stream = match words.next().as_deref() {
                    Some("per-thread") => "PerThread",
                    _ => "Legacy",
                };
                calls.push(format!(
                    "default_stream(cudnn_guard::DefaultStream::{stream})"
                ));
            }
            "-I" | "-D" => {
                let value = words.next().unwrap_or_default();
                calls.extend(state.flag(&format!("{word}{value}")));
            }
            "-Xcompiler" | "-Xptxas" | "-std" => {
                let value = words.next().unwrap_or_default();
                calls.push(format!("flags({:?})", [word, value]));
            }
            flag if flag.starts_with('-') || state.unfinished_flag.is_some() => {
                calls.extend(state.flag(flag));
            }
            _ => {}
        }
    }
    calls.retain(|call| !call.is_empty());
    calls.dedup();
    calls.extend(state.targets());
    let literals = literals(text.parse().unwrap_or_default());
    let is_file = |text: &&String| text.ends_with(".cu") && !text.contains(':');
    // The script adds the directory to a name.
    let files = literals
        .iter()
        .filter(is_file)
        .map(|one| match one.contains('/') {
            true => one.clone(),
            false => format!("**/{one}"),
        });
    let mut files: Vec<String> = files.collect();
    if files.is_empty() {
        files.push("**/*.cu".to_string());
    }
    calls.insert(0, format!("files({files:?})"));
    let mut names = literals
        .iter()
        .filter_map(|one| one.rsplit('/').next()?.strip_suffix(".a"));
    let library = names.find_map(|name| name.strip_prefix("lib"));
    calls.push(match (is_ptx, library) {
        (false, Some(name)) => format!("compile({name:?})?"),
        _ => "ptx()?".to_string(),
    });
    call_chain("gpu.kernels()", &calls, 8)
}
