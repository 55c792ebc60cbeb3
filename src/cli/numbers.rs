//! The leading numbers of a version, as people write them: `13`, `13.0`, `9.14.0`.

use crate::model::joined;

/// Parses at most this many numbers.
pub fn parse(text: &str, most: usize) -> Option<String> {
    let numbers: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
    let numbers = numbers.ok().filter(|numbers| numbers.len() <= most)?;
    Some(joined(numbers, "."))
}

/// Returns the first numbers of a wheel's version: 12.4 of `12.4.127.post1`.
pub fn first(version: &str, most: usize) -> String {
    let numbers = version.split('.').map_while(|n| n.parse::<u32>().ok());
    joined(numbers.take(most), ".")
}

pub fn major(version: &str) -> u32 {
    first(version, 1).parse().unwrap_or(0)
}

/// Returns the required version, or the first numbers of the present one if it begins with the required numbers.
pub fn or_present(required: &Option<String>, present: Option<&str>, most: usize) -> Option<String> {
    let is_required = |present: &String| {
        let begins = |required| format!("{present}.").starts_with(&format!("{required}."));
        required.as_ref().is_none_or(begins)
    };
    let present = present.map(|version| first(version, most));
    present.filter(is_required).or(required.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_version_is_rejected() {
        assert_eq!(parse("9.14.0", 3).as_deref(), Some("9.14.0"));
        for text in ["", "x", "9.", ".9", "9.1.2.3", "-1", "9 .1", ">=9"] {
            assert_eq!(parse(text, 3), None, "{text}");
        }
        assert_eq!(parse("13.0.1", 2), None);
    }

    #[test]
    fn numbers_of_a_wheel_are_read_up_to_the_first_word() {
        assert_eq!(first("12.4.127.post1", 4), "12.4.127");
        assert_eq!((first("9.28.1.4", 3), major("13")), ("9.28.1".into(), 13));
    }
}
