#ifndef KS_HARNESS_ELF_H
#define KS_HARNESS_ELF_H

/* Reads sections, symbols and relocations of a relocatable 64-bit ELF file into struct ks_object.  Every offset is checked
 * against the file; what it says about itself is not believed further than that. */

#include "harness/object.h"

/* Fills o->sections, o->symbols and o->relocs from o->file; false: no relocatable 64-bit file of a machine's code. */
bool ks_elf_read(struct ks_object *o);

/* The section of that number; NULL: none. */
const struct ks_section *ks_object_section(const struct ks_object *o, size_t index);

/* Storage a candidate could keep results in: writable once the program runs, and not what constructors and relocated constants
 * are. */
bool ks_section_is_state(const struct ks_section *s);

/* The function or variable that covers this byte of a section; NULL: none. */
const struct ks_symbol *ks_object_symbol_at(const struct ks_object *o, size_t section, uint64_t off_byte);
/* A function of nvcc's glue, local to the object. */
bool ks_symbol_is_glue_function(const struct ks_symbol *f);

/* The hash of all that gets loaded: allocated sections (machine code of the device excepted: its PTX is hashed elsewhere), what
 * their relocations mean, and what the exported names stand for.  Equal for two builds of one text: local names, nvcc's number of
 * the module (it comes from the path) and the order of the tables are left out. */
void ks_object_code_hash(const struct ks_object *o, char ret_hex[65]);

#endif
