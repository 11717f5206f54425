#include "harness/fresh.h"

#include <string.h>

static const struct {
    const char *symbol, *parameters, *arguments;
} functions[] = {
#define X(symbol, parameters, arguments) {symbol, parameters, arguments},
#include "harness/fresh.def"
#undef X
};

void ks_fresh_add(const char *prefix, const char *symbol, struct ks_str *map, struct ks_str *text)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (!ks_streq(functions[i].symbol, symbol))
            continue;
        ks_str_addf(map, "%s %sfresh%s\n", symbol, prefix, symbol);
        if (text->len == 0 || !strstr(text->data, "kscc_zeros("))
            ks_str_add(text, "extern void *memset(void *, int, unsigned long);\n"
                             "static void *kscc_zeros(void *p, unsigned long n)\n{\n    return p ? memset(p, 0, n) : p;\n}\n");
        ks_str_addf(text, "extern void *%s(%s);\nvoid *%sfresh%s(%s) __attribute__((visibility(\"hidden\")));\n", symbol,
                    functions[i].parameters, prefix, symbol, functions[i].parameters);
        ks_str_addf(text, "void *%sfresh%s(%s)\n{\n    return kscc_zeros(%s(%s), n);\n}\n", prefix, symbol,
                    functions[i].parameters, symbol, functions[i].arguments);
    }
}
