#ifndef KS_DRIVER_DEMANGLE_H
#define KS_DRIVER_DEMANGLE_H

#include <stdbool.h>

/* What a C++ symbol says (Itanium C++ ABI, section 5.1), "void scale<float>(float*, int)" for _Z5scaleIfEvPT_i.  Caller frees;
 * NULL: it is no such symbol. */
char *ks_demangle(const char *symbol);
/* Whether both say the same.  A kernel's names do: that of the device, the host's with an L where the function is static, and
 * libclang's, all with other names for a namespace without one. */
bool ks_demangles_same(const char *a, const char *b);

#endif
