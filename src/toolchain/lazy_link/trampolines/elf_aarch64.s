// The functions are weak, since two crates of a program may contain archives of different versions.
// The start marks code that works with branch target identification.
// The resolver saves the registers that can hold arguments: eight integers, the address of a structure to return, and
// eight vectors. The number of the function is in `w17`.
//: start
    .section .note.gnu.property,"a"
    .p2align 3
    .word 4, 16, 5
    .asciz "GNU"
    .word 0xc0000000, 4, 1, 0
    .text
//: function
    .weak {name}
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
//: stub
.Lstub{index}:
    .cfi_startproc
    hint #34
    mov w17, #{index}
    b .Lresolve
    .cfi_endproc
//: resolver
    .hidden {resolver}
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
