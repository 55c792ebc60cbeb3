//! The JSON writer of all reports, with the standard library only.

use std::fmt;

/// A JSON value as text.
pub struct Json(String);

impl Json {
    pub fn null() -> Self {
        Json("null".to_string())
    }

    pub fn bool(value: Option<bool>) -> Self {
        value.map_or_else(Json::null, |value| Json(value.to_string()))
    }

    pub fn integer(value: u32) -> Self {
        Json(value.to_string())
    }

    /// Returns a number, or `null` if it is not finite.
    pub fn float(value: Option<f64>) -> Self {
        match value {
            Some(value) if value.is_finite() => Json(format!("{value:e}")),
            _ => Json::null(),
        }
    }

    pub fn text(value: &dyn fmt::Display) -> Self {
        let mut out = "\"".to_string();
        for character in value.to_string().chars() {
            match character {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                c if is_unprintable(c) => out += &format!("\\u{:04x}", u32::from(c)),
                c => out.push(c),
            }
        }
        out.push('"');
        Json(out)
    }

    pub fn optional(value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => Json::text(&value),
            None => Json::null(),
        }
    }

    pub fn list<T>(values: &[T], json: fn(&T) -> Json) -> Self {
        let mut out = "[".to_string();
        for value in values {
            if out.len() > 1 {
                out.push(',');
            }
            out += &json(value).0;
        }
        Json(out + "]")
    }

    pub fn object(members: &[(&str, Json)]) -> Self {
        let mut out = "{".to_string();
        for (name, value) in members {
            if out.len() > 1 {
                out.push(',');
            }
            out += &format!("{}:{}", Json::text(name).0, value.0);
        }
        Json(out + "}")
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns `true` if a terminal does not draw the character in its place: a control character, a line end, or a
/// character that changes the direction of text (Unicode's Bidi_Control).
pub fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
