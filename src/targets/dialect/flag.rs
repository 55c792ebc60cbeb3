//! The flags in which nvcc is told its targets.

use crate::model::arch::{Code, Target};
use crate::model::gencode::Gencode;
use crate::targets::dialect::{BOTH, Word, read_number, targets};

const GENCODE: [&str; 2] = ["-gencode", "--generate-code"];
const ARCH: [&str; 2] = ["-arch", "--gpu-architecture"];

/// How much of a text that begins with a flag belongs to it: its value may follow after a space, and has commas.
pub fn length(text: &str) -> usize {
    let mut closes: Option<char> = None;
    let mut valued = false;
    for (at, c) in text.char_indices() {
        let rest = text.get(at..).unwrap_or_default();
        match (closes, c) {
            (Some(close), _) if c == close => closes = None,
            (Some(_), _) => {}
            (None, '[') => closes = Some(']'),
            (None, '"' | '\'') => closes = Some(c),
            (None, '=') => valued = true,
            (None, ',') if rest.starts_with(",code=") || rest.starts_with(",arch=") => {}
            (None, ',' | ';') => return at,
            (None, _) if c.is_whitespace() => {
                let flag = text.get(..at).unwrap_or_default();
                let takes = GENCODE.iter().chain(&ARCH).any(|known| *known == flag);
                if valued || !takes {
                    return at;
                }
                valued = true;
            }
            _ => {}
        }
    }
    text.len()
}

/// `-gencode=arch=compute_80,code=[sm_80,compute_80]`, `-arch=sm_80`, which is both.
pub fn read(flag: &str) -> Option<Word> {
    let plain: String = flag
        .to_ascii_lowercase()
        .chars()
        .filter(|c| !matches!(c, '"' | '\'' | '\\'))
        .collect();
    let value = |names: [&str; 2]| {
        let rest = names.iter().find_map(|name| plain.strip_prefix(name))?;
        rest.strip_prefix(['=', ' ', '\t']).map(str::trim)
    };
    if let Some(value) = value(GENCODE) {
        return gencode(value).map(Word::Targets);
    }
    let value = value(ARCH)?;
    match value {
        "native" => Some(Word::Native),
        "all" => Some(Word::All),
        "all-major" => Some(Word::AllMajor),
        _ => {
            let target = target(value)?;
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
        let target = target(value.trim().trim_matches(['[', ']']).trim())?;
        match key {
            "arch" if via.is_none() && target.code == Code::Ptx => via = Some(target),
            "code" => made.push(target),
            _ => return None,
        }
    }
    let via = via?;
    let made: Vec<Gencode> = made
        .into_iter()
        .map(|target| Gencode { target, via })
        .collect();
    (!made.is_empty()).then_some(made)
}

/// `sm_90a`, `compute_100f`.
fn target(text: &str) -> Option<Target> {
    let (number, code) = if let Some(number) = text.strip_prefix("sm_") {
        (number, Code::Machine)
    } else {
        (text.strip_prefix("compute_")?, Code::Ptx)
    };
    let (capability, suffix) = read_number(number)?;
    Some(Target {
        capability,
        suffix,
        code,
    })
}
