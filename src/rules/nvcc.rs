//! What nvcc says of itself, and how it is asked to compile.

use crate::model::arch::{Code, ComputeCapability, Suffix, Target};
use crate::model::env::{Env, Variable};
use crate::model::invocation::Invocation;
use crate::model::platform::{Os, Platform};
use crate::model::version::Version;
use std::path::{Path, PathBuf};

/// Where nvcc itself looks: right through wrappers, Debian's script, conda and the HPC SDK.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The directory of its toolkit.
    pub top: PathBuf,
    /// Where it finds its headers.
    pub include_dirs: Vec<PathBuf>,
    /// Where it finds its libraries, without directories of stubs.
    pub link_dirs: Vec<PathBuf>,
}

/// The answer to `nvcc -v --dryrun`: lines such as `#$ INCLUDES="-I/usr/local/cuda/bin/../include"`.
pub fn parse_layout(text: &str) -> Option<Layout> {
    let mut layout = Layout::default();
    let mut found = false;
    for line in text.lines() {
        let Some((name, value)) = line
            .strip_prefix("#$ ")
            .and_then(|line| line.split_once('='))
        else {
            continue;
        };
        let dirs = || directories(value).into_iter().map(PathBuf::from);
        match name {
            "TOP" if !value.trim().is_empty() => {
                layout.top = PathBuf::from(value.trim());
                found = true;
            }
            "INCLUDES" | "SYSTEM_INCLUDES" => layout.include_dirs.extend(dirs()),
            "LIBRARIES" => layout
                .link_dirs
                .extend(dirs().filter(|dir| !dir.ends_with("stubs"))),
            _ => {}
        }
    }
    found.then_some(layout)
}

/// The directories in `"-I/a b" -I/c "-isystem" "/d" "/LIBPATH:C:/e"`.
fn directories(value: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in value.chars() {
        match character {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => words.push(String::new()),
            c => words.last_mut().into_iter().for_each(|word| word.push(c)),
        }
    }
    let flags = ["-isystem", "-I", "-L", "/LIBPATH:"];
    words
        .iter()
        .map(|word| {
            let flag = flags.iter().find(|flag| word.starts_with(**flag));
            word[flag.map_or(0, |flag| flag.len())..].to_string()
        })
        .filter(|word| !word.is_empty())
        .collect()
}

/// The release in `Cuda compilation tools, release 13.5, V13.5.37`, as CUDA releases are named: two numbers.
pub fn parse_version(text: &str) -> Option<Version> {
    text.match_indices("release ").find_map(|(at, word)| {
        let rest = text.get(at + word.len()..)?;
        let (major, rest) = rest.split_once('.')?;
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        Some(Version::new(
            major.parse().ok()?,
            rest.get(..end)?.parse().ok()?,
            0,
        ))
    })
}

/// The answer to `nvcc --list-gpu-code`, which comes in no order: `sm_75`, `sm_110`, `sm_103`, one a line.
pub fn parse_gpu_codes(text: &str) -> Vec<Target> {
    let mut targets = Vec::new();
    for line in text.lines() {
        let Some(name) = line.trim().strip_prefix("sm_") else {
            continue;
        };
        let (number, suffix) = if let Some(number) = name.strip_suffix('a') {
            (number, Suffix::Arch)
        } else if let Some(number) = name.strip_suffix('f') {
            (number, Suffix::Family)
        } else {
            (name, Suffix::None)
        };
        let number: u32 = number.parse().unwrap_or(0);
        if (10..1000).contains(&number) {
            add(
                &mut targets,
                Target {
                    capability: ComputeCapability::from_number(number),
                    suffix,
                    code: Code::Machine,
                },
            );
        }
    }
    targets
}

/// Puts a target in its place in a list in numeric order, unless it is there.
pub fn add(targets: &mut Vec<Target>, target: Target) {
    if let Err(place) = targets.binary_search(&target) {
        targets.insert(place, target);
    }
}

/// The flag that makes nvcc compile this target. `compute_90a` serves `sm_90a` alone, so both carry the letter.
pub fn gencode(target: Target) -> String {
    let ptx = Target {
        code: Code::Ptx,
        ..target
    };
    format!("-gencode=arch={ptx},code={target}")
}

/// What a source is compiled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// An object for a static library: host code, with the device code of all targets in it.
    Object,
    /// PTX, which the program gives to the driver.
    Ptx,
}

/// What all files of one build have in common.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The compiler.
    pub nvcc: PathBuf,
    /// What is made.
    pub product: Product,
    /// The targets; for PTX it is one.
    pub targets: Vec<Target>,
    /// What the build script adds: include directories, macros, its own flags.
    pub flags: Vec<String>,
}

/// The command that compiles one file. `profile` is the environment in which cargo says how the crate is built.
pub fn compile(
    plan: &Plan,
    source: &Path,
    output: &Path,
    depfile: &Path,
    platform: &Platform,
    profile: &Env,
) -> Invocation {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut args = match plan.product {
        Product::Object => vec!["-c".to_string()],
        Product::Ptx => vec!["-ptx".to_string()],
    };
    args.extend([text(source), "-o".to_string(), text(output)]);
    // Which headers were read, those of the system too: an nvcc that is replaced brings others.
    args.extend(["-MD".to_string(), "-MF".to_string(), text(depfile)]);
    args.extend(plan.targets.iter().copied().map(gencode));
    // This is for host code. Device code is optimised unless `-G` is asked for, in debug builds too.
    let level = match profile.text("OPT_LEVEL") {
        Some(level @ ("0" | "1" | "2" | "3")) => level,
        Some("s" | "z") => "2",
        _ => "3",
    };
    args.push(format!("-O{level}"));
    if !matches!(profile.text("DEBUG"), None | Some("false" | "0" | "none")) {
        args.extend(["-g".to_string(), "-lineinfo".to_string()]);
    }
    let host: &[&str] = match (plan.product, platform.os) {
        (Product::Object, Os::Linux) => &["-Xcompiler", "-fPIC"],
        // The C runtime that rustc links; nvcc would take the other one.
        (Product::Object, Os::Windows) if static_runtime(profile) => &["-Xcompiler", "/MT"],
        (Product::Object, Os::Windows) => &["-Xcompiler", "/MD"],
        _ => &[],
    };
    args.extend(host.iter().map(ToString::to_string));
    if let Some(compiler) = host_compiler(profile) {
        args.extend(["-ccbin".to_string(), compiler]);
    }
    args.extend(plan.flags.iter().cloned());
    Invocation {
        program: plan.nvcc.clone(),
        args,
    }
}

/// `NVCC_CCBIN`, else `CXX`, unless that is more than a program (`ccache g++`, `g++ -m64`), which nvcc cannot start.
fn host_compiler(env: &Env) -> Option<String> {
    let single = |name: &&str| !name.contains(char::is_whitespace);
    let named = |variable| env.get(variable).and_then(|value| value.to_str());
    named(Variable::NvccCcbin)
        .or_else(|| named(Variable::Cxx).filter(single))
        .map(String::from)
}

fn static_runtime(env: &Env) -> bool {
    let features = env.text("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    features.split(',').any(|feature| feature == "crt-static")
}

/// The files in a depfile, `a.o : a.cu \` with one file a line after it, the source first. `make` knows two escapes
/// that a path can need: a space after a backslash, and a doubled dollar sign.
pub fn parse_depfile(text: &str) -> Vec<PathBuf> {
    let Some((_, files)) = text.split_once(" : ").or_else(|| text.split_once(": ")) else {
        return Vec::new();
    };
    let mut words = vec![String::new()];
    let mut characters = files.chars().peekable();
    while let Some(character) = characters.next() {
        let escaped = match (character, characters.peek()) {
            ('\\', Some(' ' | '#')) | ('$', Some('$')) => characters.next(),
            ('\\', Some('\n' | '\r')) => continue,
            (c, _) if c.is_whitespace() => {
                words.push(String::new());
                continue;
            }
            (c, _) => Some(c),
        };
        words
            .last_mut()
            .into_iter()
            .for_each(|word| word.extend(escaped));
    }
    words.retain(|word| !word.is_empty());
    words.into_iter().map(PathBuf::from).collect()
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
    fn reads_the_layout_of_windows_and_of_folders_with_spaces() {
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
    fn is_silent_about_what_is_no_layout() {
        for text in [
            "",
            "nvcc fatal   : no",
            "#$ TOP=\n",
            "#$ TOP",
            "TOP=/a",
            "#$ INCLUDES=\"-I\n",
        ] {
            assert_eq!(parse_layout(text), None, "{text:?}");
        }
    }

    #[test]
    fn reads_the_release() {
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
    fn reads_gpu_codes_in_numeric_order() {
        let text = "sm_75\nsm_100\r\nsm_90\nsm_110\nsm_103\nsm_90\n\nnvcc warning : sm_1\nsm_\nsm_é\nsm_a\nsm_99999999999\ncompute_80\n";
        let names: Vec<String> = parse_gpu_codes(text)
            .iter()
            .map(Target::to_string)
            .collect();
        assert_eq!(names, ["sm_75", "sm_90", "sm_100", "sm_103", "sm_110"]);
    }

    fn plan(product: Product) -> Plan {
        Plan {
            nvcc: PathBuf::from("/cuda/bin/nvcc"),
            product,
            targets: parse_gpu_codes("sm_80\nsm_90a"),
            flags: vec!["-Isrc".to_string(), "-DN=4".to_string()],
        }
    }

    fn command(product: Product, triple: &str, env: &[(&str, &str)]) -> String {
        let env = Env::new(
            env.iter()
                .map(|(name, value)| (name.to_string(), value.into())),
        );
        compile(
            &plan(product),
            Path::new("src/a.cu"),
            Path::new("/out/a.o"),
            Path::new("/out/a.d"),
            &Platform::from_triple(triple),
            &env,
        )
        .to_string()
    }

    #[test]
    fn the_command_follows_cargos_profile_and_the_system() {
        let linux = "x86_64-unknown-linux-gnu";
        assert_eq!(
            command(
                Product::Object,
                linux,
                &[("OPT_LEVEL", "0"), ("DEBUG", "true"), ("CXX", "g++-12")]
            ),
            "/cuda/bin/nvcc -c src/a.cu -o /out/a.o -MD -MF /out/a.d -gencode=arch=compute_80,code=sm_80 \
             -gencode=arch=compute_90a,code=sm_90a -O0 -g -lineinfo -Xcompiler -fPIC -ccbin g++-12 -Isrc -DN=4"
        );
        let release = [
            ("OPT_LEVEL", "s"),
            ("DEBUG", "false"),
            ("CXX", "ccache g++"),
        ];
        assert_eq!(
            command(Product::Ptx, linux, &release),
            "/cuda/bin/nvcc -ptx src/a.cu -o /out/a.o -MD -MF /out/a.d -gencode=arch=compute_80,code=sm_80 \
             -gencode=arch=compute_90a,code=sm_90a -O2 -Isrc -DN=4"
        );
        let windows = "x86_64-pc-windows-msvc";
        assert!(command(Product::Object, windows, &[]).contains(" -O3 -Xcompiler /MD "));
        let fixed = [
            ("CARGO_CFG_TARGET_FEATURE", "sse2,crt-static"),
            ("NVCC_CCBIN", "cl"),
            ("CXX", "x"),
        ];
        assert!(command(Product::Object, windows, &fixed).contains(" -Xcompiler /MT -ccbin cl "));
    }

    #[test]
    fn reads_depfiles() {
        let text = "/out/a\\ b.o : w\\ b.cu \\\n    /usr/include/x.h \\\r\n    d$$e/a\\#b.h C:\\inc\\y.h\n";
        assert_eq!(
            parse_depfile(text),
            ["w b.cu", "/usr/include/x.h", "d$e/a#b.h", "C:\\inc\\y.h"].map(PathBuf::from)
        );
        for text in ["", "no colon", "a.o : ", "a.o : \\"] {
            assert!(
                parse_depfile(text)
                    .iter()
                    .all(|path| path == Path::new("\\")),
                "{text:?}"
            );
        }
    }

    #[test]
    fn nvcc_is_asked_for_one_target_a_flag() {
        let flags: Vec<String> = parse_gpu_codes("sm_80\nsm_90a\nsm_100f")
            .into_iter()
            .flat_map(|target| {
                [
                    target,
                    Target {
                        code: Code::Ptx,
                        ..target
                    },
                ]
            })
            .map(gencode)
            .collect();
        assert_eq!(
            flags,
            [
                "-gencode=arch=compute_80,code=sm_80",
                "-gencode=arch=compute_80,code=compute_80",
                "-gencode=arch=compute_90a,code=sm_90a",
                "-gencode=arch=compute_90a,code=compute_90a",
                "-gencode=arch=compute_100f,code=sm_100f",
                "-gencode=arch=compute_100f,code=compute_100f",
            ]
        );
    }
}
