//! GPUs by name: `Ampere`, `H100`, `RTX 4090`.

use crate::compat;
use crate::runtime::facts::nearest::edits;
use crate::runtime::facts::{ComputeCapability, Target};
use std::sync::LazyLock;

const TABLE: &str = include_str!("../../build-support/compat/gpus.txt");

/// The meaning of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedGpu {
    Generation(Vec<ComputeCapability>),
    Product(ComputeCapability),
}

struct Row {
    capability: ComputeCapability,
    label: &'static str,
    /// The [`plain`] label.
    generation: String,
    /// The [`plain`] name of each product, and its name.
    products: Vec<(String, &'static str)>,
}

/// Looks up a name, ignoring case and spacing.
pub fn lookup(name: &str) -> Option<NamedGpu> {
    let name = plain(name);
    let family = match name.as_str() {
        "kepler+tesla" => return Some(NamedGpu::Product(ComputeCapability::new(3, 7))),
        "lovelace" | "adalovelace" => "ada",
        "blackwellultra" => return Some(NamedGpu::Product(ComputeCapability::new(10, 3))),
        name => name,
    };
    let mut generation = Vec::new();
    for row in &*ROWS {
        if row.generation == family {
            generation.push(row.capability);
        }
    }
    match generation[..] {
        [] => product(&name).map(NamedGpu::Product),
        _ => Some(NamedGpu::Generation(generation)),
    }
}

/// Returns the generations with their matching compute capabilities, the oldest first. Jetson GPUs are not included.
pub fn generations(
    matches: &dyn Fn(ComputeCapability) -> bool,
) -> Vec<(&'static str, Vec<ComputeCapability>)> {
    let mut all: Vec<(&str, Vec<ComputeCapability>)> = Vec::new();
    for row in &*ROWS {
        match all.iter_mut().find(|(name, _)| *name == row.label) {
            _ if row.label.contains('+') || !matches(row.capability) => {}
            Some((_, members)) => members.push(row.capability),
            None => all.push((row.label, vec![row.capability])),
        }
    }
    all
}

/// Returns at most three known names, the nearest first: those that contain a longer word of this name, and those that
/// differ from it in few letters.
pub fn similar(name: &str) -> Vec<&'static str> {
    let given = plain(name);
    let has_word = |word: &str| {
        let mut words = name.split_whitespace();
        word.len() > 3 && words.any(|given| given.eq_ignore_ascii_case(word))
    };
    let mut found = Vec::new();
    for row in &*ROWS {
        let generation = (row.generation.clone(), row.label);
        for (plain, known) in row.products.iter().chain([&generation]) {
            let distance = edits(&given, plain);
            let shares_word = known.split(' ').any(has_word);
            if shares_word || distance <= given.len() / 4 {
                found.push((!shares_word, distance, *known));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found.truncate(3);
    found.into_iter().map(|(.., known)| known).collect()
}

fn product(name: &str) -> Option<ComputeCapability> {
    let known = |name: &str| {
        let is_known = |row: &&Row| row.products.iter().any(|product| product.0 == name);
        Some(ROWS.iter().find(is_known)?.capability)
    };
    let mut short = name;
    let makers = ["nvidia", "geforce", "quadro", "tesla", "jetson"];
    while let Some(rest) = makers.iter().find_map(|maker| short.strip_prefix(maker)) {
        short = rest;
    }
    let ends = "gpu laptop edition server workstation maxq generation super ti";
    for end in ends.split(' ') {
        short = short.strip_suffix(end).unwrap_or(short);
    }
    known(name).or_else(|| known(short))
}

/// Returns the same text for `RTX 4090`, `rtx-4090` and `RTX4090`.
fn plain(name: &str) -> String {
    let mut plain = name.to_ascii_lowercase();
    plain.retain(|c| !c.is_whitespace() && c != '-' && c != '_');
    plain
}

/// The table. Parsing it takes a hundred times as long as a lookup.
static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    compat::rows(TABLE, &|line| {
        let (number, rest) = line.split_once(" | ")?;
        let (label, names) = rest.split_once(" |")?;
        let names = names.split(',').filter(|name| !name.is_empty());
        Some(Row {
            capability: Target::parse_number(number)?.0,
            label,
            generation: plain(label),
            products: names.map(|name| (plain(name), name.trim())).collect(),
        })
    })
});

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is(name: &str, expected: &str) {
        let text = match lookup(name) {
            Some(NamedGpu::Product(capability)) => capability.to_string(),
            Some(NamedGpu::Generation(all)) => {
                let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                all.join(" ")
            }
            None => "unknown".to_string(),
        };
        assert_eq!(text, expected, "{name}");
    }

    #[test]
    fn products_in_any_spelling() {
        for name in [
            "RTX 4090",
            "rtx4090",
            "RTX-4090",
            "NVIDIA GeForce RTX 4090 Laptop GPU",
            "rtx_4070_ti_super",
        ] {
            is(name, "8.9");
        }
        for (name, expected) in [
            ("H100", "9.0"),
            ("Orin", "8.7"),
            ("Jetson AGX Orin", "8.7"),
            ("Jetson Nano", "5.3"),
            ("Tesla T4", "7.5"),
            ("TITAN RTX", "7.5"),
            ("TITAN", "3.5"),
            ("Thor", "11.0"),
            ("B300", "10.3"),
            ("Blackwell Ultra", "10.3"),
            ("DGX Spark", "12.1"),
            // Two products have this name.
            ("RTX 4000", "unknown"),
            ("Nano", "unknown"),
            ("NVIDIA", "unknown"),
            ("", "unknown"),
            ("GPU", "unknown"),
            ("Ti", "unknown"),
            ("90", "unknown"),
        ] {
            is(name, expected);
        }
    }

    /// Names as the driver reports them, and names of a list that was made for people.
    #[test]
    fn names_of_workstations_and_variants() {
        for (name, expected) in [
            ("NVIDIA RTX 6000 Ada Generation", "8.9"),
            ("NVIDIA RTX 2000 Ada Generation Laptop GPU", "8.9"),
            (
                "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
                "12.0",
            ),
            ("NVIDIA RTX PRO 4500 Blackwell Server Edition", "12.0"),
            ("NVIDIA RTX A1000 Laptop GPU", "8.6"),
            ("A6000", "8.6"),
            ("H800", "9.0"),
            ("H20", "9.0"),
            ("A800", "8.0"),
            ("L20", "8.9"),
            ("GeForce MX450", "7.5"),
            ("T1000", "7.5"),
            // A Quadro of Turing has the same name.
            ("RTX 6000", "unknown"),
        ] {
            is(name, expected);
        }
    }

    #[test]
    fn an_unknown_name_has_similar_names() {
        for (name, expected) in [
            ("RTX Spark", &["DGX Spark"][..]),
            ("Rubin CPX", &["Rubin", "Vera Rubin", "Vera Rubin NVL72"]),
            ("RTX 5095", &["RTX 5090"]),
            ("4090", &["RTX 4090"]),
            (
                "RTX 4000",
                &["RTX 4000 Ada", "RTX PRO 4000", "RTX 4000 SFF Ada"],
            ),
            ("Hoper", &["Hopper"]),
            ("N1X", &[]),
            ("9x", &[]),
            ("-O3", &[]),
            ("", &[]),
        ] {
            assert_eq!(similar(name), expected, "{name}");
        }
    }

    #[test]
    fn a_generation_contains_all_of_its_gpus() {
        is("ampere", "8.0 8.6");
        is("Ada", "8.9");
        is("Lovelace", "8.9");
        is("Hopper", "9.0");
        is("Blackwell", "10.0 10.3 12.0 12.1");
        is("Ampere+Tegra", "8.7 8.8");
        is("Kepler+Tesla", "3.7");
        is("Fermi", "unknown");
    }

    #[test]
    fn every_row_is_read() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(ROWS.len(), lines);
        for row in &*ROWS {
            for (_, name) in &row.products {
                is(name, &row.capability.to_string());
            }
        }
    }
}
