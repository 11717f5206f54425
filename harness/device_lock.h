#ifndef KS_HARNESS_DEVICE_LOCK_H
#define KS_HARNESS_DEVICE_LOCK_H

/* Several kscc on one GPU: checks may overlap, timing has the device alone.  Two lock files for each GPU in the temporary folder
 * (under the name that CUDA_VISIBLE_DEVICES has for it: one named by index here and by UUID there is two to them), held with
 * flock(2), so a process that dies lets go.  A waiting timer keeps new checks out: nobody starves.  Where the files cannot be
 * made the lock does nothing (a build goes on; the A/A control notices a device in use). */

struct ks_device_lock {
    int gate_fd; /* held for a moment by everyone who enters, and all the while by who waits to be alone */
    int lock_fd;
};

void ks_device_lock_open(struct ks_device_lock *l);
void ks_device_lock_close(struct ks_device_lock *l);
void ks_device_lock_shared(struct ks_device_lock *l);
void ks_device_lock_alone(struct ks_device_lock *l);
void ks_device_lock_leave(struct ks_device_lock *l);

#endif
