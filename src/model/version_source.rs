//! The source of a version, for `doctor`, which names the symbol.

use crate::runtime::facts::version_source::VersionSource;

/// Returns the source, with the name of a symbol: `symbol cudnn_graph_version`.
pub fn in_full(source: VersionSource) -> String {
    match source {
        VersionSource::Symbol(symbol) => format!("symbol {symbol}"),
        other => other.to_string(),
    }
}
