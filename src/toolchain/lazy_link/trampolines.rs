//! The assembly of functions that open their library when they are first called.
//!
//! Each function jumps to the address in its slot. At first, that is a stub, which passes the library and the number of
//! the function to `cudnn_guard_resolve` in the runtime. The resolver writes the address of the real function into the
//! slot, and returns it. All argument registers are preserved, and the stack is as the caller left it, so the arguments
//! of any function reach it, and an exception or a panic passes through.

use std::fmt::Write;

/// The function of the runtime that finds the address of a function.
const RESOLVE: &str = "cudnn_guard_resolve";

/// The processors whose assembly is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpu {
    X86_64,
    Aarch64,
}

/// A library and the functions to forward to it.
pub struct Forwarded<'a> {
    pub soname: &'a str,
    /// The release that the program is built with, such as `9.28.0`; empty if it is unknown.
    pub version: &'a str,
    pub functions: &'a [String],
}

impl Cpu {
    /// Returns the processor with this name in a target triple.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// Returns the complete source. The names must be [valid](is_valid).
    pub fn assembly(self, library: &Forwarded) -> String {
        let mut out = match self {
            Self::X86_64 => PROPERTY_X86_64.to_string(),
            Self::Aarch64 => PROPERTY_AARCH64.to_string(),
        };
        out.push_str("    .text\n");
        let (function, stub, resolver) = match self {
            Self::X86_64 => (FUNCTION_X86_64, STUB_X86_64, RESOLVER_X86_64),
            Self::Aarch64 => (FUNCTION_AARCH64, STUB_AARCH64, RESOLVER_AARCH64),
        };
        for (index, name) in library.functions.iter().enumerate() {
            let slot = (8 * index).to_string();
            out.push_str(&function.replace("NAME", name).replace("SLOT", &slot));
        }
        for index in 0..library.functions.len() {
            out.push_str(&stub.replace("INDEX", &index.to_string()));
        }
        out.push_str(&resolver.replace("RESOLVE", RESOLVE));
        out.push_str("    .section .data.rel.local,\"aw\"\n    .p2align 3\n.Lslots:\n");
        for index in 0..library.functions.len() {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "    .quad .Lstub{index}");
        }
        let _ = writeln!(
            out,
            ".Llibrary:\n    .quad .Lsoname\n    .quad .Lversion\n    .quad .Lnames\n    .quad .Lslots\n    .quad {}\n    \
             .section .rodata\n.Lsoname:\n    .asciz \"{}\"\n.Lversion:\n    .asciz \"{}\"\n.Lnames:",
            library.functions.len(),
            library.soname,
            library.version,
        );
        for name in library.functions {
            let _ = writeln!(out, "    .asciz \"{name}\"");
        }
        out.push_str("    .section .note.GNU-stack,\"\",%progbits\n");
        out
    }
}

/// Returns `true` for a name that needs no quotation in assembly.
pub fn is_valid(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.$".contains(&byte);
    !name.is_empty() && !name.as_bytes()[0].is_ascii_digit() && name.bytes().all(is_plain)
}

/// Marks code that works with Intel's CET: indirect branch tracking and the shadow stack.
const PROPERTY_X86_64: &str = r#"    .section .note.gnu.property,"a"
    .p2align 3
    .long 4, 16, 5
    .asciz "GNU"
    .long 0xc0000002, 4, 3, 0
"#;
/// Marks code that works with branch target identification.
const PROPERTY_AARCH64: &str = r#"    .section .note.gnu.property,"a"
    .p2align 3
    .word 4, 16, 5
    .asciz "GNU"
    .word 0xc0000000, 4, 1, 0
"#;

// Other libraries of the process must not call these functions instead of the real ones, so they are hidden.
const FUNCTION_X86_64: &str = "    .globl NAME
    .hidden NAME
    .type NAME, @function
    .p2align 4
NAME:
    .cfi_startproc
    endbr64
    jmp *.Lslots+SLOT(%rip)
    .cfi_endproc
    .size NAME, .-NAME
";
const STUB_X86_64: &str = ".LstubINDEX:
    .cfi_startproc
    endbr64
    pushq $INDEX
    .cfi_adjust_cfa_offset 8
    jmp .Lresolve
    .cfi_endproc
";
/// Saves the registers that can hold arguments: six integers, the static chain, the number of vector registers, and
/// eight vectors. The number of the function is on the stack.
const RESOLVER_X86_64: &str = ".Lresolve:
    .cfi_startproc
    .cfi_def_cfa_offset 16
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_offset %rbp, -24
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $192, %rsp
    andq $-16, %rsp
    movq %rdi, (%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movq %rax, 48(%rsp)
    movq %r10, 56(%rsp)
    movaps %xmm0, 64(%rsp)
    movaps %xmm1, 80(%rsp)
    movaps %xmm2, 96(%rsp)
    movaps %xmm3, 112(%rsp)
    movaps %xmm4, 128(%rsp)
    movaps %xmm5, 144(%rsp)
    movaps %xmm6, 160(%rsp)
    movaps %xmm7, 176(%rsp)
    leaq .Llibrary(%rip), %rdi
    movq 8(%rbp), %rsi
    call RESOLVE@PLT
    movq %rax, %r11
    movq (%rsp), %rdi
    movq 8(%rsp), %rsi
    movq 16(%rsp), %rdx
    movq 24(%rsp), %rcx
    movq 32(%rsp), %r8
    movq 40(%rsp), %r9
    movq 48(%rsp), %rax
    movq 56(%rsp), %r10
    movaps 64(%rsp), %xmm0
    movaps 80(%rsp), %xmm1
    movaps 96(%rsp), %xmm2
    movaps 112(%rsp), %xmm3
    movaps 128(%rsp), %xmm4
    movaps 144(%rsp), %xmm5
    movaps 160(%rsp), %xmm6
    movaps 176(%rsp), %xmm7
    movq %rbp, %rsp
    popq %rbp
    .cfi_restore %rbp
    .cfi_def_cfa %rsp, 16
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    jmp *%r11
    .cfi_endproc
";

const FUNCTION_AARCH64: &str = "    .globl NAME
    .hidden NAME
    .type NAME, %function
    .p2align 4
NAME:
    .cfi_startproc
    hint #34
    adrp x16, .Lslots+SLOT
    ldr x16, [x16, #:lo12:.Lslots+SLOT]
    br x16
    .cfi_endproc
    .size NAME, .-NAME
";
const STUB_AARCH64: &str = ".LstubINDEX:
    .cfi_startproc
    hint #34
    mov w17, #INDEX
    b .Lresolve
    .cfi_endproc
";
/// Saves the registers that can hold arguments: eight integers, the address of a structure to return, and eight
/// vectors. The number of the function is in `w17`.
const RESOLVER_AARCH64: &str = ".Lresolve:
    .cfi_startproc
    stp x29, x30, [sp, #-224]!
    .cfi_def_cfa_offset 224
    .cfi_offset 29, -224
    .cfi_offset 30, -216
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    adrp x0, .Llibrary
    add x0, x0, #:lo12:.Llibrary
    mov w1, w17
    bl RESOLVE
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp q0, q1, [sp, #96]
    ldp q2, q3, [sp, #128]
    ldp q4, q5, [sp, #160]
    ldp q6, q7, [sp, #192]
    ldp x29, x30, [sp], #224
    .cfi_restore 29
    .cfi_restore 30
    .cfi_def_cfa_offset 0
    br x16
    .cfi_endproc
";
