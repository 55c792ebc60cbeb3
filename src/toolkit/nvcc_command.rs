//! The command lines of nvcc.

use crate::model::target_list::gencode_flags;
use crate::model::{CompilerChoice, Environment, Gencode, Invocation, Os, Toolkit, Variable};
use crate::runtime::facts::Version;
use crate::system::Host;
use crate::toolkit::Optimisation;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The kind of file that a source is compiled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// An object for a static library: host code, and device code for all targets.
    Object,
    /// PTX that the program loads through the driver.
    Ptx,
    /// Machine code for one GPU that the program loads through the driver.
    Cubin,
    /// Machine code and PTX for all targets in one file, which the driver selects from.
    Fatbin,
}

impl Product {
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Object => "o",
            Self::Ptx => "ptx",
            Self::Cubin => "cubin",
            Self::Fatbin => "fatbin",
        }
    }
}

/// The common options of all files in a build, and the machine that it runs on.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    pub host: &'a Host,
    pub toolkit: Option<&'a Toolkit>,
    pub nvcc: PathBuf,
    pub product: Product,
    /// The origin of the host compiler.
    pub choice: CompilerChoice,
    /// The host compiler, unless nvcc searches for one itself.
    pub ccbin: Option<String>,
    /// The variables that the host compiler needs, if they were found with it. With them, nvcc does not run
    /// `vcvars64.bat`, which would prepend the directories of Visual Studio's default toolset.
    pub env: Vec<(OsString, OsString)>,
    /// The build script's flags: include directories, macros, others.
    pub flags: Vec<String>,
    /// The build script's optimization options.
    pub optimisation: Optimisation,
    /// Other files that determine the output but that nvcc does not list.
    pub watched: Vec<PathBuf>,
    /// `true` if the host compiler is known to be gcc.
    pub is_gcc: bool,
}

impl Plan<'_> {
    /// Returns nvcc's flags from the build script and from the variables of nvcc.
    pub fn all_flags(&self) -> Vec<String> {
        all_flags(&self.flags, &self.host.env)
    }

    /// Returns the version of the toolkit, if it is known.
    pub fn cuda(&self) -> Option<Version> {
        self.toolkit?.version
    }

    /// Returns the header search path.
    pub fn search_path(&self) -> Vec<PathBuf> {
        let mut search_path = include_dirs(&self.flags);
        search_path.extend_from_slice(self.toolkit.map_or(&[], |toolkit| &toolkit.include_dirs));
        search_path
    }
}

/// Returns the directories of the `-I` flags.
pub fn include_dirs(flags: &[String]) -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    for flag in flags {
        dirs.extend(flag.strip_prefix("-I").map(PathBuf::from));
    }
    dirs
}

/// Returns the command that compiles a file for these targets. nvcc accepts only one target for PTX and for a cubin.
/// `extra_args` contains options that do not change the output, such as the depfile and the number of threads.
pub fn compile(
    plan: &Plan,
    targets: &[Gencode],
    source: &Path,
    output: &Path,
    extra_args: &[String],
) -> Invocation {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let kind = match plan.product {
        Product::Object => "-c".to_string(),
        code => format!("-{}", code.extension()),
    };
    let mut args = vec![kind, text(source), "-o".to_string(), text(output)];
    args.extend_from_slice(extra_args);
    args.append(&mut gencode_flags(targets));
    let given = plan.all_flags();
    args.append(&mut plan.optimisation.flags(&given, &plan.host.env));
    for_host(plan, &mut args);
    command(plan, args)
}

pub fn device_link(
    plan: &Plan,
    targets: &[Gencode],
    objects: &[PathBuf],
    output: &Path,
) -> Invocation {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut args = vec!["-dlink".to_string(), "-o".to_string(), text(output)];
    for object in objects {
        args.push(text(object));
    }
    args.append(&mut gencode_flags(targets));
    for_host(plan, &mut args);
    command(plan, args)
}

/// Adds the flag for the host compiler that makes its objects compatible with rustc's.
fn for_host(plan: &Plan, args: &mut Vec<String>) {
    let given = plan.all_flags();
    let has = |flag| given.iter().any(|one: &String| one.contains(flag));
    let flag = match (plan.product, plan.host.platform.os) {
        (Product::Object, Os::Linux) if !has("-fPIC") => "-fPIC",
        (Product::Object, Os::Windows) if has("/MT") || has("/MD") => return,
        // The C runtime that rustc links. nvcc's default is the other one.
        (Product::Object, Os::Windows) if plan.host.env.has_static_runtime() => "/MT",
        (Product::Object, Os::Windows) => "/MD",
        _ => return,
    };
    args.push("-Xcompiler".to_string());
    args.push(flag.to_string());
}

/// Returns the number of threads that nvcc can use, one for each target, or 1 if it does not support the option.
pub fn breadth(plan: &Plan, targets: usize) -> usize {
    let is_supported = plan.cuda() >= Some(Version::new(11, 2, 0));
    // nvcc accepts the option only once.
    let is_given = plan.all_flags().iter().any(|flag| {
        let name = flag.trim_start_matches('-');
        flag.starts_with('-') && name.starts_with('t')
    });
    match plan.product {
        Product::Object | Product::Fatbin if is_supported && !is_given => targets,
        _ => 1,
    }
}

pub const NVCC_FLAGS: [Variable; 2] = [Variable::NvccPrependFlags, Variable::NvccAppendFlags];

pub fn flags_of(variable: Variable, env: &Environment) -> Vec<String> {
    let text = env.get(variable).unwrap_or_default().to_string_lossy();
    text.split_whitespace().map(String::from).collect()
}

/// Returns nvcc's flags from the build script and from the variables of nvcc.
pub fn all_flags(flags: &[String], env: &Environment) -> Vec<String> {
    let mut all = flags.to_vec();
    for variable in NVCC_FLAGS {
        all.extend(flags_of(variable, env));
    }
    all
}

/// Returns the command that preprocesses a source to identify the host compiler. `-v` prints the commands that nvcc
/// runs.
pub fn question(plan: &Plan, source: &Path) -> Invocation {
    let source = source.to_string_lossy().into_owned();
    let args = vec!["-v".into(), "-E".into(), "-x".into(), "c++".into(), source];
    command(plan, args)
}

/// Returns the command with these arguments, followed by the options of all commands.
fn command(plan: &Plan, mut args: Vec<String>) -> Invocation {
    if let Some(program) = &plan.ccbin {
        args.push("-ccbin".to_string());
        args.push(program.clone());
    }
    if !plan.env.is_empty() {
        args.push("-use-local-env".to_string());
    }
    args.extend_from_slice(&plan.flags);
    Invocation {
        program: plan.nvcc.clone(),
        args,
        env: plan.env.clone(),
    }
}

/// Returns the files in a depfile without duplicates, the source first. The format is `a.o : a.cu \`, then one file per
/// line. A path can contain two of make's escapes: a space after a backslash, and a doubled dollar sign.
pub fn parse_depfile(text: &str) -> Vec<PathBuf> {
    let Some((_, files)) = text.split_once(" : ").or_else(|| text.split_once(": ")) else {
        return Vec::new();
    };
    let (mut paths, mut word) = (Vec::new(), String::new());
    // gcc lists a header each time it is included.
    let mut seen = BTreeSet::new();
    let mut add = |word: &mut String| {
        if !word.is_empty() && seen.insert(OsString::from(&*word)) {
            paths.push(PathBuf::from(&*word));
        }
        word.clear();
    };
    let mut characters = files.chars().peekable();
    while let Some(character) = characters.next() {
        let escaped = match (character, characters.peek()) {
            ('\\', Some(' ' | '#')) | ('$', Some('$')) => characters.next(),
            ('\\', Some('\n' | '\r')) => continue,
            (c, _) if c.is_whitespace() => {
                add(&mut word);
                continue;
            }
            (c, _) => Some(c),
        };
        word.extend(escaped);
    }
    add(&mut word);
    paths
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::model::Platform;
    use crate::system::probe_cache::ProbeCache;
    use crate::toolkit::nvcc_output::parse_gpu_codes;

    pub const LINUX: &str = "x86_64-unknown-linux-gnu";

    pub fn host(triple: &str, env: &[(&str, &str)]) -> Host {
        let env = env
            .iter()
            .map(|(name, value)| (name.to_string(), value.into()));
        Host {
            env: Environment::new(env),
            platform: Platform::from_triple(triple),
            root: None,
            answers: ProbeCache::default(),
        }
    }

    pub fn plan<'a>(host: &'a Host, product: Product, ccbin: Option<&str>) -> Plan<'a> {
        Plan {
            host,
            toolkit: None,
            nvcc: PathBuf::from("/cuda/bin/nvcc"),
            product,
            choice: CompilerChoice::Unset,
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
        let targets = parse_gpu_codes("sm_80\nsm_90a").into_iter();
        compile(
            &plan(&host(triple, env), product, ccbin),
            &targets.map(Gencode::plain).collect::<Vec<_>>(),
            Path::new("src/a.cu"),
            Path::new("/out/a.o"),
            &["-MD", "-MF", "/out/a.d"].map(String::from),
        )
        .to_string()
    }

    #[test]
    fn the_command_follows_cargos_profile_and_the_system() {
        assert_eq!(
            command(
                Product::Object,
                LINUX,
                &[("OPT_LEVEL", "0"), ("DEBUG", "true")],
                Some("g++-12")
            ),
            "/cuda/bin/nvcc -c src/a.cu -o /out/a.o -MD -MF /out/a.d -gencode=arch=compute_80,code=sm_80 \
             -gencode=arch=compute_90a,code=sm_90a -O0 -g -lineinfo -Xcompiler -fPIC -ccbin g++-12 -Isrc -DN=4"
        );
        let version = [("OPT_LEVEL", "s"), ("DEBUG", "false")];
        assert_eq!(
            command(Product::Ptx, LINUX, &version, None),
            "/cuda/bin/nvcc -ptx src/a.cu -o /out/a.o -MD -MF /out/a.d -gencode=arch=compute_80,code=sm_80 \
             -gencode=arch=compute_90a,code=sm_90a -O2 -Isrc -DN=4"
        );
        for (product, begins) in [
            (Product::Cubin, "/cuda/bin/nvcc -cubin src/a.cu "),
            (Product::Fatbin, "/cuda/bin/nvcc -fatbin src/a.cu "),
        ] {
            let line = command(product, LINUX, &version, None);
            assert!(line.starts_with(begins), "{line}");
            assert!(!line.contains("-fPIC"), "no host code: {line}");
        }
        let flags = [("NVCC_APPEND_FLAGS", "-Xcompiler=-fPIC,-Wall")];
        let line = command(Product::Object, LINUX, &flags, None);
        assert!(!line.contains("-fPIC"), "the flag is given: {line}");
        let windows = "x86_64-pc-windows-msvc";
        assert!(command(Product::Object, windows, &[], None).contains(" -O3 -Xcompiler /MD "));
        let fixed = [("CARGO_CFG_TARGET_FEATURE", "sse2,crt-static")];
        let fixed = command(Product::Object, windows, &fixed, Some("cl"));
        assert!(fixed.contains(" -Xcompiler /MT -ccbin cl "));
    }

    #[test]
    fn targets_are_compiled_in_parallel_if_nvcc_can() {
        use Product::{Cubin, Fatbin, Object, Ptx};
        let breadth = |product, flags: &str, release: Option<(u32, u32)>, env: &str| {
            let host = host(LINUX, &[("NVCC_APPEND_FLAGS", env)]);
            let mut plan = plan(&host, product, None);
            plan.flags = flags.split(' ').map(String::from).collect();
            let toolkit = Toolkit {
                version: release.map(|(major, minor)| Version::new(major, minor, 0)),
                ..Toolkit::default()
            };
            plan.toolkit = Some(&toolkit);
            super::breadth(&plan, 3)
        };
        let new = Some((11, 2));
        for (product, expected) in [(Object, 3), (Fatbin, 3), (Ptx, 1), (Cubin, 1)] {
            assert_eq!(breadth(product, "-DM", new, ""), expected);
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
    fn the_host_compiler_is_queried_with_the_build_flags() {
        let question = question(
            &plan(&host(LINUX, &[]), Product::Object, Some("g++-12")),
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
}
