/* kscc report: what searches found, as text, as JSON and as pages. */

#include "base/file.h"
#include "driver/certificate.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/junit.h"
#include "driver/report_html.h"
#include "driver/report_json.h"
#include "driver/say.h"

#include <stdio.h>

#define INDEX_PAGE "index.html"

/* Text on stdout, the page beside the other files of the key. */
static int print_text(const struct ks_store *store, const char *key)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, page = KS_STR_INIT, path = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *report = ks_report_json(store, key);
    struct ks_err err;
    ks_report_text(store, key, &text);
    ks_str_addc(&text, '\n');
    ks_print_visible(&text);
    ks_report_html(report, &page);
    if (ks_store_write(store, key, KS_PAGE_FILE, page.data, page.len, &err) != KS_OK) {
        ks_say_instead(&err, "there is no page of this report");
        return 0;
    }
    ks_store_path(store, key, KS_PAGE_FILE, &path);
    printf("page    %s\n\n", ks_str_cstr(&path));
    return 0;
}

static int print_json(const struct ks_store *store, const char *key)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *report = ks_report_json(store, key);
    ks_json_make_utf8(report);
    ks_json_print(report, &text);
    printf("%s\n", ks_str_cstr(&text));
    return 0;
}

static struct ks_html *junit; /* the document that print_junit adds to */

static int print_junit(const struct ks_store *store, const char *key)
{
    KS_AUTO_JSON struct ks_json *report = ks_report_json(store, key);
    ks_junit_suite(report, junit);
    return 0;
}

/* One document over all keys. */
static int print_junit_all(const struct ks_store *store, const struct ks_args *words)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    junit = ks_html_new_xml("testsuites");
    int status = ks_command_for_keys(store, words, print_junit);
    ks_html_finish(junit, &text);
    if (status == 0)
        fputs(ks_str_cstr(&text), stdout);
    return status;
}

/* Silence would look like a mistake. */
static void say_none(const struct ks_store *store)
{
    KS_AUTO_ARGS struct ks_args keys;
    struct ks_err err;
    ks_args_init(&keys);
    if (ks_store_keys(store, &keys, &err) == KS_OK && keys.n == 0)
        printf("no search in '%s' yet\n", store->dir);
}

/* The page over all searches, in the store's folder. */
static int write_index(const struct ks_store *store)
{
    KS_AUTO_ARGS struct ks_args keys;
    KS_AUTO_STR struct ks_str page = KS_STR_INIT, path = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *reports = ks_json_array();
    struct ks_err err;
    ks_args_init(&keys);
    enum ks_code code = ks_store_keys(store, &keys, &err);
    for (size_t i = 0; i < keys.n && code == KS_OK; i++) {
        struct ks_json *report = ks_report_json(store, keys.v[i]);
        KS_AUTO_STR struct ks_str href = KS_STR_INIT;
        ks_str_addf(&href, "objects/%s/" KS_PAGE_FILE, keys.v[i]);
        ks_json_set_str(report, "href", ks_str_cstr(&href));
        ks_json_push(reports, report);
    }
    ks_report_index_html(reports, &page);
    ks_path_join(&path, store->dir, INDEX_PAGE);
    if (code == KS_OK)
        code = ks_file_write_atomic(ks_str_cstr(&path), page.data, page.len, 0644, &err);
    if (code != KS_OK) {
        ks_say_error(&err);
        return 1;
    }
    printf("index   %s\n", ks_str_cstr(&path));
    return 0;
}

int ks_cmd_report(char *const *argv)
{
    KS_AUTO_ARGS struct ks_args words;
    struct ks_settings s;
    struct ks_store store;
    ks_args_init(&words);
    if (!ks_command_args(argv, &s, &words))
        return 2;
    bool json = ks_command_flag(&words, "--json"), xml = ks_command_flag(&words, "--junit"),
         all = ks_command_flag(&words, "--all");
    if (json + xml + all > 1 || (all && words.n > 0) || (words.n > 0 && words.v[0][0] == '-'))
        return ks_command_usage("report");
    if (!ks_command_store(&s, &store))
        return 1;
    int status = xml ? print_junit_all(&store, &words) : ks_command_for_keys(&store, &words, json ? print_json : print_text);
    if (words.n == 0 && !json && !xml && status == 0)
        say_none(&store);
    if (all)
        status |= write_index(&store);
    ks_store_close(&store);
    return status;
}
