/* Skips over ADIW and SBIW, in code and in what only looks like code. The labels say which simavr 1.6 gets wrong. */
        jmp     main
        .org    0x100

        .type   table, @object
table:  .word   0xfc00, 0x960c          ; sbrc r0, 0 and adiw r24, 12 as numbers
        .word   0x1001, 0x971f
        .size   table, .-table

        .type   right, @function
right:  sbrc    r20, 0
        adiw    r24, 11                 ; low nibble b
        sbrc    r20, 0
        sbiw    r24, 16                 ; low nibble 0
        sbrs    r20, 0
        lds     r22, 0x300
        cpse    r20, r21
        call    main
        sts     0x1001, r20             ; its second word is that of cpse r0, r1
        adiw    r24, 12
        lds     r20, 0x1001
        sbiw    r24, 13
        nop
        adiw    r24, 63
        ret
        .size   right, .-right

        .type   wrong, @function
wrong:  nop
        sbrc    r20, 0
        adiw    r24, 12
        sbrs    r20, 0
        sbiw    r26, 31
        cpse    r20, r21
        adiw    r30, 63
        sbic    0x1e, 0
        sbiw    r28, 45
        sbis    0x1e, 0
        adiw    r28, 14
        ret
        .size   wrong, .-wrong

untyped:                                ; assembler often gives neither type nor size
        sbrs    r20, 7
        adiw    r26, 15
        ret
        .global main
main:   rjmp    main
