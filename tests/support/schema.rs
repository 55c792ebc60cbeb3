//! The JSON Schema in `docs/report.schema.json`, which every JSON document of the programs matches.

use serde_json::{Map, Value};

/// Parses a document. It must match the schema and have no other keys than those in the schema.
#[track_caller]
pub fn valid(text: &str) -> Value {
    let document: Value = serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"));
    let kind = document["kind"].as_str().unwrap_or_default();
    let begin = format!("{{\"schema\":1,\"kind\":\"{kind}\",\"verdict\":\"");
    assert!(text.starts_with(&begin), "{text}");
    let schema = schema();
    let of_kind = schema.pointer(&format!("/$defs/{kind}"));
    let of_kind = of_kind.unwrap_or_else(|| panic!("an unknown kind: {text}"));
    check(&schema, of_kind, &document, "").unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    document
}

pub fn schema() -> Value {
    serde_json::from_str(include_str!("../../docs/report.schema.json")).expect("JSON")
}

/// Checks a value, and returns the first fault with its place.
fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let keys: Map<String, Value> = value.as_object().cloned().unwrap_or_default();
    for (keyword, rule) in schema.as_object().expect("a schema") {
        let rules = rule.as_array().map_or(&[][..], Vec::as_slice);
        let is_valid = match keyword.as_str() {
            "description" | "properties" => true,
            "const" => rule == value,
            "enum" => rules.contains(value),
            "type" if rule.is_array() => rules.iter().any(|rule| is_type(rule, value)),
            "type" => is_type(rule, value),
            "minLength" => {
                value.as_str().map(str::len) >= rule.as_u64().map(|least| least as usize)
            }
            "required" => rules
                .iter()
                .all(|key| keys.contains_key(key.as_str().unwrap())),
            "oneOf" => {
                let valid = rules
                    .iter()
                    .filter(|one| check(root, one, value, at).is_ok());
                valid.count() == 1
            }
            "$ref" => {
                let pointer = rule.as_str().and_then(|path| path.strip_prefix('#'));
                let target = root.pointer(pointer.unwrap()).expect("a definition");
                check(root, target, value, at)?;
                true
            }
            "items" => {
                let mut items = value.as_array().into_iter().flatten().enumerate();
                items.try_for_each(|(n, item)| check(root, rule, item, &format!("{at}/{n}")))?;
                true
            }
            "additionalProperties" => {
                let mut values = keys.iter();
                values.try_for_each(|(key, one)| check(root, rule, one, &format!("{at}/{key}")))?;
                true
            }
            _ => panic!("this validator does not know `{keyword}`"),
        };
        if !is_valid {
            return Err(format!("{at}: {value} does not match `{keyword}`: {rule}"));
        }
    }
    if let Some(properties) = schema.get("properties") {
        for (key, value) in keys {
            let place = format!("{at}/{key}");
            let property = properties.get(&key);
            let property = property.ok_or_else(|| format!("{place}: not in the schema"))?;
            check(root, property, &value, &place)?;
        }
    }
    Ok(())
}

fn is_type(rule: &Value, value: &Value) -> bool {
    match rule.as_str().expect("a type") {
        "string" => value.is_string(),
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_u64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("this validator does not know the type `{other}`"),
    }
}
