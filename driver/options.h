#ifndef KS_DRIVER_OPTIONS_H
#define KS_DRIVER_OPTIONS_H

/* kscc's own switches: one row each in options.def; this is the walker.  Values are checked by type here, once, so that the rest
 * of the driver reads a struct ks_settings and no strings.  Strings in settings are borrowed from argv and the environment. */

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum ks_device_choice { KS_CHOOSE_AUTO, KS_CHOOSE_EMULATED, KS_CHOOSE_CUDA };
#define KS_MAX_HOST_BYTES 256
enum ks_policy { KS_POLICY_EXPLORE, KS_POLICY_APPROVED, KS_POLICY_OFF };
enum ks_ask { KS_ASK_BANK, KS_ASK_SELF, KS_ASK_HUMAN, KS_ASK_OFF };

struct ks_budget {
    int64_t trials; /* 0: not limited */
    double time_s;  /* 0: not limited */
    double target;  /* stop at this speed-up; 0: none */
    int64_t tokens; /* of a model, in and out; 0: the agent's default */
    double usd;     /* 0: not limited */
};

struct ks_settings {
    bool o_agent;
    struct ks_budget budget; /* all zero: the device's default */
    struct {
        enum ks_device_choice choice;
        char arch[16];                /* emulated:sm_XX, "" otherwise */
        char host[KS_MAX_HOST_BYTES]; /* ssh:HOST: `choice` is made among what is there; "": here */
        bool batch;                   /* slurm: host is what is asked of it, and may be "" */
    } device;
    int64_t n_devices; /* 0: as many as there are */
    const char *agent; /* "builtin", "file:DIR", "http", "command:PRESET" */
    struct {
        int api;                                               /* 0: by model and endpoint; 1 openai, 2 anthropic */
        const char *model, *endpoint, *key_file, *ca, *prices; /* NULL: not given */
        int no_stream;
        int64_t retries, context_tokens;
        double timeout_s;
    } http;
    struct {
        enum ks_ask who;
        const char *file; /* human: where the questions come from; NULL: the terminal */
    } ask;
    const char *program_args;    /* sets of arguments for program mode, between semicolons; NULL: not asked for */
    const char *workload;        /* a recording's folder; NULL: none */
    const char *bank;            /* NULL: the one that comes with kscc */
    int host;                    /* enum ks_host_use (host.h) */
    int kept_off;                /* objects are neither used again nor kept */
    const char *dir;             /* NULL: .kscc beside the source */
    const char *shared_dir;      /* a store of others that is only read; NULL: none */
    const char *allowed_signers; /* signed.h; NULL: what kscc.toml says */
    const char *nvcc;            /* NULL: looked for */
    const char *trace;           /* NULL: store only */
    const char *policy_words;    /* policy.h; NULL: not given */
    const char *lines_root;      /* in line information of candidates, in the place of the work tree; NULL: as it is */
    double delta, regress;
    int64_t sample; /* 0: the device's default */
    double trial_timeout_s;
    bool fresh, quiet, require_gate, verbose, show_help, show_version, show_commands;
};

enum ks_option_form { KS_OPT_BARE, KS_OPT_EQUALS, KS_OPT_EITHER };
enum ks_option_type {
    KS_TYPE_OPT_ACTION, /* a question to kscc itself; not in the environment */
    KS_TYPE_OPT_AGENT,
    KS_TYPE_OPT_ASKER, /* who asks the questions */
    KS_TYPE_OPT_BOOL,
    KS_TYPE_OPT_BUDGET,
    KS_TYPE_OPT_COUNT,
    KS_TYPE_OPT_DEVICE,
    KS_TYPE_OPT_ENUM,
    KS_TYPE_OPT_FRACTION,
    KS_TYPE_OPT_PATH,
    KS_TYPE_OPT_POLICY,   /* policy.h */
    KS_TYPE_OPT_PROPOSER, /* who proposes edits */
    KS_TYPE_OPT_SECONDS,
    KS_TYPE_OPT_WORDS /* any text, none too */
};
struct ks_option {
    const char *name; /* with its dashes */
    enum ks_option_form form;
    enum ks_option_type type;
    size_t offset;       /* of the field in struct ks_settings */
    const char *allowed; /* enum: "a|b|c" in the order of the C enum */
    const char *metavar; /* "" for bare options */
    const char *help;
};
extern const struct ks_option ks_options[];
extern const size_t ks_n_options;

void ks_settings_init(struct ks_settings *s); /* the defaults */
/* One word of the command line: "-O-agent", "--kscc-name=value".  Errors: KS_ERR_USAGE naming the word and what is allowed. */
KS_NODISCARD enum ks_code ks_settings_apply(struct ks_settings *s, const char *word, struct ks_err *err);
/* KSCC_<NAME> for every option but the actions.  A bare option is on with 1, yes, true or on; off with 0, no, false, off or
 * nothing. */
KS_NODISCARD enum ks_code ks_settings_apply_env(struct ks_settings *s, const char *(*get)(const char *name), struct ks_err *err);

void ks_option_env_name(const struct ks_option *o, struct ks_str *out); /* "KSCC_SOME_NAME"; replaces out */
/* "--kscc-budget=LIMITS", "-O-agent[=LIMITS]".  Appends. */
void ks_option_form(const struct ks_option *o, struct ks_str *out);
void ks_options_help(struct ks_str *out); /* the text of --kscc-help */
const char *ks_policy_text(int policy);

#endif
