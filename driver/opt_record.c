#include "driver/opt_record.h"

/* A scalar in single quotes, where '' is the one escape; line ends and control characters become blanks. */
static void add_quoted(const char *text, struct ks_str *out)
{
    ks_str_addc(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            ks_str_addc(out, '\'');
        ks_str_addc(out, (unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text);
    }
    ks_str_addc(out, '\'');
}

static void add_place(const char *indent, const char *path, uint32_t line, uint32_t col, struct ks_str *out)
{
    ks_str_addf(out, "%sDebugLoc: { File: ", indent);
    add_quoted(path, out);
    ks_str_addf(out, ", Line: %u, Column: %u }\n", line, col);
}

static void add_argument(const char *name, const char *text, struct ks_str *out)
{
    ks_str_addf(out, "  - %s: ", name);
    add_quoted(text, out);
    ks_str_addc(out, '\n');
}

static void add_record(const struct ks_hypothesis *x, const char *path, struct ks_str *out)
{
    ks_str_addf(out, "--- !Analysis\nPass: kscc\nName: %s\n", ks_layer_text(x->layer));
    if (x->line)
        add_place("", path, x->line, x->col, out);
    ks_str_add(out, "Function: ");
    add_quoted(x->kernel, out);
    ks_str_add(out, "\nArgs:\n");
    add_argument("String", x->text, out);
    ks_str_addf(out, "  - Score: '%.3f'\n", x->score);
    for (size_t i = 0; i < x->n_evidence; i++) {
        const struct ks_evidence *e = &x->evidence[i];
        add_argument("Evidence", e->text, out);
        if (e->line)
            add_place("    ", path, e->line, e->col, out);
    }
    ks_str_add(out, "...\n");
}

void ks_opt_records(const struct ks_hypotheses *h, const char *path, struct ks_str *out)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->data[i].score >= KS_MIN_SCORE)
            add_record(&h->data[i], path, out);
}
