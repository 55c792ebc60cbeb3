//! Properties that hold for all lists.

use super::*;
use crate::model::{ChosenBy, TargetList};
use crate::runtime::facts::Version;
use crate::targets::select::select;
use crate::targets::{Compiler, TargetRequest};

/// Pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        // xorshift64*: https://www.jstatsoft.org/article/view/v008i14
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap() % end
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn target(&mut self) -> Target {
        let numbers = [35, 53, 75, 80, 86, 90, 100, 101, 103, 110, 120, 121, 200];
        Target {
            capability: ComputeCapability::from_number(self.one_of(&numbers)),
            suffix: self.one_of(&[Suffix::None, Suffix::None, Suffix::Family, Suffix::Arch]),
            code: self.one_of(BOTH),
        }
    }

    fn list(&mut self) -> TargetList {
        let count = 1 + self.below(6);
        let gencodes = (0..count).map(|_| {
            let target = self.target();
            let via = Gencode {
                target,
                via: Target {
                    code: Code::Ptx,
                    ..self.target()
                },
            };
            if self.below(4) == 0 && target.code == Code::Machine && via.is_valid() {
                via
            } else {
                Gencode::plain(target)
            }
        });
        TargetList::new(gencodes.collect())
    }
}

#[track_caller]
fn back(dialect: Dialect, text: &str) -> TargetList {
    let words = read(dialect, text).unwrap_or_else(|word| panic!("{word:?} of {text:?}"));
    let gencodes = words.into_iter().flat_map(|word| match word {
        Word::Targets(gencodes) => gencodes,
        other => panic!("{other:?} in {text:?}"),
    });
    TargetList::new(gencodes.collect())
}

/// A list that is written in a dialect is parsed back unchanged.
#[test]
fn a_list_survives_every_dialect() {
    let mut random = Random(0x5eed);
    for _ in 0..1000 {
        let list = random.list();
        assert_eq!(back(Dialect::Ours, &list.to_string()), list, "{list}");
        // nvcc's own flags mean the same in every dialect.
        for dialect in [
            Dialect::Ours,
            Dialect::CMake,
            Dialect::Torch,
            Dialect::ComputeCap,
        ] {
            let gap = random.one_of(&[" ", ";", ", "]);
            assert_eq!(back(dialect, &list.nvcc().join(gap)), list, "{list}");
        }
    }
}

#[test]
fn the_order_of_a_list_changes_nothing() {
    let mut random = Random(0x0bad);
    let compiler = Compiler::from_table(None, Version::new(13, 5, 0));
    let words = [
        "80",
        "90a",
        "100f",
        "100",
        "120",
        "120f",
        "8.6(8.0)",
        "86",
        "compute_86",
        "Hopper",
        "103(100f)",
        "103",
        "T4",
        "all-major",
        "101",
        "110",
        "9.0+PTX",
        "-arch=sm_89",
        "RTX 4090",
    ];
    let mut chosen = 0;
    for _ in 0..400 {
        let mut list: Vec<&str> = (0..1 + random.below(5))
            .map(|_| random.one_of(&words))
            .collect();
        let mut choose = |list: &[&str]| {
            let request = TargetRequest {
                from: ChosenBy::CommandLine,
                dialect: dialect_of(list.len()),
                text: list.join(", "),
            };
            let selection = select(Some(&request), compiler.as_ref(), &[]).ok()?;
            chosen += 1;
            assert!(selection.list.targets().is_sorted(), "{list:?}");
            Some(selection.list)
        };
        let before = choose(&list);
        list.reverse();
        assert_eq!(choose(&list), before, "{list:?}");
        let middle = random.below(list.len());
        list.rotate_left(middle);
        assert_eq!(choose(&list), before, "{list:?}");
    }
    assert!(chosen > 800, "{chosen}");
}

fn dialect_of(number: usize) -> Dialect {
    if number % 2 == 0 {
        Dialect::Ours
    } else {
        Dialect::CMake
    }
}

/// Every string is parsed or rejected, and the rejected word is a part of it.
#[test]
fn no_string_causes_a_panic() {
    let mut random = Random(0xdead);
    let pieces = [
        "-gencode",
        "=",
        "arch=",
        "compute_",
        "sm_",
        "80",
        "9.0",
        "a",
        "f",
        "(",
        ")",
        "[",
        "]",
        ",",
        ";",
        " ",
        "\t",
        "code=",
        "\"",
        "'",
        "\\",
        "+PTX",
        "-real",
        "-virtual",
        "RTX",
        "4090",
        "native",
        "é",
        "٨",
        "\u{0}",
        "🦀",
        "-",
        ".",
        "1",
        "99999999999",
        "-arch",
        "Ampere",
        "NVIDIA",
        "ti",
    ];
    let compiler = Compiler::from_table(None, Version::new(12, 9, 0));
    for _ in 0..1500 {
        let text: String = (0..random.below(9))
            .map(|_| random.one_of(&pieces))
            .collect();
        for dialect in [
            Dialect::Ours,
            Dialect::CMake,
            Dialect::Torch,
            Dialect::ComputeCap,
        ] {
            match read(dialect, &text) {
                Err(word) => assert!(
                    !word.is_empty() && text.contains(word),
                    "{text:?}: {word:?}"
                ),
                Ok(_) => {
                    let request = TargetRequest {
                        from: ChosenBy::CommandLine,
                        dialect,
                        text: text.clone(),
                    };
                    for compiler in [None, compiler.as_ref()] {
                        // The list is never silently empty.
                        match select(Some(&request), compiler, &[]) {
                            Ok(chosen) => assert!(!chosen.list.nvcc().is_empty(), "{text:?}"),
                            Err(problem) => {
                                let finding = problem.finding(&request, None);
                                assert!(!finding.summary.is_empty(), "{text:?}")
                            }
                        }
                    }
                }
            }
        }
    }
}
