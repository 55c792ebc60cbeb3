//! Text on one line: a backslash stands before what would end a line or a field.

const ESCAPED: [(char, char); 4] = [('\\', '\\'), ('\n', 'n'), ('\r', 'r'), ('\t', 't')];

/// The text without line breaks and tabs.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match ESCAPED.iter().find(|(plain, _)| *plain == character) {
            Some((_, letter)) => out.extend(['\\', *letter]),
            None => out.push(character),
        }
    }
    out
}

/// What was escaped. A letter that stands for nothing stands for itself.
pub fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        let letter = characters.next();
        let known = ESCAPED.iter().find(|(_, known)| Some(*known) == letter);
        out.extend(known.map(|(plain, _)| *plain).or(letter));
    }
    out
}
