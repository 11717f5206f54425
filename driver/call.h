#ifndef KS_DRIVER_CALL_H
#define KS_DRIVER_CALL_H

/* One call of kscc as a compiler: its line, split, and what of it is for kscc. */

#include "driver/cmdline.h"
#include "driver/options.h"

/* kscc-core's first word is the real nvcc, or this: a command, or a question about kscc. */
#define KS_CORE_COMMAND "-"

struct ks_call {
    struct ks_arena arena;
    char *const *argv; /* without the launched nvcc */
    char *launched;    /* "kscc /path/to/nvcc ...": that nvcc, owned; NULL: kscc is called as the compiler itself */
    struct ks_cmdline cmdline;
    struct ks_settings settings;
    enum ks_code settings_code; /* KS_OK: every switch of ours has a legal value */
    struct ks_err settings_err;
};

void ks_call_read(char *const *argv, struct ks_call *ret);
void ks_call_release(struct ks_call *call);
/* Whether anything but plain nvcc is asked for: a switch of ours, or KSCC_O_AGENT. */
bool ks_call_asks(const struct ks_call *call);
/* ret_ours[i]: argv[i + 1] is a switch of ours; as long as the line. */
void ks_call_mark_ours(const struct ks_call *call, bool *ret_ours);
/* The real nvcc of this call.  Caller frees. */
KS_NODISCARD enum ks_code ks_call_find_nvcc(const struct ks_call *call, char **ret_path, struct ks_err *err);
/* The line for nvcc without our switches.  Takes them out of this process's NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS as well. */
void ks_call_take_out(const struct ks_call *call, const char *nvcc, struct ks_args *out);

/* A command's line: as ks_cmdline_parse, with the flags of nvcc's two variables.  They are taken out of the environment for good,
 * as words of our own lines: no nvcc of ours must read them a second time.  Later lines of the process get them too. */
void ks_call_parse_command(char *const *argv, struct ks_arena *arena, struct ks_cmdline *ret);

#endif
