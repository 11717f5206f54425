#include "driver/recorded_sizes.h"

void ks_sizes_add(struct ks_sizes *s, const char *name, int64_t value)
{
    if (s->n < KS_MAX_SIZES && value >= 2) {
        s->item[s->n].name = name;
        s->item[s->n++].value = value;
    }
}

/* n as a product of up to `factors` of the items, from the `first` on; the fewest that do. */
static bool product(struct ks_sizes *s, int64_t n, size_t first, int factors, struct ks_str *out)
{
    for (size_t i = first; i < s->n; i++) {
        if (n % s->item[i].value != 0)
            continue;
        KS_AUTO_STR struct ks_str rest = KS_STR_INIT;
        int64_t left = n / s->item[i].value;
        if (left != 1 && (factors == 1 || !product(s, left, i, factors - 1, &rest)))
            continue;
        if (left == 1 && factors > 1)
            continue; /* fewer factors were tried before */
        ks_str_addf(out, "%s%s%s", s->item[i].name, rest.len ? "*" : "", ks_str_cstr(&rest));
        s->item[i].used = true;
        return true;
    }
    return false;
}

void ks_sizes_length(struct ks_sizes *s, int64_t n, struct ks_str *out)
{
    for (int factors = 1; factors <= 3; factors++)
        if (product(s, n, 0, factors, out))
            return;
    if (n > 2 && product(s, n - 1, 0, 1, out)) { /* offsets of rows */
        ks_str_add(out, "+1");
        return;
    }
    ks_str_addf(out, "%lld", (long long)n);
}

bool ks_sizes_grid(struct ks_sizes *s, uint32_t blocks, uint32_t threads, struct ks_str *out)
{
    if (blocks == 1 && threads == 1) {
        ks_str_add(out, "1");
        return true;
    }
    for (size_t i = 0; i < s->n; i++)
        if (threads > 1 && s->item[i].value > 0 && (s->item[i].value + threads - 1) / threads == blocks) {
            ks_str_addf(out, "(%s + %u) / %u", s->item[i].name, threads - 1, threads);
            return s->item[i].used = true;
        }
    for (size_t i = 0; i < s->n; i++)
        if (s->item[i].value == blocks) {
            ks_str_add(out, s->item[i].name);
            return s->item[i].used = true;
        }
    ks_str_addf(out, "%u", blocks);
    return blocks == 1;
}
