//! The codec of all lines that are written to be read back: the record in a program, the protocol between a child and
//! its parent, and the cache of a build. A line is
//!
//! ```text
//! key field field last
//! ```
//!
//! with one space between the fields. A backslash and a letter escape the characters that would end a line or a field,
//! and in all fields except the last, a space. A missing value is `-`. Readers skip unknown keys and values that they
//! cannot read. A missing key leaves the default.

use std::str::FromStr;
use std::vec::IntoIter;

/// A value that is the rest of a line, after its key.
pub trait Fields {
    fn encode(&self) -> String;

    /// Reads the fields; `None` if they are not such a value.
    fn decode(text: &str) -> Option<Self>
    where
        Self: Sized;
}

/// Returns the line of a value, without a line break.
pub fn line(key: &str, value: &dyn Fields) -> String {
    [key, &value.encode()].join(" ")
}

/// Calls `take` with the key and the value of every line. A last line without a line break is incomplete and is
/// skipped.
pub fn each_line<'t>(text: &'t str, take: &mut dyn FnMut(&'t str, &'t str)) {
    for line in text.split_inclusive('\n') {
        if let Some(line) = line.strip_suffix('\n') {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            take(key, value);
        }
    }
}

/// Reads a value into its place, which stays unchanged if the text is not such a value.
pub fn set<T: Fields>(place: &mut T, text: &str) {
    if let Some(value) = T::decode(text) {
        *place = value;
    }
}

pub fn push<T: Fields>(list: &mut Vec<T>, text: &str) {
    // `Vec::extend` of an `Option` compiles nine more functions for each type.
    if let Some(value) = T::decode(text) {
        list.push(value);
    }
}

/// Encodes the members of a value.
pub fn join(members: &[&dyn Fields]) -> String {
    let mut joined = String::new();
    if let Some((last, others)) = members.split_last() {
        for member in others {
            joined += &member.encode().replace(' ', "\\s");
            joined.push(' ');
        }
        joined += &last.encode();
    }
    joined
}

/// Splits the text of a value into its members.
pub fn split(text: &str, count: usize) -> IntoIter<&str> {
    text.splitn(count, ' ').collect::<Vec<_>>().into_iter()
}

impl Fields for String {
    fn encode(&self) -> String {
        let text = self.replace('\\', "\\\\").replace('\n', "\\n");
        text.replace('\r', "\\r").replace('\t', "\\t")
    }

    fn decode(text: &str) -> Option<Self> {
        let mut out = String::with_capacity(text.len());
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some('n') => out.push('\n'),
                    Some('r') => out.push('\r'),
                    Some('t') => out.push('\t'),
                    Some('s') => out.push(' '),
                    // Any other letter stands for itself.
                    Some(other) => out.push(other),
                    None => {}
                },
                other => out.push(other),
            }
        }
        Some(out)
    }
}

impl<T: Fields> Fields for Option<T> {
    fn encode(&self) -> String {
        match self {
            None => "-".to_string(),
            Some(value) => match value.encode() {
                dash if dash == "-" => "\\-".to_string(),
                text => text,
            },
        }
    }

    fn decode(text: &str) -> Option<Self> {
        match text {
            "-" => Some(None),
            _ => T::decode(text).map(Some),
        }
    }
}

impl<T: Fields> Fields for Vec<T> {
    fn encode(&self) -> String {
        let mut fields = Vec::new();
        for value in self {
            fields.push(value.encode().replace(' ', "\\s"));
        }
        fields.join(" ")
    }

    fn decode(text: &str) -> Option<Self> {
        let mut values = Vec::new();
        if !text.is_empty() {
            for field in text.split(' ') {
                push(&mut values, field);
            }
        }
        Some(values)
    }
}

impl<A: Fields, B: Fields> Fields for (A, B) {
    fn encode(&self) -> String {
        join(&[&self.0, &self.1])
    }

    fn decode(text: &str) -> Option<Self> {
        let (first, second) = text.split_once(' ')?;
        Some((A::decode(first)?, B::decode(second)?))
    }
}

/// Implements [`Fields`] with `Display` and a function that reads the value. Users of these macros import [`Fields`].
macro_rules! displayed {
    ($($type:ty: $read:expr),+ $(,)?) => {$(
        impl Fields for $type {
            fn encode(&self) -> String {
                self.to_string()
            }

            fn decode(text: &str) -> Option<Self> {
                $read(text)
            }
        }
    )+};
}

/// Implements [`Fields`] for an enum with a name for each value.
macro_rules! named {
    ($type:ident { $($value:ident = $name:literal),+ $(,)? }) => {
        impl $type {
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$value => $name),+
                }
            }
        }

        impl Fields for $type {
            fn encode(&self) -> String {
                self.name().to_string()
            }

            fn decode(text: &str) -> Option<Self> {
                match String::decode(text)?.as_str() {
                    $($name => Some($type::$value),)+
                    _ => None,
                }
            }
        }
    };
}

/// Implements [`Fields`] for a struct with its members in this order. A member with several fields comes last. Members
/// after the semicolon are not written.
macro_rules! row {
    ($type:ident: $($member:ident),+ $(; $($other:ident: $value:expr),+)?) => {
        impl Fields for $type {
            fn encode(&self) -> String {
                join(&[$(&self.$member),+])
            }

            fn decode(text: &str) -> Option<Self> {
                let mut fields = split(text, [$(stringify!($member)),+].len());
                Some(Self {
                    $($member: Fields::decode(fields.next()?)?,)+
                    $($($other: $value),+)?
                })
            }
        }
    };
}
pub(crate) use {displayed, named, row};

displayed!(bool: parsed, u32: parsed, u64: parsed, usize: parsed);

/// Parses a number. The code for that is long, so it is not compiled for every caller.
#[inline(never)]
pub fn parsed<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}
