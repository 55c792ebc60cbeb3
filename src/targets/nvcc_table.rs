//! The targets of each nvcc version. They are used if nvcc cannot be queried.

use crate::model::target_list::add;
use crate::{Code, Target, Version, compat};

const TABLE: &str = include_str!("../../build-support/compat/nvcc-targets.txt");

/// The first CUDA version with these machine code targets, and the targets, with and without letters, in numeric order.
pub type Row = (Version, Vec<Target>);

/// Parses the table, which has the oldest version first.
pub fn rows() -> Vec<Row> {
    compat::rows(TABLE, &|line| {
        let [cuda, numbers] = compat::columns(line)?;
        let cuda = Version::parse(cuda)?;
        let mut codes = Vec::new();
        for number in numbers.split(' ') {
            add(&mut codes, Target::parse(&format!("sm_{number}"))?);
        }
        Some((cuda, codes))
    })
}

/// Returns the targets of this version, or `None` if it is older than the table.
pub fn row_for(cuda: Version) -> Option<Row> {
    let mut rows = rows();
    while rows.last().is_some_and(|(first, _)| *first > cuda) {
        rows.pop();
    }
    rows.pop()
}

pub fn newest() -> Version {
    rows().pop().map_or(Version::new(0, 0, 0), |(cuda, _)| cuda)
}

pub fn first_with(target: Target) -> Option<Version> {
    let rows = rows();
    let (cuda, _) = rows.iter().find(|row| has(row, target))?;
    Some(*cuda)
}

/// Returns the versions that support this target, for messages: `CUDA 11.8 and newer`, `CUDA 8.0 to 11.8`, `no CUDA up
/// to 13.5`.
pub fn supported_by(target: Target) -> String {
    let rows = rows();
    let Some(first) = rows.iter().position(|row| has(row, target)) else {
        return format!("no CUDA up to {}", newest().short());
    };
    let since = (first > 0).then(|| rows[first].0.short());
    let gone = rows[first..].iter().find(|row| !has(row, target));
    match (since, gone.map(|(cuda, _)| before(*cuda))) {
        (Some(since), Some(last)) => format!("CUDA {since} to {last}"),
        (Some(since), None) => format!("CUDA {since} and newer"),
        (None, Some(last)) => format!("CUDA up to {last}"),
        (None, None) => "every CUDA".to_string(),
    }
}

fn has((_, codes): &Row, target: Target) -> bool {
    codes.contains(&Target {
        code: Code::Machine,
        ..target
    })
}

/// Returns the last version before one that dropped targets. Only the first version of a major has done so.
fn before(cuda: Version) -> &'static str {
    match cuda.major {
        9 => "8.0",
        10 => "9.2",
        11 => "10.2",
        12 => "11.8",
        13 => "12.9",
        _ => "the one before",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_completely_and_in_order() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        for (line, (_, codes)) in lines.zip(rows()) {
            let targets: Vec<String> = codes.iter().map(Target::to_string).collect();
            let words: Vec<String> = targets
                .iter()
                .map(|target| target.replace("sm_", ""))
                .collect();
            let mut written: Vec<&str> = line.split(' ').skip(1).collect();
            let mut read: Vec<&str> = words.iter().map(String::as_str).collect();
            written.sort_unstable();
            read.sort_unstable();
            assert_eq!(read, written, "{line}");
        }
        let releases: Vec<Version> = rows().iter().map(|(cuda, _)| *cuda).collect();
        assert!(releases.is_sorted() && releases.len() == 13, "{releases:?}");
    }

    #[test]
    fn a_version_between_two_rows_has_the_older_ones_targets() {
        let of = |major, minor| row_for(Version::new(major, minor, 0)).map(|(cuda, _)| cuda);
        assert_eq!(of(12, 6), Some(Version::new(12, 0, 0)));
        assert_eq!(of(12, 8), Some(Version::new(12, 8, 0)));
        assert_eq!(of(14, 2), Some(Version::new(13, 5, 0)));
        assert_eq!(of(7, 5), None);
    }

    /// The first and the last CUDA with a target.
    #[test]
    fn the_history_of_a_target() {
        for (target, expected) in [
            ("20", "CUDA up to 8.0"),
            ("30", "CUDA up to 10.2"),
            ("37", "CUDA up to 11.8"),
            ("70", "CUDA 9.0 to 12.9"),
            ("75", "CUDA 10.0 and newer"),
            ("89", "CUDA 11.8 and newer"),
            ("90a", "CUDA 12.0 and newer"),
            ("101a", "CUDA 12.8 to 12.9"),
            ("120f", "CUDA 12.9 and newer"),
            ("107", "CUDA 13.4 and newer"),
            ("200", "no CUDA up to 13.5"),
            ("90f", "no CUDA up to 13.5"),
        ] {
            assert_eq!(
                supported_by(Target::parse(&format!("sm_{target}")).unwrap()),
                expected,
                "{target}"
            );
        }
    }
}
