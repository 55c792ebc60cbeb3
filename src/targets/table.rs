//! Tests of fixtures/targets/lists.txt: the result of each list with each CUDA.

use crate::model::{ChosenBy, Gencode, Invocation};
use crate::runtime::driver::Device;
use crate::system::run;
use crate::targets::select::select;
use crate::targets::target_request::needs_letters;
use crate::targets::{Compiler, Dialect, TargetRequest, Word, dialect};
use crate::toolkit::nvcc;
use crate::{ComputeCapability, Version};
use std::path::{Path, PathBuf};

const RELEASES: [&str; 3] = ["12.4", "12.9", "13.5"];

const HEAD: &str = "\
# The result of each list of GPU targets: dialect | GPUs of the machine | list | CUDA versions | result.
# The dialect `none` has no list. A result is the compiled targets with the ids of the findings, or the error.
# `BLESS=1 cargo test --lib targets::table` rewrites this file. Review the diff before you commit it.
";

/// A list on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    dialect: String,
    gpus: String,
    list: String,
}

impl Row {
    fn request(&self) -> Option<TargetRequest> {
        let dialect = match self.dialect.as_str() {
            "none" => return None,
            "ours" => Dialect::Ours,
            "cmake" => Dialect::CMake,
            "torch" => Dialect::Torch,
            "cap" => Dialect::ComputeCap,
            other => panic!("{other} is no dialect"),
        };
        Some(TargetRequest {
            from: ChosenBy::CommandLine,
            dialect,
            text: self.list.clone(),
        })
    }

    fn gpus(&self) -> Vec<Device> {
        let gpu = |number: &str| Device {
            name: "this one".to_string(),
            capability: ComputeCapability::from_number(number.parse().unwrap()),
        };
        self.gpus.split_whitespace().map(gpu).collect()
    }

    fn result(&self, compiler: &Compiler) -> String {
        let request = self.request();
        match select(request.as_ref(), Some(compiler), &self.gpus()) {
            Ok(selection) => {
                let ids = selection
                    .findings
                    .iter()
                    .map(|one| format!("  [{}]", one.id));
                format!("{}{}", selection.list, ids.collect::<String>())
            }
            Err(fault) => {
                let error = fault.finding(request.as_ref().unwrap(), None);
                let summary = error.summary.replace("the command line", "the list");
                format!("error: {summary}  [{}]", error.id)
            }
        }
    }

    /// Returns the nvcc flags for a rejected list. Empty if there are no such flags.
    fn refused(&self) -> Vec<Gencode> {
        let request = self.request();
        if let Ok(selection) = select(request.as_ref(), None, &self.gpus()) {
            return selection.list.gencodes().to_vec();
        }
        let words = request
            .map(|request| dialect::read(request.dialect, &request.text).unwrap_or_default());
        let written = |word| match word {
            Word::Targets(gencodes) => gencodes,
            _ => Vec::new(),
        };
        words
            .unwrap_or_default()
            .into_iter()
            .flat_map(written)
            .collect()
    }
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/targets/lists.txt")
}

/// Returns every list once.
fn rows() -> (String, Vec<Row>) {
    let text = std::fs::read_to_string(file()).unwrap();
    let mut rows: Vec<Row> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.splitn(5, " | ");
        let mut next = || columns.next().unwrap_or_default().to_string();
        let row = Row {
            dialect: next(),
            gpus: next(),
            list: next(),
        };
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    (text, rows)
}

fn release(text: &str) -> Version {
    let (major, minor) = text.split_once('.').unwrap();
    Version::new(major.parse().unwrap(), minor.parse().unwrap(), 0)
}

/// All ways in which people write targets, with old and new CUDAs.
#[test]
fn every_list_has_the_recorded_result() {
    let (text, rows) = rows();
    assert!(rows.len() >= 100, "{}", rows.len());
    let mut actual = HEAD.to_string();
    for row in rows {
        let mut results: Vec<(Vec<&str>, String)> = Vec::new();
        for name in RELEASES {
            let compiler = Compiler::from_table(Some("nvcc"), release(name)).unwrap();
            let result = row.result(&compiler);
            match results.iter_mut().find(|(_, known)| *known == result) {
                Some((releases, _)) => releases.push(name),
                None => results.push((vec![name], result)),
            }
        }
        let Row {
            dialect,
            gpus,
            list,
        } = row;
        for (releases, result) in results {
            let releases = releases.join(" ");
            actual += &format!("{dialect} | {gpus} | {list} | {releases} | {result}\n");
        }
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(file(), actual).unwrap();
    } else {
        for (line, (written, actual)) in text.lines().zip(actual.lines()).enumerate() {
            assert_eq!(actual, written, "line {}", line + 1);
        }
        assert_eq!(actual, text);
    }
}

/// The table of a version matches the output of its nvcc, and nvcc accepts and rejects the same targets.
#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn nvcc_accepts_these_flags_and_no_others() {
    let wheels = PathBuf::from(std::env::var_os("CUDNN_GUARD_REAL").expect("it names the wheels"));
    for nvcc in [
        "debian-cuda/usr/lib/nvidia-cuda-toolkit/bin/nvcc",
        "cuda-cu13-13.0/nvidia/cu13/bin/nvcc",
        "cuda-cu13/nvidia/cu13/bin/nvcc",
    ] {
        let nvcc = wheels.join(nvcc);
        let cuda = nvcc::version(&nvcc, &Default::default()).unwrap();
        let letters = nvcc::lettered_codes(&nvcc, &Default::default());
        let queried = Compiler::from_answer(
            "nvcc",
            nvcc::gpu_codes(&nvcc, &Default::default()).unwrap(),
            letters,
        );
        let known = Compiler::from_table(Some("nvcc"), cuda).unwrap();
        assert_eq!(queried.listed(), known.listed());
        let takes = |flags: Vec<String>| {
            let mut args: Vec<String> =
                ["--dryrun", "-c", "-x", "cu", "/dev/null", "-o", "/dev/null"]
                    .map(String::from)
                    .to_vec();
            args.extend(flags);
            let program = nvcc.clone();
            run(
                &Invocation {
                    program,
                    args,
                    ..Invocation::default()
                },
                None,
            )
            .unwrap()
        };
        let (mut taken, mut refused) = (0, 0);
        for row in rows().1 {
            let request = row.request();
            assert_eq!(row.result(&queried), row.result(&known), "{row:?}");
            match select(request.as_ref(), Some(&queried), &row.gpus()) {
                Ok(selection) => {
                    let output = takes(selection.list.nvcc());
                    assert!(output.success, "{row:?}: {}", output.stderr);
                    taken += 1;
                }
                Err(_) => {
                    let flags: Vec<String> = row.refused().iter().map(Gencode::to_string).collect();
                    if !flags.is_empty()
                        && !row.result(&queried).contains("[no-gpu]")
                        && !row.result(&queried).contains("[arch-unknown]")
                    {
                        assert!(!takes(flags).success, "{row:?}");
                        refused += 1;
                    }
                }
            }
            // Letters are not needed if the request has none.
            if !needs_letters(request.as_ref()) {
                let plain = Compiler::from_answer("nvcc", queried.codes.clone(), None);
                assert_eq!(row.result(&plain), row.result(&queried), "{row:?}");
            }
        }
        assert!(taken > 70 && refused > 15, "{taken} {refused}");
    }
}
