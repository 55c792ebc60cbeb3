//! The parts of a statement that use a builder.

use crate::cli::init::port::arguments::Values;
use crate::cli::init::port::block::{Chain, calls_of};
use crate::cli::init::port::text::{line, range, walk};
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, ExprBreak, ExprContinue, ExprMethodCall, ExprTry, Item, Macro, Stmt};

/// An expression that leaves the block, or a macro that may.
pub struct Exit {
    pub line: usize,
    pub text: String,
    pub is_macro: bool,
}

/// The parts of a statement, but not of its closures and items.
pub struct Inside<'a, 'v> {
    values: &'v Values<'a>,
    /// The variables that contain a builder or its result.
    names: &'v [String],
    /// Statements that call methods of a builder. `true` if they are in a loop.
    pub statements: Vec<(&'a Stmt, bool)>,
    /// Expressions for the compute capability that is compiled for: `Some(80)`.
    pub targets: Vec<Range<usize>>,
    /// The positions of `?` whose error may be of any type.
    pub questions: Vec<usize>,
    /// Expressions that leave the block.
    pub exits: Vec<Exit>,
    /// The number of loops around the visited node.
    loops: u32,
}

impl<'a, 'v> Inside<'a, 'v> {
    pub fn of(statement: &'a Stmt, names: &'v [String], values: &'v Values<'a>) -> Self {
        let mut inside = Self {
            values,
            names,
            statements: Vec::new(),
            targets: Vec::new(),
            questions: Vec::new(),
            exits: Vec::new(),
            loops: 0,
        };
        inside.visit_stmt(statement);
        inside
    }

    /// Returns `true` if the arguments of these calls may leave the function.
    pub fn exits_in(calls: &[&'a ExprMethodCall], values: &'v Values<'a>) -> bool {
        // The port does not evaluate the arguments of these.
        let dropped = ["build_lib", "out_dir", "compile", "try_compile"];
        let calls = calls
            .iter()
            .filter(|call| !dropped.iter().any(|name| call.method == name));
        calls.flat_map(|call| &call.args).any(|one| {
            let statement = Stmt::Expr(one.clone(), None);
            let inside = Inside::of(&statement, &[], values);
            !inside.questions.is_empty() || !inside.exits.is_empty()
        })
    }

    fn exit(&mut self, node: &impl Spanned, is_macro: bool) {
        self.exits.push(Exit {
            line: line(node),
            text: self.values.text_of(node).to_string(),
            is_macro,
        });
    }
}

impl<'a> Visit<'a> for Inside<'a, '_> {
    fn visit_expr(&mut self, one: &'a Expr) {
        let leaves = match one {
            Expr::Closure(_) => return,
            Expr::Return(_) | Expr::Await(_) => true,
            Expr::Break(ExprBreak { label, .. }) | Expr::Continue(ExprContinue { label, .. }) => {
                self.loops == 0 || label.is_some()
            }
            _ => false,
        };
        if leaves {
            self.exit(one, false);
        }
        let is_loop = matches!(one, Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_));
        self.loops += u32::from(is_loop);
        visit::visit_expr(self, one);
        self.loops -= u32::from(is_loop);
    }

    fn visit_item(&mut self, _: &'a Item) {}

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let root = |chain: &Chain| self.values.text_of(chain.root);
        let chain = Chain::of(statement).filter(|it| !it.asks_target());
        if chain.is_some_and(|it| self.names.iter().any(|name| name == root(&it))) {
            self.statements.push((statement, self.loops > 0));
        } else {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'a ExprMethodCall) {
        let receiver = self.values.text_of(&*call.receiver);
        let is_of_builder =
            call.method == "get_compute_cap" && self.names.iter().any(|name| name == receiver);
        let detected = receiver.strip_suffix("detect_compute_cap()");
        let base = |argument: &Expr| {
            let text = self.values.text_of(argument);
            let value = text.rsplit_once('|').map_or("", |(_, value)| value);
            value.trim().ends_with(".base") || value.trim().ends_with(".base()")
        };
        let is_detected = call.method == "map"
            && detected.is_some_and(|it| ["", "cudaforge::"].contains(&it))
            && call.args.iter().any(base);
        match is_of_builder || is_detected {
            true => self.targets.push(range(call)),
            false => visit::visit_expr_method_call(self, call),
        }
    }

    fn visit_expr_try(&mut self, question: &'a ExprTry) {
        let function = match calls_of(&question.expr) {
            (Expr::Call(call), calls) if calls.is_empty() => self.values.text_of(&*call.func),
            _ => "",
        };
        if !function.ends_with("env::var") {
            self.questions.push(range(&question.question_token).start);
        }
        visit::visit_expr_try(self, question);
    }

    fn visit_macro(&mut self, one: &'a Macro) {
        let name = one.path.segments.last().map(|it| it.ident.to_string());
        let mut returns = ["bail", "ensure"]
            .iter()
            .any(|one| name.as_deref() == Some(one));
        walk(one.tokens.clone(), &mut |token| {
            returns |= ["?", "return"].contains(&&*token.to_string());
        });
        if returns {
            self.exit(one, true);
        }
    }
}
