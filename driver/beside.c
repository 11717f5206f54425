#include "driver/beside.h"

#include "base/file.h"

#include <string.h>

void ks_sidecar_path(const char *unit_path, struct ks_str *ret)
{
    const char *dot = strrchr(ks_path_base(unit_path), '.');
    ks_str_addn(ret, unit_path, dot ? (size_t)(dot - unit_path) : strlen(unit_path));
    ks_str_add(ret, ".kscc.json");
}

enum ks_code ks_sidecar_read(const char *sidecar, struct ks_arena *arena, struct ks_diags *diags, struct ks_contract **contracts,
                             size_t *n, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *json = NULL;
    struct ks_contract *more = NULL;
    size_t n_more = 0;
    KS_TRY(ks_json_read_file(sidecar, &json, err));
    enum ks_code code = ks_contracts_parse_json(sidecar, json, arena, diags, &more, &n_more, err);
    struct ks_contract *all = KS_ARENA_ARRAY(arena, struct ks_contract, *n + n_more + 1);
    if (*n)
        memcpy(all, *contracts, *n * sizeof(*all));
    if (n_more)
        memcpy(all + *n, more, n_more * sizeof(*all));
    *contracts = all;
    *n += n_more;
    return code;
}

bool ks_unit_may_have_contract(const char *unit_path)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, sidecar = KS_STR_INIT;
    struct ks_err none;
    ks_sidecar_path(unit_path, &sidecar);
    return ks_file_exists(ks_str_cstr(&sidecar)) ||
           (ks_file_read(unit_path, SIZE_MAX, &text, &none) == KS_OK && strstr(ks_str_cstr(&text), "kscc:"));
}

bool ks_unit_may_have_kernel(const char *unit_path)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_err none;
    return ks_file_read(unit_path, SIZE_MAX, &text, &none) != KS_OK || strstr(ks_str_cstr(&text), "__global__") ||
           strstr(ks_str_cstr(&text), "<<<");
}

void ks_store_dir_of(const struct ks_settings *s, const char *unit_path, struct ks_str *ret)
{
    KS_AUTO_STR struct ks_str beside = KS_STR_INIT;
    ks_path_dir(&beside, unit_path);
    if (s->dir)
        ks_str_add(ret, s->dir);
    else if (ks_streq(ks_str_cstr(&beside), "."))
        ks_str_add(ret, ".kscc");
    else
        ks_path_join(ret, ks_str_cstr(&beside), ".kscc");
}
