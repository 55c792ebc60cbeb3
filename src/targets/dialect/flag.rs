//! nvcc's flags for targets.

use crate::model::{Gencode, Pattern, pattern};
use crate::runtime::facts::{Code, Target};
use crate::targets::Word;
use crate::targets::dialect::{BOTH, targets};

/// Returns the length of the flag at the beginning of a text, with its value, which may follow after a space and may
/// contain commas.
pub fn length(text: &str) -> usize {
    static FLAG: Pattern = Pattern::new(|| {
        let name = "(?:(?:-gencode|--generate-code|-arch|--gpu-architecture)[ \t\r\n])?";
        let value = r#"(?:[^,;\["' \t\r\n]|,code=|,arch=|\[[^\]]*\]?|"[^"]*"?|'[^']*'?)*"#;
        pattern(&format!("^{name}{value}"))
    });
    FLAG.find(text).map_or(text.len(), |found| found.end())
}

/// Parses `-gencode=arch=compute_80,code=[sm_80,compute_80]` and `-arch=sm_80`, which mean the same.
pub fn read(flag: &str) -> Option<Word> {
    static VALUE: Pattern = Pattern::new(|| {
        pattern("^(?:(-gencode|--generate-code)|-arch|--gpu-architecture)[= \t\r\n](.*)$")
    });
    let plain = flag.to_ascii_lowercase().replace(['"', '\'', '\\'], "");
    let found = VALUE.captures(&plain)?;
    let value = found.get(2)?.as_str().trim();
    if found.get(1).is_some() {
        return gencode(value).map(Word::Targets);
    }
    match value {
        "native" => Some(Word::Native),
        "all" => Some(Word::All),
        "all-major" => Some(Word::AllMajor),
        _ => {
            let target = Target::parse(value)?;
            let codes: &[Code] = match target.code {
                Code::Machine => BOTH,
                Code::Ptx => &[Code::Ptx],
            };
            Some(Word::Targets(targets(
                target.capability,
                target.suffix,
                codes,
            )))
        }
    }
}

fn gencode(value: &str) -> Option<Vec<Gencode>> {
    if value.matches('[').count() != value.matches(']').count() {
        return None;
    }
    let (mut via, mut made, mut key) = (None, Vec::new(), "");
    for part in value.split(',') {
        let value = match part.split_once('=') {
            Some((name, value)) => {
                key = name.trim();
                value
            }
            None => part,
        };
        let target = Target::parse(value.trim().trim_matches(['[', ']']).trim())?;
        match key {
            "arch" if via.is_none() && target.code == Code::Ptx => via = Some(target),
            "code" => made.push(Gencode::plain(target)),
            _ => return None,
        }
    }
    let via = via?;
    for gencode in &mut made {
        gencode.via = via;
    }
    (!made.is_empty()).then_some(made)
}
