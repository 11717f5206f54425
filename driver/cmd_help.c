/* kscc help: the tables and the manuals, and what is made of them for man and the shells. */

#include "base/file.h"
#include "driver/commands.h"
#include "driver/help.h"
#include "driver/paths.h"
#include "driver/say.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MANUAL_BYTES_MAX (1u << 20)

/* docs/TOPIC.md, in capitals as the files are.  False: there is none. */
static bool add_manual(const char *topic, struct ks_str *out)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT, path = KS_STR_INIT, name = KS_STR_INIT;
    struct ks_err err;
    for (const char *p = topic; *p; p++) {
        if (!isalnum((unsigned char)*p))
            return false;
        ks_str_addc(&name, (char)toupper((unsigned char)*p));
    }
    ks_str_add(&name, ".md");
    ks_paths_manuals(&dir);
    ks_path_join(&path, ks_str_cstr(&dir), ks_str_cstr(&name));
    return ks_file_exists(ks_str_cstr(&path)) && ks_file_read(ks_str_cstr(&path), MANUAL_BYTES_MAX, out, &err) == KS_OK;
}

int ks_cmd_help(char *const *argv)
{
    static const char completion[] = "--completion=";
    const char *topic = argv[1];
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (topic && argv[2]) {
        ks_say(KS_SEV_ERROR, "usage: kscc %s [kscc-usage]", ks_command_find("help")->usage);
        return 2;
    }
    if (!topic) {
        ks_options_help(&text);
        ks_commands_help(&text);
    } else if (strcmp(topic, "--man") == 0) {
        ks_help_man(&text);
    } else if (ks_str_starts(topic, completion)) {
        if (!ks_help_completion(topic + sizeof(completion) - 1, &text)) {
            ks_say(KS_SEV_ERROR, "no completion for '%s' (there is one for bash, zsh and fish) [kscc-usage]",
                   topic + sizeof(completion) - 1);
            return 2;
        }
    } else {
        /* a topic may have a row in a table and a manual: the row first */
        bool row = ks_help_topic(topic, &text);
        KS_AUTO_STR struct ks_str manual = KS_STR_INIT;
        if (add_manual(topic, &manual))
            ks_str_addf(&text, "%s%s", row ? "\n" : "", ks_str_cstr(&manual));
        else if (!row) {
            ks_say(KS_SEV_ERROR, "nothing is known about '%s' ('kscc help' lists options and commands) [kscc-not-found]", topic);
            return 1;
        }
    }
    fputs(ks_str_cstr(&text), stdout);
    return 0;
}
