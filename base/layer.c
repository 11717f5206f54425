#include "base/layer.h"

#include <string.h>

static const char *const layer_texts[KS_N_LAYERS] = {
#define X(name, text) text,
#include "base/layer.def"
#undef X
};

const char *ks_layer_text(enum ks_layer layer)
{
    return (unsigned)layer < KS_N_LAYERS ? layer_texts[layer] : "none";
}

bool ks_layer_parse(const char *text, enum ks_layer *ret_layer)
{
    for (int i = 0; i < KS_N_LAYERS; i++) {
        if (strcmp(text, layer_texts[i]) == 0) {
            *ret_layer = (enum ks_layer)i;
            return true;
        }
    }
    return false;
}
