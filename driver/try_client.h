#ifndef KS_DRIVER_TRY_CLIENT_H
#define KS_DRIVER_TRY_CLIENT_H

/* kscc try inside of a workspace that another kscc has prepared for a coding agent's program: the calls go over a socket to that
 * kscc, one line of JSON there, one line back.
 *
 *   {"calls": [{"tool": T, "arguments": A}, ...]}   ->   {"tool": T of the last one made, "content": C, "refused": bool} */

#include "driver/try_port.h"

#define KS_TRY_SOCKET "KSCC_TRY_SOCKET" /* the variable that names the socket */

bool ks_try_has_parent(void);
/* Makes the calls; l->last, last_tool and refused are filled.  Errors: KS_ERR_IO when the parent is gone. */
KS_NODISCARD enum ks_code ks_try_client(struct ks_call_list *l, struct ks_err *err);

/* One line into or out of a descriptor; for both ends.  Errors: KS_ERR_IO, KS_ERR_LIMIT (> KS_MAX_JSON_BYTES), KS_ERR_NOT_FOUND:
 * closed. */
KS_NODISCARD enum ks_code ks_line_write(int fd, const struct ks_json *j, struct ks_err *err);
KS_NODISCARD enum ks_code ks_line_read(int fd, struct ks_str *out, struct ks_err *err);

#endif
