//! The translation of an nvcc command.

use crate::cli::init::port::Reason;
use crate::cli::init::port::arguments::{Values, string};
use crate::cli::init::port::calls::{Builder, CallState, call_chain};
use crate::cli::init::port::redundant::is_out_dir;
use crate::cli::init::port::text::line;
use std::path::Path;
use syn::Expr;

impl<'a> Builder<'a> {
    /// Returns the equivalent statement of cudnn-guard, if the command writes one file into `OUT_DIR`.
    pub fn command(&self, values: &Values<'a>, column: usize) -> Result<String, Reason> {
        let (mut words, mut runs): (Vec<Expr>, u32) = (Vec::new(), 0);
        for call in &self.calls {
            let list = call.args.first().and_then(|list| values.elements(list));
            match (call.method.to_string().as_str(), list) {
                ("arg", _) => words.extend(call.args.iter().cloned()),
                ("args", Some((_, list))) => words.extend(list),
                ("status" | "output", _) => runs += 1,
                (method, _) => return Err((line(&call.method), format!("`{method}`"))),
            }
        }
        let mut state = CallState::default();
        let (mut files, mut calls, mut end) = (Vec::new(), Vec::new(), "");
        let mut output = Vec::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let refused = || (line(word), format!("`{}`", values.text_of(word)));
            let mut text = string(word).ok_or_else(refused)?;
            if ["-I", "-D"].contains(&&*text) {
                text += &words.next().and_then(string).ok_or_else(refused)?;
            }
            match text.as_str() {
                "-o" => {
                    let path = words.next().ok_or_else(refused)?;
                    output = values.literals(values.text_of(path));
                }
                "-ptx" | "--ptx" => end = "ptx",
                "-fatbin" | "--fatbin" => end = "fatbin",
                "-lib" | "--lib" => end = "a",
                "-Xcompiler" | "-Xptxas" | "-std" | "-ccbin" => {
                    let value = words.next().and_then(string).ok_or_else(refused)?;
                    calls.push(format!("flags({:?})", [text, value]));
                }
                file if file.ends_with(".cu") => files.push(text),
                flag if flag.starts_with('-') || state.unfinished_flag.is_some() => {
                    calls.push(state.flag(flag).ok_or_else(refused)?);
                }
                _ => return Err(refused()),
            }
        }
        let suffix = format!(".{end}");
        let file = output.iter().position(|path| path.ends_with(&suffix));
        let file = file.map(|at| output.remove(at)).unwrap_or_default();
        let name = file
            .rsplit("}/")
            .next()
            .and_then(|name| name.strip_suffix(&suffix));
        let name = name.filter(|name| !name.contains(['/', '{']));
        let end = match name.filter(|_| is_out_dir(output, &[])) {
            Some(name) if end == "a" => name
                .strip_prefix("lib")
                .map(|name| format!("compile({name:?})?")),
            Some(name)
                if files.len() == 1 && Path::new(&files[0]).file_stem() == Some(name.as_ref()) =>
            {
                Some(format!("{end}()?"))
            }
            _ => None,
        };
        let Some(end) = end.filter(|_| runs == 1 && state.unfinished_flag.is_none()) else {
            let what =
                "a command that does not write one PTX file, fatbin or library into `OUT_DIR`";
            return Err((self.line, what.to_string()));
        };
        calls.retain(|call| !call.is_empty());
        calls.push(format!("files({files:?})"));
        calls.extend(state.targets());
        calls.push(end);
        Ok(format!("{};", call_chain("gpu.kernels()", &calls, column)))
    }
}
