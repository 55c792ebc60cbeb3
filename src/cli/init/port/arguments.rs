//! The arguments of calls, as far as the text of a script determines them.

use crate::cli::init::port::block::{calls_of, is_constructor};
use crate::cli::init::port::text::{range, walk};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, File, Ident, ItemConst, ItemFn, Lit, LitStr, Local, Pat, PatIdent, Token};

/// The kind of a declaration with a value.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    Constant,
    Value,
    /// The value may change.
    Initial,
}

/// A declaration of a name.
struct Declaration<'a> {
    value: Option<(&'a Expr, Known)>,
    /// The part of the text in which the name may have this meaning: a function, or all.
    scope: Range<usize>,
}

/// The variables and constants of a script.
pub struct Values<'a> {
    tool: &'static str,
    text: &'a str,
    named: HashMap<String, Vec<Declaration<'a>>>,
    /// The visited function.
    scope: Range<usize>,
}

impl<'a> Visit<'a> for Values<'a> {
    fn visit_item_fn(&mut self, function: &'a ItemFn) {
        let outer = std::mem::replace(&mut self.scope, range(function));
        visit::visit_item_fn(self, function);
        self.scope = outer;
    }

    fn visit_item_const(&mut self, item: &'a ItemConst) {
        self.add(&item.ident, Some((&item.expr, Known::Constant)));
        visit::visit_item_const(self, item);
    }

    fn visit_local(&mut self, local: &'a Local) {
        let pattern = match &local.pat {
            Pat::Type(typed) => &*typed.pat,
            pattern => pattern,
        };
        let (Pat::Ident(name), Some(init)) = (pattern, &local.init) else {
            return visit::visit_local(self, local);
        };
        let known = match name.mutability {
            Some(_) => Known::Initial,
            None => Known::Value,
        };
        // The strings in a builder do not belong to what is computed with it.
        let is_builder = is_constructor(self.tool, self.text_of(calls_of(&init.expr).0));
        let value = (!is_builder).then_some((&*init.expr, known));
        self.add(&name.ident, value);
        self.visit_expr(&init.expr);
    }

    fn visit_pat_ident(&mut self, pattern: &'a PatIdent) {
        self.add(&pattern.ident, None);
    }
}

impl<'a> Values<'a> {
    pub fn new(tool: &'static str, text: &'a str, file: &'a File) -> Self {
        let mut values = Self {
            tool,
            text,
            named: HashMap::new(),
            scope: 0..text.len(),
        };
        values.visit_file(file);
        values
    }

    fn add(&mut self, name: &Ident, value: Option<(&'a Expr, Known)>) {
        let scope = self.scope.clone();
        let declarations = self.named.entry(name.to_string()).or_default();
        declarations.push(Declaration { value, scope });
    }

    /// Returns what a name may mean at this position.
    fn declarations(&self, name: &str, at: usize) -> Vec<&Declaration<'a>> {
        let all = self.named.get(name).into_iter().flatten();
        all.filter(|it| it.scope.contains(&at)).collect()
    }

    /// Returns `true` if this name has one declaration that is visible at this position.
    pub fn is_unique(&self, name: &str, at: usize) -> bool {
        self.declarations(name, at).len() == 1
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    pub fn text_of(&self, node: &impl Spanned) -> &'a str {
        &self.text[range(node)]
    }

    /// Returns the number of characters before this position in its line, if all are spaces.
    pub fn column(&self, at: usize) -> usize {
        let before = self.text[..at].rsplit('\n').next().unwrap_or_default();
        before.len() - before.trim_start().len()
    }

    /// Returns a list as it is, if its strings are valid.
    pub fn unchanged(&self, argument: &'a Expr, is_valid: impl Fn(&str) -> bool) -> Option<String> {
        const ITERATORS: &str = "iter into_iter map filter filter_map flat_map flatten chain rev take skip cloned copied";
        let text = self.text_of(argument);
        let is_iterator = match argument {
            Expr::MethodCall(call) => ITERATORS.split(' ').any(|name| call.method == name),
            _ => false,
        };
        let end = if is_iterator {
            ".collect::<Vec<_>>()"
        } else {
            ""
        };
        let is_valid = self.literals(text).iter().all(|one| is_valid(one));
        is_valid.then(|| format!("{text}{end}"))
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
                let declarations = self.declarations(&name, range(list).start);
                let [declaration] = declarations[..] else {
                    return None;
                };
                let (value, known) = declaration.value.filter(|it| it.1 != Known::Initial)?;
                let (inner, elements) = self.elements(value)?;
                let constant = (known == Known::Constant).then_some(name);
                return Some((constant.or(inner), elements));
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
            let at = text.as_ptr() as usize - self.text.as_ptr() as usize;
            walk(text.parse().unwrap_or_default(), &mut |token| {
                let literal = literal(token);
                let words = literal.clone().unwrap_or(format!("{{{token}}}"));
                for name in words.split('{').skip(1) {
                    let name = name.split(['}', ':']).next().unwrap_or_default();
                    if names.insert(name.to_string()) {
                        let values = self.declarations(name, at).into_iter();
                        texts.extend(values.filter_map(|it| Some(self.text_of(it.value?.0))));
                    }
                }
                found.extend(literal);
            });
        }
        found
    }
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

/// Returns `true` if this code contains this name, also as `{name}` in a string, but not as a method
/// or at the end of a path.
pub fn mentions(code: &str, name: &str) -> bool {
    let Ok(tokens) = code.parse() else {
        return code.contains(name);
    };
    let (mut found, mut before) = (false, [String::new(), String::new()]);
    walk(tokens, &mut |token| {
        let word = token.to_string();
        let signs = (&*before[0], &*before[1]);
        let is_part = signs == (":", ":") || signs.1 == "." && signs.0 != ".";
        found |= word == name && !is_part;
        before.rotate_left(1);
        before[1] = word;
        let text = literal(token).unwrap_or_default();
        let mut parts = text.split('{').skip(1);
        found |= parts.any(|part| part.split(['}', ':']).next() == Some(name))
            || text.contains(&format!("{name}$"));
    });
    found
}

/// Returns `true` if this code only calls functions without side effects.
pub fn is_pure(code: &str) -> bool {
    code.parse().is_ok_and(are_pure)
}

fn are_pure(tokens: TokenStream) -> bool {
    const PURE: &str = "var var_os new from join display to_str to_string to_string_lossy to_owned into unwrap expect \
                        unwrap_or unwrap_or_default unwrap_or_else ok is_ok is_err is_some is_none clone as_str as_path \
                        as_ref parse iter into_iter map filter collect copied cloned to_vec format vec concat env exists \
                        is_dir is_file len is_empty canonicalize glob read_dir parent contains starts_with ends_with \
                        context with_context current_dir map_err anyhow allow or or_else and_then cfg";
    let (mut called, mut depth) = (String::new(), 0_u32);
    let (mut is_path, mut is_macro) = (false, false);
    tokens.into_iter().all(|token| {
        let was_path = std::mem::take(&mut is_path);
        match token {
            TokenTree::Group(group) => {
                let name = std::mem::take(&mut called);
                let is_macro = std::mem::take(&mut is_macro);
                let is_call = is_macro || group.delimiter() == Delimiter::Parenthesis;
                let mut pure = PURE.split(' ');
                (!is_call
                    || name.is_empty()
                    || name.starts_with(char::is_uppercase)
                    || pure.any(|one| one == name))
                    && are_pure(group.stream())
            }
            TokenTree::Punct(sign) => {
                is_path = sign.as_char() == ':';
                is_macro = sign.as_char() == '!';
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
                is_macro = false;
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
