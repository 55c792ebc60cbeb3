//! Parsers of nvcc's output.

use crate::model::short_version;
use crate::model::target_list::add;
use crate::model::text::pattern::{Pattern, pattern};
use crate::system::files;
use crate::targets::target_lists::keep;
use crate::{Suffix, Target, Version};
use std::path::{Path, PathBuf};

/// The search path that nvcc itself reports, which is right even for wrappers, Debian's script, conda and the HPC SDK.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub top: PathBuf,
    pub include_dirs: Vec<PathBuf>,
    /// The library directories without stubs.
    pub link_dirs: Vec<PathBuf>,
}

/// Parses the output of `nvcc -v --dryrun`: lines such as `#$ INCLUDES="-I/usr/local/cuda/bin/../include"`. Debian's
/// nvcc prints no `TOP`. An nvcc that does not find its `nvcc.profile`, for example because it is run through a link in
/// another directory, prints nothing.
pub fn parse_layout(text: &str) -> Option<Layout> {
    let mut layout = Layout::default();
    let mut here = None;
    for line in text.lines() {
        let assignment = line
            .strip_prefix("#$ ")
            .and_then(|line| line.split_once('='));
        let (name, value) = assignment.unwrap_or_default();
        let value = value.trim();
        match name {
            "TOP" => layout.top = PathBuf::from(value),
            "_HERE_" => here = Path::new(value).parent(),
            "INCLUDES" | "SYSTEM_INCLUDES" => add_directories(&mut layout.include_dirs, value),
            "LIBRARIES" => add_directories(&mut layout.link_dirs, value),
            _ => {}
        }
    }
    files::keep(&mut layout.link_dirs, &|dir| !dir.ends_with("stubs"));
    if layout.top.as_os_str().is_empty() {
        if layout.link_dirs.is_empty() {
            return None;
        }
        layout.top = here?.to_path_buf();
    }
    Some(layout)
}

/// Parses the directories in `"-I/a b" -I/c "-isystem" "/d" "/LIBPATH:C:/e"`.
fn add_directories(dirs: &mut Vec<PathBuf>, value: &str) {
    static WORD: Pattern = Pattern::new(|| pattern(r#"(?:"[^"]*"|[^" \t])+"#));
    for word in WORD.find_iter(value) {
        let word = word.as_str().replace('"', "");
        let flags = ["-isystem", "-I", "-L", "/LIBPATH:"];
        let dir = flags.iter().find_map(|flag| word.strip_prefix(flag));
        let dir = dir.unwrap_or(&word);
        if !dir.is_empty() {
            dirs.push(PathBuf::from(dir));
        }
    }
}

/// Returns the output without the commands that nvcc would run.
pub fn without_commands(text: &str) -> String {
    let mut kept = String::new();
    for line in text.lines() {
        if !line.starts_with("#$") {
            kept += line;
            kept.push('\n');
        }
    }
    kept
}

/// Parses the two numbers of CUDA's version from `Cuda compilation tools, release 13.5, V13.5.37`.
pub fn parse_version(text: &str) -> Option<Version> {
    let mut rests = text.split("release ").skip(1);
    rests.find_map(|rest| short_version(rest.split([',', ' ', '\r', '\n']).next()?))
}

/// Parses the output of `nvcc --list-gpu-code`: unsorted lines such as `sm_75`, `sm_110`, `sm_103`.
pub fn parse_gpu_codes(text: &str) -> Vec<Target> {
    gpu_codes(text, |letter| letter == '\n')
}

/// Parses the targets with a suffix in the output of `nvcc --help`: `'sm_100a','sm_100f','sm_103',`. Returns `None` if
/// it contains no target.
pub fn parse_help(text: &str) -> Option<Vec<Target>> {
    let mut codes = gpu_codes(text, |c| !c.is_ascii_alphanumeric() && c != '_');
    if codes.is_empty() {
        return None;
    }
    keep(&mut codes, &|code| code.suffix != Suffix::None);
    Some(codes)
}

fn gpu_codes(text: &str, is_separator: fn(char) -> bool) -> Vec<Target> {
    let mut targets = Vec::new();
    for word in text.split(is_separator) {
        let word = word.trim();
        if let Some(target) = Target::parse(word).filter(|_| word.starts_with("sm_")) {
            add(&mut targets, target);
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_layout_of_a_wheel() {
        let text = "#$ _HERE_=/w/cu13/bin\n#$ TOP=/w/cu13/bin/..\n#$ PATH=/w:/x\n\
            #$ INCLUDES=\"-I/w/cu13/bin/../include\"  \n\
            #$ SYSTEM_INCLUDES=\"-isystem\" \"/w/cu13/bin/../include/cccl\"  \n\
            #$ LIBRARIES=  \"-L/w/cu13/bin/../lib/stubs\" \"-L/w/cu13/bin/../lib\"\n\
            #$ gcc -E -I\"TOP=/no\"\n";
        let layout = parse_layout(text).unwrap();
        assert_eq!(layout.top, PathBuf::from("/w/cu13/bin/.."));
        assert_eq!(
            layout.include_dirs,
            ["/w/cu13/bin/../include", "/w/cu13/bin/../include/cccl"].map(PathBuf::from)
        );
        assert_eq!(layout.link_dirs, [PathBuf::from("/w/cu13/bin/../lib")]);
    }

    #[test]
    fn reads_the_layout_on_windows_and_in_directories_with_spaces() {
        let text = "#$ TOP=C:/Program Files/CUDA/v12.4/bin/../\n\
            #$ INCLUDES=\"-IC:/Program Files/CUDA/v12.4/bin/../include\"  \n\
            #$ LIBRARIES=  \"/LIBPATH:C:/Program Files/CUDA/v12.4/bin/../lib/x64\"\n";
        let layout = parse_layout(text).unwrap();
        assert_eq!(
            (layout.top, layout.include_dirs, layout.link_dirs),
            (
                PathBuf::from("C:/Program Files/CUDA/v12.4/bin/../"),
                vec![PathBuf::from("C:/Program Files/CUDA/v12.4/bin/../include")],
                vec![PathBuf::from("C:/Program Files/CUDA/v12.4/bin/../lib/x64")],
            )
        );
    }

    #[test]
    fn reads_the_layout_of_debian_without_top() {
        let text = "#$ _HERE_=/usr/lib/nvidia-cuda-toolkit/bin\n\
            #$ NVVMIR_LIBRARY_DIR=/usr/lib/nvidia-cuda-toolkit/libdevice\n\
            #$ LIBRARIES=  -L/usr/lib/x86_64-linux-gnu/stubs -L/usr/lib/x86_64-linux-gnu\n";
        let layout = parse_layout(text).unwrap();
        assert_eq!(layout.top, PathBuf::from("/usr/lib/nvidia-cuda-toolkit"));
        assert_eq!(
            layout.link_dirs,
            [PathBuf::from("/usr/lib/x86_64-linux-gnu")]
        );
    }

    #[test]
    fn returns_nothing_for_other_output() {
        for text in [
            "",
            "nvcc fatal   : no",
            "#$ TOP=\n",
            "#$ TOP",
            "TOP=/a",
            "#$ INCLUDES=\"-I\n",
            "#$ _HERE_=/a/bin\n#$ _CUDART_=cudart\n",
            "#$ LIBRARIES=-L/b\n",
        ] {
            assert_eq!(parse_layout(text), None, "{text:?}");
        }
    }

    #[test]
    fn reads_the_version() {
        let text = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.5, V13.5.37\n\
            Build cuda_13.5.r13.5/compiler.39125733_0\n";
        assert_eq!(parse_version(text), Some(Version::new(13, 5, 0)));
        let text = "a release of mine\nCuda compilation tools, release 11.8, V11.8.89";
        assert_eq!(parse_version(text), Some(Version::new(11, 8, 0)));
        for text in [
            "",
            "release ",
            "release 13",
            "release é.é",
            "release 13.",
            "release .5",
            "release 99999999999.1",
        ] {
            assert_eq!(parse_version(text), None, "{text:?}");
        }
    }

    #[test]
    fn reads_suffixes_from_the_help() {
        let text = "'sm_100',\n        'sm_100f','sm_100a','sm_75','sm_90a'.\n build for (sm_*0), sm_100a. lto_90a";
        let names: Vec<String> = parse_help(text)
            .unwrap()
            .iter()
            .map(Target::to_string)
            .collect();
        assert_eq!(names, ["sm_90a", "sm_100f", "sm_100a"]);
        assert_eq!(parse_help("'sm_35','sm_90'"), Some(Vec::new()));
        assert_eq!(parse_help("usage: sm_*0"), None);
    }

    #[test]
    fn reads_gpu_codes_in_numeric_order() {
        let text = "sm_75\nsm_100\r\nsm_90\nsm_110\nsm_103\nsm_90\n\nnvcc warning : sm_1\nsm_\nsm_é\nsm_a\nsm_99999999999\ncompute_80\n";
        let names: Vec<String> = parse_gpu_codes(text)
            .iter()
            .map(Target::to_string)
            .collect();
        assert_eq!(names, ["sm_75", "sm_90", "sm_100", "sm_103", "sm_110"]);
    }
}
