#ifndef KS_DRIVER_EMIT_H
#define KS_DRIVER_EMIT_H

/* Guarded emission: replaces a baseline object by one that holds the original, the verified candidates and, under the entry's own
 * name, a dispatcher that calls the candidate inside the proved domain and the original everywhere else.
 *
 *   original.o    the baseline, entry renamed to __kscc_original_<entry>
 *   candidate.o   the verified text compiled by the very line the session compiled it by (ks_build_object), for the architecture
 *                 of the proof, compared with what was judged, all its symbols renamed
 *   dispatch.o    int entry(...) { return inside(...) ? candidate(...) : original(...); }
 *
 * are combined by `ld -r`; afterwards everything that the baseline did not export is made local, and the exported symbols are
 * compared with the baseline's.  Each half keeps its own fatbin and registers itself, as two objects of a program do.
 *
 * Where the workload was recorded (recorded.h), the unit has no entry: its object asks functions of ours instead of the
 * runtime's __cudaGetKernel and __cudaLaunchKernel, to which nvcc compiles every k<<<...>>>(...), and these look at kernel, grid,
 * block, shared memory and arguments.  Launches by cudaLaunchKernel and its relatives go to the original.
 *
 * An entry that its unit calls, or that has no symbol of its own, asks the guard by itself (inner.h): original.o is then the unit
 * compiled once more, by the user's line, with that question in it, and keeps its names.
 *
 * Relocatable device code: the original keeps its own for the device link; the candidate was judged as a whole program, and stays
 * one inside the combined object, which a device link passes over.
 *
 * Not done: link-time optimisation, units with variables that outlive a call, at file scope or in a function (the two halves
 * would have one each). */

#include "driver/inner.h"
#include "driver/unit.h"
#include "harness/contract.h"

/* A launch of the unit in whose place a candidate runs (recorded.h): the entry is one of the candidate's text alone, and takes
 * the kernel's arguments and the stream. */
struct ks_emission_launch {
    const char *symbol; /* of the kernel in the unit's host code */
    uint32_t grid[3], block[3];
    int64_t shared_bytes;
};

/* One entry of the unit with its verified candidate. */
struct ks_emission {
    const struct ks_signature *signature;
    const struct ks_json *contract; /* ks_contract_to_json() */
    const char *candidate_path;     /* the verified text: exactly this file is compiled */
    bool candidate_is_kept;         /* the file is there after the build: line information names it */
    const char *judged;             /* hash of host code and PTX of the object that passed the gates */
    const char *key;
    const char *arch;                        /* what it was proved on, "sm_90a": built for it alone, and called on it alone */
    const struct ks_inner *inner;            /* the entry asks the guard by itself; NULL: its symbol is the guard's */
    const struct ks_emission_launch *launch; /* not NULL: launches of the unit ask the guard */
};

/* Whether a text means the same in every build of it: it mentions no date and no path of the build.  Errors: KS_ERR_UNSUPPORTED;
 * `what` is its name in the message. */
KS_NODISCARD enum ks_code ks_emit_check_text(const char *what, const char *text, struct ks_err *err);

/* What stands in the way whatever a search finds: a missing program, an object that cannot be replaced, variables that outlive a
 * call, a source that mentions the build.  Asked before the search.  Errors: KS_ERR_UNSUPPORTED, KS_ERR_NOT_FOUND, KS_ERR_BUILD.
 */
KS_NODISCARD enum ks_code ks_emit_check_unit(const struct ks_unit *u, struct ks_err *err);
/* The same where launches are to be led to candidates: the unit's variables stay its own, and it has to launch by way of the
 * runtime's function that kernel launches are compiled to. */
KS_NODISCARD enum ks_code ks_emit_check_launches(const struct ks_unit *u, struct ks_err *err);

/* ret_hash: of the object that is in place now.  On failure the baseline object is untouched.  Errors: KS_ERR_UNSUPPORTED with
 * what stands in the way, KS_ERR_BUILD, KS_ERR_IO, KS_ERR_MISMATCH when the combined object would export something else than the
 * baseline or the candidate compiles to other code than was judged. */
KS_NODISCARD enum ks_code ks_emit(const struct ks_unit *u, const struct ks_emission *entries, size_t n, char ret_hash[65],
                                  struct ks_err *err);

/* The dispatcher's C text.  original and candidate: symbols; arch: "sm_90a"; visibility: of the entry, "default".  Errors:
 * KS_ERR_UNSUPPORTED when the domain cannot be checked from the arguments. */
KS_NODISCARD enum ks_code ks_emit_dispatcher(const struct ks_signature *sig, const struct ks_json *contract, const char *original,
                                             const char *candidate, const char *arch, const char *visibility, struct ks_str *out,
                                             struct ks_err *err);
/* The function that an entry asks by itself: it calls the candidate and returns 1 inside the domain, and returns 0 outside. */
KS_NODISCARD enum ks_code ks_emit_asked(const struct ks_signature *sig, const struct ks_json *contract, const char *asked,
                                        const char *candidate, const char *arch, struct ks_str *out, struct ks_err *err);

/* The symbol of that function for an entry. */
void ks_emit_asked_symbol(const struct ks_emission *e, struct ks_str *out);
/* The two functions in place of the runtime's (emit_launch.c), under the symbols given. */
void ks_emit_launches(const struct ks_emission *entries, size_t n, const char *get_kernel, const char *launch,
                      struct ks_str *out);

/* ---- object files (emit_object.c) ----------------------------------------------------------------------------------- */

struct ks_symtab {
    struct {
        char *name;
        char *section; /* ".bss", "*UND*" ... */
        char type;     /* as nm prints: T U b ... */
    } * data;
    size_t n, cap;
};
KS_NODISCARD enum ks_code ks_symtab_read(const char *object, struct ks_symtab *ret, struct ks_err *err);
void ks_symtab_release(struct ks_symtab *t);
/* False for a symbol that some other object must bring. */
bool ks_symbol_is_definition(char type);
/* True for a symbol that other objects may see. */
bool ks_symbol_is_global_definition(char type);
/* "default", "hidden", "protected" or "internal", as gcc's attribute says it.  Errors: KS_ERR_NOT_FOUND, KS_ERR_BUILD. */
KS_NODISCARD enum ks_code ks_symbol_visibility(const char *object, const char *name, char ret_visibility[16], struct ks_err *err);
/* That an object has no variable that outlives a call and can change, at file scope, in a function or without a name; nvcc's own
 * do not count (ks_state_check).  `what` opens the message.  Errors: KS_ERR_UNSUPPORTED, KS_ERR_SYNTAX, KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_emit_check_state(const char *object, const char *what, struct ks_err *err);
/* Runs a binutils program (or compiler) quietly.  Errors: KS_ERR_BUILD with the first error it printed. */
KS_NODISCARD enum ks_code ks_tool_run(char *const *argv, struct ks_str *out, struct ks_err *err);

#endif
