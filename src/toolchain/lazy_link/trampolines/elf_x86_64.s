// The functions are weak, since two crates of a program may contain archives of different versions.
// The start marks code that works with Intel's CET: indirect branch tracking and the shadow stack.
// The resolver saves the registers that can hold arguments: six integers, the static chain, the number of vector
// registers, and eight vectors. The number of the function is on the stack.
//: start
    .section .note.gnu.property,"a"
    .p2align 3
    .long 4, 16, 5
    .asciz "GNU"
    .long 0xc0000002, 4, 3, 0
    .text
//: function
    .weak {name}
    .type {name}, @function
    .p2align 4
{name}:
    .cfi_startproc
    endbr64
    jmp *.Lslots+{slot}(%rip)
    .cfi_endproc
    .size {name}, .-{name}
//: stub
.Lstub{index}:
    .cfi_startproc
    endbr64
    pushq ${index}
    .cfi_adjust_cfa_offset 8
    jmp .Lresolve
    .cfi_endproc
//: resolver
    .hidden {resolver}
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
//: slots
    .section .data.rel.local,"aw"
    .p2align 3
.Lslots:
//: slot
    .quad .Lstub{index}
//: constants
    .section .rodata
//: end
    .section .note.GNU-stack,"",%progbits
