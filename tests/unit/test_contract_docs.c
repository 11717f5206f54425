/* The examples of docs/CONTRACT.md are tests: "```c" blocks parse without complaint, a "```c wrong" block gives just the messages
 * of the
 * "```text" block after it, and the "```json" block reads as the same contract as the first "```c" block. */

#include "base/file.h"
#include "harness/contract.h"
#include "test.h"

struct block {
    char kind[16];
    struct ks_str text;
};

static struct block blocks[32];
static size_t n_blocks;

static void read_blocks(void)
{
    struct ks_err err = {0};
    KS_AUTO_STR struct ks_str manual = KS_STR_INIT;
    CHECK_OK(ks_file_read(KSCC_SOURCE_DIR "/docs/CONTRACT.md", KS_MAX_SOURCE_BYTES, &manual, &err));
    bool inside = false;
    n_blocks = 0;
    for (char *line = strtok(manual.data, "\n"); line && n_blocks < 32; line = strtok(NULL, "\n")) {
        if (strncmp(line, "```", 3) != 0) {
            if (inside)
                ks_str_addf(&blocks[n_blocks].text, "%s\n", line);
            continue;
        }
        if (inside)
            n_blocks++;
        else
            snprintf(blocks[n_blocks].kind, sizeof blocks[0].kind, "%s", line + 3);
        inside = !inside;
    }
}

/* Diagnostics, then each contract on a line. */
static void describe(const struct block *b, struct ks_str *out)
{
    struct ks_err err = {0};
    struct ks_arena arena;
    struct ks_diags diags;
    struct ks_contract *contracts = NULL;
    size_t n = 0;
    ks_arena_init(&arena);
    ks_diags_init(&diags);
    enum ks_code code;
    if (strcmp(b->kind, "json") == 0) {
        KS_AUTO_JSON struct ks_json *json = NULL;
        CHECK_OK(ks_json_parse(b->text.data, b->text.len, "saxpy.kscc.json", &json, &err));
        code = ks_contracts_parse_json("saxpy.kscc.json", json, &arena, &diags, &contracts, &n, &err);
    } else {
        code = ks_contracts_parse("saxpy.cu", b->text.data, b->text.len, &arena, &diags, &contracts, &n, &err);
    }
    CHECK_INT(code, strcmp(b->kind, "c wrong") == 0 ? KS_ERR_SYNTAX : KS_OK);
    for (size_t i = 0; i < diags.n; i++)
        ks_diag_render(&diags.data[i], b->text.data, b->text.len, false, out);
    for (size_t i = 0; i < n; i++) {
        KS_AUTO_JSON struct ks_json *json = ks_contract_to_json(&contracts[i]);
        ks_json_print(json, out);
        ks_str_addc(out, '\n');
    }
    ks_diags_release(&diags);
    ks_arena_release(&arena);
}

TEST(the_examples_of_the_manual_are_true)
{
    size_t n_right = 0, n_wrong = 0, n_json = 0;
    KS_AUTO_STR struct ks_str first = KS_STR_INIT;
    read_blocks();
    for (size_t i = 0; i < n_blocks; i++) {
        KS_AUTO_STR struct ks_str got = KS_STR_INIT;
        if (strcmp(blocks[i].kind, "text") == 0)
            continue;
        describe(&blocks[i], &got);
        if (strcmp(blocks[i].kind, "c") == 0) {
            CHECK(got.data[0] == '{');
            if (n_right++ == 0)
                ks_str_add(&first, got.data);
        } else if (strcmp(blocks[i].kind, "c wrong") == 0) {
            CHECK_STR(got.data, i + 1 < n_blocks ? blocks[i + 1].text.data : "");
            n_wrong++;
        } else if (strcmp(blocks[i].kind, "json") == 0) {
            CHECK_STR(got.data, first.data);
            n_json++;
        }
    }
    CHECK(n_right >= 2 && n_wrong >= 1 && n_json == 1);
    for (size_t i = 0; i < n_blocks; i++)
        ks_str_release(&blocks[i].text);
}

TEST_MAIN
