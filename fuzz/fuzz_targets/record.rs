//! The record in a guarded program: any record survives a round trip, at any position in a file.

#![no_main]

use cudnn_guard::internals::facts::{Built, Target, record};
use cudnn_guard::internals::report::json_members;
use libfuzzer_sys::fuzz_target;

const MAGIC: &[u8] = b"cdnngrd";
/// The maximum length of a record that a guard writes.
const LONGEST: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let mut found = record::find(bytes);
    // The bytes as the text of a record.
    let length = (bytes.len() as u32).to_le_bytes();
    found.extend(record::find(&[MAGIC, b"\x01", &length[..], bytes].concat()));
    for built in found {
        let built = Built {
            not_understood: None,
            ..built
        };
        written_and_read(&built, bytes);
    }
});

fn written_and_read(built: &Built, rest: &[u8]) {
    let record = record::encode(built);
    assert_eq!(Built::read(&record), *built);
    if record.len() < LONGEST && !rest.windows(MAGIC.len()).any(|it| it == MAGIC) {
        let found = record::find(&[rest, &record, rest].concat());
        assert_eq!(found, [built.clone()]);
    }
    let json = json_members::built(built).to_string();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let asked = built.requirement.as_ref();
    let asked = asked.map(|asked| asked.text.as_str());
    assert_eq!(json["requirement"].as_str(), asked);
    let targets: Vec<String> = built.targets.iter().map(Target::to_string).collect();
    assert_eq!(json["targets"], serde_json::json!(targets));
    for (index, finding) in built.findings.iter().enumerate() {
        assert_eq!(json["findings"][index]["summary"], finding.summary);
    }
}
