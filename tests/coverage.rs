//! Which GPU runs which code, against what NVIDIA's own assembler does.
#![allow(clippy::disallowed_methods)] // reads a file of the fixtures

use cudnn_guard::{Code, ComputeCapability, Suffix, Target};

fn target(text: &str) -> Target {
    let number = text.trim_end_matches(['a', 'f']);
    Target {
        capability: ComputeCapability::from_number(number.parse().unwrap()),
        suffix: match &text[number.len()..] {
            "a" => Suffix::Arch,
            "f" => Suffix::Family,
            _ => Suffix::None,
        },
        code: Code::Ptx,
    }
}

/// ARC-01: PTX runs where ptxas makes machine code of it, and nowhere else.
#[test]
fn ptx_runs_where_ptxas_takes_it() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/targets/ptxas.txt");
    let text = std::fs::read_to_string(file).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(' ').collect())
        .collect();
    let mut pairs = 0;
    for row in &rows {
        let (release, from, made) = (row[0], row[1], &row[2..]);
        for to in rows
            .iter()
            .filter(|other| other[0] == release)
            .map(|other| other[1])
        {
            let (ptx, machine) = (target(from), target(to));
            // PTX with an `a` becomes machine code with an `a`, on the GPU that also runs the code without.
            if ptx.suffix == Suffix::Arch && machine.suffix != Suffix::Arch {
                assert!(!made.contains(&to), "{release}: {from} to {to}");
                continue;
            }
            assert_eq!(
                ptx.runs_on(machine.capability),
                made.contains(&to),
                "CUDA {release}: {ptx} on {}",
                machine.capability
            );
            pairs += 1;
        }
    }
    assert!(pairs > 1900, "{pairs}");
}

/// ARC-01: what `ptxas` 13.0 does with the old number of a GPU.
#[test]
fn the_old_number_of_thor_is_thor() {
    let thor = ComputeCapability::new(11, 0);
    for old in ["101", "101a", "101f"] {
        assert!(target(old).runs_on(thor), "{old}");
        let machine = Target {
            code: Code::Machine,
            ..target(old)
        };
        assert!(machine.runs_on(thor), "{machine}");
    }
    for other in ["100a", "103a", "100f", "103f"] {
        assert!(!target(other).runs_on(thor), "{other}");
    }
    assert!(!target("101a").runs_on(ComputeCapability::new(11, 1)));
}
