#include "driver/paths.h"

#include "base/file.h"

/* Replaces out with the first folder that exists: PREFIX/<installed>, else the build's <built>. */
static void choose(const char *installed, const char *built, struct ks_str *out)
{
    KS_AUTO_FREE char *self = NULL;
    ks_str_clear(out);
    if (ks_path_self_dir(&self, NULL) == KS_OK) {
        ks_str_addf(out, "%s/../%s", self, installed);
        if (ks_file_exists(ks_str_cstr(out)))
            return;
        ks_str_clear(out);
    }
    ks_str_add(out, built);
}

void ks_paths_bin(struct ks_str *out)
{
    KS_AUTO_FREE char *self = NULL;
    ks_str_clear(out);
    ks_str_add(out, ks_path_self_dir(&self, NULL) == KS_OK ? self : ".");
}

/* Beside this program; a hard link or copy of it elsewhere finds the one on PATH. */
void ks_paths_core(struct ks_str *out)
{
    KS_AUTO_FREE char *on_path = NULL;
    ks_paths_bin(out);
    ks_str_add(out, "/kscc-core");
    if (!ks_file_is_executable(ks_str_cstr(out)) && ks_path_search("kscc-core", &on_path, NULL) == KS_OK) {
        ks_str_clear(out);
        ks_str_add(out, on_path);
    }
}

/* PREFIX/lib/kscc/<name>, or the build's lib/<name>: replaces out; false: neither is there. */
static bool private_library(const char *name, struct ks_str *out)
{
    static const char *const places[] = {"../lib", "../lib/kscc"};
    KS_AUTO_STR struct ks_str bin = KS_STR_INIT;
    ks_paths_bin(&bin);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        ks_str_clear(out);
        ks_str_addf(out, "%s/%s/%s", ks_str_cstr(&bin), places[i], name);
        if (ks_file_exists(ks_str_cstr(out)))
            return true;
    }
    ks_str_clear(out);
    return false;
}

void ks_paths_emulated(struct ks_str *out)
{
    KS_AUTO_STR struct ks_str library = KS_STR_INIT;
    ks_str_clear(out);
    if (private_library("emulated/libcudart.so.13", &library))
        ks_path_dir(out, ks_str_cstr(&library));
}

void ks_paths_recorder(struct ks_str *out)
{
    private_library("record/libkscc-record.so", out);
}

void ks_paths_bank(struct ks_str *out)
{
    choose("share/kscc/bank", KSCC_SOURCE_DIR "/questions/bank", out);
}

void ks_paths_prices(struct ks_str *out)
{
    choose("share/kscc/prices.json", KSCC_SOURCE_DIR "/rewriter/http/prices.json", out);
}

void ks_paths_presets(struct ks_str *out)
{
    choose("share/kscc/presets", KSCC_SOURCE_DIR "/rewriter/presets", out);
}

void ks_paths_shim(struct ks_str *out)
{
    choose("share/kscc/shim", KSCC_SOURCE_DIR "/analyzer/shim", out);
}

void ks_paths_manuals(struct ks_str *out)
{
    choose("share/doc/kscc", KSCC_SOURCE_DIR "/docs", out);
}
