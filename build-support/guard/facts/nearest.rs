//! Suggestions for misspelled words.

/// Returns the known word with the fewest edits, if at most a quarter of the letters differ.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    let limit = word.len() / 4;
    let mut nearest: Option<(usize, &str)> = None;
    for known in known {
        // Words of very different lengths need no comparison.
        if known.len().abs_diff(word.len()) <= limit {
            let distance = edits(&word, &known.to_ascii_lowercase());
            if distance <= limit && nearest.is_none_or(|(least, _)| distance < least) {
                nearest = Some((distance, known));
            }
        }
    }
    Some(nearest?.1)
}

/// Returns the Levenshtein distance: the number of bytes to insert, remove or replace.
pub fn edits(one: &str, other: &str) -> usize {
    let mut row = Vec::new();
    for (index, byte) in other.bytes().enumerate() {
        row.push((byte, index + 1));
    }
    for (index, byte) in one.bytes().enumerate() {
        let (mut diagonal, mut left) = (index, index + 1);
        for (other, cell) in &mut row {
            left = (left.min(*cell) + 1).min(diagonal + usize::from(byte != *other));
            diagonal = *cell;
            *cell = left;
        }
    }
    row.last().map_or(one.len(), |(_, distance)| *distance)
}
