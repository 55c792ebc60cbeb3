//! The files of a crate that get the guard: its manifest, its build script and its programs.

use crate::cli::init::manifest::{self, dependency};
use crate::cli::init::metadata::{self, Package};
use crate::cli::init::port::{self, Port};
use crate::cli::init::usage::Usage;
use crate::cli::init::{Change, recipe, refusal, source};
use crate::cli::whole_file;
use crate::model::text::joined;
use std::path::{Path, PathBuf};
use std::{fs, io};
use toml_edit::{DocumentMut, Item};

/// Crates that compile kernels in build scripts.
const COMPILERS: [&str; 3] = ["cudaforge", "bindgen_cuda", "find_cuda_helper"];

/// The changes to a crate.
pub struct CrateFiles {
    package: Package,
    pub usage: Usage,
    pub changes: Vec<Change>,
    /// `true` if the crate has no programs.
    pub is_library: bool,
    /// The remaining steps for the user, as lines.
    pub next: String,
    /// `true` if the build script writes the guard.
    has_guard: bool,
    /// `true` if the file of the guard needs no dependency.
    is_standalone: bool,
    /// `true` if a feature of the crate enables cudnn-guard.
    is_optional: bool,
}

impl CrateFiles {
    /// Reads a crate. Changes nothing.
    pub fn read(dir: &Path) -> Result<Self, String> {
        let path = dir.join("Cargo.toml");
        let path = path.display();
        let manifest = read(dir, Path::new("Cargo.toml"))?.ok_or_else(|| {
            refusal(
                format!("`{path}` does not exist"),
                "run this in the directory of the program's Cargo.toml, or name that directory: `cudnn-guard init DIR`",
            )
        })?;
        let mut toml: DocumentMut = manifest.parse().map_err(|error| {
            refusal(
                format!("`{path}` cannot be read: {error}"),
                "run `cargo check`, which shows where the error is",
            )
        })?;
        if toml.get("package").is_none() {
            return Err(refusal(
                format!("`{path}` belongs to a workspace, not to a crate"),
                "run this in the crate of the program, or name its directory: `cudnn-guard init DIR`",
            ));
        }
        let package = metadata::package(dir)?.unwrap_or_default();
        let mut files = Self {
            usage: Usage::find(&package),
            changes: Vec::new(),
            is_library: false,
            next: String::new(),
            has_guard: true,
            is_standalone: false,
            is_optional: false,
            package,
        };
        files.add_build_script(dir, &mut toml)?;
        if files.has_guard {
            files.add_programs(dir, &toml)?;
        }
        let needs_runtime = files.has_guard && !files.is_standalone;
        manifest::add_dependencies(&mut toml, &files.package, needs_runtime, files.is_optional);
        files.change("Cargo.toml".into(), manifest, toml.to_string());
        files.changes.rotate_right(1);
        files.changes.retain(|change| change.before != change.after);
        Ok(files)
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
        let path = match build.map(|build| build.as_str().ok_or(build)) {
            None => "build.rs",
            Some(Ok(path)) => path,
            Some(Err(build)) => {
                return Err(refusal(
                    format!(
                        "`{}` has `build = {}`, but a build script has to write the guard",
                        dir.join("Cargo.toml").display(),
                        build.to_string().trim()
                    ),
                    "remove that line, and run the same command again",
                ));
            }
        };
        let path = PathBuf::from(path);
        let lines = self.usage.gated(self.usage.recipe.build);
        self.has_guard = lines.contains("guard()");
        let Some(before) = read(dir, &path)? else {
            self.usage.must_use_cuda(&self.package)?;
            self.change(path, String::new(), format!("fn main() {{\n{lines}}}\n"));
            return Ok(());
        };
        if before.contains("cudnn_guard") {
            let needs_guard = self.has_guard;
            self.has_guard = before.contains("guard()");
            self.is_standalone = before.contains("standalone");
            if needs_guard && !self.has_guard {
                self.next += "The build script already calls cudnn-guard, but writes no guard. \
                              docs/linking.md shows the lines that add one.\n";
            }
            return Ok(());
        }
        match port::port(&before) {
            Some(Ok(port)) => return self.port(dir, path, before, port, toml),
            Some(Err(doubt)) => {
                self.next += &format!(
                    "{}:{}: init cannot port {}, so the calls of {} stay. docs/migration.md lists the \
                     equivalent options of cudnn-guard.\n",
                    path.display(),
                    doubt.line,
                    doubt.what,
                    doubt.tool
                );
                if let Some(draft) = doubt.draft {
                    self.next += &format!(
                        "The options in the script correspond to these calls, without their conditions and without computed options:\n\n        {draft}\n\n"
                    );
                }
            }
            None => {
                let mut tools = COMPILERS.into_iter();
                let tool =
                    tools.find(|name| dependency(toml, "build-dependencies", name).is_some());
                if let Some(tool) = tool {
                    self.next += &format!(
                        "{tool} compiles kernels in the build script. docs/migration.md lists the equivalent options \
                         of cudnn-guard.\n"
                    );
                } else {
                    self.usage.must_use_cuda(&self.package)?;
                }
            }
        }
        let after = source::with_statements(&before, &lines).ok_or_else(|| {
            let help = "add these lines by hand, and run the same command again";
            without_main(&dir.join(&path), help, &lines)
        })?;
        self.change(path, before, after);
        Ok(())
    }

    /// Replaces the crate that compiled the kernels with cudnn-guard. A crate without cuDNN gets no guard.
    fn port(
        &mut self,
        dir: &Path,
        path: PathBuf,
        before: String,
        port: Port,
        toml: &mut DocumentMut,
    ) -> Result<(), String> {
        let of_cudnn = self.package.gate(&|_, feature| feature.contains("cudnn"));
        self.has_guard &= of_cudnn.is_some();
        let names = ["libs", "config"]
            .into_iter()
            .filter(|name| port.uses(name));
        let mut shadowed =
            names.filter(|name| self.usage.recipe.build.contains(&format!("let {name} =")));
        let is_gated = !self.usage.features.is_empty();
        let is_beside = !port.is_unconditional || shadowed.next().is_some() || is_gated;
        if !self.has_guard {
            self.usage.recipe = &recipe::KERNELS;
            self.usage.features.clear();
        }
        let lines = self.usage.gated(self.usage.recipe.build);
        let script = match self.has_guard && is_beside {
            // The guard does not depend on a condition of the kernels.
            true => source::with_statements(&port.script(&recipe::KERNELS), &lines),
            false => Some(port.script(self.usage.recipe)),
        };
        let script = script.ok_or_else(|| {
            let help = "add these lines by hand, and run the same command again";
            without_main(&dir.join(&path), help, &lines)
        })?;
        self.change(path, before, script);
        if let Some((path, included)) = &port.written {
            let path = PathBuf::from(path);
            let before = read(dir, &path)?.unwrap_or_default();
            let after = format!("include!(concat!(env!(\"OUT_DIR\"), \"/{included}\"));\n");
            self.change(path, before, after);
        }
        if !port.uses(port.tool) {
            self.is_optional = manifest::remove(toml, port.tool, self.has_guard);
        }
        self.next += &format!(
            "For differences from {}, see \"What changes silently\" in docs/migration.md.\n",
            port.tool
        );
        if !port.unread.is_empty() {
            self.next += &format!(
                "The new build script no longer reads these variables: {}\n",
                joined(&port.unread, ", ")
            );
        }
        if port.needs_cutlass() {
            self.next += "The kernels need CUTLASS. Install it once on each machine: cudnn-guard fetch --with cutlass\n";
        }
        Ok(())
    }

    fn add_programs(&mut self, dir: &Path, toml: &DocumentMut) -> Result<(), String> {
        let mut texts = Vec::new();
        for path in programs(dir, toml) {
            if let Some(text) = read(dir, &path)? {
                texts.push((path, text));
            }
        }
        for (path, before) in &texts {
            if before.contains("cudnn_guard") {
                continue;
            }
            let name = module_name(before);
            let item = self.usage.gated(&module("mod", name));
            let call = self.usage.gated(&format!("    {name}::startup();\n"));
            let guarded = source::with_statements(before, &call)
                .and_then(|text| source::with_item(&text, &item));
            let after = guarded.ok_or_else(|| {
                let help = format!(
                    "add these lines and a first statement `{name}::startup();` by hand, and run the same command again"
                );
                without_main(&dir.join(path), &help, &item)
            })?;
            self.change(path.clone(), before.clone(), after);
        }
        if texts.is_empty() {
            self.add_library(dir, toml)?;
        }
        Ok(())
    }

    /// Changes a library crate. Programs that use it call the guard through it.
    fn add_library(&mut self, dir: &Path, toml: &DocumentMut) -> Result<(), String> {
        self.is_library = true;
        let path = toml.get("lib").and_then(|lib| lib.get("path")?.as_str());
        let path = PathBuf::from(path.unwrap_or("src/lib.rs"));
        let before = read(dir, &path)?.ok_or_else(|| {
            refusal(
                format!("`{}` contains neither a program nor a library", dir.display()),
                "run this in the crate of the program, or name its directory: `cudnn-guard init DIR`",
            )
        })?;
        if before.contains("cudnn_guard") {
            return Ok(());
        }
        let name = module_name(&before);
        let item = self.usage.gated(&module("pub mod", name));
        let after = format!("{before}\n/// Checks the cuDNN that is loaded.\n{item}");
        let krate = toml["package"]["name"].as_str().unwrap_or_default();
        let krate = krate.replace('-', "_");
        self.next += &format!(
            "Programs that use this crate call `{krate}::{name}::startup()` first in `main`.\n"
        );
        self.change(path, before, after);
        Ok(())
    }
}

/// Reads one of the crate's files; `None` if it does not exist.
fn read(dir: &Path, path: &Path) -> Result<Option<String>, String> {
    let path = dir.join(path);
    match whole_file::read(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(refusal(
            format!("`{}` cannot be read: {error}", path.display()),
            "allow this user to read it",
        )),
    }
}

fn without_main(path: &Path, help: &str, lines: &str) -> String {
    let path = path.display();
    let summary = format!("`{path}` has no `fn main()` at the beginning of a line");
    refusal(summary, format!("{help}:\n\n{lines}"))
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

/// Returns the source files of the crate's programs, from the manifest and from cargo's default paths.
fn programs(dir: &Path, toml: &DocumentMut) -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::from("src/main.rs")];
    let named = toml.get("bin").and_then(Item::as_array_of_tables);
    for bin in named.into_iter().flatten() {
        if let Some(path) = bin.get("path").and_then(Item::as_str) {
            paths.push(PathBuf::from(path));
        }
    }
    let entries = fs::read_dir(dir.join("src/bin"));
    for entry in entries.into_iter().flatten().flatten() {
        let path = Path::new("src/bin").join(entry.file_name());
        if dir.join(&path).is_dir() {
            paths.push(path.join("main.rs"));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.dedup();
    paths
}
