//! The files of a crate that get the guard: its manifest, its build script and its programs.

use crate::cli::demo::place;
use crate::cli::init::port::{self, Port};
use crate::cli::init::recipe::{self, Recipe};
use crate::cli::init::{Change, refusal, source};
use crate::cli::whole_file;
use crate::model::text::joined;
use std::path::{Path, PathBuf};
use std::{fs, io};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

const NAME: &str = "cudnn-guard";
/// Crates that compile kernels in build scripts.
const COMPILERS: [&str; 3] = ["cudaforge", "bindgen_cuda", "find_cuda_helper"];

/// The changes to a crate.
pub struct CrateFiles {
    /// The way in which the crate uses cuDNN.
    pub recipe: &'static Recipe,
    pub changes: Vec<Change>,
    /// The remaining steps for the user, as lines.
    pub next: String,
    /// `true` if the build script writes the guard.
    has_guard: bool,
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
        let mut files = Self {
            recipe: recipe(&toml),
            changes: Vec::new(),
            next: String::new(),
            has_guard: true,
            is_optional: false,
        };
        files.add_build_script(dir, &mut toml)?;
        if files.has_guard {
            files.add_programs(dir, &toml)?;
        }
        add_dependencies(&mut toml, files.has_guard, files.is_optional);
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
        let lines = self.recipe.build;
        let Some(before) = read(dir, &path)? else {
            self.change(path, String::new(), format!("fn main() {{\n{lines}}}\n"));
            return Ok(());
        };
        if before.contains("cudnn_guard") {
            self.has_guard = before.contains("guard()");
            if !self.has_guard {
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
                }
            }
        }
        let after = source::with_statements(&before, lines).ok_or_else(|| {
            let help = "add these lines by hand, and run the same command again";
            without_main(&dir.join(&path), help, lines)
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
        self.has_guard = uses_cudnn(toml);
        let names = ["libs", "config"]
            .into_iter()
            .filter(|name| port.uses(name));
        let mut shadowed =
            names.filter(|name| self.recipe.build.contains(&format!("let {name} =")));
        let is_beside = !port.is_unconditional || shadowed.next().is_some();
        if !self.has_guard {
            self.recipe = &recipe::KERNELS;
        }
        let script = match self.has_guard && is_beside {
            // The guard does not depend on a condition of the kernels.
            true => source::with_statements(&port.script(&recipe::KERNELS), self.recipe.build),
            false => Some(port.script(self.recipe)),
        };
        let script = script.ok_or_else(|| {
            let help = "add these lines by hand, and run the same command again";
            without_main(&dir.join(&path), help, self.recipe.build)
        })?;
        self.change(path, before, script);
        if let Some((path, included)) = &port.written {
            let path = PathBuf::from(path);
            let before = read(dir, &path)?.unwrap_or_default();
            let after = format!("include!(concat!(env!(\"OUT_DIR\"), \"/{included}\"));\n");
            self.change(path, before, after);
        }
        if !port.uses(port.tool) {
            self.is_optional = remove(toml, port.tool, self.has_guard);
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
            let item = module("mod", name);
            let guarded = source::with_statements(before, &format!("    {name}::startup();\n"))
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
        let item = module("pub mod", name);
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

fn dependency<'a>(toml: &'a DocumentMut, table: &str, name: &str) -> Option<&'a Item> {
    toml.get(table)?.get(name)
}

fn recipe(toml: &DocumentMut) -> &'static Recipe {
    let used = |name| dependency(toml, "dependencies", name);
    let is_linked = |cudarc: &Item| {
        let features = cudarc.get("features").and_then(Item::as_array);
        let mut features = features.into_iter().flatten().filter_map(Value::as_str);
        features.any(|feature| ["dynamic-linking", "static-linking"].contains(&feature))
    };
    if used("candle-core").or(used("candle-nn")).is_some() {
        &recipe::CANDLE
    } else if used("ort").is_some() {
        &recipe::ORT
    } else if used("cudarc").is_some_and(|cudarc| !is_linked(cudarc)) {
        &recipe::CUDARC
    } else {
        &recipe::LINKED
    }
}

/// Returns `true` if a dependency has a feature for cuDNN.
fn uses_cudnn(toml: &DocumentMut) -> bool {
    let features = |item: &Item| {
        item.get("features")
            .is_some_and(|it| it.to_string().contains("cudnn"))
    };
    let table = toml.get("dependencies").and_then(Item::as_table_like);
    table.is_some_and(|table| table.iter().any(|(_, item)| features(item)))
}

/// Removes a crate from the build dependencies. Returns `true` if it was optional, and cudnn-guard takes its place in the
/// features. A crate with a guard always needs cudnn-guard.
fn remove(toml: &mut DocumentMut, name: &str, guard: bool) -> bool {
    let is_used = ["dependencies", "dev-dependencies"]
        .iter()
        .any(|table| dependency(toml, table, name).is_some());
    let targets = toml.get_mut("target").and_then(Item::as_table_like_mut);
    let targets = targets.into_iter().flat_map(|table| table.iter_mut());
    let mut removed = Vec::new();
    for (_, target) in targets {
        let table = target.get_mut("build-dependencies");
        removed.extend(table.and_then(|table| table.as_table_like_mut()?.remove(name)));
    }
    let table = toml.get_mut("build-dependencies");
    removed.extend(table.and_then(|table| table.as_table_like_mut()?.remove(name)));
    let optional = |item: &Item| item.get("optional").and_then(Item::as_bool) == Some(true);
    if is_used || !removed.iter().any(optional) {
        return false;
    }
    let (old, new) = (format!("dep:{name}"), format!("dep:{NAME}"));
    let mut has_feature = true;
    let features = toml.get_mut("features").and_then(Item::as_table_like_mut);
    for (_, list) in features.into_iter().flat_map(|table| table.iter_mut()) {
        let Some(list) = list.as_array_mut() else {
            continue;
        };
        // `name/feature` enables the crate too.
        let enables = |text: &str| text == old || text.starts_with(&format!("{name}/"));
        let is_enabled = list.iter().any(|one| one.as_str().is_some_and(enables));
        has_feature &= !list.iter().any(|one| one.as_str() == Some(&old));
        list.retain(|one| {
            let text = one.as_str().unwrap_or_default();
            !enables(text) && !text.starts_with(&format!("{name}?/"))
        });
        if is_enabled && !guard {
            list.insert(0, new.as_str());
        }
    }
    // Without `dep:`, an optional dependency is a feature too.
    if has_feature {
        let mut list = Array::new();
        if !guard {
            list.push(new.as_str());
        }
        let features = toml.entry("features").or_insert(Item::Table(Table::new()));
        features[name] = toml_edit::value(list);
    }
    !guard
}

/// Adds cudnn-guard to the build dependencies, and for the guard to the dependencies, unless they already contain it.
fn add_dependencies(toml: &mut DocumentMut, guard: bool, is_optional: bool) {
    let version = concat!(
        env!("CARGO_PKG_VERSION_MAJOR"),
        ".",
        env!("CARGO_PKG_VERSION_MINOR")
    );
    // Until a version is published, the dependency is a path to a clone.
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (key, source) = match repository.to_str().filter(|_| place::is_clone(repository)) {
        Some(path) => ("path", path),
        None => ("version", version),
    };
    let mut build = InlineTable::new();
    build.insert(key, source.into());
    let mut runtime = build.clone();
    runtime.insert("default-features", false.into());
    runtime.insert("features", Value::Array(Array::from_iter(["runtime"])));
    if is_optional {
        build.insert("optional", true.into());
    }
    let runtime = guard.then(|| ("dependencies", Value::from(runtime)));
    let build = ("build-dependencies", Value::from(build));
    for (table, value) in runtime.into_iter().chain([build]) {
        let table = toml.entry(table).or_insert(Item::Table(Table::new()));
        if let Some(table) = table.as_table_like_mut() {
            if !table.contains_key(NAME) {
                table.insert(NAME, Item::Value(value));
            }
        }
    }
}
