//! The assembly for ELF files. The functions are weak, since two crates of a program may contain archives of different
//! releases.

use super::Assembly;

const SLOTS: &str = "    .section .data.rel.local,\"aw\"\n    .p2align 3\n.Lslots:\n";
const SLOT: &str = "    .quad .Lstub{index}\n";
const CONSTANTS: &str = "    .section .rodata\n";
const END: &str = "    .section .note.GNU-stack,\"\",%progbits\n";

/// The start marks code that works with Intel's CET: indirect branch tracking and the shadow stack.
///
/// The resolver saves the registers that can hold arguments: six integers, the static chain, the number of vector
/// registers, and eight vectors. The number of the function is on the stack.
pub const X86_64: Assembly = Assembly {
    start: r#"    .section .note.gnu.property,"a"
    .p2align 3
    .long 4, 16, 5
    .asciz "GNU"
    .long 0xc0000002, 4, 3, 0
    .text
"#,
    function: "    .weak {name}
    .type {name}, @function
    .p2align 4
{name}:
    .cfi_startproc
    endbr64
    jmp *.Lslots+{slot}(%rip)
    .cfi_endproc
    .size {name}, .-{name}
",
    stub: ".Lstub{index}:
    .cfi_startproc
    endbr64
    pushq ${index}
    .cfi_adjust_cfa_offset 8
    jmp .Lresolve
    .cfi_endproc
",
    resolver: "    .hidden {resolver}
.Lresolve:
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
    call {resolver}
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
",
    slots: SLOTS,
    slot: SLOT,
    constants: CONSTANTS,
    end: END,
};

/// The start marks code that works with branch target identification.
///
/// The resolver saves the registers that can hold arguments: eight integers, the address of a structure to return, and
/// eight vectors. The number of the function is in `w17`.
pub const AARCH64: Assembly = Assembly {
    start: r#"    .section .note.gnu.property,"a"
    .p2align 3
    .word 4, 16, 5
    .asciz "GNU"
    .word 0xc0000000, 4, 1, 0
    .text
"#,
    function: "    .weak {name}
    .type {name}, %function
    .p2align 4
{name}:
    .cfi_startproc
    hint #34
    adrp x16, .Lslots+{slot}
    ldr x16, [x16, #:lo12:.Lslots+{slot}]
    br x16
    .cfi_endproc
    .size {name}, .-{name}
",
    stub: ".Lstub{index}:
    .cfi_startproc
    hint #34
    mov w17, #{index}
    b .Lresolve
    .cfi_endproc
",
    resolver: "    .hidden {resolver}
.Lresolve:
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
    bl {resolver}
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
",
    slots: SLOTS,
    slot: SLOT,
    constants: CONSTANTS,
    end: END,
};
