#ifndef KS_TESTS_UNIT_REWRITE_CASE_H
#define KS_TESTS_UNIT_REWRITE_CASE_H

/* Tests of transformations: a unit of tests/golden/rewrite/ (or a text of the test's own) is parsed, its sites are listed, and
 * one is applied. check_golden("row_norms", "row-mapping(rms_kernel;LANES=32)", "row_norms.warp")  compares with
 * tests/golden/rewrite/row_norms.warp.cu and compiles the result with the real nvcc;  KSCC_UPDATE_GOLDEN=1 writes the file
 * instead of comparing. check_no_site(text, "row-mapping")  the transformation must not offer itself. */

#include "tests/unit/test.h"

#include "analyzer/facts.h"
#include "base/file.h"
#include "base/process.h"
#include "harness/contract.h"
#include "rewriter/transform.h"
#include "tests/unit/parse_options.h"

#include <stdlib.h>
#include <unistd.h>

#define GOLDEN_DIR KSCC_SOURCE_DIR "/tests/golden/rewrite/"

struct rewrite_case {
    char *path, *source;
    struct ks_arena arena;
    struct ks_diags diags;
    struct ks_json *contract;
    struct ks_rewrite_view view;
    struct ks_sites sites;
    struct rewrite_case *next;
};

/* NULL: the text has no entry, or libclang cannot read it. */
static inline struct rewrite_case *case_parse(const char *path, const char *source, size_t len)
{
    static char *nvcc_argv[] = {"nvcc", "-arch=sm_90a", NULL};
    struct ks_parse_options opt;
    struct ks_err err;
    struct ks_facts *facts;
    struct ks_contract *contracts = NULL;
    size_t n = 0;
    struct rewrite_case *c = ks_xcalloc(1, sizeof *c);
    c->path = ks_xstrdup(path);
    c->source = ks_xstrndup(source, len);
    ks_arena_init(&c->arena);
    ks_diags_init(&c->diags);
    parse_options(nvcc_argv, &c->arena, &opt);
    if (ks_facts_parse(c->path, c->source, len, &opt, &c->arena, &c->diags, &facts, &err) != KS_OK || facts->n_entries == 0) {
        ks_diags_release(&c->diags);
        ks_arena_release(&c->arena);
        free(c->path);
        free(c->source);
        free(c);
        return NULL;
    }
    if (ks_contracts_parse(c->path, c->source, len, &c->arena, &c->diags, &contracts, &n, &err) == KS_OK && n > 0)
        c->contract = ks_contract_to_json(&contracts[0]);
    c->view = (struct ks_rewrite_view){
        .facts = facts, .entry = &facts->entries[0], .contract = c->contract, .arch = "sm_90a", .arena = &c->arena};
    ks_sites_enumerate(&c->view, &c->sites);
    return c;
}

/* The text's facts, contract and sites.  They stay until the program ends: tests look at the same texts again and again, and most
 * of what a test costs is libclang reading the toolkit's headers once more.  NULL: a failure, which has been said. */
static inline struct rewrite_case *case_of(const char *path, const char *source, size_t len)
{
    static struct rewrite_case *known;
    for (struct rewrite_case *c = known; c; c = c->next)
        if (strcmp(c->path, path) == 0 && strlen(c->source) == len && memcmp(c->source, source, len) == 0)
            return c;
    struct rewrite_case *c = case_parse(path, source, len);
    if (!c) {
        printf("%s: no facts\n", path);
        test_failures++;
        return NULL;
    }
    c->next = known;
    return known = c;
}

/* The compiler's word on a candidate: no error, and PTX comes out. */
static inline void check_compiles(const char *name, const char *text, size_t len)
{
    struct ks_err err;
    char *dir = NULL;
    if (ks_dir_make_temp("kscc-test", &dir, &err) != KS_OK) {
        printf("%s\n", err.message);
        test_failures++;
        return;
    }
    KS_AUTO_STR struct ks_str in = KS_STR_INIT, out = KS_STR_INIT, words = KS_STR_INIT;
    ks_path_join(&in, dir, "candidate.cu");
    ks_path_join(&out, dir, "candidate.ptx");
    char *argv[] = {KSCC_CUDA_ROOT "/bin/nvcc", "-std=c++14", "-arch=sm_90a", "-ptx", "-o", out.data, in.data, NULL};
    struct ks_spawn spawn;
    struct ks_exit ended = {0};
    ks_spawn_init(&spawn);
    spawn.argv = argv;
    spawn.timeout_ms = 60000;
    bool ok = ks_file_write_atomic(in.data, text, len, 0644, &err) == KS_OK &&
              ks_process_run(&spawn, NULL, &words, &ended, &err) == KS_OK && ks_exit_ok(&ended);
    if (!ok) {
        printf("%s does not compile:\n%s\n", name, ks_str_cstr(&words));
        test_failures++;
    }
    if (ks_dir_remove(dir, &err) != KS_OK)
        printf("%s\n", err.message);
    free(dir);
}

static inline void compare_golden(const char *expected_path, const char *label, const struct ks_str *got)
{
    struct ks_err err;
    KS_AUTO_STR struct ks_str expected = KS_STR_INIT;
    if (getenv("KSCC_UPDATE_GOLDEN")) {
        CHECK(ks_file_write_atomic(expected_path, got->data, got->len, 0644, &err) == KS_OK);
        return;
    }
    if (ks_file_read(expected_path, 1u << 20, &expected, &err) != KS_OK) {
        printf("%s\n", err.message);
        test_failures++;
        return;
    }
    if (expected.len != got->len || memcmp(expected.data, got->data, got->len) != 0) {
        printf("%s differs from %s; it is:\n%s\n", label, expected_path, got->data);
        test_failures++;
    }
}

static inline void check_golden(const char *input, const char *label, const char *expected)
{
    struct ks_err err;
    KS_AUTO_STR struct ks_str source = KS_STR_INIT, got = KS_STR_INIT;
    char in_path[512], out_path[512];
    snprintf(in_path, sizeof in_path, GOLDEN_DIR "%s.cu", input);
    snprintf(out_path, sizeof out_path, GOLDEN_DIR "%s.cu", expected);
    if (ks_file_read(in_path, 1u << 20, &source, &err) != KS_OK) {
        printf("%s\n", err.message);
        test_failures++;
        return;
    }
    struct rewrite_case *c = case_of(in_path, source.data, source.len);
    if (c) {
        const struct ks_site *site = NULL;
        for (size_t i = 0; i < c->sites.n; i++)
            if (strcmp(ks_site_label(&c->sites.data[i], &c->arena), label) == 0)
                site = &c->sites.data[i];
        if (!site) {
            printf("%s: no site %s; there are:\n", input, label);
            for (size_t i = 0; i < c->sites.n; i++)
                printf("  %s\n", ks_site_label(&c->sites.data[i], &c->arena));
            test_failures++;
        } else if (ks_site_apply(&c->view, site, &got, &err) != KS_OK) {
            printf("%s: %s\n", label, err.message);
            test_failures++;
        } else {
            compare_golden(out_path, label, &got);
            check_compiles(label, got.data, got.len);
        }
    }
}

static inline void check_no_site(const char *text, const char *transform)
{
    struct rewrite_case *c = case_of("case.cu", text, strlen(text));
    if (c)
        for (size_t i = 0; i < c->sites.n; i++)
            if (strcmp(c->sites.data[i].transform->name, transform) == 0) {
                printf("unexpected site %s in:\n%s\n", ks_site_label(&c->sites.data[i], &c->arena), text);
                test_failures++;
            }
}

#endif
