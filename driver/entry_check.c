#include "driver/entry_check.h"

#include <string.h>

static size_t count_named(const struct ks_facts *facts, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < facts->n_entries; i++)
        n += ks_facts_entry_named(&facts->entries[i], name);
    return n;
}

/* The first host function that launches the kernel; NULL: none, or no kernel. */
static const char *launcher_of(const struct ks_facts *facts, const char *kernel)
{
    for (size_t i = 0; i < facts->n_launches; i++)
        if (facts->launches[i].kernel && facts->launches[i].entry && ks_streq(facts->launches[i].kernel->name, kernel))
            return facts->launches[i].entry->name;
    return NULL;
}

const struct ks_entry *ks_entry_check(const struct ks_facts *facts, const struct ks_contract *c, struct ks_diags *diags)
{
    bool by_contract;
    const struct ks_entry *e = ks_facts_entry(facts, c->entry, &by_contract);
    const char *problem = NULL, *launcher = e ? NULL : launcher_of(facts, c->entry);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (launcher) {
        ks_str_addf(&text, "is a kernel; the contract is for the host function that launches it, '%s'", launcher);
        problem = ks_str_cstr(&text);
    } else if (!e)
        problem = "is no host function of this file that launches a kernel";
    else if (!by_contract && count_named(facts, c->entry) > 1)
        problem = "is overloaded: several functions of this name launch kernels; put the contract right before the one it is for";
    else if (e->takes_object)
        problem =
            "is a member of a class that is called on an object; give the contract to a function that is not, or to a static one "
            "defined outside its class";
    else if (e->has_error)
        problem = "could not be parsed completely";
    else
        return e;
    ks_diags_add(diags, KS_SEV_ERROR, c->path, c->entry_line, c->entry_col, (uint32_t)strlen(c->entry), "contract", "'%s' %s",
                 c->entry, problem);
    return NULL;
}

static bool has_body(const struct ks_node *f)
{
    const struct ks_node *last = f->n_children ? f->children[f->n_children - 1] : NULL;
    return last && last->kind == KS_NODE_COMPOUND;
}

/* Text between the beginning of the function and its name holds the word. */
static bool declared_as(const struct ks_facts *facts, const struct ks_node *f, const char *word)
{
    size_t len, n = strlen(word);
    const char *text = ks_node_text(facts, f, &len), *end = memchr(text, '(', len);
    const char *p = memmem(text, end ? (size_t)(end - text) : len, word, n);
    return p && (p == text || strchr(" \t\r\n>", p[-1])) && strchr(" \t\r\n<", p[n]);
}

const struct ks_node *ks_oracle_check(const struct ks_facts *facts, const struct ks_contract *c, struct ks_diags *diags)
{
    const struct ks_node *found = NULL;
    size_t n = 0;
    const char *problem = NULL;
    for (size_t i = 0; i < facts->n_functions; i++)
        if (has_body(facts->functions[i]) && facts->functions[i]->name && ks_streq(facts->functions[i]->name, c->oracle)) {
            found = facts->functions[i];
            n++;
        }
    if (n == 0)
        problem = "is no function of this file";
    else if (n > 1)
        problem = "is overloaded; give the oracle a name of its own";
    else if (declared_as(facts, found, "__global__") || declared_as(facts, found, "__device__"))
        problem = "runs on the device; an oracle is a plain host function";
    else if (declared_as(facts, found, "template") || declared_as(facts, found, "static") || declared_as(facts, found, "inline"))
        problem = "has no symbol that others can call (template, static or inline)";
    else
        return found;
    ks_diags_add(diags, KS_SEV_ERROR, c->path, c->oracle_line, c->oracle_col, (uint32_t)strlen(c->oracle), "contract", "'%s' %s",
                 c->oracle, problem);
    return NULL;
}
