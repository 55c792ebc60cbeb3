//! The arguments of calls, as far as the text of a script determines them.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, Ident, Lit, LitStr, Token};

/// The variables and constants of a script.
pub struct Values<'a> {
    text: &'a str,
    /// Includes the position of a constant.
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

    /// Returns `true` if an expression means the same in another script: a literal, a constant, or `Some` of one.
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
        let (constant, elements) = self.elements(list)?;
        let strings: Option<Vec<String>> = elements.iter().map(string).collect();
        let strings = strings?;
        Some((constant.unwrap_or(format!("{strings:?}")), strings))
    }

    /// Returns the elements of a list, and the name of the constant if the list is one.
    pub fn elements(&self, list: &Expr) -> Option<(Option<String>, Vec<Expr>)> {
        const SAME: [&str; 6] = ["iter", "into_iter", "to_vec", "collect", "copied", "cloned"];
        let elements = match list {
            Expr::Reference(it) => return self.elements(&it.expr),
            Expr::MethodCall(call) if SAME.iter().any(|name| call.method == name) => {
                return self.elements(&call.receiver);
            }
            Expr::Path(path) => {
                let name = path.path.get_ident()?.to_string();
                let (value, constant) = self.named.get(&name)?;
                return Some((constant.as_ref().map(|_| name), self.elements(value)?.1));
            }
            Expr::Array(array) => array.elems.iter().cloned().collect(),
            Expr::Macro(it) if it.mac.path.is_ident("vec") => {
                let all = Punctuated::<Expr, Token![,]>::parse_terminated;
                it.mac.parse_body_with(all).ok()?.into_iter().collect()
            }
            _ => return None,
        };
        Some((None, elements))
    }

    /// Returns the string literals in a text and in the variables that it names, also as `{name}` in a literal.
    pub fn literals(&self, text: &'a str) -> Vec<String> {
        let (mut found, mut names, mut texts) = (Vec::new(), HashSet::new(), vec![text]);
        while let Some(text) = texts.pop() {
            walk(text.parse().unwrap_or_default(), &mut |token| {
                let literal = literal(token);
                let words = literal.clone().unwrap_or(format!("{{{token}}}"));
                for name in words.split('{').skip(1) {
                    let name = name.split(['}', ':']).next().unwrap_or_default();
                    let value = self
                        .named
                        .get(name)
                        .filter(|_| names.insert(name.to_string()));
                    texts.extend(value.map(|(value, _)| self.text_of(*value)));
                }
                found.extend(literal);
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

/// Returns `true` if these tokens contain this name.
pub fn uses(text: &str, name: &str) -> bool {
    let mut found = false;
    walk(text.parse().unwrap_or_default(), &mut |token| {
        found |= token.to_string() == name
    });
    found
}

/// Returns `true` if these tokens only call functions without side effects.
pub fn is_pure(tokens: TokenStream) -> bool {
    const PURE: &str = "var var_os new from join display to_str to_string to_string_lossy to_owned into unwrap expect \
                        unwrap_or unwrap_or_default unwrap_or_else ok is_ok is_err is_some is_none clone as_str as_path \
                        as_ref parse iter into_iter map filter collect copied cloned to_vec format vec concat env exists \
                        is_dir is_file len is_empty canonicalize glob read_dir parent contains starts_with ends_with";
    let (mut called, mut depth, mut is_path) = (String::new(), 0_u32, false);
    tokens.into_iter().all(|token| {
        let was_path = std::mem::take(&mut is_path);
        match token {
            TokenTree::Group(group) => {
                let name = std::mem::take(&mut called);
                let mut pure = PURE.split(' ');
                (name.is_empty()
                    || name.starts_with(char::is_uppercase)
                    || pure.any(|one| one == name))
                    && is_pure(group.stream())
            }
            TokenTree::Punct(sign) => {
                is_path = sign.as_char() == ':';
                match sign.as_char() {
                    // The type arguments of a call do not name a function.
                    '<' if was_path || depth > 0 => depth += 1,
                    '>' if depth > 0 => depth -= 1,
                    ':' | '!' => {}
                    _ if depth > 0 => {}
                    _ => called.clear(),
                }
                true
            }
            token => {
                if depth == 0 {
                    called = token.to_string();
                }
                true
            }
        }
    })
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
