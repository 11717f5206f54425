#ifndef KS_HARNESS_WORKER_FILL_IMAGE_H
#define KS_HARNESS_WORKER_FILL_IMAGE_H

/* What cuModuleLoadData() takes: machine code for the common architectures and PTX for the rest; kernel "kscc_fill". */
extern const unsigned char ks_fill_image[];

#endif
