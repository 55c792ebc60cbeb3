//! `fixtures/texts.txt`: what builds say, to the byte. Above each text stands a line with its name in brackets, below it
//! an empty one. BLESS=1 writes it anew.

use super::repository;
use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;

/// Tests run beside each other.
static FILE: Mutex<()> = Mutex::new(());

/// Holds what was said against the text of that name.
#[track_caller]
pub fn must_be(name: &str, said: &str) {
    let file = repository().join("fixtures/texts.txt");
    let lock = FILE.lock().unwrap_or_else(|failed| failed.into_inner());
    let mut texts = read(&fs::read_to_string(&file).unwrap());
    if std::env::var_os("BLESS").is_some() {
        texts.insert(name.to_string(), said.to_string());
        let all = texts
            .iter()
            .map(|(name, text)| format!("[{name}]\n{text}\n"));
        fs::write(&file, all.collect::<String>()).unwrap();
    }
    drop(lock);
    let wanted = texts.get(name).map_or("", |text| text);
    assert_eq!(said, wanted, "{name}: BLESS=1 writes what is said now");
}

fn read(file: &str) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for part in file.split_terminator("\n\n") {
        let (name, text) = part.split_once('\n').unwrap();
        let name = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        let name = name.unwrap_or_else(|| panic!("{part:?} has no name"));
        assert!(
            texts
                .insert(name.to_string(), format!("{text}\n"))
                .is_none(),
            "{name}"
        );
    }
    texts
}
