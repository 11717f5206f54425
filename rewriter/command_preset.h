#ifndef KS_REWRITER_COMMAND_PRESET_H
#define KS_REWRITER_COMMAND_PRESET_H

/* How a coding agent's command-line program is called: a data file, rewriter/presets/<name>.json or any other.
 *
 *   {"name": "claude", "about": "...", "program": "claude", "argv": ["-p", "{prompt}"],
 *    "env": ["ANTHROPIC_API_KEY"],        variables handed on as they are; everything else is kept from it
 *    "set": {"NAME": "value"},            variables set
 *    "home": [".claude.json"],            files copied from the home folder into the program's own, which is emptied afterwards
 *    "read": ["~/.nvm"],                  further files and folders it may read
 *    "timeout_s": 3600}                   for one run of it
 *
 * In argv: {prompt} is one sentence that points to the task, {task} the path of TASK.md, {unit} that of the source, {workspace}
 * the folder. */

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

struct ks_command_preset {
    char *name, *program;
    struct ks_args argv, env, home, read;
    struct ks_args set; /* "NAME=value" */
    int64_t timeout_s;
};

/* word: a preset's name, or a path with '/' or ending in .json.  dir: folder of the presets.  Errors: KS_ERR_NOT_FOUND (naming
 * those that there are), KS_ERR_SYNTAX. */
KS_NODISCARD enum ks_code ks_command_preset_read(const char *word, const char *dir, struct ks_command_preset *ret,
                                                 struct ks_err *err);
void ks_command_preset_release(struct ks_command_preset *p);
/* What stands for the braces. */
struct ks_command_places {
    const char *prompt, *task, *unit, *workspace;
};
/* argv of the program, argv[0] as `program`. */
void ks_command_preset_argv(const struct ks_command_preset *p, const char *program, const struct ks_command_places *places,
                            struct ks_args *out);

#endif
