//! The translation of the statements of a block.

use crate::cli::init::port::Reason;
use crate::cli::init::port::arguments::{Values, is_pure, literals, mentions};
use crate::cli::init::port::block::{Chain, NewBlock, Place};
use crate::cli::init::port::calls::{Builder, call_chain};
use crate::cli::init::port::inside::Inside;
use crate::cli::init::port::pieces::{Piece, layout, remove_unused};
use crate::cli::init::port::redundant::{is_check, is_for_cargo};
use crate::cli::init::port::text::{line, range, replaced};
use syn::spanned::Spanned;
use syn::{Expr, ReturnType, Stmt};

/// The calls for the lowest compute capability of the targets, as cudaforge writes it: 80.
const COMPUTE_CAP: [&str; 4] = [
    "targets()?",
    "iter()",
    "map(|it| (it.capability.major * 10 + it.capability.minor) as usize)",
    "min()",
];

/// The state of the translation.
struct Translation<'a, 'v> {
    tool: &'static str,
    place: &'v Place<'a>,
    values: &'v Values<'a>,
    /// `true` if the errors of the script have other types.
    converts: bool,
    /// `true` if the function returns a value.
    returns: bool,
    /// `true` if the block is the body of the function.
    is_body: bool,
    builders: Vec<Builder<'a>>,
    /// The variables that contain a builder or its result.
    names: &'v [String],
    written: Option<(String, String)>,
}

/// Replaces the builders of a block. If the errors of the script have other types, `converts` them.
pub fn translate<'a>(
    tool: &'static str,
    place: &Place<'a>,
    values: &Values<'a>,
    converts: bool,
) -> Result<NewBlock, Reason> {
    let builders = builders(tool, place, values);
    let names: Vec<String> = builders.iter().flat_map(|it| it.names.clone()).collect();
    let signature = &place.function.sig;
    let returns = !matches!(signature.output, ReturnType::Default);
    let is_unclear = signature.ident != "main" && returns && !fails_alone(place, values.text());
    let what = match (builders.is_empty(), is_unclear) {
        (true, _) => "builders in different blocks",
        (_, true) => "a builder in a function that returns a value",
        _ => "",
    };
    if !what.is_empty() {
        return Err((line(signature), what.to_string()));
    }
    if mentions(values.text_of(place.block), "gpu") {
        let what = "a block with a variable `gpu`".to_string();
        return Err((line(place.block), what));
    }
    let mut translation = Translation {
        tool,
        place,
        values,
        converts,
        returns,
        is_body: range(&place.function.block) == range(place.block),
        builders,
        names: &names,
        written: None,
    };
    let mut pieces = Vec::new();
    for (index, statement) in place.block.stmts.iter().enumerate() {
        let piece = match translation.own(index, statement)? {
            Some(text) => Piece {
                statement,
                text,
                is_new: true,
                inside: None,
            },
            None => translation.around(index, statement)?,
        };
        pieces.push(piece);
    }
    let first = pieces
        .iter()
        .position(|it| it.is_new && !it.text.is_empty());
    let first = first.unwrap_or_default();
    let ends_with_ok = translation.check(&mut pieces, first)?;
    let mut last = pieces.iter().rev().filter(|it| !it.text.is_empty());
    let ends_with_kernels = last.next().is_some_and(|it| it.is_new);
    let read = remove_unused(&mut pieces, values);
    let (front, statements) = layout(&pieces, first, place, values);
    let written = translation.written;
    Ok(NewBlock {
        front,
        statements,
        written,
        read,
        ends_with_ok,
        ends_with_kernels,
    })
}

impl<'a, 'v> Translation<'a, 'v> {
    /// Translates a statement that begins with a builder.
    fn own(&mut self, index: usize, statement: &'a Stmt) -> Result<Option<String>, Reason> {
        let values = self.values;
        let Some(chain) = Chain::of(statement).filter(|it| !it.asks_target()) else {
            return Ok(None);
        };
        let root = values.text_of(chain.root);
        let mut known = self
            .builders
            .iter_mut()
            .rev()
            .filter(|it| it.index <= index);
        let owner = known.find(|it| it.index == index || it.names.iter().any(|name| name == root));
        let Some(builder) = owner else {
            return Ok(None);
        };
        let is_last = index + 1 == self.place.block.stmts.len();
        let is_value = matches!(statement, Stmt::Expr(_, None)) && is_last && !self.is_body;
        let exits = self.converts && Inside::exits_in(&chain.calls, values);
        if has_attributes(statement, values) || is_value && self.returns || exits {
            return Err(other(statement, values));
        }
        builder.add(&chain.calls, values, &mut self.written)?;
        let column = self.place.indent;
        Ok(Some(match (index == builder.last, builder.is_changed) {
            (true, _) => {
                let lines = literals(values.text().parse().unwrap_or_default());
                let mut linked = lines.iter().filter(|line| line.contains("rustc-link-lib="));
                let is_shared = self.tool != "cc" && linked.any(|line| line.ends_with("=cudart"));
                builder.finish(values, column, is_shared)?
            }
            (false, true) if !builder.is_complete() => builder.written(column, false)?,
            _ => String::new(),
        }))
    }

    /// Translates the parts of another statement that use a builder or the targets.
    fn around(&mut self, index: usize, statement: &'a Stmt) -> Result<Piece<'a, 'v>, Reason> {
        let values = self.values;
        let inside = Inside::of(statement, self.names, values);
        let mut changes = Vec::new();
        for (nested, is_repeated) in &inside.statements {
            let chain = Chain::of(nested).expect("it has a builder");
            let root = values.text_of(chain.root);
            let mut known = self.builders.iter_mut().rev().filter(|it| it.index < index);
            let owner = known.find(|it| it.names.iter().any(|name| name == root));
            let builder = owner.ok_or_else(|| other(*nested, values))?;
            let exits = self.converts && Inside::exits_in(&chain.calls, values);
            if has_attributes(nested, values) || exits {
                return Err(other(*nested, values));
            }
            builder.add(&chain.calls, values, &mut self.written)?;
            if *is_repeated {
                builder.repeat();
            }
            let is_assignment = matches!(nested, Stmt::Expr(Expr::Assign(_), _));
            let is_value = matches!(nested, Stmt::Expr(_, None)) && !is_assignment;
            let at = range(*nested);
            let column = values.column(at.start);
            changes.push((at, builder.written(column, is_value)?));
        }
        for target in &inside.targets {
            let column = values.column(target.start);
            let mut calls = call_chain("gpu", &COMPUTE_CAP.map(String::from), column);
            if values.text()[target.end..].starts_with('.') {
                calls += &format!("\n{}", " ".repeat(column + 4));
            }
            changes.push((target.clone(), calls));
        }
        let is_new = !changes.is_empty();
        let cut = changes.iter().map(|(at, _)| (at.clone(), String::new()));
        let rest = replaced(values.text(), range(statement), cut.collect());
        let is_left = is_new && self.names.iter().any(|name| mentions(&rest, name));
        let is_unclear = match statement {
            Stmt::Local(local) => local.init.is_none(),
            _ => false,
        };
        if is_left || is_unclear {
            return Err(other(statement, values));
        }
        let text = replaced(values.text(), range(statement), changes);
        Ok(Piece {
            statement,
            text,
            is_new,
            inside: Some(inside),
        })
    }

    /// Removes redundant statements, and refuses those that mean something else in a closure. Returns `true` if the
    /// block ends with `Ok(())`.
    fn check(&self, pieces: &mut [Piece<'a, 'v>], first: usize) -> Result<bool, Reason> {
        let values = self.values;
        let new = pieces.iter().filter(|it| it.is_new);
        let kernels: String = new.map(|it| &*it.text).collect();
        let (mut ends_with_ok, count) = (false, pieces.len());
        for (index, piece) in pieces.iter_mut().enumerate() {
            let (statement, is_ok) = (piece.statement, piece.text == "Ok(())");
            ends_with_ok |= is_ok;
            let is_redundant = is_ok
                || is_for_cargo(statement, &kernels, values)
                || is_check(statement, self.names, values);
            if !piece.is_new && is_redundant {
                piece.text.clear();
                continue;
            }
            let Some(inside) = &piece.inside else {
                continue;
            };
            let is_left =
                !piece.is_new && self.names.iter().any(|name| mentions(&piece.text, name));
            if is_left || is_value(statement, self.returns && index + 1 == count) {
                return Err(other(statement, values));
            }
            if index < first {
                continue;
            }
            let is_main = self.is_body && self.place.function.sig.ident == "main";
            let mut exits = inside.exits.iter();
            let exit = exits.find(|exit| match exit.is_macro {
                true => self.converts,
                false => !(is_main && exit.text == "return Ok(())"),
            });
            if let Some(exit) = exit {
                return Err((exit.line, format!("`{}`", exit.text)));
            }
            if self.converts && !inside.questions.is_empty() {
                if piece.is_new {
                    return Err(other(statement, values));
                }
                let convert = ".map_err(cudnn_guard::Error::other)".to_string();
                let questions = inside.questions.iter();
                let changes = questions.map(|&at| (at..at, convert.clone())).collect();
                piece.text = replaced(values.text(), range(statement), changes);
            }
        }
        Ok(ends_with_ok)
    }
}

/// Returns `true` if each call of the function stops the script after an error. The errors of cudnn-guard do.
fn fails_alone(place: &Place, text: &str) -> bool {
    let name = format!("{}(", place.function.sig.ident);
    let declared = format!("fn {name}");
    let mut calls = text
        .match_indices(&name)
        .filter(|(at, _)| !text[..*at + name.len()].ends_with(&declared));
    calls.all(|(at, _)| {
        let (mut depth, after) = (0, &text[at..]);
        let end = after.find(|sign| {
            depth += i32::from(sign == '(') - i32::from(sign == ')');
            sign == ')' && depth == 0
        });
        let after = end.map_or("", |end| after[end + 1..].trim_start());
        ["?", ".unwrap()", ".expect(", ".context("]
            .iter()
            .any(|it| after.starts_with(it))
    })
}

fn has_attributes(statement: &Stmt, values: &Values) -> bool {
    values.text_of(statement).starts_with("#[")
}

/// Collects the builders of a block, with their variables and the last statement that calls their methods.
fn builders<'a>(tool: &'static str, place: &Place<'a>, values: &Values<'a>) -> Vec<Builder<'a>> {
    let mut builders: Vec<Builder> = Vec::new();
    for (index, statement) in place.block.stmts.iter().enumerate() {
        let Some(chain) = Chain::of(statement).filter(|it| !it.asks_target()) else {
            continue;
        };
        let root = values.text_of(chain.root);
        if chain.creates(tool, values.text(), &place.names) {
            builders.push(Builder::new(tool, line(chain.expression), index));
        }
        let mut known = builders.iter_mut().rev();
        let owner = known.find(|it| it.index == index || it.names.iter().any(|name| name == root));
        if let Some(builder) = owner {
            builder.last = index;
            builder.statements += 1;
            builder.is_library |= chain.calls.iter().any(|call| call.method == "build_lib");
            builder.has_cuda |= chain.calls.iter().any(|call| call.method == "cuda");
            builder.names.extend(chain.name.map(ToString::to_string));
        }
    }
    if tool == "cc" {
        builders.retain(|it| it.has_cuda);
    }
    let names: Vec<String> = builders.iter().flat_map(|it| it.names.clone()).collect();
    for builder in &mut builders {
        let statements = place.block.stmts.iter().enumerate().skip(builder.index + 1);
        let others = statements.filter(|(_, one)| {
            let chain = Chain::of(one).filter(|it| !it.asks_target());
            let root = chain.map_or("", |it| values.text_of(it.root));
            !names.iter().any(|name| name == root)
        });
        for (index, one) in others {
            let is_nested = !Inside::of(one, &builder.names, values)
                .statements
                .is_empty();
            let is_between = index < builder.last && !is_constant(one, &names, values);
            builder.is_nested |= is_nested;
            builder.is_changed |= is_nested || tool != "nvcc" && is_between;
        }
    }
    builders
}

/// Returns `true` if calls of a builder before and after this statement have the same arguments.
fn is_constant(statement: &Stmt, names: &[String], values: &Values) -> bool {
    let chain = Chain::of(statement).filter(|_| matches!(statement, Stmt::Local(_)));
    let name = chain.and_then(|it| it.name).map(ToString::to_string);
    name.is_some_and(|name| values.is_unique(&name, range(statement).start))
        && is_pure(values.text_of(statement))
        || is_for_cargo(statement, ".compile(", values)
        || is_check(statement, names, values)
}

/// Returns `true` if the block may return the value of this statement.
fn is_value(statement: &Stmt, returns: bool) -> bool {
    use Expr::{Block, ForLoop, If, Loop, Macro, Match, Unsafe, While};
    let Stmt::Expr(expression, None) = statement else {
        return false;
    };
    match expression {
        ForLoop(_) | Macro(_) | While(_) => false,
        Block(_) | If(_) | Loop(_) | Match(_) | Unsafe(_) => returns,
        _ => true,
    }
}

/// Returns a statement, by its first line, as the reason.
fn other(node: &impl Spanned, values: &Values) -> Reason {
    let text = values.text_of(node).lines().next().unwrap_or_default();
    (
        line(node),
        format!("`{}`", text.trim_end_matches(['{', ' '])),
    )
}
