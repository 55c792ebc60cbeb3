//! Places in a script's text, and changes of it.

use proc_macro2::{TokenStream, TokenTree};
use std::ops::Range;
use syn::spanned::Spanned;

pub fn range(node: &impl Spanned) -> Range<usize> {
    node.span().byte_range()
}

pub fn line(node: &impl Spanned) -> usize {
    node.span().start().line
}

/// Returns a part of the text with these changes.
pub fn replaced(
    text: &str,
    part: Range<usize>,
    mut changes: Vec<(Range<usize>, String)>,
) -> String {
    changes.sort_by_key(|(at, _)| at.start);
    let (mut new, mut end) = (String::new(), part.start);
    for (at, change) in changes {
        new += &text[end..at.start];
        new += &change;
        end = at.end;
    }
    new + &text[end..part.end]
}

/// Returns lines with this many more spaces before each, but for those that begin in a string.
pub fn moved(lines: &str, spaces: usize) -> String {
    let mut kept = Vec::new();
    walk(lines.parse().unwrap_or_default(), &mut |token| {
        let span = token.span();
        kept.extend(span.start().line..span.end().line);
    });
    let spaces = " ".repeat(spaces);
    let mut new = String::new();
    for (index, line) in lines.split_inclusive('\n').enumerate() {
        if line != "\n" && !kept.contains(&index) {
            new += &spaces;
        }
        new += line;
    }
    new
}

/// Returns the comment after a statement or item, and the lines of comments before the next. `gap` is the text between.
pub fn comments(gap: &str) -> (&str, Vec<&str>) {
    let mut lines = gap.lines().map(str::trim);
    let after = lines.next().unwrap_or_default();
    (after, lines.filter(|line| !line.is_empty()).collect())
}

/// Calls a function for each token that is no group.
pub fn walk(tokens: TokenStream, see: &mut dyn FnMut(&TokenTree)) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => walk(group.stream(), see),
            token => see(&token),
        }
    }
}
