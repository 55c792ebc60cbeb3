//! The files of a crate that get the guard: its manifest, its build script and its programs.

use crate::cli::init::manifest::{self, dependency};
use crate::cli::init::metadata::{self, Package};
use crate::cli::init::usage::Usage;
use crate::cli::init::{Change, migration, recipe, refusal, source};
use crate::cli::whole_file;
use crate::system::files;
use std::path::{Path, PathBuf};
use toml_edit::DocumentMut;

/// Crates that compile kernels in build scripts.
const COMPILERS: [&str; 3] = ["cudaforge", "bindgen_cuda", "find_cuda_helper"];

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
    /// Reads a crate. Changes nothing.
    pub fn read(dir: &Path) -> Result<Self, String> {
        let package = metadata::package(dir)?;
        let manifest = read(dir, Path::new("Cargo.toml"))?.unwrap_or_default();
        let parsed = manifest.parse::<DocumentMut>();
        let mut toml = parsed.map_err(|error| error.to_string())?;
        let mut files = Self {
            usage: Usage::find(&package),
            changes: Vec::new(),
            next: String::new(),
            has_guard: true,
            package,
        };
        files.add_build_script(dir, &toml)?;
        if files.has_guard {
            files.add_programs(dir)?;
        }
        manifest::add_dependencies(&mut toml, &files.package, files.has_guard);
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

    fn add_build_script(&mut self, dir: &Path, toml: &DocumentMut) -> Result<(), String> {
        let path = match toml["package"].get("build") {
            None => "build.rs",
            Some(build) => build.as_str().ok_or_else(|| {
                refusal(
                    format!(
                        "`{}` has `build = {}`, but a build script has to write the guard",
                        dir.join("Cargo.toml").display(),
                        build.to_string().trim()
                    ),
                    "remove that line, and run the same command again",
                )
            })?,
        };
        let path = PathBuf::from(path);
        let lines = self.usage.gated(&self.usage.recipe.build());
        self.has_guard = lines.contains("guard()");
        let Some(before) = read(dir, &path)? else {
            self.usage.must_use_cuda(&self.package)?;
            self.change(path, String::new(), format!("fn main() {{\n{lines}}}\n"));
            return Ok(());
        };
        if before.contains("cudnn_guard") {
            let needs_guard = self.has_guard && (self.usage.is_known || before.contains(".cudnn("));
            self.has_guard = before.contains("guard()");
            if needs_guard && !self.has_guard {
                self.next += "The build script already calls cudnn-guard, but writes no guard. \
                              docs/frameworks.md shows the lines that add one.\n";
            }
            return Ok(());
        }
        if let Some(kernels) = migration::find(&before) {
            let has_guard = self.uses_cudnn(&before);
            self.next += &kernels.text(&path, has_guard);
            if !has_guard {
                self.has_guard = false;
                self.usage.recipe = &recipe::KERNELS;
                return Ok(());
            }
        } else if let Some(tool) = COMPILERS
            .into_iter()
            .find(|name| dependency(toml, "build-dependencies", name).is_some())
        {
            self.next += &format!(
                "{tool} compiles kernels in the build script. docs/migration.md lists the equivalent options \
                 of cudnn-guard.\n"
            );
            // Without cuDNN, only the kernels remain, which the user has to port.
            if self.usage.must_use_cuda(&self.package).is_err() {
                self.has_guard = false;
                return Ok(());
            }
        } else {
            self.usage.must_use_cuda(&self.package)?;
        }
        let after = source::with_statements(&before, &lines)
            .ok_or_else(|| without_main(&dir.join(&path), "", &lines))?;
        self.change(path, before, after);
        Ok(())
    }

    /// Returns `true` if the crate uses cuDNN and not only its own kernels.
    fn uses_cudnn(&self, build_script: &str) -> bool {
        let is_cudnn = |_: &str, feature: &str| feature.contains("cudnn");
        self.usage.is_known
            || self.package.has_feature("cudnn")
            || self.package.gate(&is_cudnn).is_some()
            || build_script.contains("cudnn")
    }

    /// Changes the programs. If a module or library of the crate includes the guard, they stay as they are.
    fn add_programs(&mut self, dir: &Path) -> Result<(), String> {
        let mut texts = Vec::new();
        for (_, path) in self.package.targets("bin") {
            texts.push((read(dir, &path)?.unwrap_or_default(), path));
        }
        let is_extension = !self.package.targets("cdylib").is_empty();
        let root = self.package.dir();
        let pattern = glob::Pattern::escape(&root.to_string_lossy()) + "/src/**/*.rs";
        let mut modules = files::glob(&pattern).unwrap_or_default();
        modules.retain(|path| !texts.iter().any(|(_, program)| root.join(program) == *path));
        let modules = modules.iter().map(|path| files::read_to_string(path));
        let modules: String = modules.flatten().collect();
        let mut all = texts.iter().map(|(text, _)| text).chain([&modules]);
        if (is_extension || !texts.is_empty())
            && all.clone().any(|text| includes_guard(text))
            && !all.any(|text| calls_guard(text))
        {
            self.next += "The crate does not call the guard. Call its `startup()` first in `main`, or its `check()` in a \
                          function of a Python module. docs/frameworks.md shows these calls.\n";
        }
        if includes_guard(&modules) {
            return Ok(());
        }
        for (before, path) in &texts {
            if includes_guard(before) {
                continue;
            }
            let name = module_name(before);
            let item = self.usage.gated(&module("mod", name));
            let call = self.usage.gated(&format!("    {name}::startup();\n"));
            let guarded = source::with_statements(before, &call)
                .and_then(|text| source::with_item(&text, &item));
            let after = guarded.ok_or_else(|| {
                let call = format!(" and a first statement `{name}::startup();`");
                without_main(&dir.join(path), &call, &item)
            })?;
            self.change(path.clone(), before.clone(), after);
        }
        if texts.is_empty() {
            self.add_library(dir)?;
        }
        Ok(())
    }

    /// Changes a library crate. Programs that use it call the guard through it.
    fn add_library(&mut self, dir: &Path) -> Result<(), String> {
        let Some((krate, path)) = self.package.targets("lib").pop() else {
            return Ok(());
        };
        let krate = krate.replace('-', "_");
        let before = read(dir, &path)?.unwrap_or_default();
        let name = module_name(&before);
        let item = self.usage.gated(&module("pub mod", name));
        let after = format!("{before}\n/// Checks the cuDNN that is loaded.\n{item}");
        self.next += &match self.package.targets("cdylib").is_empty() {
            true => format!(
                "Programs that use this crate call `{krate}::{name}::startup()` first in `main`.\n"
            ),
            // `startup` would exit the process of Python.
            false => {
                format!("Call `{name}::check()` in a function of the module; see docs/python.md.\n")
            }
        };
        self.change(path, before, after);
        Ok(())
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
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    if words.any(|word| word == "gpu") {
        "gpu_guard"
    } else {
        "gpu"
    }
}

fn includes_guard(text: &str) -> bool {
    text.contains("cudnn_guard.rs")
}

/// Returns `true` if a line contains a call of one of the guard's functions, or of another with such a name.
fn calls_guard(text: &str) -> bool {
    let calls = "startup( check( check_version( check_thoroughly( available(".split(' ');
    let mut lines = text.lines().filter(|line| !line.contains("//"));
    lines.any(|line| calls.clone().any(|call| line.contains(call)))
}
