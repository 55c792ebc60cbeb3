//! Asks nvcc's host compiler what it is, and looks for others.

use crate::host_compiler::compiler_choice::{self, Choice, VisualStudio};
use crate::host_compiler::limits::{Limits, Make};
use crate::host_compiler::{
    AlternativeCompiler, HostCompiler, HostCompilerFault, QUESTION, headers, parse_answer,
    parse_command,
};
use crate::model::environment::Variable;
use crate::model::invocation::Invocation;
use crate::model::platform::Os;
use crate::runtime::facts::finding::Finding;
use crate::system::probe_cache::DEADLINE;
use crate::system::programs::{Output, on_path, run};
use crate::system::{Host, files};
use crate::toolkit::nvcc_command;
use crate::toolkit::nvcc_command::Plan;
use std::path::{Path, PathBuf};

/// More than these are not of interest, and each has to be asked.
const MOST_RIVALS: usize = 3;

/// The compiler with its program. nvcc runs it, with everything that the plan tells nvcc; what it says nothing of is
/// unknown. It is asked again when it, nvcc or a header that it read has changed.
pub fn ask(
    plan: &Plan,
    host: &Host,
    folder: &Path,
) -> Result<Option<(HostCompiler, PathBuf)>, Finding> {
    let source = folder.join("host-compiler.cpp");
    files::write(&source, QUESTION)?;
    let question = nvcc_command::question(plan, &source);
    let rests_on = |output: &Output| {
        let (_, program) = read(output, host)?;
        let mut headers = headers(&output.stdout);
        headers.retain(|header| *header != source);
        Some(headers.into_iter().chain([program]).collect())
    };
    let said = host.answers.query(&question, &rests_on);
    let said = said.ok().filter(|output| output.success);
    Ok(said.and_then(|output| read(&output, host)))
}

/// Returns the fault if nvcc is named as its own host compiler. The program is run, since it may be a script that calls
/// nvcc.
pub fn nvcc_itself(
    choice: &Choice,
    flags: &[String],
    host: &Host,
) -> Option<HostCompilerFault<'static>> {
    let (variable, name) = match choice {
        Choice::Variable(variable, name) => (Some(host.env.spelling(*variable)), name.clone()),
        Choice::Flag => (None, compiler_choice::flag(flags, &host.env)?),
        Choice::Nobody => return None,
    };
    let path = host.env.var(Variable::Path.name()).unwrap_or_default();
    let question = Invocation {
        program: on_path(&name, path).filter(|program| files::is_file(program))?,
        args: vec!["--version".to_string()],
        ..Invocation::default()
    };
    let said = host.answers.query(&question, &|_| Some(Vec::new()));
    let tells = said.ok()?.stdout;
    let release = tells
        .lines()
        .find(|line| line.contains("Cuda compilation tools"))?;
    Some(HostCompilerFault::NvccItself {
        variable,
        name,
        release: release.to_string(),
    })
}

/// What nvcc says where it gives no answer.
#[cfg(feature = "cli")]
pub fn words(plan: &Plan, host: &Host, folder: &Path) -> Option<String> {
    let question = nvcc_command::question(plan, &folder.join("host-compiler.cpp"));
    let said = host.answers.query(&question, &|_| None).ok()?;
    let lines = said.stdout.lines().chain(said.stderr.lines());
    let lines = lines.filter(|line| !line.starts_with("#$"));
    Some(lines.map(|line| format!("{line}\n")).collect())
}

fn read(output: &Output, host: &Host) -> Option<(HostCompiler, PathBuf)> {
    let compiler = parse_answer(&output.stdout)?;
    // On Windows, nvcc shows it with its other output.
    let shown = parse_command(&output.stderr).or_else(|| parse_command(&output.stdout));
    let (program, path) = shown.unwrap_or_else(|| match compiler.make {
        Make::Msvc => ("cl.exe".to_string(), None),
        Make::Clang => ("clang++".to_string(), None),
        Make::Gcc => ("gcc".to_string(), None),
    });
    let path = path.or_else(|| Some(host.env.var(Variable::Path.name())?.to_string()));
    let program = on_path(&program, path.unwrap_or_default()).unwrap_or_else(|| program.into());
    Some((compiler, program))
}

/// The installed compilers beside this one that the toolkit would take, the newest first, each as it says itself.
pub fn installed_alternatives(
    program: &Path,
    limits: &Limits,
    host: &Host,
) -> Vec<AlternativeCompiler> {
    let path = host.env.var(Variable::Path.name()).unwrap_or_default();
    let deadline = host.env.program_deadline().unwrap_or(DEADLINE);
    let names = crate::host_compiler::alternative_names(program, limits).into_iter();
    let found = names.filter_map(|name| {
        let program = on_path(&name, path)?;
        let question = Invocation {
            program: program.clone(),
            args: vec!["-dumpfullversion".into(), "-dumpversion".into()],
            ..Invocation::default()
        };
        let output = run(&question, deadline).ok()?;
        let release = output.stdout.trim().to_string();
        let major: u32 = release.split('.').next()?.parse().ok()?;
        let fits = output.success && limits.misfit(Make::Gcc, major).is_none();
        fits.then_some(AlternativeCompiler { program, release })
    });
    found.take(MOST_RIVALS).collect()
}

/// The C++ compiler for another processor than that of the system that builds, as the cc crate finds it: nvcc itself
/// takes the `gcc` on PATH.
pub fn cross_compiler(host: &Host) -> Option<String> {
    let builder = host.builder();
    if builder.cpu == host.platform.cpu || host.platform.os != Os::Linux {
        return None;
    }
    let mut compiler = cc::Build::new();
    compiler
        .cpp(true)
        .cargo_metadata(false)
        .cargo_warnings(false);
    compiler.target(&host.platform.triple).host(&builder.triple);
    let tool = compiler.opt_level(0).debug(false).try_get_compiler().ok()?;
    Some(tool.path().to_str()?.to_string())
}

/// The `cl.exe` for this processor, on Windows: that of the developer prompt, else of the newest Visual Studio, which
/// nvcc does not look for.
#[allow(deprecated, reason = "a cc before 1.11 gives its variables only so")]
pub fn visual_studio(cpu: &str) -> Option<VisualStudio> {
    // For another target than this a cc looks for nothing, and an older one takes no processor alone.
    let target = format!("{cpu}-pc-windows-msvc");
    let tool = cc::windows_registry::find_tool(&target, "cl.exe")?;
    Some(VisualStudio {
        cl: tool.path().to_path_buf(),
        env: tool.env().to_vec(),
    })
}
