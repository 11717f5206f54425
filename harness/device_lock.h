#ifndef KS_HARNESS_DEVICE_LOCK_H
#define KS_HARNESS_DEVICE_LOCK_H

/* Several kscc on one GPU: checks may overlap, timing has the device alone.  Two lock files for each GPU in the temporary folder
 * (under the name that CUDA_VISIBLE_DEVICES has for it: one named by index here and by UUID there is two to them), whose locks
 * the kernel takes back, so a process that dies lets go.  Who comes first is in first: each takes a number from the gate file and
 * waits for all smaller ones, so a waiting timer keeps new checks out and nobody starves.  Where the files cannot be made the
 * lock does nothing (a build goes on; the A/A control notices a device in use). */

struct ks_device_lock {
    int gate_fd; /* the next number, and a lock on the byte of each number that waits */
    int lock_fd;
};

/* What CUDA_VISIBLE_DEVICES calls CUDA's first device, an index or a UUID; returns the length of the name. */
int ks_device_first(const char **ret_name);

void ks_device_lock_open(struct ks_device_lock *l);
void ks_device_lock_close(struct ks_device_lock *l);
void ks_device_lock_shared(struct ks_device_lock *l);
void ks_device_lock_alone(struct ks_device_lock *l);
void ks_device_lock_leave(struct ks_device_lock *l);

#endif
