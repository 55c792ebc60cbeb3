//! The statements of the new block, and their text.

use crate::cli::init::port::arguments::{Values, is_pure, literals, mentions};
use crate::cli::init::port::block::{Chain, Place};
use crate::cli::init::port::inside::Inside;
use crate::cli::init::port::items;
use crate::cli::init::port::text::{comments, moved, range};
use syn::{Expr, Item, Stmt};

/// A statement of the new block.
pub struct Piece<'a, 'v> {
    pub statement: &'a Stmt,
    /// Empty if the statement is removed.
    pub text: String,
    /// `true` if it uses a builder of cudnn-guard or the targets.
    pub is_new: bool,
    /// The parts of a statement that does not begin with a builder.
    pub inside: Option<Inside<'a, 'v>>,
}

/// Removes the variables and items that nothing uses any more. Returns the environment variables that they read.
pub fn remove_unused(pieces: &mut [Piece], values: &Values) -> Vec<String> {
    let (mut used, mut read) = (String::new(), Vec::new());
    for piece in pieces.iter_mut().rev() {
        let chain =
            Chain::of(piece.statement).filter(|_| matches!(piece.statement, Stmt::Local(_)));
        if let Some(Chain {
            name: Some(name),
            expression,
            ..
        }) = chain
        {
            let text = values.text_of(expression);
            let is_used = mentions(&used, &name.to_string());
            let is_held = name.to_string().starts_with('_');
            if !piece.is_new && !is_used && !is_held && is_pure(text) {
                piece.text.clear();
                read.extend(variables(text));
            }
        }
        used += &piece.text;
    }
    for index in 0..pieces.len() {
        let Stmt::Item(item) = pieces[index].statement else {
            continue;
        };
        let others = pieces
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index);
        let others: String = others.map(|(_, it)| &*it.text).collect();
        pieces[index].text = match item {
            Item::Use(one) => items::remaining(one, values.text(), &others).unwrap_or_default(),
            _ if items::is_unused(item, &others) => String::new(),
            _ => continue,
        };
    }
    read
}

/// Returns the names of environment variables in an expression, but for those of cargo and of the targets.
fn variables(text: &str) -> Vec<String> {
    const OTHERS: [&str; 5] = ["OUT_DIR", "TARGET", "HOST", "PROFILE", "CUDA_COMPUTE_CAP"];
    let mut names = literals(text.parse().unwrap_or_default());
    names.retain(|name| {
        let is_name = name.chars().all(|it| it.is_ascii_uppercase() || it == '_');
        is_name && text.contains("var") && !name.starts_with("CARGO_") && !OTHERS.contains(&&**name)
    });
    names
}

/// Returns the lines of the pieces: those before the call of cudnn-guard, and those in it.
pub fn layout(pieces: &[Piece], first: usize, place: &Place, values: &Values) -> (String, String) {
    let (mut front, mut rest) = (String::new(), String::new());
    let mut end = range(place.block).start + 1;
    let spaces = " ".repeat(place.indent);
    for (index, piece) in pieces.iter().enumerate() {
        let at = range(piece.statement);
        let gap = &values.text()[end..at.start];
        end = at.end;
        if piece.text.is_empty() {
            continue;
        }
        let section = if index < first { &mut front } else { &mut rest };
        let mut lines = String::new();
        if !section.is_empty() && gap.contains("\n\n") {
            lines += "\n";
        }
        for comment in comments(gap).1 {
            lines += &format!("{spaces}{comment}\n");
        }
        let next = pieces
            .get(index + 1)
            .map_or(end, |next| range(next.statement).start);
        let after = match comments(&values.text()[end..next]).0 {
            after if piece.is_new || after.is_empty() => String::new(),
            after => format!(" {after}"),
        };
        let is_macro = matches!(piece.statement, Stmt::Expr(Expr::Macro(_), None));
        let semicolon = if is_macro { ";" } else { "" };
        lines += &format!("{spaces}{}{semicolon}{after}\n", piece.text);
        *section += &match index < first {
            true => lines,
            false => moved(&lines, place.indent.max(4) + 4 - place.indent),
        };
    }
    (front, rest)
}
