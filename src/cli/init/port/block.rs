//! The block of a script that contains its builders.

use crate::cli::init::port::Reason;
use crate::cli::init::port::text::range;
use std::collections::{HashMap, HashSet};
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprClosure, ExprMethodCall, File, Ident, ItemFn, Pat, Stmt};

/// The innermost block with all builders.
pub struct Place<'a> {
    pub function: &'a ItemFn,
    pub block: &'a Block,
    /// The number of spaces before a statement of the block.
    pub indent: usize,
    /// The number of spaces before its end.
    pub end_indent: usize,
    /// For cc, the names of the builders that compile CUDA.
    pub names: HashSet<String>,
}

/// The translated statements of a block.
pub struct NewBlock {
    /// The statements before the call of cudnn-guard.
    pub front: String,
    pub statements: String,
    pub written: Option<(String, String)>,
    /// The variables that the removed statements read.
    pub read: Vec<String>,
    /// The block ended with `Ok(())`.
    pub ends_with_ok: bool,
    /// The last statement compiles.
    pub ends_with_kernels: bool,
}

impl Place<'_> {
    /// Returns `true` if each build runs the block.
    pub fn is_unconditional(&self, text: &str) -> bool {
        let function = self.function;
        let is_body = range(&function.block) == range(self.block);
        let returns = text[range(self.block)].contains("return");
        is_body && !returns && function.sig.ident == "main" && function.attrs.is_empty()
    }
}

/// A statement that calls methods of a builder, or could be one.
pub struct Chain<'a> {
    /// The variable that gets the result.
    pub name: Option<&'a Ident>,
    /// The value.
    pub expression: &'a Expr,
    /// The expression that the calls begin with.
    pub root: &'a Expr,
    pub calls: Vec<&'a ExprMethodCall>,
}

impl<'a> Chain<'a> {
    pub fn of(statement: &'a Stmt) -> Option<Self> {
        let (name, expression) = match statement {
            Stmt::Local(local) => {
                let pattern = match &local.pat {
                    Pat::Type(typed) => &*typed.pat,
                    pattern => pattern,
                };
                match (pattern, &local.init) {
                    (Pat::Ident(name), Some(init)) => (Some(name), &*init.expr),
                    _ => return None,
                }
            }
            Stmt::Expr(Expr::Assign(assign), _) => (None, &*assign.right),
            Stmt::Expr(expression, _) => (None, expression),
            _ => return None,
        };
        let (root, calls) = calls_of(expression);
        Some(Self {
            name: name.map(|it| &it.ident),
            expression,
            root,
            calls,
        })
    }

    /// Returns `true` if this only asks a builder for its target.
    pub fn asks_target(&self) -> bool {
        self.calls
            .iter()
            .any(|call| call.method == "get_compute_cap")
    }

    /// Returns `true` if this creates a builder.
    pub fn creates(&self, tool: &str, text: &str, names: &HashSet<String>) -> bool {
        let is_named = self.name.is_some_and(|it| names.contains(&it.to_string()));
        matches!(self.root, Expr::Call(_))
            && is_constructor(tool, &text[range(self.root)])
            && (tool != "cc" || is_named || self.calls.iter().any(|call| call.method == "cuda"))
    }
}

struct Finder<'a> {
    tool: &'static str,
    text: &'a str,
    /// The names of [`CudaNames`].
    names: HashMap<usize, HashSet<String>>,
    /// All functions so far, and those around the visited node.
    functions: Vec<&'a ItemFn>,
    outer: Vec<usize>,
    /// The blocks around the visited node.
    blocks: Vec<&'a Block>,
    /// The blocks around all builders so far.
    common: Option<Vec<&'a Block>>,
}

impl<'a> Visit<'a> for Finder<'a> {
    fn visit_item_fn(&mut self, function: &'a ItemFn) {
        self.functions.push(function);
        self.outer.push(range(function).start);
        visit::visit_item_fn(self, function);
        self.outer.pop();
    }

    fn visit_block(&mut self, block: &'a Block) {
        self.blocks.push(block);
        visit::visit_block(self, block);
        self.blocks.pop();
    }

    // A builder in a closure is not ported.
    fn visit_expr_closure(&mut self, _: &'a ExprClosure) {}

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let chain = Chain::of(statement);
        let none = HashSet::new();
        let names = self.outer.last().and_then(|outer| self.names.get(outer));
        let names = names.unwrap_or(&none);
        if chain.is_some_and(|it| it.creates(self.tool, self.text, names)) {
            let common = self.common.get_or_insert_with(|| self.blocks.clone());
            let same = common.iter().zip(&self.blocks);
            let same = same.take_while(|(one, other)| std::ptr::eq(**one, **other));
            let depth = same.count();
            common.truncate(depth);
        }
        visit::visit_stmt(self, statement);
    }
}

/// For each function, by its position, the names of variables whose method `cuda` is called with `true`.
struct CudaNames<'a> {
    text: &'a str,
    function: usize,
    names: HashMap<usize, HashSet<String>>,
}

impl<'a> Visit<'a> for CudaNames<'_> {
    fn visit_item_fn(&mut self, function: &'a ItemFn) {
        let outer = std::mem::replace(&mut self.function, range(function).start);
        visit::visit_item_fn(self, function);
        self.function = outer;
    }

    fn visit_expr_method_call(&mut self, call: &'a ExprMethodCall) {
        let is_on = call
            .args
            .first()
            .is_some_and(|one| &self.text[range(one)] == "true");
        if call.method == "cuda" && is_on {
            let root = calls_of(&call.receiver).0;
            let names = self.names.entry(self.function).or_default();
            names.insert(self.text[range(root)].to_string());
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// Finds the block to port.
pub fn find<'a>(tool: &'static str, text: &'a str, file: &'a File) -> Result<Place<'a>, Reason> {
    let mut names = CudaNames {
        text,
        function: 0,
        names: HashMap::new(),
    };
    names.visit_file(file);
    let mut finder = Finder {
        tool,
        text,
        names: names.names,
        functions: Vec::new(),
        outer: Vec::new(),
        blocks: Vec::new(),
        common: None,
    };
    finder.visit_file(file);
    let block = finder.common.and_then(|mut blocks| blocks.pop());
    let around = |function: &&&ItemFn| {
        let (outer, inner) = (range(&function.block), range(&block));
        outer.start <= inner.start && inner.end <= outer.end
    };
    let function = finder.functions.iter().rev().find(around);
    let (Some(block), Some(function)) = (block, function) else {
        let word = if tool == "nvcc" { "\"nvcc\"" } else { tool };
        let uses = |line: &str| line.contains(word) && !line.starts_with("use ");
        let (index, line) = text
            .lines()
            .enumerate()
            .find(|(_, line)| uses(line))
            .unwrap_or((0, text));
        return Err((index + 1, format!("`{}`", line.trim())));
    };
    let width = |at: usize| {
        let line = text[..at].rsplit('\n').next().unwrap_or_default();
        (line.len() - line.trim_start().len(), line.trim().is_empty())
    };
    let at = range(block);
    let end_indent = match width(at.end - 1) {
        (spaces, true) => spaces,
        _ => width(at.start).0,
    };
    let first = block.stmts.first().map(|first| width(range(first).start));
    let indent = match first {
        Some((spaces, true)) => spaces,
        _ => end_indent + 4,
    };
    Ok(Place {
        function,
        block,
        indent,
        end_indent,
        names: finder
            .names
            .remove(&range(function).start)
            .unwrap_or_default(),
    })
}

pub fn is_constructor(tool: &str, call: &str) -> bool {
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
pub fn calls_of(mut expression: &Expr) -> (&Expr, Vec<&ExprMethodCall>) {
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
    let unwraps = ["unwrap", "expect", "context", "with_context", "map_err"];
    calls.retain(|call| !unwraps.iter().any(|name| call.method == name));
    calls.reverse();
    (expression, calls)
}
