//! How nvcc is asked to compile.

use crate::model::environment::{Environment, Variable};
use crate::model::gencode::Gencode;
use crate::model::invocation::Invocation;
use crate::model::platform::{Os, Platform};
use crate::runtime::facts::version::Version;
use crate::toolkit::nvcc_optimisation::Optimisation;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a source is compiled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// An object for a static library: host code, with the device code of all targets in it.
    Object,
    /// PTX, which the program gives to the driver.
    Ptx,
    /// Machine code for one GPU, which the program gives to the driver.
    Cubin,
    /// Machine code and PTX for all targets in one file, of which the driver takes what fits.
    Fatbin,
}

impl Product {
    /// The ending of its file.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Object => "o",
            Self::Ptx => "ptx",
            Self::Cubin => "cubin",
            Self::Fatbin => "fatbin",
        }
    }
}

/// What all files of one build have in common.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The compiler.
    pub nvcc: PathBuf,
    /// What is made.
    pub product: Product,
    /// The compiler for host code, where nvcc is not to look for one itself.
    pub ccbin: Option<String>,
    /// The variables that this compiler needs, where they were found with it. nvcc then runs no `vcvars64.bat`, which
    /// would put the directories of Visual Studio's default toolset before those of this one.
    pub env: Vec<(OsString, OsString)>,
    /// What the build script adds: include directories, macros, its own flags.
    pub flags: Vec<String>,
    /// What it says of optimisation.
    pub optimisation: Optimisation,
    /// What decides what comes out besides, and nvcc does not name.
    pub watched: Vec<PathBuf>,
    /// Whether the compiler for host code is known to be gcc.
    pub is_gcc: bool,
}

/// The command that compiles one file, for all of these targets; nvcc takes one alone for PTX and for a cubin.
/// `besides` is what changes nothing of what comes out: who lists the files, on how many threads. `profile` is the environment in which cargo says how the crate is built.
pub fn compile(
    plan: &Plan,
    targets: &[Gencode],
    source: &Path,
    output: &Path,
    besides: &[String],
    platform: &Platform,
    profile: &Environment,
) -> Invocation {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut args = match plan.product {
        Product::Object => vec!["-c".to_string()],
        code => vec![format!("-{}", code.extension())],
    };
    args.extend([text(source), "-o".to_string(), text(output)]);
    args.extend_from_slice(besides);
    args.extend(targets.iter().map(Gencode::to_string));
    let given = all_flags(&plan.flags, profile);
    args.extend(plan.optimisation.flags(&given, profile));
    args.extend(for_host(plan, platform, profile));
    args.extend(by(plan));
    Invocation {
        program: plan.nvcc.clone(),
        args,
        env: plan.env.clone(),
    }
}

/// The command that links the device code of these objects, for these targets, into one more object.
pub fn device_link(
    plan: &Plan,
    targets: &[Gencode],
    objects: &[PathBuf],
    output: &Path,
    platform: &Platform,
    profile: &Environment,
) -> Invocation {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut args = vec!["-dlink".to_string(), "-o".to_string(), text(output)];
    args.extend(objects.iter().map(|object| text(object)));
    args.extend(targets.iter().map(Gencode::to_string));
    args.extend(for_host(plan, platform, profile));
    args.extend(by(plan));
    Invocation {
        program: plan.nvcc.clone(),
        args,
        env: plan.env.clone(),
    }
}

/// What the compiler for host code is told, so that what it makes can be linked with what rustc makes.
fn for_host(plan: &Plan, platform: &Platform, profile: &Environment) -> Vec<String> {
    let given = all_flags(&plan.flags, profile);
    let has = |flag| given.iter().any(|one: &String| one.contains(flag));
    let host: &[&str] = match (plan.product, platform.os) {
        (Product::Object, Os::Linux) if has("-fPIC") => &[],
        (Product::Object, Os::Linux) => &["-Xcompiler", "-fPIC"],
        (Product::Object, Os::Windows) if has("/MT") || has("/MD") => &[],
        // The C runtime that rustc links; nvcc would take the other one.
        (Product::Object, Os::Windows) if static_runtime(profile) => &["-Xcompiler", "/MT"],
        (Product::Object, Os::Windows) => &["-Xcompiler", "/MD"],
        _ => &[],
    };
    host.iter().map(ToString::to_string).collect()
}

/// How many threads nvcc can use for these targets, each of which it compiles by itself; 1 where it may not be told.
pub fn breadth(plan: &Plan, targets: usize, release: Option<Version>, env: &Environment) -> usize {
    let knows = release.is_some_and(|release| release >= Version::new(11, 2, 0));
    // nvcc takes the option only once.
    let is_told = all_flags(&plan.flags, env).iter().any(|flag| {
        let name = flag.trim_start_matches('-');
        flag.starts_with('-') && name.starts_with('t')
    });
    match plan.product {
        Product::Object | Product::Fatbin if knows && !is_told => targets,
        _ => 1,
    }
}

/// What nvcc is told besides the sources: by the build script, and by the two variables that it reads itself.
pub fn all_flags(flags: &[String], env: &Environment) -> Vec<String> {
    let mut all = flags.to_vec();
    for variable in [Variable::NvccPrependFlags, Variable::NvccAppendFlags] {
        let extra = env.get(variable).unwrap_or_default().to_string_lossy();
        all.extend(extra.split_whitespace().map(String::from));
    }
    all
}

/// The command that asks the host compiler of a plan what it is. With `-v`, nvcc shows what it runs.
pub fn question(plan: &Plan, source: &Path) -> Invocation {
    let source = source.to_string_lossy().into_owned();
    let mut args: Vec<String> = vec!["-v".into(), "-E".into(), "-x".into(), "c++".into()];
    args.push(source);
    args.extend(by(plan));
    Invocation {
        program: plan.nvcc.clone(),
        args,
        env: plan.env.clone(),
    }
}

fn by(plan: &Plan) -> Vec<String> {
    let mut args = Vec::new();
    if let Some(program) = &plan.ccbin {
        args.extend(["-ccbin".to_string(), program.clone()]);
    }
    if !plan.env.is_empty() {
        args.push("-use-local-env".to_string());
    }
    args.extend(plan.flags.iter().cloned());
    args
}

fn static_runtime(env: &Environment) -> bool {
    let features = env.var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    features.split(',').any(|feature| feature == "crt-static")
}

/// The files in a depfile, `a.o : a.cu \` with one file a line after it, the source first, each once. `make` knows two escapes
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
    // gcc names a header each time that it is included.
    let mut seen = BTreeSet::new();
    words.retain(|word| !word.is_empty() && seen.insert(OsString::from(word)));
    words.into_iter().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::facts::compute_capability::{Code, Target};
    use crate::toolkit::nvcc_output::parse_gpu_codes;

    fn plan(product: Product, ccbin: Option<&str>) -> Plan {
        Plan {
            nvcc: PathBuf::from("/cuda/bin/nvcc"),
            product,
            ccbin: ccbin.map(String::from),
            env: Vec::new(),
            flags: vec!["-Isrc".to_string(), "-DN=4".to_string()],
            optimisation: Optimisation::default(),
            watched: Vec::new(),
            is_gcc: true,
        }
    }

    fn command(
        product: Product,
        triple: &str,
        env: &[(&str, &str)],
        ccbin: Option<&str>,
    ) -> String {
        let env = Environment::new(
            env.iter()
                .map(|(name, value)| (name.to_string(), value.into())),
        );
        let targets = parse_gpu_codes("sm_80\nsm_90a").into_iter();
        compile(
            &plan(product, ccbin),
            &targets.map(Gencode::plain).collect::<Vec<_>>(),
            Path::new("src/a.cu"),
            Path::new("/out/a.o"),
            &["-MD", "-MF", "/out/a.d"].map(String::from),
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
                &[("OPT_LEVEL", "0"), ("DEBUG", "true")],
                Some("g++-12")
            ),
            "/cuda/bin/nvcc -c src/a.cu -o /out/a.o -MD -MF /out/a.d -gencode=arch=compute_80,code=sm_80 \
             -gencode=arch=compute_90a,code=sm_90a -O0 -g -lineinfo -Xcompiler -fPIC -ccbin g++-12 -Isrc -DN=4"
        );
        let release = [("OPT_LEVEL", "s"), ("DEBUG", "false")];
        assert_eq!(
            command(Product::Ptx, linux, &release, None),
            "/cuda/bin/nvcc -ptx src/a.cu -o /out/a.o -MD -MF /out/a.d -gencode=arch=compute_80,code=sm_80 \
             -gencode=arch=compute_90a,code=sm_90a -O2 -Isrc -DN=4"
        );
        for (product, begins) in [
            (Product::Cubin, "/cuda/bin/nvcc -cubin src/a.cu "),
            (Product::Fatbin, "/cuda/bin/nvcc -fatbin src/a.cu "),
        ] {
            let said = command(product, linux, &release, None);
            assert!(said.starts_with(begins), "{said}");
            assert!(!said.contains("-fPIC"), "no host code: {said}");
        }
        let told = [("NVCC_APPEND_FLAGS", "-Xcompiler=-fPIC,-Wall")];
        let said = command(Product::Object, linux, &told, None);
        assert!(!said.contains("-fPIC"), "nvcc is told already: {said}");
        let windows = "x86_64-pc-windows-msvc";
        assert!(command(Product::Object, windows, &[], None).contains(" -O3 -Xcompiler /MD "));
        let fixed = [("CARGO_CFG_TARGET_FEATURE", "sse2,crt-static")];
        let fixed = command(Product::Object, windows, &fixed, Some("cl"));
        assert!(fixed.contains(" -Xcompiler /MT -ccbin cl "));
    }

    #[test]
    fn targets_are_compiled_side_by_side_where_nvcc_can() {
        use Product::{Cubin, Fatbin, Object, Ptx};
        let breadth = |product, flags: &str, release: Option<(u32, u32)>, env: &str| {
            let mut plan = plan(product, None);
            plan.flags = flags.split(' ').map(String::from).collect();
            let release = release.map(|(major, minor)| Version::new(major, minor, 0));
            let env = [("NVCC_APPEND_FLAGS".to_string(), env.into())];
            super::breadth(&plan, 3, release, &Environment::new(env))
        };
        let new = Some((11, 2));
        for (product, wanted) in [(Object, 3), (Fatbin, 3), (Ptx, 1), (Cubin, 1)] {
            assert_eq!(breadth(product, "-DM", new, ""), wanted);
        }
        assert_eq!(breadth(Object, "-DM", Some((11, 1)), ""), 1);
        assert_eq!(breadth(Object, "-DM", None, ""), 1);
        for flags in [
            "-t 2",
            "-t2",
            "-t=2",
            "--threads 0",
            "--threads=2",
            "-threads 2",
        ] {
            assert_eq!(breadth(Object, flags, new, ""), 1, "{flags}");
            assert_eq!(breadth(Object, "-DM", new, flags), 1, "{flags}");
        }
    }

    #[test]
    fn the_host_compiler_is_asked_as_it_will_be_called() {
        let question = question(
            &plan(Product::Object, Some("g++-12")),
            Path::new("/out/q.cpp"),
        );
        assert_eq!(
            question.to_string(),
            "/cuda/bin/nvcc -v -E -x c++ /out/q.cpp -ccbin g++-12 -Isrc -DN=4"
        );
    }

    #[test]
    fn reads_depfiles() {
        let text = "/out/a\\ b.o : w\\ b.cu \\\n    /usr/include/x.h w\\ b.cu \\\r\n    d$$e/a\\#b.h C:\\inc\\y.h\n";
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
            .map(|target| Gencode::plain(target).to_string())
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
