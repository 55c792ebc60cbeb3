//! The dependencies and features in a manifest.

use crate::cli::init::metadata::Package;
use std::path::{Component, Path, PathBuf};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

const NAME: &str = "cudnn-guard";

/// Adds cudnn-guard to the build dependencies, and for the guard to the dependencies with the feature `runtime`. Both have
/// the same source. Entries with another name, or for some targets, are left alone.
pub fn add_dependencies(toml: &mut DocumentMut, package: &Package, guard: bool) {
    if package.has_other_entry(NAME) {
        return;
    }
    const RUNTIME: &str = "dependencies";
    const BUILD: &str = "build-dependencies";
    let mut tables = [RUNTIME, BUILD].into_iter();
    let existing = tables.find_map(|table| toml.get(table)?.get(NAME));
    let new = existing.map_or_else(|| default_source(package.dir()), source);
    let is_enabled = package.gate(&|name, feature| name == NAME && feature == "runtime");
    let needed: &[&str] = if guard { &[RUNTIME, BUILD] } else { &[BUILD] };
    for name in needed {
        let table = toml.entry(name).or_insert(Item::Table(Table::new()));
        let Some(table) = table.as_table_like_mut() else {
            continue;
        };
        let item = table.entry(NAME);
        let item = item.or_insert(Item::Value(Value::from(new.clone())));
        if *name == RUNTIME && is_enabled.is_none() {
            enable_runtime(item);
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
fn default_source(dir: &Path) -> InlineTable {
    let version = concat!(
        env!("CARGO_PKG_VERSION_MAJOR"),
        ".",
        env!("CARGO_PKG_VERSION_MINOR")
    );
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    // cargo puts `.cargo-ok` beside sources that it unpacked.
    let has = |name| repository.join(name).exists();
    if has(".git") && !has(".cargo-ok") {
        let path = relative(dir, repository);
        return InlineTable::from_iter([("path", path.to_string_lossy().into_owned())]);
    }
    InlineTable::from_iter([("version", version)])
}

/// Returns the path from one directory to another.
pub fn relative(from: &Path, to: &Path) -> PathBuf {
    let pairs = from.components().zip(to.components());
    let common = pairs.take_while(|(one, other)| one == other).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(to.components().skip(common)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_the_clone_is_relative() {
        for (from, path) in [
            ("/home/me/app", "../cudnn-guard"),
            ("/home/me/work/app", "../../cudnn-guard"),
            ("/home/me", "cudnn-guard"),
            ("/home/me/cudnn-guard/target/app", "../.."),
            ("/srv/app", "../../home/me/cudnn-guard"),
        ] {
            let found = relative(Path::new(from), Path::new("/home/me/cudnn-guard"));
            assert_eq!(found, Path::new(path), "{from}");
        }
    }
}
