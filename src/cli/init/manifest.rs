//! The dependencies and features in a manifest.

use crate::cli::demo::place;
use crate::cli::init::metadata::Package;
use std::path::Path;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

const NAME: &str = "cudnn-guard";

pub fn dependency<'a>(toml: &'a DocumentMut, table: &str, name: &str) -> Option<&'a Item> {
    toml.get(table)?.get(name)
}

/// Removes a crate from the build dependencies. Returns `true` if it was optional, and cudnn-guard takes its place in the
/// features. A crate with a guard always needs cudnn-guard.
pub fn remove(toml: &mut DocumentMut, name: &str, guard: bool) -> bool {
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

/// Adds cudnn-guard to the build dependencies, and for the guard to the dependencies with the feature `runtime`. Both have
/// the same source. Entries with another name, or for some targets, are left alone.
pub fn add_dependencies(toml: &mut DocumentMut, package: &Package, guard: bool, is_optional: bool) {
    if package.has_other_entry(NAME) {
        return;
    }
    let tables = ["dependencies", "build-dependencies"];
    let existing = tables.map(|table| dependency(toml, table, NAME));
    let mut build = existing[0]
        .or(existing[1])
        .map_or_else(default_source, source);
    let mut runtime = Item::Value(Value::from(build.clone()));
    enable_runtime(&mut runtime);
    if is_optional {
        build.insert("optional", true.into());
    }
    let build = Item::Value(Value::from(build));
    let is_enabled = package.gate(&|name, feature| name == NAME && feature == "runtime");
    let needed = [guard.then_some(runtime), Some(build)];
    for (name, value) in tables.into_iter().zip(needed) {
        let Some(value) = value else { continue };
        let table = toml.entry(name).or_insert(Item::Table(Table::new()));
        let Some(table) = table.as_table_like_mut() else {
            continue;
        };
        match table.get_mut(NAME) {
            None => drop(table.insert(NAME, value)),
            Some(item) if name == tables[0] && is_enabled.is_none() => enable_runtime(item),
            Some(_) => {}
        }
    }
}

/// Adds the feature `runtime` to a dependency, and removes the default features, which only build scripts need.
fn enable_runtime(item: &mut Item) {
    if let Some(old) = item.as_value().filter(|old| old.is_str()) {
        let mut new = Value::from(source(item));
        *new.decor_mut() = old.decor().clone();
        *item = Item::Value(new);
    }
    let Some(table) = item.as_table_like_mut() else {
        return;
    };
    // A dependency of the workspace has the default features that the workspace sets.
    if !table.contains_key("workspace") {
        table.insert("default-features", toml_edit::value(false));
    }
    let features = table.entry("features");
    let features = features.or_insert(toml_edit::value(Array::new()));
    if let Some(features) = features.as_array_mut() {
        features.push("runtime");
    }
    if let Some(table) = item.as_inline_table_mut() {
        table.fmt();
    }
}

/// Returns the keys of a dependency that name its source.
fn source(item: &Item) -> InlineTable {
    if let Some(version) = item.as_str() {
        return InlineTable::from_iter([("version", version)]);
    }
    let keys = "version path git branch tag rev registry workspace";
    let value = |key| {
        let mut value = item.get(key)?.as_value()?.clone();
        value.decor_mut().clear();
        Some((key, value))
    };
    keys.split(' ').filter_map(value).collect()
}

/// Returns the version of this program. Until a version is published, it is the path of a clone.
fn default_source() -> InlineTable {
    let version = concat!(
        env!("CARGO_PKG_VERSION_MAJOR"),
        ".",
        env!("CARGO_PKG_VERSION_MINOR")
    );
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (key, source) = match repository.to_str().filter(|_| place::is_clone(repository)) {
        Some(path) => ("path", path),
        None => ("version", version),
    };
    InlineTable::from_iter([(key, source)])
}
