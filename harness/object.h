#ifndef KS_HARNESS_OBJECT_H
#define KS_HARNESS_OBJECT_H

/* What an object file that nvcc made says about itself, read from ELF: symbols, constructors, host state, system call opcodes,
 * and the PTX inside.  Two gates judge candidates by it. */

#include "base/str.h"
#include "base/json.h"

struct ks_symbol {
    const char *name;
    bool defined, external, weak, function, state; /* state: writable storage that outlives a call */
    size_t size_bytes;
};

struct ks_object {
    struct ks_str file; /* its bytes; names point into it */
    struct ks_symbol *symbols;
    size_t n_symbols, cap_symbols;
    size_t constructors_bytes, destructors_bytes; /* .init_array and kin, .fini_array and kin */
    size_t n_fatbins;
    size_t n_syscalls; /* system call opcodes in host code */
    size_t n_indirect; /* STT_GNU_IFUNC */
    struct ks_str ptx;
    char code_hash[65]; /* of all host code sections */
};

/* Errors: KS_ERR_SYNTAX when it is no 64-bit x86 or ARM relocatable ELF file; KS_ERR_NOT_FOUND when it holds no PTX. */
KS_NODISCARD enum ks_code ks_object_read(const char *path, struct ks_object *ret_object, struct ks_err *err);
void ks_object_release(struct ks_object *o);
const struct ks_symbol *ks_object_symbol(const struct ks_object *o, const char *name);

/* `interface`: the same external symbols, entry included; new ones only for kernels and template instances.
 * True when passed, else `reason` is appended to. */
bool ks_interface_check(const struct ks_object *baseline, const struct ks_object *candidate, const char *entry_symbol,
                        struct ks_str *reason);
/* `admission`: undefined symbols within the allow-list or the baseline's own, no new constructors, no system call opcodes, no new
 * host state, one fat binary; no new device state, no clock in device code (read from the PTX). */
bool ks_admission_check(const struct ks_object *baseline, const struct ks_object *candidate, struct ks_str *reason);
/* The allow-list alone (harness/allow_undefined.def). */
bool ks_admission_symbol_allowed(const char *name);

#endif
