#ifndef KS_BASE_LAYER_H
#define KS_BASE_LAYER_H

/* The seven layers, the one enum that every folder shares.  Text forms are the names users see. */

#include <stdbool.h>

enum ks_layer {
#define X(name, text) KS_LAYER_##name,
#include "base/layer.def"
#undef X
    KS_N_LAYERS
};

const char *ks_layer_text(enum ks_layer layer); /* "data-movement" */
bool ks_layer_parse(const char *text, enum ks_layer *ret_layer);

#endif
