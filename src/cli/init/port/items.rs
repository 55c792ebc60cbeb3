//! The items of a script around the ported block.

use crate::cli::init::port::arguments::mentions;
use crate::cli::init::port::block::{NewBlock, Place};
use crate::cli::init::port::text::{range, replaced};
use std::ops::Range;
use syn::{File, Item, ItemUse, ReturnType, UseTree};

/// The place of the new block in a text.
const BLOCK: char = '\0';
/// The alias for the `Result` of another crate.
pub const RESULT: &str = "type Result<T> = std::result::Result<T, cudnn_guard::Error>;";

/// Returns the names that a script imports from this crate, but for `Result`.
pub fn imports(tool: &str, file: &File) -> Vec<String> {
    let all = file.items.iter().flat_map(|item| match item {
        Item::Use(one) => leaves(&one.tree, ""),
        _ => Vec::new(),
    });
    let own = all.filter(|(path, name)| path.starts_with(tool) && name != "Result");
    own.map(|(_, name)| name).collect()
}

/// Returns the `use` that imports the `Result` of this crate.
pub fn result_of<'a>(tool: &str, file: &'a File) -> Option<&'a ItemUse> {
    file.items.iter().find_map(|item| match item {
        Item::Use(one) => {
            let names = leaves(&one.tree, "");
            let mut names = names.iter();
            let is_result = names.any(|(path, name)| path.starts_with(tool) && name == "Result");
            is_result.then_some(one)
        }
        _ => None,
    })
}

/// Returns the text before and after the new statements, without the items that are no longer used.
pub fn around(
    tool: &str,
    text: &str,
    file: &File,
    place: &Place,
    new: &NewBlock,
) -> (String, String) {
    let block = range(place.block);
    let signature = &place.function.sig;
    let is_body = range(&place.function.block) == block;
    let leaves_front = ["?", "return", "bail!", "ensure!"];
    let leaves_front = leaves_front.iter().any(|word| new.front.contains(word));
    let is_plain = is_body && signature.ident == "main" && !leaves_front;
    let returns = !matches!(signature.output, ReturnType::Default);
    let mut end = " ".repeat(place.end_indent);
    if !is_plain && (new.ends_with_ok || is_body && returns) {
        end = format!("{}Ok(())\n{end}", " ".repeat(place.indent));
    }
    let mut changes = vec![(block.clone(), format!("{{\n{}{BLOCK}{end}}}", new.front))];
    if is_plain && returns {
        let output = range(&signature.output);
        let begin = text[..output.start].trim_end().len();
        changes.push((begin..output.end, String::new()));
    }
    let whole = |changes: &[(Range<usize>, String)]| {
        replaced(text, 0..text.len(), changes.to_vec()) + &new.statements
    };
    let uses = |item: &Item| matches!(item, Item::Use(_));
    for item in file.items.iter().filter(|item| uses(item)) {
        changes.push((range(item), String::new()));
    }
    // An item may be the only user of another.
    loop {
        let unused = file.items.iter().find(|item| {
            let at = range(*item);
            let overlaps =
                |(known, _): &(Range<usize>, _)| known.start < at.end && at.start < known.end;
            !changes.iter().any(overlaps) && is_removable(item) && {
                let mut without = changes.clone();
                without.push((at.clone(), String::new()));
                let before = replaced(text, 0..text.len(), vec![(at, String::new())]);
                is_unused(item, &whole(&without).replace(BLOCK, "")) && !is_unused(item, &before)
            }
        });
        match unused {
            Some(item) => changes.push((with_comments(text, range(item)), String::new())),
            None => break,
        }
    }
    let rest = whole(&changes).replace(BLOCK, "");
    let is_same = |item: &Item, at: &Range<usize>| uses(item) && range(item) == *at;
    for (at, change) in &mut changes {
        if let Some(Item::Use(one)) = file.items.iter().find(|item| is_same(item, at)) {
            *change = remaining_of(one, tool, text, &rest).unwrap_or_default();
        }
    }
    if let Some(one) = result_of(tool, file).filter(|_| mentions(&rest, "Result")) {
        let attributes = attributes(one, text);
        let last = file.items.iter().rev().find(|item| uses(item)).map(range);
        let change = changes.iter_mut().find(|(at, _)| Some(at) == last.as_ref());
        if let Some((_, change)) = change {
            *change = format!("{change}\n\n{attributes}{RESULT}")
                .trim_start()
                .to_string();
        }
    }
    let whole = tidy(&replaced(text, 0..text.len(), changes));
    let (before, after) = whole.split_once(BLOCK).expect("it was inserted");
    (before.to_string(), after.to_string())
}

/// Returns a `use` with the names that this code contains. `None` if it contains none of them.
pub fn remaining(item: &ItemUse, text: &str, code: &str) -> Option<String> {
    remaining_of(item, "", text, code)
}

fn remaining_of(item: &ItemUse, tool: &str, text: &str, code: &str) -> Option<String> {
    let names = leaves(&item.tree, "");
    let before = replaced(text, 0..text.len(), vec![(range(item), String::new())]);
    let mut kept = names.clone();
    kept.retain(|(path, name)| {
        let is_of_tool = !tool.is_empty() && tool != "cc" && path.starts_with(tool);
        let calls = |method: &str| code.contains(&format!(".{method}("));
        let is_used = match name.as_str() {
            "*" | "_" | "Read" | "Write" | "BufRead" | "Seek" | "FromStr" => true,
            "Context" => calls("context") || calls("with_context") || mentions(code, name),
            // The methods of a trait do not name it.
            _ => mentions(code, name) || !mentions(&before, name),
        };
        !is_of_tool && is_used
    });
    if kept.len() == names.len() {
        return Some(text[range(item)].to_string());
    }
    let attributes = attributes(item, text);
    let lines = kept
        .into_iter()
        .map(|(path, _)| format!("{attributes}use {path};"));
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn attributes<'t>(item: &ItemUse, text: &'t str) -> &'t str {
    &text[range(item).start..range(&item.use_token).start]
}

/// Returns the path of each import, and its name.
fn leaves(tree: &UseTree, path: &str) -> Vec<(String, String)> {
    let below = |name: &str| match path {
        "" => name.to_string(),
        _ => format!("{path}::{name}"),
    };
    match tree {
        UseTree::Path(it) => leaves(&it.tree, &below(&it.ident.to_string())),
        UseTree::Name(it) if it.ident == "self" => {
            let name = path.rsplit("::").next().unwrap_or_default();
            vec![(path.to_string(), name.to_string())]
        }
        UseTree::Rename(it) if it.ident == "self" => {
            let name = it.rename.to_string();
            vec![(format!("{path} as {name}"), name)]
        }
        UseTree::Name(it) => vec![(below(&it.ident.to_string()), it.ident.to_string())],
        UseTree::Rename(it) => {
            let name = it.rename.to_string();
            vec![(below(&format!("{} as {name}", it.ident)), name)]
        }
        UseTree::Glob(_) => vec![(below("*"), "*".to_string())],
        UseTree::Group(it) => it.items.iter().flat_map(|one| leaves(one, path)).collect(),
    }
}

fn is_removable(item: &Item) -> bool {
    match item {
        Item::Fn(one) => one.sig.ident != "main",
        Item::Const(_) | Item::Static(_) => true,
        _ => false,
    }
}

/// Returns `true` if this code does not contain the name of an item.
pub fn is_unused(item: &Item, code: &str) -> bool {
    let name = match item {
        Item::Fn(one) => &one.sig.ident,
        Item::Const(one) => &one.ident,
        Item::Static(one) => &one.ident,
        _ => return false,
    };
    !mentions(code, &name.to_string())
}

/// Extends the position of an item by the comments above it, but not by those at the beginning of the file.
fn with_comments(text: &str, at: Range<usize>) -> Range<usize> {
    let mut start = at.start;
    for line in text[..at.start].split_inclusive('\n').rev() {
        if !line.trim_start().starts_with("//") {
            return start..at.end;
        }
        start -= line.len();
    }
    at
}

/// Removes the empty lines that removed items leave.
fn tidy(text: &str) -> String {
    let mut text = text.to_string();
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text.trim_start().to_string()
}
