//! The record in a guarded program: any record survives a round trip, at any position in a file.

#![no_main]

use cudnn_guard::internals::facts::built::{Built, BuiltFinding, Loader, Policy, Requirement};
use cudnn_guard::internals::facts::compute_capability::{Code, ComputeCapability, Suffix, Target};
use cudnn_guard::internals::facts::finding::Severity;
use cudnn_guard::internals::facts::record;
use cudnn_guard::internals::facts::tables::{CudnnTargets, KnownBad, Tables};
use cudnn_guard::internals::facts::version::Version;
use cudnn_guard::internals::report::json_members;
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;

const MAGIC: &[u8] = b"cdnngrd";
/// The maximum length of a record that a guard writes.
const LONGEST: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    for built in record::find(bytes) {
        written_and_read(Built {
            not_understood: None,
            ..built
        });
    }
    let mut source = Unstructured::new(bytes);
    if let Ok(built) = built(&mut source) {
        let record = record::encode(&built);
        if record.len() < LONGEST {
            let rest = source.take_rest();
            if !rest.windows(MAGIC.len()).any(|it| it == MAGIC) {
                let found = record::find(&[rest, &record, rest].concat());
                assert_eq!(found, [built.clone()]);
            }
            written_and_read(built);
        }
    }
});

fn written_and_read(built: Built) {
    assert_eq!(Built::read(&record::encode(&built)), built);
    let json = json_members::built(&built).to_string();
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

/// Returns a record as a build may write it: words contain no whitespace.
fn built(source: &mut Unstructured) -> Result<Built> {
    Ok(Built {
        written_by: source.arbitrary()?,
        package: source.arbitrary()?,
        cudnn: maybe(source, version)?,
        cudnn_cuda_major: source.arbitrary()?,
        cuda: maybe(source, version)?,
        requirement: maybe(source, |source| {
            Ok(Requirement {
                text: source.arbitrary()?,
                from: version(source)?,
                below: maybe(source, version)?,
            })
        })?,
        policy: *source.choose(&[
            Policy::Compatible,
            Policy::SameMinor,
            Policy::Exact,
            Policy::Requirement,
        ])?,
        loader: *source.choose(&[
            Loader::Linked,
            Loader::Dlopen,
            Loader::Cudarc,
            Loader::Static,
        ])?,
        cudarc: maybe(source, version)?,
        targets: list(source, target)?,
        convolution: source.arbitrary()?,
        require_gpu: source.arbitrary()?,
        needs: list(source, word)?,
        findings: list(source, |source| {
            Ok(BuiltFinding {
                id: word(source)?,
                severity: *source.choose(&[Severity::Error, Severity::Warning, Severity::Note])?,
                summary: source.arbitrary()?,
            })
        })?,
        tables: Tables {
            gpus: list(source, |source| {
                Ok(CudnnTargets {
                    first: version(source)?,
                    last: version(source)?,
                    cuda: source.arbitrary()?,
                    code: list(source, target)?,
                })
            })?,
            known_bad: list(source, |source| {
                Ok(KnownBad {
                    from: version(source)?,
                    below: version(source)?,
                    good: maybe(source, version)?,
                    cublas: maybe(source, version)?,
                    operation: maybe(source, word)?,
                    partial: source.arbitrary()?,
                    first_gpu: source.arbitrary()?,
                    last_gpu: source.arbitrary()?,
                    what: source.arbitrary()?,
                })
            })?,
            drivers: list(source, |source| source.arbitrary())?,
            ptx: maybe(source, version)?,
            build_ids: list(source, |source| Ok((version(source)?, source.arbitrary()?)))?,
        },
        absent: source.arbitrary()?,
        ..Built::default()
    })
}

fn maybe<T>(
    source: &mut Unstructured,
    one: fn(&mut Unstructured) -> Result<T>,
) -> Result<Option<T>> {
    match source.arbitrary()? {
        true => one(source).map(Some),
        false => Ok(None),
    }
}

fn list<T>(source: &mut Unstructured, one: fn(&mut Unstructured) -> Result<T>) -> Result<Vec<T>> {
    let mut all = Vec::new();
    while source.arbitrary()? && !source.is_empty() {
        all.push(one(source)?);
    }
    Ok(all)
}

fn version(source: &mut Unstructured) -> Result<Version> {
    Ok(Version::new(
        source.arbitrary()?,
        source.arbitrary()?,
        source.arbitrary()?,
    ))
}

fn target(source: &mut Unstructured) -> Result<Target> {
    Ok(Target {
        capability: ComputeCapability::from_number(source.arbitrary()?),
        suffix: *source.choose(&[Suffix::None, Suffix::Family, Suffix::Arch])?,
        code: *source.choose(&[Code::Machine, Code::Ptx])?,
    })
}

fn word(source: &mut Unstructured) -> Result<String> {
    let mut word: String = source.arbitrary()?;
    word.retain(|letter| !letter.is_whitespace());
    // A dash represents an empty column.
    Ok(match word.as_str() {
        "" | "-" => "word".to_string(),
        _ => word,
    })
}
