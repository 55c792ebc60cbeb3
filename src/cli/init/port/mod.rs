//! The port of a build script that compiles kernels with cudaforge, bindgen_cuda, cc or nvcc. A script is ported if each
//! call of a builder has a certain equivalent. Code that does not use a builder stays.

pub mod arguments;
mod block;
mod calls;
mod command;
mod draft;
mod inside;
mod items;
mod pieces;
mod redundant;
mod statements;
#[cfg(test)]
mod tests;
mod text;

use crate::cli::init::port::arguments::Values;
use crate::cli::init::recipe::Recipe;
use syn::File;

/// A script for cudnn-guard.
pub struct Port {
    /// The crate that compiled the kernels, or nvcc.
    pub tool: &'static str,
    /// A source file of the package that the old script wrote, and the file in `OUT_DIR` that it includes now.
    pub written: Option<(String, String)>,
    /// Variables that only the old script reads.
    pub unread: Vec<String>,
    /// The text before the lines of the recipe, and after them.
    before: String,
    after: String,
    /// The statements that compile, and those of the old script after them.
    statements: String,
    /// The block runs in each build.
    pub is_unconditional: bool,
    /// The last statement compiles.
    ends_with_kernels: bool,
    /// The number of spaces before a statement of the block.
    indent: usize,
}

/// The part of a script that cannot be ported.
pub struct Doubt {
    pub tool: &'static str,
    pub line: usize,
    pub what: String,
    /// For nvcc, the calls for the options that the script contains.
    pub draft: Option<String>,
}

/// A line, and its text.
type Reason = (usize, String);

/// Ports a script. `None` if it uses none of the tools, or is not Rust.
pub fn port(text: &str) -> Option<Result<Port, Doubt>> {
    let file = syn::parse_file(text).ok()?;
    let tools = [
        ("cudaforge", "cudaforge"),
        ("bindgen_cuda", "bindgen_cuda"),
        ("cc", ".cuda(true)"),
        ("nvcc", "\"nvcc\""),
    ];
    let (tool, _) = tools.into_iter().find(|(_, word)| text.contains(word))?;
    let draft = || (tool == "nvcc").then(|| draft::of(text, &file));
    let doubt = |(line, what)| Doubt {
        tool,
        line,
        what,
        draft: draft(),
    };
    Some(ported(tool, text, &file).map_err(doubt))
}

fn ported(tool: &'static str, text: &str, file: &File) -> Result<Port, Reason> {
    let place = block::find(tool, text, file)?;
    let values = Values::new(tool, text, file);
    let converts = items::result_of(tool, file).is_none();
    let new = statements::translate(tool, &place, &values, converts)?;
    let (before, after) = items::around(tool, text, file, &place, &new);
    let whole = format!("{before}{}{after}", new.statements).replace(items::RESULT, "");
    let mut left = items::imports(tool, file)
        .into_iter()
        .chain([tool.to_string()]);
    let left = match tool {
        "nvcc" => arguments::literals(whole.parse().unwrap_or_default())
            .into_iter()
            .find(|one| one == "nvcc"),
        "cc" => whole.contains(".cuda(").then(|| ".cuda(".to_string()),
        _ => left.find(|name| arguments::mentions(&whole, name)),
    };
    if let Some(left) = left {
        let is_left = |line: &&str| line.contains(&left) && !line.trim().starts_with("//");
        let one = whole.lines().find(is_left).unwrap_or_default().trim();
        let line = text.lines().position(|line| line.trim() == one);
        return Err((line.map_or(1, |index| index + 1), format!("`{one}`")));
    }
    if syn::parse_file(&whole).is_err() {
        return Err((1, "this script".to_string()));
    }
    let strings = arguments::literals(whole.parse().unwrap_or_default());
    let is_unread = |name: &String| !strings.contains(name);
    Ok(Port {
        tool,
        written: new.written,
        unread: new.read.into_iter().filter(is_unread).collect(),
        before,
        after,
        statements: new.statements,
        is_unconditional: place.is_unconditional(text) && !new.front.contains("return"),
        ends_with_kernels: new.ends_with_kernels,
        indent: place.indent.max(4),
    })
}

impl Port {
    /// Returns the new script, with the lines of the recipe.
    pub fn script(&self, recipe: &Recipe) -> String {
        let probe = ".probe()?;\n";
        let (begin, rest) = recipe.build.split_once(probe).expect("each has one");
        let extra = " ".repeat(self.indent - 4);
        let indented = |lines: &str| {
            let lines = lines.split_inclusive('\n');
            lines
                .map(|line| format!("{extra}{line}"))
                .collect::<String>()
        };
        let mut statements = self.statements.clone();
        let chooses_code = ["-gencode", "--generate-code"];
        let chooses_code = chooses_code.iter().any(|flag| statements.contains(flag));
        let has_ptx = self.tool != "cudaforge" && !chooses_code;
        let is_embedded = has_ptx && statements.contains(".compile(");
        let ptx = if is_embedded { ".embed_ptx(true)" } else { "" };
        // Without a guard, nothing follows.
        if !rest.contains("gpu") {
            let last = statements.strip_suffix("\")?;\n");
            match last.filter(|_| self.ends_with_kernels) {
                Some(last) => statements = format!("{last}\")\n"),
                None => statements += &format!("{extra}        Ok(())\n"),
            }
        }
        let (begin, rest) = (indented(begin), indented(rest));
        let (before, after) = (&self.before, &self.after);
        format!("{before}{begin}{ptx}{probe}{statements}{rest}{after}")
    }

    /// Returns `true` if the new script uses this crate.
    pub fn uses(&self, name: &str) -> bool {
        let whole = format!("{}{}{}", self.before, self.statements, self.after);
        arguments::mentions(&whole, name)
    }

    /// Returns `true` if the kernels need CUTLASS.
    pub fn needs_cutlass(&self) -> bool {
        self.statements.contains(".cutlass()")
    }
}
