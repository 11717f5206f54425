#ifndef KS_HARNESS_OBJECT_H
#define KS_HARNESS_OBJECT_H

/* What an object file that nvcc made says about itself, read from ELF: sections, symbols, relocations, constructors, host state,
 * telling opcodes, and the PTX inside.  Two gates judge candidates by it, and emission compares what it builds with what was
 * judged. */

#include "base/str.h"
#include "base/json.h"

struct ks_symbol {
    const char *name;                              /* "" for sections and files */
    bool defined, external, weak, function, state; /* state: writable storage that outlives a call */
    size_t size_bytes;
    size_t section; /* 0: undefined, absolute or common */
    uint64_t value;
};

struct ks_section {
    const char *name;
    uint32_t type;
    uint64_t flags;
    size_t size_bytes;
    const unsigned char *bytes; /* NULL: zeros */
};

struct ks_reloc {
    size_t section; /* what is changed */
    uint64_t off_byte;
    uint32_t type;
    size_t symbol;
    int64_t addend;
};

struct ks_object {
    struct ks_str file; /* its bytes; names point into it */
    struct ks_symbol *symbols;
    size_t n_symbols;
    struct ks_section *sections; /* by ELF's numbers: the first is none */
    size_t n_sections;
    struct ks_reloc *relocs; /* of sections that get loaded; sorted by place */
    size_t n_relocs;
    bool x86;
    size_t constructors_bytes, destructors_bytes; /* .init_array and kin, .fini_array and kin */
    size_t n_fatbins;
    size_t n_syscalls; /* system call opcodes in host code */
    size_t n_clocks;   /* opcodes that read a clock or random bits of the processor */
    size_t n_states;   /* opcodes that read or write what the processor or the thread keeps from call to call */
    size_t n_indirect; /* STT_GNU_IFUNC */
    bool stubs_known;  /* set by who has read the compiler's text: every function with the name of a kernel's stub is nvcc's */
    struct ks_str ptx;
    char code_hash[65]; /* of all that gets loaded but device code, with what its relocations mean */
};

/* Errors: KS_ERR_SYNTAX when it is no 64-bit x86 or ARM relocatable ELF file; KS_ERR_NOT_FOUND when it holds no PTX. */
KS_NODISCARD enum ks_code ks_object_read(const char *path, struct ks_object *ret_object, struct ks_err *err);
/* The same for any object of a compiler: without device code, or with machine code alone, ptx stays empty. */
KS_NODISCARD enum ks_code ks_object_read_host(const char *path, struct ks_object *ret_object, struct ks_err *err);
void ks_object_release(struct ks_object *o);
const struct ks_symbol *ks_object_symbol(const struct ks_object *o, const char *name);
/* Equal, the number aside that nvcc makes of a file's path. */
bool ks_object_same_name(const char *a, const char *b);

/* `interface`: the same external symbols, entry included; new ones only for kernels and template instances.
 * True when passed, else `reason` is appended to. */
bool ks_interface_check(const struct ks_object *baseline, const struct ks_object *candidate, const char *entry_symbol,
                        struct ks_str *reason);
/* `admission`: undefined symbols within the allow-list or the baseline's own, no new constructors, no system call opcodes, no
 * clocks and no registers that keep state, code in known sections, no new host state, one fat binary; no new device state, no clock in device code (read from the
 * PTX). */
bool ks_admission_check(const struct ks_object *baseline, const struct ks_object *candidate, struct ks_str *reason);
/* Variables of the host that outlive a call: every byte of every writable section belongs to the glue that nvcc makes (known by
 * exact name and size, at most one set for each kernel, touched by glue alone, of which a stub may have become a part of any
 * function where o->stubs_known and the text has no variable of its own to get at it from), to the host's shadow of a device variable, or to
 * a variable that the baseline has too.  baseline NULL: what emission asks of the original and of a candidate that was admitted;
 * no shadows and no variables, since two versions cannot share them.  True when there are none, else `reason` is appended to. */
bool ks_state_check(const struct ks_object *baseline, const struct ks_object *object, struct ks_str *reason);
/* Variables of the device that outlive a call and that code or host can change, in a function too, where the host has no shadow of
 * them.  Tables of the compiler's that are only read (texts, what sinf() looks up) do not count, nor do bytes that no device code
 * mentions.  True when there are none, else `reason` is appended to. */
bool ks_device_state_check(const struct ks_object *object, struct ks_str *reason);
/* The allow-list alone (harness/allow_undefined.def). */
bool ks_admission_symbol_allowed(const char *name);

#endif
