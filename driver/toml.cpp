#define _Noreturn [[noreturn]] /* as our C headers say it */
#include "driver/toml.h"

#define TOML_HEADER_ONLY       1
#define TOML_EXCEPTIONS        0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace {

struct walk {
    ks_toml_visit_fn *visit;
    void *ctx;
    ks_toml_leaf leaf;
};

enum outcome { ON, STOP, TOO_DEEP };

outcome visit_table(walk &w, const toml::table &table);

outcome visit_node(walk &w, const toml::node &node)
{
    if (const toml::table *inner = node.as_table())
        return visit_table(w, *inner);
    std::string text;
    w.leaf.kind = KS_TOML_OTHER;
    w.leaf.line = node.source().begin.line;
    w.leaf.col = node.source().begin.column;
    if (const auto *s = node.as_string()) {
        text = s->get();
        w.leaf.kind = KS_TOML_STRING;
        w.leaf.text = text.c_str();
    } else if (const auto *b = node.as_boolean()) {
        w.leaf.kind = KS_TOML_BOOL;
        w.leaf.truth = b->get();
    }
    return w.visit(&w.leaf, w.ctx) ? ON : STOP;
}

outcome visit_table(walk &w, const toml::table &table)
{
    outcome r = ON;
    if (w.leaf.n_keys == KS_TOML_MAX_DEPTH)
        return TOO_DEEP;
    for (auto it = table.begin(); it != table.end() && r == ON; ++it) {
        const std::string key((*it).first.str());
        w.leaf.keys[w.leaf.n_keys++] = key.c_str();
        r = visit_node(w, (*it).second);
        w.leaf.n_keys--;
    }
    return r;
}

} // namespace

enum ks_code ks_toml_read(const char *path, const char *text, size_t len, ks_toml_visit_fn *visit, void *ctx, struct ks_err *err)
{
    toml::parse_result result = toml::parse(std::string_view(text, len), std::string_view(path));
    if (!result) {
        const std::string why(result.error().description());
        return ks_fail_at(err, KS_ERR_SYNTAX, path, result.error().source().begin.line, result.error().source().begin.column,
                          "%s", why.c_str());
    }
    walk w{visit, ctx, {}};
    if (visit_table(w, result.table()) == TOO_DEEP)
        return ks_fail(err, KS_ERR_LIMIT, "'%s' is nested too deeply", path);
    return KS_OK;
}
