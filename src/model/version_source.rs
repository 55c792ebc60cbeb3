//! What told the release of a library, for `doctor`, which names the symbol.

use crate::runtime::facts::version_source::VersionSource;

/// `symbol cudnn_graph_version`
#[cfg(any(test, feature = "cli"))]
pub fn in_full(source: VersionSource) -> String {
    match source {
        VersionSource::Symbol(symbol) => format!("symbol {symbol}"),
        other => other.to_string(),
    }
}

/// The words that follow "by" in a sentence.
pub fn with_article(source: VersionSource) -> String {
    match source {
        VersionSource::Symbol(symbol) => format!("its {symbol}"),
        other => other.with_article(),
    }
}
