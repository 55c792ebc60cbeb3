//! Statements that cudnn-guard makes redundant.

use crate::cli::init::port::arguments::{Values, is_pure, literals};
use syn::{Expr, Stmt};

/// Returns `true` if cudnn-guard prints the same lines for cargo. `kernels` are the calls that compile.
pub fn is_for_cargo<'a>(statement: &Stmt, kernels: &str, values: &Values<'a>) -> bool {
    is_redundant(statement, values.text_of(statement), kernels, values)
}

/// Does the same for a statement in a loop whose text is `code`.
fn is_redundant<'a>(statement: &Stmt, code: &'a str, kernels: &str, values: &Values<'a>) -> bool {
    let all = |statements: &[Stmt]| {
        let mut each = statements.iter();
        !statements.is_empty() && each.all(|one| is_redundant(one, code, kernels, values))
    };
    let pure = |expression: &Expr| is_pure(values.text_of(expression));
    match statement {
        Stmt::Expr(Expr::ForLoop(it), _) => return pure(&it.expr) && all(&it.body.stmts),
        Stmt::Expr(Expr::Block(it), _) => return it.attrs.is_empty() && all(&it.block.stmts),
        Stmt::Expr(Expr::If(it), _) => {
            let other = it.else_branch.as_ref().map(|(_, other)| &**other);
            let is_other = other.is_none_or(|other| {
                is_redundant(&Stmt::Expr(other.clone(), None), code, kernels, values)
            });
            let then = &it.then_branch.stmts;
            let is_then = all(then) || then.is_empty() && it.else_branch.is_some();
            return pure(&it.cond) && is_then && is_other;
        }
        _ => {}
    }
    let text = values.text_of(statement);
    let is_pure = is_pure(&text.replacen("println!", "", 1));
    let Some(printed) = printed(statement).filter(|_| is_pure) else {
        return false;
    };
    if let Some(file) = printed.strip_prefix("rerun-if-changed=") {
        // Other compilers do not track their headers.
        let others = [
            "bindgen::",
            "cxx_build",
            "cmake",
            "autocxx",
            ".c\"",
            ".cc\"",
            ".cpp\"",
        ];
        let ends = match others.iter().any(|other| values.text().contains(other)) {
            true => &["build.rs", ".cu", ".cuh"][..],
            false => &["build.rs", ".cu", ".cuh", ".h", ".hpp"],
        };
        let is_tracked = |file: &str| ends.iter().any(|end| file.ends_with(end));
        let mut files = values.literals(code);
        files.retain(|one| !one.contains("rerun-if-changed") && !one.ends_with('}'));
        let are_tracked = !files.is_empty() && files.iter().all(|one| is_tracked(one));
        return is_tracked(file) || file.ends_with('}') && are_tracked;
    }
    let has_library = kernels.contains(".compile(");
    if let Some(library) = linked(&printed) {
        let runtimes = ["cudart", "cudart_static", "stdc++", "c++", "c++_shared"];
        let is_linked = has_library && !kernels.contains("Cudart::None");
        return is_linked && runtimes.contains(&library)
            || kernels.contains(&format!(".compile(\"{library}\")")) && !printed.contains('+');
    }
    has_library
        && printed.starts_with("rustc-link-search=")
        && printed.ends_with('}')
        && is_out_dir(values.literals(code), &["rustc-link-search"])
        || printed == "rerun-if-env-changed=CUDA_COMPUTE_CAP"
        || printed.starts_with("info=")
}

/// Returns `true` if a path with these strings is `OUT_DIR`, or the file in it that `own` names. Strings with spaces are
/// messages, and others in capital letters are variables.
pub fn is_out_dir(mut strings: Vec<String>, own: &[&str]) -> bool {
    let is_out_dir = strings.iter().any(|one| one == "OUT_DIR");
    let is_other = |one: &String| {
        let is_variable = one
            .chars()
            .all(|it| it.is_ascii_uppercase() || "_0123456789".contains(it));
        !is_variable && !one.contains(' ') && !own.iter().any(|own| one.contains(own))
    };
    strings.retain(is_other);
    is_out_dir && strings.is_empty()
}

/// Returns `true` if a statement only fails if a command did: `assert!(status.success())`, or an equivalent `if`.
pub fn is_check(statement: &Stmt, names: &[String], values: &Values) -> bool {
    let text = values.text_of(statement);
    let checked = text.strip_prefix("assert!(").or(text.strip_prefix("if !"));
    let name = checked.and_then(|it| it.split_once(".success()")?.0.split('.').next());
    let fails = ["assert!(", "panic!(", "exit(", "return Err("];
    name.is_some_and(|name| names.iter().any(|one| one == name))
        && !text.contains("else")
        && fails.iter().any(|one| text.contains(one))
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

/// Returns the library that a line for cargo links.
pub fn linked(printed: &str) -> Option<&str> {
    let library = printed.strip_prefix("rustc-link-lib=")?;
    library.rsplit('=').next()
}
