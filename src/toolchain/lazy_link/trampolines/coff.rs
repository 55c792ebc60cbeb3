//! The assembly for object files of Windows.

use super::Assembly;

/// Each slot also has the name that code with `dllimport` reads the function's address from.
///
/// The resolver saves the registers that can hold arguments: four integers, in the space that callers provide for them,
/// and six vectors. The number of the function is in `eax`, which holds no argument.
pub const X86_64: Assembly = Assembly {
    start: "    .text\n",
    function: "    .globl {name}
    .def {name}; .scl 2; .type 32; .endef
    .p2align 4
{name}:
    jmp *.Lslots+{slot}(%rip)
",
    stub: ".Lstub{index}:
    movl ${index}, %eax
    jmp lazy.resolve
",
    resolver: "    .def lazy.resolve; .scl 3; .type 32; .endef
    .seh_proc lazy.resolve
lazy.resolve:
    subq $136, %rsp
    .seh_stackalloc 136
    .seh_endprologue
    movq %rcx, 144(%rsp)
    movq %rdx, 152(%rsp)
    movq %r8, 160(%rsp)
    movq %r9, 168(%rsp)
    movaps %xmm0, 32(%rsp)
    movaps %xmm1, 48(%rsp)
    movaps %xmm2, 64(%rsp)
    movaps %xmm3, 80(%rsp)
    movaps %xmm4, 96(%rsp)
    movaps %xmm5, 112(%rsp)
    leaq .Llibrary(%rip), %rcx
    movl %eax, %edx
    call {resolver}
    movq 144(%rsp), %rcx
    movq 152(%rsp), %rdx
    movq 160(%rsp), %r8
    movq 168(%rsp), %r9
    movaps 32(%rsp), %xmm0
    movaps 48(%rsp), %xmm1
    movaps 64(%rsp), %xmm2
    movaps 80(%rsp), %xmm3
    movaps 96(%rsp), %xmm4
    movaps 112(%rsp), %xmm5
    addq $136, %rsp
    jmp *%rax
    .seh_endproc
",
    slots: "    .data\n    .p2align 3\n.Lslots:\n",
    slot: "    .globl __imp_{name}\n__imp_{name}:\n    .quad .Lstub{index}\n",
    constants: "    .section .rdata,\"dr\"\n",
    end: "",
};
