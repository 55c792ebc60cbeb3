//! Queries of nvcc's host compiler, and the search for other compilers.

use crate::host_compiler::{
    AlternativeCompiler, HostCompiler, HostCompilerFault, Limits, Make, QUESTION,
    alternative_names, headers, parse_answer, parse_command, selection,
};
use crate::model::{CompilerChoice, Invocation, Os, Toolkit, Variable};
use crate::runtime::facts::Finding;
use crate::system::{Host, Output, files, on_path};
use crate::toolkit::{Optimisation, Plan, Product, nvcc_command};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The limit of reported alternatives. Each of them has to be run.
const MOST_REPORTED: usize = 3;

/// Returns a plan with these flags of the build script and the configured host compiler.
pub fn plan<'a>(
    host: &'a Host,
    toolkit: Option<&'a Toolkit>,
    nvcc: &Path,
    product: Product,
    flags: Vec<String>,
) -> Result<Plan<'a>, HostCompilerFault<'static>> {
    let mut choice = selection::choice(&host.env, &flags);
    match (nvcc_itself(&choice, &flags, host), &choice) {
        // Other tools use CXX too, and it may name Kokkos's `nvcc_wrapper`.
        (Some(_), CompilerChoice::Variable(Variable::Cxx, _)) => choice = CompilerChoice::Unset,
        (Some(fault), _) => return Err(fault),
        (None, _) => {}
    }
    let (ccbin, env) = selection::ccbin(&choice, &host.platform, visual_studio);
    Ok(Plan {
        host,
        toolkit,
        nvcc: nvcc.to_path_buf(),
        product,
        choice,
        ccbin,
        env,
        flags,
        optimisation: Optimisation::default(),
        watched: Vec::new(),
        is_gcc: false,
    })
}

/// Queries the host compiler through nvcc, with the flags of the plan. Returns it and its program, or `None` for a
/// compiler of an unknown vendor. The answer is cached until the compiler, nvcc or a header that it read changes.
pub fn query(plan: &Plan, dir: &Path) -> Result<Option<(HostCompiler, PathBuf)>, Finding> {
    let host = plan.host;
    let source = dir.join("host-compiler.cpp");
    files::write(&source, QUESTION)?;
    let question = nvcc_command::question(plan, &source);
    let depends_on = |output: &Output| {
        let (_, program) = read(output, host)?;
        let mut headers = headers(&output.stdout);
        files::keep(&mut headers, &|header| header != source);
        headers.push(program);
        Some(headers)
    };
    let output = host.answers.query(&question, &depends_on).ok();
    let output = output.filter(|output| output.success);
    Ok(output.and_then(|output| read(&output, host)))
}

/// Returns the fault if nvcc is its own host compiler. Runs the program, because it may be a script that calls nvcc.
pub fn nvcc_itself(
    choice: &CompilerChoice,
    flags: &[String],
    host: &Host,
) -> Option<HostCompilerFault<'static>> {
    let (variable, name) = match choice {
        CompilerChoice::Variable(variable, name) => {
            (Some(host.env.spelling(*variable)), name.clone())
        }
        CompilerChoice::Flag => (None, selection::flag(flags, &host.env)?),
        CompilerChoice::Unset => return None,
    };
    let program = host
        .on_path(&name)
        .filter(|program| files::is_file(program))?;
    let question = Invocation::new(&program, &["--version"]);
    let output = host.answers.query(&question, &|_| Some(Vec::new())).ok()?;
    let mut lines = output.stdout.lines();
    let version = lines.find(|line| line.contains("Cuda compilation tools"))?;
    let version = version.to_string();
    Some(HostCompilerFault::NvccItself(variable, name, version))
}

fn read(output: &Output, host: &Host) -> Option<(HostCompiler, PathBuf)> {
    let compiler = parse_answer(&output.stdout)?;
    // On Windows, nvcc prints the command on standard output.
    let shown = parse_command(&output.stderr).or_else(|| parse_command(&output.stdout));
    let (program, path) = shown.unwrap_or_else(|| match compiler.make {
        Make::Msvc => ("cl.exe".to_string(), None),
        Make::Clang => ("clang++".to_string(), None),
        Make::Gcc => ("gcc".to_string(), None),
    });
    let found = match path {
        Some(path) => on_path(&program, path.as_ref()),
        None => host.on_path(&program),
    };
    Some((compiler, found.unwrap_or_else(|| program.into())))
}

/// Returns the installed alternatives to this compiler that the toolkit supports, the newest first.
pub fn installed_alternatives(
    program: &Path,
    limits: &Limits,
    host: &Host,
) -> Vec<AlternativeCompiler> {
    let read = |name: &str| {
        let program = host.on_path(name)?;
        let question = Invocation::new(&program, &["-dumpfullversion", "-dumpversion"]);
        let output = host.answers.query(&question, &|_| None).ok()?;
        let version = output.stdout.trim().to_string();
        let major: u32 = version.split('.').next()?.parse().ok()?;
        let fits = output.success && limits.misfit(Make::Gcc, major).is_none();
        fits.then_some(AlternativeCompiler { program, version })
    };
    let mut installed = Vec::new();
    for name in alternative_names(program, limits) {
        if installed.len() == MOST_REPORTED {
            break;
        }
        if let Some(compiler) = read(&name) {
            installed.push(compiler);
        }
    }
    installed
}

/// Returns a compilation of the cc crate for the target, which prints nothing for cargo.
pub fn compilation(host: &Host) -> cc::Build {
    let mut build = cc::Build::new();
    build.cargo_metadata(false).cargo_warnings(false);
    build.target(&host.platform.triple);
    build.host(&host.builder().triple);
    build.opt_level(0).debug(false);
    build
}

/// Returns the C++ cross compiler that the cc crate finds, if the target has another CPU. nvcc itself would use the
/// `gcc` on PATH.
pub fn cross_compiler(host: &Host) -> Option<String> {
    if host.builder().cpu == host.platform.cpu || host.platform.os != Os::Linux {
        return None;
    }
    let tool = compilation(host).cpp(true).try_get_compiler().ok()?;
    Some(tool.path().to_str()?.to_string())
}

/// Returns the `cl.exe` for this CPU on Windows: from the developer prompt, else from the newest Visual Studio, where
/// nvcc does not search. The variables are PATH, LIB and INCLUDE, unless a developer prompt sets them.
#[allow(
    deprecated,
    reason = "older versions of cc have no other access to the variables"
)]
pub fn visual_studio(cpu: &str) -> (Option<String>, Vec<(OsString, OsString)>) {
    // cc searches only for a Windows target, and older versions need a full triple.
    let target = format!("{cpu}-pc-windows-msvc");
    match cc::windows_registry::find_tool(&target, "cl.exe") {
        Some(tool) => {
            let cl = tool.path().to_string_lossy().into_owned();
            (Some(cl), tool.env().to_vec())
        }
        None => (None, Vec::new()),
    }
}
