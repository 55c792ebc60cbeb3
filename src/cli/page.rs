//! The explanations of findings, formatted for a terminal.
//!
//! A text is simple Markdown: headings, paragraphs, lists and fenced commands.

use crate::cli::terminal;
use crate::model::text::pattern::pattern;
use crate::report::layout::wrapped;

const TEXTS: &str = include_str!("../../docs/findings.md");

/// Returns every id with the text below it.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    // An introduction precedes them.
    let texts = TEXTS.split("\n\n# ").skip(1);
    texts.filter_map(|text| text.split_once("\n\n"))
}

/// Formats a text. Lines are wrapped at `columns`, but a command is never wrapped.
pub fn wrap(text: &str, columns: usize) -> String {
    let (mut out, address) = (String::new(), pattern("<(https://[^>]*)>"));
    // A paragraph as one line, and the prefix of its first line, by which the other lines are indented.
    let (mut paragraph, mut first) = (String::new(), String::new());
    let (mut indent, mut is_command, mut follows_paragraph) = ("", false, false);
    for line in text.lines().chain([""]) {
        let item = line.strip_prefix("- ");
        if (line.is_empty() || item.is_some()) && !paragraph.is_empty() {
            // A terminal would treat the angle brackets around an address as part of the address.
            let text = address.replace_all(paragraph.trim_end(), "$1");
            let text = wrapped(&text, first.chars().count(), columns);
            out.push_str(&format!("{first}{text}\n"));
            paragraph.clear();
            follows_paragraph = !first.ends_with("- ");
        }
        if line.starts_with("```") {
            is_command = !is_command;
            if line == "```powershell" {
                out.push_str("\n  Windows, in PowerShell:\n");
            }
        } else if is_command {
            out.push_str(&format!("    {line}\n"));
        } else if let Some(title) = line.strip_prefix("## ") {
            out.push_str(&format!("\n{}", terminal::heading(title)));
            (indent, follows_paragraph) = ("  ", false);
        } else if let Some(item) = item {
            first = format!("{indent}- ");
            paragraph.push_str(item);
        } else if line.is_empty() {
            continue;
        } else if paragraph.is_empty() {
            if follows_paragraph {
                out.push('\n');
            }
            first = indent.to_string();
            paragraph.push_str(line);
        } else {
            paragraph.push_str(&format!(" {}", line.trim()));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::known_bad;
    use crate::runtime::facts::sub_libraries::opens_absent_part;
    use crate::runtime::facts::{EVERY_LATER, KnownBad, Version};
    use crate::system::path_encoding::nvcc_cannot_take;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn a_command_is_never_broken() {
        let command = format!("`sudo apt {}`", "install a-package ".repeat(8).trim_end());
        let text =
            format!("One.\n\n## How to fix it\n\n- Debian: {command}, then\n  restart\n- no\n");
        assert_eq!(
            wrap(&text, 80),
            format!(
                "One.\n\n{}  - Debian:\n    {command},\n    then restart\n  - no\n",
                terminal::heading("How to fix it")
            )
        );
    }

    #[test]
    fn commands_for_windows_have_a_title() {
        let text = "```sh\nls\n```\n\n```powershell\ndir\ncl\n```\n";
        let expected = "    ls\n\n  Windows, in PowerShell:\n    dir\n    cl\n";
        assert_eq!(wrap(text, 80), expected);
    }

    #[test]
    fn a_blank_line_separates_paragraphs() {
        let expected = "One. Two.\n\nThree.\n- a\n- b\n";
        assert_eq!(wrap("One.\nTwo.\n\nThree.\n\n- a\n- b\n", 80), expected);
    }

    #[test]
    fn lines_stay_within_the_terminal() {
        let text = "word ".repeat(100);
        for line in wrap(&text, 80).lines() {
            assert!(
                (76..=80).contains(&line.chars().count()) || line.len() == 19,
                "{line}"
            );
        }
    }

    /// Returns a page, with each paragraph and each item of a list in one line.
    fn page(id: &str) -> String {
        let (_, text) = all().find(|(name, _)| *name == id).unwrap();
        let text = text.replace("\n\n", "\u{0}").replace("\n- ", "\u{0}- ");
        text.replace('\n', " ").replace('\u{0}', "\n")
    }

    /// Returns the versions of a row as the page writes them: `9.8 to 9.10`, `9.23.0 to 9.23.1`, `before 9.25`.
    fn range(row: &KnownBad) -> String {
        let short = |version: Version| match version.patch {
            0 => version.short(),
            _ => version.to_string(),
        };
        let (from, below) = (row.from, row.below);
        if below == EVERY_LATER {
            return format!("{} and later", short(from));
        }
        let last = match below.patch {
            0 => format!("{}.{}", below.major, below.minor - 1),
            patch => Version::new(below.major, below.minor, patch - 1).to_string(),
        };
        if from == Version::new(9, 0, 0) {
            format!("before {}", short(below))
        } else if last == short(from) || last == from.to_string() {
            last
        } else if below.minor == from.minor {
            format!("{from} to {last}")
        } else {
            format!("{} to {last}", short(from))
        }
    }

    #[test]
    fn the_page_lists_the_known_bad_versions_of_the_table() {
        let page = page("known-bad-release");
        let mut faults = BTreeSet::new();
        for row in known_bad() {
            let Some(operation) = &row.operation else {
                continue;
            };
            let (start, range) = (format!("- `{operation}`, cuDNN "), range(&row));
            let good = match (row.good, row.good_cublas) {
                (Some(good), _) => format!("; fixed in {good}"),
                (None, Some(good)) => format!("; fixed in cuBLAS {good}"),
                (None, None) => {
                    let below = row.below;
                    format!(
                        "; no fixed version is known, and nothing is known about {below} and later"
                    )
                }
            };
            let is_row = |line: &&str| {
                let (versions, effect) = line.split_once(": ").unwrap_or_default();
                let versions = versions.strip_prefix(&start).unwrap_or_default();
                versions.split(", ").any(|one| one == range) && effect.ends_with(&good)
            };
            let found = page.lines().find(is_row);
            assert!(found.is_some(), "{start}{range}: {}{good}", row.what);
            faults.insert(found);
        }
        let items = page
            .lines()
            .filter(|line| line.starts_with("- `") && line.contains("`, cuDNN "));
        assert_eq!(items.count(), faults.len());
    }

    #[test]
    fn the_pages_state_what_the_code_does() {
        let signs = [
            ('$', "dollar signs"),
            ('`', "backquotes"),
            ('"', "quotation marks"),
            ('\'', "quotation marks"),
            ('\\', "backslashes"),
            (',', "commas"),
        ];
        let page_of_nvcc = page("nvcc-failed");
        let rejects = page_of_nvcc
            .lines()
            .find(|line| line.contains("On Linux, the build rejects paths"));
        let moves = page_of_nvcc
            .lines()
            .find(|line| line.starts_with("- Linux, unusual paths: "));
        for (sign, name) in signs {
            assert_eq!(
                nvcc_cannot_take(Path::new(&format!("/a{sign}b"))),
                Some(sign)
            );
            for line in [rejects, moves] {
                assert!(line.unwrap().contains(name), "{name}: {line:?}");
            }
        }
        for allowed in [' ', '(', '&', ';', '#', '*'] {
            assert_eq!(nvcc_cannot_take(Path::new(&format!("/a{allowed}b"))), None);
        }
        // glibc 2.42 declares `rsqrt`, for which CUDA 13.2 has the fix.
        let headers = page("host-headers-incompatible");
        for words in ["2.42", "`rsqrt`", "up to 12.9", "up to 13.1"] {
            assert!(headers.contains(words), "{words}");
        }
        assert!(page("driver-too-old").contains("cudarc 0.19.5 or later"));
        for minor in [19, 20, 21] {
            let opens = page("parts-mixed").contains(&format!(
                "cuDNN 9.{minor} also opens `libcudnn_engines_tensor_ir`"
            ));
            assert_eq!(opens_absent_part(Version::new(9, minor, 0)), opens);
        }
        assert!(page("parts-mixed").contains("(1002)"));
    }

    /// Statements about versions agree with the tables, whose values were read from NVIDIA's files.
    #[test]
    fn the_pages_agree_with_the_tables() {
        let row = |table: &'static str, start: &str| -> Vec<&'static str> {
            let mut rows = table.lines().filter(|row| row.starts_with(start));
            rows.next().expect("a row").split(' ').collect()
        };
        let says = |id: &str, words: &str| assert!(page(id).contains(words), "{id}: {words}");
        let compilers = include_str!("../../build-support/compat/host-compilers.txt");
        for (cuda, words) in [("12.0", "accepts gcc"), ("12.8", ""), ("13.0", "")] {
            let gcc = row(compilers, &format!("{cuda} "))[1];
            let words = format!("{cuda} {words} up to {gcc}").replace("  ", " ");
            says("host-compiler-unsupported", &words);
        }
        let targets = include_str!("../../build-support/compat/nvcc-targets.txt");
        let range = |cuda: &str| {
            let row = row(targets, cuda);
            let last = row.iter().rev().find(|it| !it.contains(['a', 'f']));
            [row[1], *last.unwrap()]
                .map(|it| format!("{}.{}", &it[..it.len() - 1], &it[it.len() - 1..]))
        };
        for cuda in ["11.8 ", "12.0 "] {
            let [first, last] = range(cuda);
            let all = page("arch-unsupported-by-nvcc").replace("compute capability ", "");
            let words = format!("{cuda}supports {first} to {last}");
            assert!(all.contains(&words), "{words}");
        }
        says(
            "arch-unsupported-by-nvcc",
            &format!("CUDA 13 supports {} and later", range("13.0 ")[0]),
        );
        let has = |table: &str, target| {
            let rows = table.lines().filter(|row| !row.starts_with('#'));
            let with = |row: &&str| row.split(' ').skip(1).any(|it| it == target);
            rows.filter(with)
                .map(|row| row.split(' ').next().unwrap().to_string())
                .collect::<Vec<_>>()
        };
        says(
            "arch-unsupported-by-nvcc",
            &format!("Blackwell requires {} or later", has(targets, "100")[0]),
        );
        says(
            "arch-unsupported-by-nvcc",
            &format!(
                "CUDA {} is the last version for 5.0 to 7.2",
                has(targets, "72").last().unwrap()
            ),
        );
        let gpus = include_str!("../../build-support/compat/cudnn-gpus.txt");
        let of = |cuda: &str| -> String {
            let rows = gpus
                .lines()
                .filter(|row| row.contains(&format!(" {cuda} x86_64 ")));
            rows.map(|row| format!("{row}\n")).collect()
        };
        assert_eq!(has(&of("12"), "sm_100")[0], "9.7.0");
        assert!(has(&of("11"), "sm_100").is_empty() && has(&of("11"), "sm_120").is_empty());
        says(
            "gpu-newer-than-cudnn",
            "is supported from 9.7 on, and only in the builds for CUDA 12 and 13",
        );
        assert_eq!(row(gpus, "9.11.0 ")[1..3], ["9.12.0", "12"]);
        assert!(has(&of("13"), "sm_70").is_empty());
        assert_eq!(
            has(&of("12"), "sm_70").last().unwrap(),
            "9.7.0",
            "to 9.10.2"
        );
        says(
            "arch-dropped-by-cudnn",
            "Kepler in 8.8, and Maxwell, Pascal and Volta (compute capability 5.0 to 7.2) in 9.11",
        );
        assert_eq!(has(&of("11"), "sm_35").last().unwrap(), "8.7.0");
        let (_, majors) = include_str!("../../build-support/compat/drivers.txt")
            .split_once("\nmajor\n")
            .unwrap();
        for major in ["11", "12", "13"] {
            let driver = row(majors, &format!("{major} -"))[2]
                .split('.')
                .next()
                .unwrap();
            says(
                "driver-too-old",
                &format!(
                    "CUDA {major} requires {}{driver}",
                    if major == "11" { "driver " } else { "" }
                ),
            );
        }
    }

    #[test]
    fn addresses_have_no_angle_brackets() {
        assert_eq!(
            wrap("from (<https://a.example/b>), or <https://c.example>\n", 80),
            "from (https://a.example/b), or https://c.example\n"
        );
    }
}
