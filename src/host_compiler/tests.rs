use super::*;
use crate::host_compiler::selection::{NO_CL, ccbin, choice, missing};
use crate::model::{CompilerChoice, Environment, Platform, Variable};

/// The answer of gcc 12 on Debian 12 through nvcc 13.5: the expansion of a system header's macro is on a separate line.
const ANSWER: &str = "\
# 1 \"q.cpp\"
# 1 \"/cuda/bin/../include/crt/host_config.h\" 1
# 5 \"q.cpp\" 2
# 1 \"/usr/include/features.h\" 1 3 4
cudnn_guard_gcc 12 2 0
cudnn_guard_clang __clang_major__ __clang_minor__ __clang_patchlevel__
cudnn_guard_msvc _MSC_VER
cudnn_guard_glibc 
# 13 \"q.cpp\" 3 4
                 2 36

# 14 \"q.cpp\"
cudnn_guard_end
";

#[test]
fn reads_the_answers_of_compilers() {
    let gcc = parse_answer(ANSWER).unwrap();
    assert_eq!(
        gcc,
        HostCompiler {
            make: Make::Gcc,
            version: Version::new(12, 2, 0),
            glibc: Some(Version::new(2, 36, 0)),
            host_config: Some(PathBuf::from("/cuda/bin/../include/crt/host_config.h")),
        }
    );
    let clang = "cudnn_guard_gcc 4 2 1\ncudnn_guard_clang 14 0 6\ncudnn_guard_msvc _MSC_VER\n\
                 cudnn_guard_glibc __GLIBC__ __GLIBC_MINOR__\ncudnn_guard_end\n";
    let clang = parse_answer(clang).unwrap();
    assert_eq!(
        (clang.named().as_str(), clang.number()),
        ("clang 14.0.6", 14)
    );
    assert_eq!((clang.glibc, clang.host_config), (None, None));
    // A compiler of another vendor leaves the numbers out.
    for nothing in [
        "",
        "cudnn_guard_glibc 2 36\ncudnn_guard_end\n",
        "cudnn_guard_gcc 12 x",
    ] {
        assert_eq!(parse_answer(nothing), None, "{nothing:?}");
    }
}

#[test]
fn reads_the_program_that_nvcc_runs() {
    let shown = "#$ _SPACE_= \n#$ PATH=/cuda/nvvm/bin:/usr/bin\n#$ INCLUDES=\"-I/cuda/include\"  \n\
                 #$ \"/opt/my gcc/bin\"/g++-12 -D__CUDA_ARCH_LIST__=750 -E -x c++ \"q.cpp\" \n";
    assert_eq!(
        parse_command(shown),
        Some((
            "/opt/my gcc/bin/g++-12".to_string(),
            Some("/cuda/nvvm/bin:/usr/bin".to_string())
        ))
    );
    assert_eq!(
        parse_command("#$ _HERE_=/usr/bin\n#$ gcc -E q=1\n"),
        Some(("gcc".to_string(), None))
    );
    assert_eq!(parse_command("nvcc fatal   : no\n#$ PATH=/bin\n"), None);
}

/// The output of nvcc.exe of CUDA 13.0, for a cl.exe from `-ccbin`.
#[test]
fn reads_what_nvcc_runs_on_windows() {
    let shown = "#$ C:/VS/VC/Tools/MSVC/14.44.35207/bin/Hostx64/x64/../../../../../../../VC/Auxiliary/Build/vcvars64.bat\n\
                 #$ ProgramFiles(x86)=C:\\Program Files (x86)\n\
                 #$ PATH=C:\\CUDA\\bin;C:/VS/VC/Tools/MSVC/14.44.35207/bin/Hostx64/x64;C:\\windows\n\
                 #$ INCLUDES=\"-IC:\\CUDA\\bin/../include\" \"-IC:\\CUDA\\bin/../include/cccl\"  \n\
                 #$ resource file C:\\Temp/tmpxft_20-7.res: [-nologo -E -TP \"-IC:\\CUDA\\bin/../include\"]\n\
                 #$ cl.exe @\"C:\\Temp/tmpxft_20-7.res\" \n\
                 #line 1 \"C:\\\\CUDA\\\\include\\\\crt/host_config.h\"\n\
                 #$ erase C:\\Temp/tmpxft_20-7.res\n";
    let path = "C:\\CUDA\\bin;C:/VS/VC/Tools/MSVC/14.44.35207/bin/Hostx64/x64;C:\\windows";
    let message = Some(("cl.exe".to_string(), Some(path.to_string())));
    assert_eq!(parse_command(shown), message);
    assert_eq!(
        headers(shown),
        [PathBuf::from("C:\\CUDA\\include\\crt/host_config.h")]
    );
}

fn msvc(number: u32) -> HostCompiler {
    let text = format!(
        "#line 1 \"C:\\\\CUDA\\\\v11.8\\\\include\\\\crt/host_config.h\"\ncudnn_guard_gcc __GNUC__\n\
         cudnn_guard_clang __clang_major__\ncudnn_guard_msvc {number}\ncudnn_guard_glibc __GLIBC__\ncudnn_guard_end"
    );
    parse_answer(&text).unwrap()
}

fn message(compiler: &HostCompiler, limits: &Limits, cuda: &str) -> Option<String> {
    let check = HostCompilerCheck {
        compiler,
        program: Path::new("C:\\VC\\cl.exe"),
        choice: &CompilerChoice::Unset,
        cuda,
        limits,
        alternatives: &[],
    };
    let misfit = limits.misfit(compiler.make, compiler.number())?;
    let fault = HostCompilerFault::Unsupported(check, misfit, true);
    Some(fault.finding().to_string())
}

/// nvcc fails with "unsupported Microsoft Visual Studio version!"
#[test]
fn a_visual_studio_on_either_side_of_the_limits() {
    let limits = Limits {
        msvc: Some((1910, 1940)),
        ..Limits::default()
    };
    assert_eq!(
        message(&msvc(1944), &limits, "CUDA 11.8").unwrap(),
        "cl 19.44 at `C:\\VC\\cl.exe` is newer than CUDA 11.8 supports (cl 19.10 to 19.39)  [host-compiler-unsupported]\n  \
         = help: install an MSVC toolset older than 14.40 with the Visual Studio Installer, and build in a prompt in \
         which you ran `vcvarsall.bat x64 -vcvars_ver=14.x` for it\n  \
         = help: upgrade to CUDA 12.4 or later, which supports this compiler\n  \
         = help: set CUDNN_GUARD_ALLOW=host-compiler-unsupported to try it anyway\n  \
         set by      default: the first that nvcc finds on PATH\n  \
         limits      C:\\CUDA\\v11.8\\include\\crt/host_config.h"
    );
    assert_eq!(message(&msvc(1939), &limits, "CUDA 11.8"), None);
    let limits = Limits {
        msvc: Some((1920, 1960)),
        ..Limits::default()
    };
    let old = message(&msvc(1916), &limits, "CUDA 13.5").unwrap();
    assert!(
        old.contains("is older than CUDA 13.5 supports (cl 19.20 to 19.59)")
            && old.contains("install MSVC toolset 14.20 or later")
            && !old.contains("or take CUDA"),
        "{old}"
    );
}

#[test]
fn a_clang_that_is_too_new() {
    let clang = HostCompiler {
        make: Make::Clang,
        version: Version::new(15, 0, 6),
        glibc: None,
        host_config: None,
    };
    let limits = Limits {
        gcc: Some(11),
        clang: Some(15),
        msvc: None,
    };
    let text = message(&clang, &limits, "CUDA 11.8").unwrap();
    assert!(
        text.starts_with(
            "clang 15.0.6 at `C:\\VC\\cl.exe` is newer than CUDA 11.8 supports (clang 14 or older)  [host"
        ) && text.contains("= help: install `clang-14` or a g++ that CUDA 11.8 supports, and set NVCC_CCBIN")
            && text.contains("= help: upgrade to CUDA 12.1 or later"),
        "{text}"
    );
    let fits = HostCompiler {
        version: Version::new(14, 0, 6),
        ..clang
    };
    assert_eq!(message(&fits, &limits, "CUDA 11.8"), None);
}

fn chosen(env: &[(&str, &str)], flags: &[&str]) -> CompilerChoice {
    let env = env
        .iter()
        .map(|(name, value)| (name.to_string(), value.into()));
    let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
    choice(&Environment::new(env), &flags)
}

#[test]
fn the_origin_of_the_compilers_name() {
    let all = [("NVCC_CCBIN", "a"), ("CUDAHOSTCXX", "b"), ("CXX", "c")];
    let named = |variable, name: &str| CompilerChoice::Variable(variable, name.to_string());
    assert_eq!(chosen(&all, &[]), named(Variable::NvccCcbin, "a"));
    assert_eq!(chosen(&all[1..], &[]), named(Variable::CudaHostCxx, "b"));
    assert_eq!(chosen(&all[2..], &[]), named(Variable::Cxx, "c"));
    assert_eq!(chosen(&[("CXX", "ccache g++")], &[]), CompilerChoice::Unset);
    for flags in [
        &["-ccbin", "g++-12"][..],
        &["-O3", "--compiler-bindir=/usr/bin"],
        &["-ccbin=g++"],
    ] {
        assert_eq!(chosen(&all, flags), CompilerChoice::Flag, "{flags:?}");
    }
    let appended = [
        ("NVCC_APPEND_FLAGS", "-lineinfo -ccbin g++-12"),
        ("CXX", "c"),
    ];
    assert_eq!(chosen(&appended, &[]), CompilerChoice::Flag);
    assert_eq!(
        chosen(&[], &["-Iccbin", "-DX=ccbin"]),
        CompilerChoice::Unset
    );
}

/// nvcc fails with "Cannot find compiler 'cl.exe' in PATH" outside a developer prompt.
#[test]
fn nvcc_gets_the_path_of_visual_studio() {
    let windows = Platform::from_triple("aarch64-pc-windows-msvc");
    let linux = Platform::from_triple("x86_64-unknown-linux-gnu");
    let env = [("LIB".into(), "C:\\VC\\lib\\arm64".into())].to_vec();
    let message = |choice, platform| {
        ccbin(&choice, platform, |cpu| {
            let cl = format!("C:\\VC\\{cpu}\\cl.exe");
            (Some(cl), env.clone())
        })
    };
    let found = Some("C:\\VC\\aarch64\\cl.exe".to_string());
    assert_eq!(
        message(CompilerChoice::Unset, &windows),
        (found, env.clone())
    );
    let nothing = (None, Vec::new());
    assert_eq!(message(CompilerChoice::Unset, &linux), nothing);
    // nvcc itself sets the variables for an explicitly named compiler.
    let named = CompilerChoice::Variable(Variable::NvccCcbin, "D:\\cl.exe".into());
    let requested = Some("D:\\cl.exe".to_string());
    assert_eq!(message(named, &windows), (requested, Vec::new()));
    assert_eq!(message(CompilerChoice::Flag, &windows), nothing);
    let unknown = ccbin(&CompilerChoice::Unset, &windows, |_| (None, Vec::new()));
    assert_eq!(unknown, nothing);
}

/// nvcc on Windows accepts no other compiler, not even for PTX.
#[test]
fn without_microsofts_compiler_the_help_names_its_installer() {
    let output = format!("nvcc fatal   : {NO_CL}");
    let env = Environment::default();
    let help = |choice| missing(&output, &choice, &env).unwrap().help();
    assert_eq!(
        help(CompilerChoice::Unset),
        "install Visual Studio's C++ tools, which nvcc requires on Windows: `winget install \
         Microsoft.VisualStudio.2022.BuildTools --override \"--passive --add Microsoft.VisualStudio.Workload.VCTools \
         --includeRecommended\"`"
    );
    assert_eq!(
        help(CompilerChoice::Variable(Variable::Cxx, "g++".into())),
        "set CXX, which is `g++`, to the path of Visual Studio's `cl.exe`, or unset it: nvcc on Windows supports no other \
         compiler"
    );
    assert!(
        help(CompilerChoice::Flag)
            .starts_with("set `-ccbin` to the path of Visual Studio's `cl.exe`")
    );
}

/// The output of nvcc 13.5 without Debian's g++-aarch64-linux-gnu.
#[test]
fn a_missing_cross_compiler_is_named() {
    let output = "aarch64-linux-gnu-g++: No such file or directory\n\
        nvcc fatal   : Failed to preprocess host compiler properties.\n";
    let env = Environment::default();
    let help = |output| {
        missing(output, &CompilerChoice::Unset, &env)
            .unwrap()
            .help()
    };
    assert_eq!(
        help(output),
        "install `aarch64-linux-gnu-g++` (Debian, Ubuntu: `sudo apt install g++-aarch64-linux-gnu`), or set \
         NVCC_CCBIN to another compiler for that architecture: nvcc cannot start it"
    );
    assert_eq!(
        help(&output.replace("aarch64-linux-gnu-g++", "gcc")),
        "install g++, or set NVCC_CCBIN to its path: nvcc cannot start its host compiler"
    );
}

#[test]
fn alternatives_have_this_compilers_name_with_a_number() {
    let limits = Limits {
        gcc: Some(7),
        ..Limits::default()
    };
    let names = |program: &str| alternative_names(Path::new(program), &limits).join(" ");
    for (program, expected) in [
        ("/usr/bin/gcc", "g++-7 g++-6 g++-5"),
        ("/usr/bin/g++-15", "g++-7 g++-6 g++-5"),
        ("clang++", "g++-7 g++-6 g++-5"),
        (
            "/usr/bin/aarch64-linux-gnu-g++",
            "aarch64-linux-gnu-g++-7 aarch64-linux-gnu-g++-6 aarch64-linux-gnu-g++-5",
        ),
    ] {
        assert_eq!(names(program), expected, "{program}");
    }
    assert!(alternative_names(Path::new("gcc"), &Limits::default()).is_empty());
    let damaged = Limits {
        gcc: Some(u32::MAX),
        ..Limits::default()
    };
    assert_eq!(alternative_names(Path::new("gcc"), &damaged).len(), 20);
}
