//! The arguments of calls, as far as the text of a script says what they are.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, Ident, Lit, LitStr, Token};

/// The variables and constants of a script.
pub struct Values<'a> {
    text: &'a str,
    /// With the place of a constant.
    named: HashMap<String, (&'a Expr, Option<Range<usize>>)>,
}

impl<'a> Values<'a> {
    pub fn new(text: &'a str) -> Self {
        let named = HashMap::new();
        Self { text, named }
    }

    pub fn add(&mut self, name: &Ident, value: &'a Expr, constant: Option<Range<usize>>) {
        self.named.insert(name.to_string(), (value, constant));
    }

    pub fn text_of(&self, node: &impl Spanned) -> &'a str {
        &self.text[range(node)]
    }

    /// Returns the constants that these calls use, as the script declares them.
    pub fn constants_in(&self, calls: &str) -> String {
        let used = self.named.iter().filter(|(name, _)| uses(calls, name));
        let mut places: Vec<Range<usize>> = used
            .filter_map(|(_, (_, constant))| constant.clone())
            .collect();
        places.sort_by_key(|place| place.start);
        places
            .into_iter()
            .map(|place| format!("{}\n\n", &self.text[place]))
            .collect()
    }

    /// Returns whether an expression means the same in another script: a literal, a constant, or `Some` of one.
    pub fn is_constant(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Lit(_) => true,
            Expr::Call(call) => {
                self.text_of(&*call.func) == "Some"
                    && call.args.iter().all(|one| self.is_constant(one))
            }
            Expr::Path(_) => {
                let text = self.text_of(expression);
                text == "None"
                    || self
                        .named
                        .get(text)
                        .is_some_and(|(_, constant)| constant.is_some())
            }
            _ => false,
        }
    }

    /// Returns the text for a list of strings, and the strings, if all of them are literals.
    pub fn list(&self, list: &Expr) -> Option<(String, Vec<String>)> {
        const SAME: [&str; 6] = ["iter", "into_iter", "to_vec", "collect", "copied", "cloned"];
        let strings: Option<Vec<String>> = match list {
            Expr::Reference(it) => return self.list(&it.expr),
            Expr::MethodCall(call) if SAME.iter().any(|name| call.method == name) => {
                return self.list(&call.receiver);
            }
            Expr::Path(path) => {
                let name = path.path.get_ident()?.to_string();
                let (value, constant) = self.named.get(&name)?;
                let (text, strings) = self.list(value)?;
                return Some((if constant.is_some() { name } else { text }, strings));
            }
            Expr::Array(array) => array.elems.iter().map(string).collect(),
            Expr::Macro(it) if it.mac.path.is_ident("vec") => {
                let all = it
                    .mac
                    .parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
                all.ok()?.iter().map(string).collect()
            }
            _ => return None,
        };
        let strings = strings?;
        Some((format!("{strings:?}"), strings))
    }

    /// Returns the string literals in a text, and of the variables that it names.
    pub fn literals(&self, text: &'a str) -> Vec<String> {
        let (mut found, mut names, mut texts) = (Vec::new(), HashSet::new(), vec![text]);
        while let Some(text) = texts.pop() {
            walk(text.parse().unwrap_or_default(), &mut |token| {
                found.extend(literal(token));
                let name = token.to_string();
                if let Some((value, _)) = self.named.get(&name).filter(|_| names.insert(name)) {
                    texts.push(self.text_of(*value));
                }
            });
        }
        found
    }
}

pub fn range(node: &impl Spanned) -> Range<usize> {
    node.span().byte_range()
}

pub fn line(node: &impl Spanned) -> usize {
    node.span().start().line
}

/// Returns the value of a string literal.
pub fn string(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Lit(it) => match &it.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the string literals among these tokens.
pub fn literals(tokens: TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    walk(tokens, &mut |token| found.extend(literal(token)));
    found
}

/// Returns whether these tokens contain this name.
pub fn uses(text: &str, name: &str) -> bool {
    let mut found = false;
    walk(text.parse().unwrap_or_default(), &mut |token| {
        found |= token.to_string() == name
    });
    found
}

fn literal(token: &TokenTree) -> Option<String> {
    syn::parse_str::<LitStr>(&token.to_string())
        .ok()
        .map(|it| it.value())
}

fn walk(tokens: TokenStream, see: &mut dyn FnMut(&TokenTree)) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => walk(group.stream(), see),
            token => see(&token),
        }
    }
}
