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

    pub fn integer(value: Option<u32>) -> Self {
        value.map_or_else(Json::null, |value| Json(value.to_string()))
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
                c if is_unprintable(c) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        out += &format!("\\u{unit:04x}");
                    }
                }
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

/// Returns `true` if a terminal does not draw the character in its place: a control character, a line end, a character
/// that changes the direction of text, or one without a width (Unicode's general category Cf and
/// Default_Ignorable_Code_Point).
pub fn is_unprintable(character: char) -> bool {
    // The first character of each range, and the first one behind it.
    const RANGES: [u32; 50] = [
        0xad, 0xae, 0x34f, 0x350, 0x600, 0x606, 0x61c, 0x61d, 0x6dd, 0x6de, 0x70f, 0x710, 0x890,
        0x892, 0x8e2, 0x8e3, 0x115f, 0x1161, 0x17b4, 0x17b6, 0x180b, 0x1810, 0x200b, 0x2010,
        0x2028, 0x202f, 0x2060, 0x2070, 0x3164, 0x3165, 0xfe00, 0xfe10, 0xfeff, 0xff00, 0xffa0,
        0xffa1, 0xfff0, 0xfffc, 0x110bd, 0x110be, 0x110cd, 0x110ce, 0x13430, 0x13440, 0x1bca0,
        0x1bca4, 0x1d173, 0x1d17b, 0xe0000, 0xe1000,
    ];
    let behind = RANGES.partition_point(|start| *start <= u32::from(character));
    character.is_control() || behind % 2 == 1
}
