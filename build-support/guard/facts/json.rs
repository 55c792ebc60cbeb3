//! Just enough JSON to write a report with the standard library alone.

use std::fmt;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number; one that is not finite is written as `null`.
    Float(f64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object, in the order given.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// A string.
    pub fn text(value: impl fmt::Display) -> Self {
        Json::Text(value.to_string())
    }

    /// A string, or `null`.
    pub fn optional(value: Option<impl fmt::Display>) -> Self {
        value.map_or(Json::Null, Json::text)
    }

    /// An array of what the iterator gives.
    pub fn list(values: impl IntoIterator<Item = Json>) -> Self {
        Json::List(values.into_iter().collect())
    }

    /// An object with these members.
    pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Json)>) -> Self {
        Json::Object(
            members
                .into_iter()
                .map(|(name, value)| (name.to_string(), value))
                .collect(),
        )
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{}", value),
            Json::Integer(value) => write!(f, "{}", value),
            Json::Float(value) if value.is_finite() => write!(f, "{:e}", value),
            Json::Float(_) => f.write_str("null"),
            Json::Text(value) => write_string(f, value),
            Json::List(values) => {
                f.write_str("[")?;
                for (index, value) in values.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{}{}", comma, value)?;
                }
                f.write_str("]")
            }
            Json::Object(members) => {
                f.write_str("{")?;
                for (index, (name, value)) in members.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    f.write_str(comma)?;
                    write_string(f, name)?;
                    write!(f, ":{}", value)?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for character in text.chars() {
        match character {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{}", c)?,
        }
    }
    f.write_str("\"")
}
