#ifndef KS_DRIVER_ECHO_H
#define KS_DRIVER_ECHO_H

/* What a compiler says on stderr, on its way through us: passed on as it comes, byte for byte, and kept, so that it can be said
 * again when the object is made again without the compiler.  The compiler finds a terminal where ours is one (it colours and
 * breaks its lines for it), else a pipe. */

#include "base/str.h"

#include <stdbool.h>
#include <sys/types.h>

struct ks_echo {
    int read_fd, child_fd; /* -1: not open */
    bool whole;            /* text holds all that was said */
    struct ks_str text;
};

void ks_echo_init(struct ks_echo *e);
/* False: there is no stderr, or nothing to put between. */
bool ks_echo_open(struct ks_echo *e);
void ks_echo_in_child(const struct ks_echo *e); /* between fork and exec */
/* Passes on until `pid` has ended (it stays to be waited for) and all it said has come.  Children that it leaves behind are not
 * waited for. */
void ks_echo_pump(struct ks_echo *e, pid_t pid);
void ks_echo_release(struct ks_echo *e);

/* Says it again. */
void ks_echo_again(const char *text, size_t len);

#endif
