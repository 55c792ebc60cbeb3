//! The codec of all lines that are written to be read back: the record in a program, what a child tells its parent, and
//! what a build keeps for the next one. A line is
//!
//! ```text
//! key field field last
//! ```
//!
//! with one blank between. A backslash and a letter stand for what would end a line or a field: in all fields but the
//! last one for a blank, too. A value that is missing is `-`. Readers skip a key that they do not know, and a value that
//! they cannot read; a key that is missing leaves the default.

use std::str::FromStr;

/// A value that is the rest of a line, behind its key.
pub trait Fields: Sized {
    /// Returns the fields as they are written.
    fn encode(&self) -> String;

    /// Reads the fields; `None` if they are no such value.
    fn decode(text: &str) -> Option<Self>;
}

/// Returns the line of a value, without its end.
pub fn line<T: Fields>(key: &str, value: &T) -> String {
    [key, &value.encode()].join(" ")
}

/// Hands over the key and the value of every line. A line that was not finished does not exist.
pub fn each_line<'t>(text: &'t str, take: &mut dyn FnMut(&'t str, &'t str)) {
    for line in text.split_inclusive('\n') {
        if let Some(line) = line.strip_suffix('\n') {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            take(key, value);
        }
    }
}

/// Reads a value into its place, which stays as it is if the text is no such value.
pub fn set<T: Fields>(place: &mut T, text: &str) {
    if let Some(value) = T::decode(text) {
        *place = value;
    }
}

/// Reads a value as one more of a list.
pub fn push<T: Fields>(list: &mut Vec<T>, text: &str) {
    // `Vec::extend` of an `Option` is nine functions more for each type.
    if let Some(value) = T::decode(text) {
        list.push(value);
    }
}

/// Returns encoded fields as one.
pub fn join(fields: &[String]) -> String {
    let mut joined = String::new();
    if let Some((last, others)) = fields.split_last() {
        for field in others {
            joined += &field.replace(' ', "\\s");
            joined.push(' ');
        }
        joined += last;
    }
    joined
}

impl Fields for String {
    fn encode(&self) -> String {
        let mut out = String::with_capacity(self.len());
        for character in self.chars() {
            match character {
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                other => out.push(other),
            }
        }
        out
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
                    // A letter that stands for nothing else stands for itself.
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
        join(&[self.0.encode(), self.1.encode()])
    }

    fn decode(text: &str) -> Option<Self> {
        let (first, second) = text.split_once(' ')?;
        Some((A::decode(first)?, B::decode(second)?))
    }
}

/// Lets values be one field, as they are displayed, given the function that reads them. Like the other macros, it is used
/// beside an import of [`Fields`].
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

/// Gives each value of an enum its name, which is also its field.
macro_rules! named {
    ($type:ident { $($value:ident = $name:literal),+ $(,)? }) => {
        impl $type {
            /// Returns the name, as in lines and in reports.
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
                match text {
                    $($name => Some($type::$value),)+
                    _ => None,
                }
            }
        }
    };
}

/// Writes these members of a struct one after the other; one with several fields stands last. The others are no part of
/// the line.
macro_rules! row {
    ($type:ident: $($member:ident),+ $(; $($other:ident: $value:expr),+)?) => {
        impl Fields for $type {
            fn encode(&self) -> String {
                join(&[$(self.$member.encode()),+])
            }

            fn decode(text: &str) -> Option<Self> {
                let mut fields = text.splitn([$(stringify!($member)),+].len(), ' ');
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

fn parsed<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}
