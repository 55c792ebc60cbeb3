//! The port of a build script that only compiles kernels with cudaforge, bindgen_cuda, cc or nvcc. A script is ported
//! if each of its statements and calls has a certain equivalent.

mod arguments;
mod calls;
mod command;
#[cfg(test)]
mod tests;

use crate::cli::init::port::arguments::{Values, is_pure, line, literals, range, uses};
use crate::cli::init::port::calls::Builder;
use crate::cli::init::recipe::Recipe;
use syn::spanned::Spanned;
use syn::{Expr, ExprMethodCall, File, Item, ItemFn, Pat, Stmt};

/// A script for cudnn-guard.
pub struct Port {
    /// The crate that compiled the kernels, or nvcc.
    pub tool: &'static str,
    /// A source file of the package that the old script wrote, and the file in `OUT_DIR` that it includes now.
    pub written: Option<(String, String)>,
    /// The text above `main`.
    head: String,
    /// The statements that compile, and the statements of the old script that are kept.
    statements: String,
}

/// The part of a script that cannot be ported.
pub struct Doubt {
    pub tool: &'static str,
    pub line: usize,
    pub what: String,
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
    let doubt = |(line, what)| Doubt { tool, line, what };
    Some(ported(tool, text, &file).map_err(doubt))
}

fn ported(tool: &'static str, text: &str, file: &File) -> Result<Port, Reason> {
    let mut values = Values::new(text);
    let mut main = Err((1, "a script without `main`".to_string()));
    for item in &file.items {
        match item {
            Item::Use(one) if one.attrs.is_empty() => {}
            Item::Const(one) if one.attrs.is_empty() => {
                values.add(&one.ident, &one.expr, Some(range(item)))
            }
            Item::Fn(one) if one.attrs.is_empty() && one.sig.ident == "main" => main = Ok(one),
            _ => return Err(other(item, &values)),
        }
    }
    let (builders, rest) = read(tool, main?, &mut values)?;
    let (mut kernels, mut written) = (String::new(), None);
    for builder in &builders {
        kernels += &builder.calls(&values, &mut written)?;
    }
    let mut kept = String::new();
    for statement in &rest {
        if !is_for_cargo(statement, &kernels, &values) && !is_check(statement, &builders, &values) {
            let is_certain = printed(statement).is_some_and(|it| !it.contains('{'));
            if !is_certain {
                return Err(other(*statement, &values));
            }
            kept += &format!("        {}\n", values.text_of(*statement));
        }
    }
    if tool != "cc"
        && rest
            .iter()
            .any(|it| linked(it).as_deref() == Some("cudart"))
    {
        let shared = format!(
            ".cudart(cudnn_guard::Cudart::Shared){}compile(",
            calls::BREAK
        );
        kernels = kernels.replace(".compile(", &shared);
    }
    let begin = file.items.first().map_or(0, |item| range(item).start);
    Ok(Port {
        tool,
        written,
        head: text[..begin].to_string() + &values.constants_in(&kernels),
        statements: kernels + &kept,
    })
}

/// Reads the builders of `main` and the variables for their arguments. Returns the remaining statements too.
fn read<'a>(
    tool: &'static str,
    main: &'a ItemFn,
    values: &mut Values<'a>,
) -> Result<(Vec<Builder<'a>>, Vec<&'a Stmt>), Reason> {
    let (mut builders, mut rest): (Vec<Builder>, _) = (Vec::new(), Vec::new());
    for statement in &main.block.stmts {
        let (name, expression) = match statement {
            Stmt::Local(local) => match (&local.pat, &local.init) {
                (Pat::Ident(name), Some(init)) => (Some(&name.ident), &*init.expr),
                (Pat::Type(typed), Some(init)) => match &*typed.pat {
                    Pat::Ident(name) => (Some(&name.ident), &*init.expr),
                    _ => return Err(other(statement, values)),
                },
                _ => return Err(other(statement, values)),
            },
            Stmt::Expr(Expr::Assign(assign), _) => (None, &*assign.right),
            Stmt::Expr(expression, _) => (None, expression),
            _ => {
                rest.push(statement);
                continue;
            }
        };
        let (root, calls) = calls_of(expression);
        let begin = values.text_of(root);
        if matches!(root, Expr::Call(_)) && is_constructor(tool, begin) {
            builders.push(Builder::new(tool, begin.to_string(), line(expression)));
        }
        let mut known = builders.iter_mut().rev();
        if let Some(builder) = known.find(|builder| builder.names.iter().any(|one| one == begin)) {
            builder.calls.extend(calls);
            builder.names.extend(name.map(ToString::to_string));
        } else if let Some(name) = name {
            let text = values.text_of(expression);
            let mut names = builders.iter().flat_map(|it| &it.names);
            // The variable is dropped, so computing it must have no effect.
            if names.any(|name| uses(text, name)) || !is_pure(text.parse().unwrap_or_default()) {
                return Err(other(statement, values));
            }
            values.add(name, expression, None);
        } else {
            rest.push(statement);
        }
    }
    if builders.is_empty() {
        return Err((line(main), "`main` without a builder".to_string()));
    }
    Ok((builders, rest))
}

/// Returns `true` if a statement is redundant: cudnn-guard prints the same line for cargo, or the statement ends
/// `main`.
fn is_for_cargo(statement: &Stmt, kernels: &str, values: &Values) -> bool {
    match statement {
        Stmt::Expr(Expr::ForLoop(all), _) => {
            let mut all = all.body.stmts.iter();
            return all.all(|one| is_for_cargo(one, kernels, values));
        }
        Stmt::Expr(Expr::Call(_), None) => return values.text_of(statement) == "Ok(())",
        Stmt::Item(Item::Use(_)) => return true,
        _ => {}
    }
    let Some(printed) = printed(statement) else {
        return false;
    };
    if let Some(library) = linked(statement) {
        let runtimes = ["cudart", "cudart_static", "stdc++"];
        return runtimes.contains(&&library[..])
            || kernels.contains(&format!(".compile(\"{library}\")"));
    }
    if let Some(file) = printed.strip_prefix("rerun-if-changed=") {
        let ends = ["build.rs", ".cu", ".cuh", ".h", ".hpp", "}"];
        return ends.iter().any(|end| file.ends_with(end));
    }
    let of_search = || values.literals(values.text_of(statement));
    printed.starts_with("rustc-link-search=") && of_search().iter().any(|one| one == "OUT_DIR")
        || printed == "rerun-if-env-changed=CUDA_COMPUTE_CAP"
        || printed.starts_with("info=")
}

impl Port {
    /// Returns the new script, with the lines of the recipe.
    pub fn script(&self, recipe: &Recipe) -> String {
        let probe = ".probe()?;\n";
        let (begin, rest) = recipe.build.split_once(probe).expect("each has one");
        let (head, mut statements) = (&self.head, self.statements.clone());
        let has_ptx = self.tool != "cudaforge" && !statements.contains("-gencode");
        let is_embedded = has_ptx && statements.contains(".compile(");
        let ptx = if is_embedded { ".embed_ptx()" } else { "" };
        // Without a guard, nothing follows.
        if !rest.contains("gpu") {
            match statements.strip_suffix("\")?;\n") {
                Some(last) => statements = format!("{last}\")\n"),
                None => statements += "        Ok(())\n",
            }
        }
        format!("{head}fn main() {{\n{begin}{ptx}{probe}{statements}{rest}}}\n")
    }

    /// Returns `true` if the kernels need CUTLASS.
    pub fn needs_cutlass(&self) -> bool {
        self.statements.contains(".cutlass()")
    }
}

/// Returns a statement or item, by its first line, as the reason.
fn other(node: &impl Spanned, values: &Values) -> Reason {
    let text = values.text_of(node).lines().next().unwrap_or_default();
    (
        line(node),
        format!("`{}`", text.trim_end_matches(['{', ' '])),
    )
}

/// Returns `true` if a statement only fails if a command did: `assert!(status.success())`, or an equivalent `if`.
fn is_check(statement: &Stmt, builders: &[Builder], values: &Values) -> bool {
    let text = values.text_of(statement);
    let checked = text.strip_prefix("assert!(").or(text.strip_prefix("if !"));
    let name = checked.and_then(|it| it.split_once(".success()")?.0.split('.').next());
    name.is_some_and(|name| {
        builders
            .iter()
            .any(|it| it.names.iter().any(|one| one == name))
    }) && !text.contains("else")
}

fn is_constructor(tool: &str, call: &str) -> bool {
    if tool == "nvcc" {
        let name = call.strip_prefix("std::process::").unwrap_or(call);
        return name == "Command::new(\"nvcc\")";
    }
    let call = call
        .strip_prefix(tool)
        .and_then(|it| it.strip_prefix("::"))
        .unwrap_or(call);
    let name = match tool {
        "cudaforge" => "KernelBuilder",
        "bindgen_cuda" => "Builder",
        _ => "Build",
    };
    let function = call.strip_prefix(name).unwrap_or_default();
    ["::new()", "::default()"].contains(&function)
}

/// Returns the expression that a chain of calls begins with, and the calls, without those that unwrap a result.
fn calls_of(mut expression: &Expr) -> (&Expr, Vec<&ExprMethodCall>) {
    let mut calls = Vec::new();
    loop {
        expression = match expression {
            Expr::Try(it) => &it.expr,
            Expr::MethodCall(call) => {
                calls.push(call);
                &call.receiver
            }
            _ => break,
        };
    }
    calls.retain(|call| call.method != "unwrap" && call.method != "expect");
    calls.reverse();
    (expression, calls)
}

/// Returns the line for cargo that a statement prints.
fn printed(statement: &Stmt) -> Option<String> {
    let print = match statement {
        Stmt::Macro(one) => &one.mac,
        Stmt::Expr(Expr::Macro(one), _) => &one.mac,
        _ => return None,
    };
    let text = literals(print.tokens.clone()).into_iter().next()?;
    let line = text
        .strip_prefix("cargo:")
        .filter(|_| print.path.is_ident("println"))?;
    Some(line.strip_prefix(':').unwrap_or(line).to_string())
}

/// Returns the library that a statement links.
fn linked(statement: &Stmt) -> Option<String> {
    let printed = printed(statement)?;
    let library = printed.strip_prefix("rustc-link-lib=")?;
    library.rsplit('=').next().map(str::to_string)
}
