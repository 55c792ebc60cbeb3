//! The assembly of functions that open their library when they are first called.
//!
//! Each function jumps to the address in its slot. At first, that is a stub, which passes the library and the number of
//! the function to the resolver in the runtime. The resolver writes the address of the real function into the
//! slot, and returns it. All argument registers are preserved, and the stack is as the caller left it, so the arguments
//! of any function reach it, and an exception or a panic passes through.

pub mod coff;
pub mod elf;

use crate::compat;
use std::fmt::Write;

/// The resolver of this version: a program may contain other versions of the runtime.
const RESOLVER: &str = concat!(
    "cudnn_guard_resolve_",
    env!("CARGO_PKG_VERSION_MAJOR"),
    "_",
    env!("CARGO_PKG_VERSION_MINOR")
);

/// The parts of the assembly for a target. In them, `{name}` stands for a function, `{index}` for its number, and
/// `{slot}` for the offset of its slot.
pub struct Assembly {
    start: &'static str,
    function: &'static str,
    stub: &'static str,
    /// The code that all stubs jump to.
    resolver: &'static str,
    /// The section of the slots, and one slot.
    slots: &'static str,
    slot: &'static str,
    /// The section of constants.
    constants: &'static str,
    end: &'static str,
}

impl Assembly {
    /// Returns the complete source for the functions of a library. `version` is the release that the program is built
    /// with, such as `cuDNN 9.28.0`; empty if it is unknown. The names must be [valid](is_valid).
    pub fn text(&self, soname: &str, version: &str, functions: &[String]) -> String {
        let mut out = self.start.to_string();
        let add_all = |out: &mut String, part: &str| {
            for (index, name) in functions.iter().enumerate() {
                let slot = (8 * index).to_string();
                let part = part.replace("{name}", name).replace("{slot}", &slot);
                out.push_str(&part.replace("{index}", &index.to_string()));
            }
        };
        add_all(&mut out, self.function);
        add_all(&mut out, self.stub);
        out.push_str(&self.resolver.replace("{resolver}", RESOLVER));
        out.push_str(self.slots);
        add_all(&mut out, self.slot);
        let (count, constants) = (functions.len(), self.constants);
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            ".Llibrary:\n    .quad .Lsoname\n    .quad .Lversion\n    .quad .Lnames\n    .quad .Lslots\n    .quad {count}\n\
             {constants}.Lsoname:\n    .asciz \"{soname}\"\n.Lversion:\n    .asciz \"{version}\"\n.Lnames:"
        );
        let introduced = compat::introduced();
        for name in functions {
            let row = introduced.iter().find(|(function, _)| function == name);
            let version = row.map_or_else(String::new, |(_, version)| format!(" cuDNN {version}"));
            let _ = writeln!(out, "    .asciz \"{name}{version}\"");
        }
        out.push_str(self.end);
        out
    }
}

/// Returns `true` for a name that needs no quotation in assembly.
pub fn is_valid(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.$".contains(&byte);
    !name.is_empty() && !name.as_bytes()[0].is_ascii_digit() && name.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An attribute cannot contain the version of the crate.
    #[test]
    fn the_runtime_exports_the_resolver() {
        let runtime = include_str!("../../../../build-support/guard/lazy.rs");
        assert!(runtime.contains(&format!("export_name = \"{RESOLVER}\"")));
    }
}
