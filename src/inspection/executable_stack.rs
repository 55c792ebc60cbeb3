//! Libraries that require an executable stack. glibc 2.41 and later open none of them unless the program starts with
//! one.

use crate::loader::ldso::LoadGraph;
use crate::model::linkage::{LoadPhase, Object};
use crate::runtime::loader::refused_library::{EXECUTABLE_STACK, Refusal, RefusedLibrary};
use crate::system::Host;
use crate::{Finding, FindingId};

/// The first glibc that refuses them, as the name of its newest symbols.
const FIRST: &str = "GLIBC_2.41";
/// The tunable that enables an executable stack: 0 for no program, 1 for programs that require it (the default), 2 for
/// all programs.
const TUNABLE: &str = "glibc.rtld.execstack=";

/// Returns the findings about libraries that the glibc of the graph refuses.
pub fn findings(graph: &LoadGraph, host: &Host) -> Vec<Finding> {
    let has_first = |it: &Object| it.linkage.defined_versions.iter().any(|it| it == FIRST);
    let mut libcs = graph.objects.iter().filter(|it| it.name == "libc.so.6");
    let tunables = host.env.var("GLIBC_TUNABLES").unwrap_or_default();
    let tunables = tunables.split(':').filter(|_| host.root.is_none());
    let allowed = tunables
        .filter_map(|one| one.strip_prefix(TUNABLE))
        .next_back();
    // A library that is inspected directly is opened by another program.
    let program = graph.objects.first().map(|it| &it.linkage);
    let is_program = program.is_some_and(|it| it.interpreter.is_some());
    let starts = |it: &Object| is_program && it.need == LoadPhase::Start;
    let requires = |it: &&Object| it.linkage.executable_stack;
    let has_stack = graph.objects.iter().filter(requires).any(starts) && allowed != Some("0");
    if !libcs.any(has_first) || has_stack || allowed == Some("2") {
        return Vec::new();
    }
    let refused = graph.objects.iter().filter(requires).map(|object| {
        let fault = RefusedLibrary {
            words: EXECUTABLE_STACK.into(),
            reason: Refusal::ExecutableStack(object.path.display().to_string()),
        };
        let mut finding = fault.finding().error_if(object.need != LoadPhase::Later);
        if !object.name.starts_with("libcudnn") {
            finding.id = FindingId::LibraryNotFound;
        }
        finding
    });
    refused.collect()
}
