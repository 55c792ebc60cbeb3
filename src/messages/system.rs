//! Files that could not be read, and programs that could not be run.

use crate::model::Invocation;
use crate::runtime::facts::{Finding, FindingId, printable};
use crate::system::ProgramFault;
use crate::system::files::FileFault;

impl FileFault<'_> {
    pub fn finding(&self) -> Finding {
        match self {
            Self::Failed(verb, path, error) => FindingId::IoError
                .error(format!("cannot {verb} `{}`", path.display()))
                .with("reason", error),
            Self::InvalidPattern(pattern, reason) => FindingId::ConfigInvalid
                .error(format!("`{pattern}` is not a valid file pattern"))
                .with("reason", reason)
                .help("use `*`, `?`, `**` or `[..]`, as in `src/kernels/*.cu`"),
        }
    }
}

impl ProgramFault<'_> {
    pub fn finding(&self, invocation: &Invocation) -> Finding {
        let name = invocation.program.display().to_string();
        match self {
            Self::Failed(verb, error) => FindingId::IoError
                .error(format!("cannot {verb} `{}`: {error}", printable(&name)))
                .with("command", invocation),
            Self::TimedOut(limit, output) => {
                let limit = limit.as_secs_f64();
                let output = Some(output.trim_end()).filter(|output| !output.is_empty());
                FindingId::ProgramTimeout
                    .error(format!(
                        "`{name}` did not finish within {limit} s and was stopped"
                    ))
                    .with("command", invocation)
                    .with_some("output", output)
                    .help("run the command by hand to see where it hangs")
                    .help(format!(
                        "set CUDNN_GUARD_PROGRAM_DEADLINE={} to give it more time",
                        (limit * 2.0).ceil()
                    ))
            }
        }
    }
}
