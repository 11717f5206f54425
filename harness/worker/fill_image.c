/* The fat binary of fill.cu, made by nvcc when this program is built. */
#include "harness/worker/fill_image.h"

__asm__(".section .rodata\n"
        ".balign 64\n"
        ".globl ks_fill_image\n"
        ".hidden ks_fill_image\n"
        "ks_fill_image:\n"
        ".incbin \"" KS_FILL_FATBIN "\"\n"
        ".previous\n");
