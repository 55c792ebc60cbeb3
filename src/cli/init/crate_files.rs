//! The files of a crate that get the guard: its manifest, its build script and its programs.

use crate::cli::init::manifest;
use crate::cli::init::metadata::Package;
use crate::cli::init::recipe::Recipe;
use crate::cli::init::usage::Usage;
use crate::cli::init::{Change, migration, refusal, source};
use crate::cli::whole_file;
use crate::model::pattern;
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item};

/// The changes to a crate.
pub struct CrateFiles {
    pub package: Package,
    pub usage: Usage,
    pub changes: Vec<Change>,
    /// The remaining steps for the user, as lines.
    pub next: String,
    /// `true` if the build script writes the guard.
    pub has_guard: bool,
}

impl CrateFiles {
    /// Reads a crate of a workspace. Changes nothing.
    pub fn read(dir: &Path, package: &Package, members: &[Package]) -> Result<Self, String> {
        let manifest = read(dir, Path::new("Cargo.toml"))?.unwrap_or_default();
        let parsed = manifest.parse::<DocumentMut>();
        let mut toml = parsed.map_err(|error| error.to_string())?;
        let mut files = Self {
            usage: Usage::find(package, members),
            changes: Vec::new(),
            next: String::new(),
            has_guard: true,
            package: package.clone(),
        };
        files.add_build_script(dir, &mut toml)?;
        files.add_programs(dir)?;
        if files.has_guard || files.usage.recipe != Recipe::Call {
            manifest::add_dependencies(&mut toml, &files.package, files.has_guard);
        }
        files.change("Cargo.toml".into(), manifest, toml.to_string());
        files.changes.rotate_right(1);
        files.changes.retain(|change| change.before != change.after);
        Ok(files)
    }

    /// Returns `true` if nothing is missing.
    pub fn is_complete(&self) -> bool {
        self.changes.is_empty() && self.next.is_empty()
    }

    fn change(&mut self, path: PathBuf, before: String, after: String) {
        self.changes.push(Change {
            path,
            before,
            after,
        });
    }

    fn add_build_script(&mut self, dir: &Path, toml: &mut DocumentMut) -> Result<(), String> {
        let build = toml["package"].get("build");
        let path = PathBuf::from(build.and_then(Item::as_str).unwrap_or("build.rs"));
        if build.is_some_and(Item::is_bool) {
            toml["package"]["build"] = Item::None;
        }
        let recipe = self.usage.recipe;
        let lines = self.usage.gated(&recipe.build(self.usage.kernels));
        self.has_guard = recipe.writes_guard();
        let before = read(dir, &path)?.unwrap_or_default();
        if before.contains("cudnn_guard") {
            let needs_guard = self.has_guard && self.usage.is_known;
            self.has_guard = before.contains("guard()");
            if needs_guard && !self.has_guard {
                self.next += "The build script already calls cudnn-guard, but writes no guard. \
                              docs/frameworks.md shows the lines that add one.\n";
            }
            return Ok(());
        }
        self.usage.must_use_cuda(&self.package)?;
        if recipe == Recipe::Call {
            return Ok(());
        }
        self.next += &migration::text(&before, &path);
        let after = match before.is_empty() {
            true => format!("fn main() {{\n{lines}}}\n"),
            false => source::with_statements(&before, &lines)
                .ok_or_else(|| without_main(&dir.join(&path), "", &lines))?,
        };
        self.change(path, before, after);
        Ok(())
    }

    /// Adds the guard to the programs, or the call of a guard in a library.
    fn add_programs(&mut self, dir: &Path) -> Result<(), String> {
        let mut programs = Vec::new();
        for (_, path) in self.package.targets("bin") {
            programs.push((read(dir, &path)?.unwrap_or_default(), path));
        }
        let modules = self.package.modules();
        let is_in_program = programs.iter().any(|(text, _)| includes_guard(text));
        let is_in_module = includes_guard(&modules) && !is_in_program;
        // The path of the guard in the crate's library or in a dependency, as programs write it.
        let library = if !self.has_guard {
            self.usage.guard.clone()
        } else if is_in_program {
            None
        } else if is_in_module {
            self.package.guard()
        } else {
            self.add_library(dir, !programs.is_empty())?
        };
        let all = programs.iter().map(|(text, _)| text);
        let all: String = all.chain([&modules]).cloned().collect();
        let is_missing = includes_guard(&all) && !calls_guard(&all, "");
        if is_missing && library.is_none() && !self.package.is_library() {
            self.next += "The crate does not call the guard. Call its `startup()` first in `main`, or its `check()` in a \
                          function of a Python module. docs/frameworks.md shows these calls.\n";
        }
        // There is no guard, or it is in a module, which calls it.
        if library.is_none() && (is_in_module || !self.has_guard) {
            return Ok(());
        }
        let is_own = library.is_none();
        for (before, path) in &programs {
            let name = library.as_deref().unwrap_or(module_name(before));
            let is_called = calls_guard(before, "") || calls_guard(&modules, name);
            if includes_guard(before) || !is_own && is_called {
                continue;
            }
            let call = self.usage.gated(&format!("    {name}::startup();\n"));
            let mut item = String::new();
            let mut guarded = source::with_statements(before, &call);
            if is_own {
                item = self.usage.gated(&module("mod", name));
                guarded = guarded.and_then(|text| source::with_item(&text, &item));
            }
            let after = guarded.ok_or_else(|| {
                let call = format!(" and a first statement `{name}::startup();`");
                without_main(&dir.join(path), &call, &item)
            })?;
            self.change(path.clone(), before.clone(), after);
        }
        Ok(())
    }

    /// Adds the guard to the library of this crate, if it has one. Returns the path of the guard, as programs write it.
    fn add_library(&mut self, dir: &Path, has_programs: bool) -> Result<Option<String>, String> {
        let is_extension = self.package.is_extension();
        let library = self.package.targets("lib").pop();
        // Programs cannot be linked with an extension.
        let Some((krate, path)) = library.filter(|_| !(has_programs && is_extension)) else {
            return Ok(None);
        };
        let before = read(dir, &path)?.unwrap_or_default();
        let name = module_name(&before);
        let guard = format!("{}::{name}", krate.replace('-', "_"));
        let item = self.usage.gated(&module("pub mod", name));
        let after = format!("{before}\n/// Checks that this process can use the GPU.\n{item}");
        let checked = source::with_check(&after).filter(|_| is_extension && name == "gpu");
        if is_extension && checked.is_none() {
            // `startup` would exit the process of Python.
            self.next += &format!(
                "Call `{name}::check()` in a function of the module; see docs/python.md.\n"
            );
        } else if self.package.is_library() {
            self.next += &format!(
                "Programs that use this crate call `{guard}::startup()` first in `main`. In a workspace, `cudnn-guard init` \
                 adds this call.\n"
            );
        }
        self.change(path, before, checked.unwrap_or(after));
        Ok(Some(guard))
    }
}

/// Reads one of the crate's files; `None` if it does not exist.
fn read(dir: &Path, path: &Path) -> Result<Option<String>, String> {
    let path = dir.join(path);
    whole_file::read(&path).map_err(|error| {
        refusal(
            format!("`{}` cannot be read: {error}", path.display()),
            "make it a text file that this user can read",
        )
    })
}

fn without_main(path: &Path, call: &str, lines: &str) -> String {
    refusal(
        format!(
            "`{}` has no `fn main()` at the beginning of a line",
            path.display()
        ),
        format!("add these lines{call} by hand, and run the same command again:\n\n{lines}"),
    )
}

fn module(keyword: &str, name: &str) -> String {
    format!(
        "{keyword} {name} {{\n    include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\"));\n}}\n"
    )
}

/// Returns a module name that the text does not contain.
fn module_name(text: &str) -> &'static str {
    match pattern(r"\bgpu\b").is_match(text) {
        true => "gpu_guard",
        false => "gpu",
    }
}

fn includes_guard(text: &str) -> bool {
    text.contains("cudnn_guard.rs")
}

/// Returns `true` if a line contains a call of one of the functions of the guard with this path, or of any functions with
/// such names.
pub fn calls_guard(text: &str, path: &str) -> bool {
    let module = match path.rsplit_once("::") {
        Some((_, module)) => format!("{module}::"),
        None if path.is_empty() => String::new(),
        None => format!("(?:crate|{path})::"),
    };
    let functions = r"(?:startup|check|check_version|check_thoroughly|available)\(";
    let call = pattern(&(module + functions));
    let mut lines = text.lines().filter(|line| !line.contains("//"));
    lines.any(|line| call.is_match(line))
}
