#include "driver/explain.h"

#include <string.h>

const struct ks_explanation ks_explanations[] = {
#define X(id, meaning, remedy) {id, meaning, remedy},
#include "driver/explain.def"
#undef X
};
const size_t ks_n_explanations = sizeof(ks_explanations) / sizeof(ks_explanations[0]);

const struct ks_explanation *ks_explain(const char *id)
{
    id += id[0] == '[';
    if (strncmp(id, "kscc-", 5) == 0)
        id += 5;
    size_t len = strcspn(id, "]");
    for (size_t i = 0; i < ks_n_explanations; i++)
        if (strncmp(ks_explanations[i].id, id, len) == 0 && !ks_explanations[i].id[len])
            return &ks_explanations[i];
    return NULL;
}
