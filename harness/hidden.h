#ifndef KS_HARNESS_HIDDEN_H
#define KS_HARNESS_HIDDEN_H

/* Time of a candidate's calls that the events around them did not see, less the original's.  `hidden`: by the parent's own clock;
 * `late`: from the last event to a device-wide synchronisation. */

#include <stddef.h>

enum ks_hidden {
    KS_HIDDEN_NONE,
    KS_HIDDEN_HOST,  /* the host needs longer, the device has nothing to do after the last event: a busy machine or work on the
                        host */
    KS_HIDDEN_DEVICE /* the device works on after the last event */
};

/* By the medians over n calls, which come back in *ret_hidden and *ret_late (ns).  What is put down to synchronising: 30 us and a
 * tenth of the call. */
enum ks_hidden ks_hidden_judge(const double *hidden, const double *late, const double *device_ns, size_t n, double *ret_hidden,
                               double *ret_late);
/* Adds to each call what the parent's clock saw beyond the original's: then it is the wall time that counts. */
void ks_hidden_count(double *device_ns, const double *hidden, size_t n);

#endif
