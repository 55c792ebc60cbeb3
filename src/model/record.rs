//! The form in which the facts of a guard stand in a section of the program. A record is
//!
//! ```text
//! cdnngrd   seven letters
//! 1         one byte, the release of this form
//! length    four bytes, the lowest first: of what follows
//! text      UTF-8, one fact on a line: its name, a space, its value
//! ```
//!
//! Several crates of one program may have a guard each, and linkers put nothing or zeros between their records. A name
//! that the reader does not know is passed over, and so is a record in another form.

const MAGIC: &[u8] = b"cdnngrd";
const FORM: u8 = 1;
/// No guard writes as much: what claims to be longer is no record.
#[cfg(feature = "cli")]
const LONGEST: usize = 1 << 20;

/// The section in ELF and PE, where a name has eight letters at most.
pub const SECTION: &str = ".cdnngrd";
/// The same in Mach-O, with its segment.
pub const MACH_SECTION: &str = "__DATA,__cdnngrd";

/// A record of these facts.
pub fn framed(facts: &[(&str, String)]) -> Vec<u8> {
    let lines = facts.iter().map(|(name, value)| {
        let value = value.replace(['\r', '\n'], " ");
        format!("{name} {value}\n")
    });
    let text: String = lines.collect();
    let length = u32::try_from(text.len()).unwrap_or_default().to_le_bytes();
    [MAGIC, &[FORM], &length, text.as_bytes()].concat()
}

/// The texts of the records in a section.
#[cfg(feature = "cli")]
pub fn texts(section: &[u8]) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = section;
    while !rest.is_empty() {
        match first(rest) {
            Some((text, after)) => {
                texts.extend(text.map(|text| String::from_utf8_lossy(text).into_owned()));
                rest = after;
            }
            None => rest = rest.get(1..).unwrap_or_default(),
        }
    }
    texts
}

/// The record that stands here and what follows it; without a text if it is in another form.
#[cfg(feature = "cli")]
fn first(bytes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (form, rest) = bytes.strip_prefix(MAGIC)?.split_first()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (text, after) = rest.split_at_checked(length.min(LONGEST))?;
    Some(((*form == FORM).then_some(text), after))
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use super::*;

    #[test]
    fn records_of_several_crates_are_read_one_by_one() {
        let one = framed(&[("crate", "one".into()), ("policy", "exact".into())]);
        let other = framed(&[("crate", "o\nther".into())]);
        let mut later = framed(&[("crate", "later".into())]);
        later[MAGIC.len()] = 2;
        let section = [&[0; 3][..], &one, &later, &[0; 16], &other, &[0; 2]].concat();
        assert_eq!(
            texts(&section),
            ["crate one\npolicy exact\n", "crate o ther\n"]
        );
    }

    #[test]
    fn damage_ends_in_an_answer() {
        let whole = framed(&[("crate", "one".into()), ("cudnn", "9.14.0".into())]);
        for length in 0..whole.len() {
            assert!(texts(&whole[..length]).is_empty(), "{length}");
        }
        for place in 0..whole.len() {
            let mut bent = whole.clone();
            bent[place] = !bent[place];
            texts(&bent);
        }
    }
}
