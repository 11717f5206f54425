#ifndef KS_DRIVER_HOST_H
#define KS_DRIVER_HOST_H

/* KSCC_HOST=passthrough (--kscc-host=passthrough): kscc as CC and CXX of a mixed build.  nvcc rejects most of gcc's options, so
 * lines that are the host compiler's business go to it, word for word: C, C++ and assembler inputs, links of objects without
 * device code, and questions (-print-prog-name=ld) nvcc has no answer to.
 *
 * A line stays nvcc's when it holds an option only nvcc has (-arch, -Xcompiler, -dlink, --version ...), a CUDA input, an input
 * that is neither a file nor has a known suffix, or an object or archive with device code.  Nothing is translated between the
 * two. */

#include "driver/call.h"

enum ks_host_use { KS_HOST_NVCC, KS_HOST_PASSTHROUGH }; /* of struct ks_settings.host; order of options.def */

/* True: the line is the host compiler's; *out gets its argv, without switches of ours.  Errors of finding the compiler: *code.
 * NVCC_CCBIN names it, else gcc or g++ on PATH. */
bool ks_host_takes(const struct ks_call *call, struct ks_args *out, enum ks_code *ret_code, struct ks_err *err);

#endif
