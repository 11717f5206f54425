#ifndef KS_BASE_ERR_H
#define KS_BASE_ERR_H

/* Error values.  A function that can fail returns enum ks_code (KS_OK == 0), is KS_NODISCARD and takes `struct ks_err *err`
 * last.  `err` is untouched on success; out parameters are untouched on failure.  Libraries never print: driver/ does, once.
 * Messages: lower case, verb first, the subject in '', no full stop.  A ks_err needs no release. */

#include <stddef.h>
#include <stdint.h>

#define KS_NODISCARD                      __attribute__((warn_unused_result))
#define KS_PRINTF(fmt_index, first_index) __attribute__((format(printf, fmt_index, first_index)))

enum ks_code {
#define X(name, text, status) KS_##name,
#include "base/codes.def"
#undef X
    KS_N_CODES
};

/* A place in a text file.  line and col count from 1, col in bytes; line == 0: no place known. */
struct ks_loc {
    char file[512];
    uint32_t line;
    uint32_t col;
};

struct ks_err {
    enum ks_code code;
    int os_errno; /* errno at the time of failure, 0 if none */
    struct ks_loc loc;
    char message[1024];
};

const char *ks_code_name(enum ks_code code); /* "KS_ERR_IO" */
const char *ks_code_text(enum ks_code code); /* "i/o" */
int ks_code_exit_status(enum ks_code code);  /* process exit status that stands for the code */

/* Fills err (may be NULL) and returns code.  Keeps errno in err->os_errno. */
enum ks_code ks_fail(struct ks_err *err, enum ks_code code, const char *fmt, ...) KS_PRINTF(3, 4);
/* The same, with a place. */
enum ks_code ks_fail_at(struct ks_err *err, enum ks_code code, const char *file, uint32_t line, uint32_t col, const char *fmt,
                        ...) KS_PRINTF(6, 7);
/* Gives an error that has no place this one. */
void ks_err_place(struct ks_err *err, const char *file, uint32_t line, uint32_t col);
/* As ks_fail, with ": <strerror>" appended for the current errno. */
enum ks_code ks_fail_errno(struct ks_err *err, enum ks_code code, const char *fmt, ...) KS_PRINTF(3, 4);
/* Puts "<context>: " before the message.  Returns err->code. */
enum ks_code ks_wrap(struct ks_err *err, const char *fmt, ...) KS_PRINTF(2, 3);

/* Aborts with the place when an invariant of ours is broken; stays in every build. */
#define KS_BUG(cond)                                                                                                             \
    do {                                                                                                                         \
        if (cond)                                                                                                                \
            ks_bug(__FILE__, __LINE__, #cond);                                                                                   \
    } while (0)
_Noreturn void ks_bug(const char *file, int line, const char *what);

/* Returns early with the code of a failing call. */
#define KS_TRY(call)                                                                                                             \
    do {                                                                                                                         \
        enum ks_code ks_try_code_ = (call);                                                                                      \
        if (ks_try_code_ != KS_OK)                                                                                               \
            return ks_try_code_;                                                                                                 \
    } while (0)

#endif
