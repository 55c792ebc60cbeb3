//! `docs/report.schema.json`. Other tests validate the documents of the programs with it.

use crate::support::schema::{schema, valid};
use std::panic::catch_unwind;

const TARGETS: &str = r#"{"schema":1,"kind":"targets","verdict":"pass","targets":[],"flags":[],"findings":[{"id":"no-gpu","severity":"note","summary":"","evidence":{"found":"a"},"help":[]}]}"#;

#[test]
fn every_key_is_always_present() {
    for (name, definition) in schema()["$defs"].as_object().unwrap() {
        let properties = definition["properties"].as_object();
        let keys: Vec<&String> = properties.into_iter().flat_map(|it| it.keys()).collect();
        let required = definition["required"].as_array().into_iter().flatten();
        assert_eq!(required.collect::<Vec<_>>(), keys, "{name}");
    }
}

#[test]
fn all_kinds_begin_and_end_alike() {
    let schema = schema();
    let mut kinds = Vec::new();
    for kind in schema["oneOf"].as_array().unwrap() {
        let name = kind["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
        let properties = &schema["$defs"][name]["properties"];
        assert_eq!(properties["kind"]["const"], name);
        let keys: Vec<&String> = properties.as_object().unwrap().keys().collect();
        assert_eq!(keys[..3], ["schema", "kind", "verdict"], "{name}");
        assert_eq!(keys.last().unwrap(), &"findings", "{name}");
        kinds.push(name);
    }
    assert_eq!(kinds, ["doctor", "inspect", "explain", "targets", "report"]);
}

#[test]
fn a_wrong_document_is_rejected() {
    valid(TARGETS);
    for (from, to) in [
        (r#""flags":[],"#, ""),
        (r#""flags":[]"#, r#""flags":[1]"#),
        (r#""flags":[]"#, r#""flags":[],"more":1"#),
        (r#""help":[]"#, r#""help":[],"more":1"#),
        (r#""found":"a""#, r#""found":1"#),
        (r#""severity":"note""#, r#""severity":"info""#),
        (r#""verdict":"pass""#, r#""verdict":"ok""#),
        (r#""kind":"targets""#, r#""kind":"target""#),
        (r#""schema":1"#, r#""schema":2"#),
    ] {
        let wrong = TARGETS.replacen(from, to, 1);
        assert_ne!(wrong, TARGETS);
        assert!(catch_unwind(|| valid(&wrong)).is_err(), "{wrong}");
    }
}
