#include "driver/agent_open.h"

#include "base/file.h"
#include "driver/agent_command.h"
#include "driver/agent_replay.h"
#include "driver/paths.h"
#include "driver/say.h"
#include "driver/secret.h"
#include "driver/stop.h"
#include "rewriter/agent_http.h"

#include <limits.h>
#include <string.h>

#define DEFAULT_TOKENS 2000000 /* when no budget counts what a model costs */

void ks_agent_readable(const struct ks_unit *unit, struct ks_args *out)
{
    static const char *const system[] = {"/usr/include/", "/usr/lib/", "/lib/"};
    char path[PATH_MAX];
    KS_AUTO_STR struct ks_str toolkit = KS_STR_INIT;
    for (size_t i = 0; i < unit->includes.n; i++) {
        bool own = realpath(unit->includes.v[i], path) != NULL;
        for (size_t k = 0; k < sizeof system / sizeof *system; k++)
            own = own && !ks_str_starts(path, system[k]);
        if (own)
            ks_args_add(out, path);
    }
    ks_path_join(&toolkit, unit->cuda_path, "include");
    if (realpath(ks_str_cstr(&toolkit), path))
        ks_args_add(out, path);
}

static enum ks_code hook_ask(void *ctx, enum ks_layer layer, const char *own, struct ks_json **ret, struct ks_err *err)
{
    struct ks_agent_place *place = ctx;
    return ks_search_ask(place->search, layer, own, ret, err);
}

static enum ks_code hook_shell(void *ctx, const char *command, const char *source, size_t len, struct ks_json **ret,
                               struct ks_err *err)
{
    struct ks_agent_place *place = ctx;
    return ks_shell_run(&place->shell, command, source, len, ret, err);
}

void ks_agent_hooks(struct ks_agent_place *place)
{
    KS_AUTO_STR struct ks_str bin = KS_STR_INIT;
    ks_paths_bin(&bin);
    free(place->bin_dir);
    place->bin_dir = ks_xstrdup(ks_str_cstr(&bin));
    place->shell = (struct ks_shell){.unit = place->unit, .bin_dir = place->bin_dir};
    place->hooks = (struct ks_action_hooks){.ctx = place, .ask = hook_ask, .shell = hook_shell};
}

void ks_agent_place_release(struct ks_agent_place *place)
{
    free(place->bin_dir);
    place->bin_dir = NULL;
}

static void say(const char *text)
{
    ks_say_progress("%s", text);
}

/* A key in clear over a network is worth a word; over this machine's own loopback it is not. */
static void warn_clear(const char *endpoint, const char *key)
{
    static const char *const loopback[] = {"http://127.", "http://localhost", "http://[::1]"};
    bool clear = key && endpoint && ks_str_starts(endpoint, "http://");
    for (size_t i = 0; i < sizeof loopback / sizeof *loopback; i++)
        clear = clear && !ks_str_starts(endpoint, loopback[i]);
    if (clear)
        ks_say(KS_SEV_WARNING, "the endpoint is not https: its key travels unencrypted, going on [kscc-unencrypted]");
}

static enum ks_code open_http(struct ks_agent_place *place, struct ks_agent **ret, struct ks_err *err)
{
    static const char *const apis[] = {NULL, "openai", "anthropic"};
    const struct ks_settings *s = place->unit->settings;
    const char *api = apis[s->http.api], *key = NULL;
    KS_AUTO_STR struct ks_str prices = KS_STR_INIT;
    KS_AUTO_ARGS struct ks_args readable;
    ks_args_init(&readable);
    KS_TRY(ks_secret_key(s->http.key_file, ks_agent_http_key_variable(api, s->http.model, s->http.endpoint), &key, err));
    warn_clear(s->http.endpoint, key);
    ks_paths_prices(&prices);
    ks_agent_readable(place->unit, &readable);
    ks_agent_hooks(place);
    bool counted = s->budget.tokens > 0 || s->budget.usd > 0;
    struct ks_agent_http_options opt = {.unit_path = place->unit->path,
                                        .model = s->http.model,
                                        .api = api,
                                        .endpoint = s->http.endpoint,
                                        .key = key,
                                        .ca_file = s->http.ca,
                                        .prices = s->http.prices ? s->http.prices : ks_str_cstr(&prices),
                                        .journal = place->conversation,
                                        .stream = !s->http.no_stream,
                                        .retries = (int)(s->http.retries < 100 ? s->http.retries : 100),
                                        .request_timeout_s = s->http.timeout_s,
                                        .context_tokens = s->http.context_tokens,
                                        .max_tokens = counted ? s->budget.tokens : DEFAULT_TOKENS,
                                        .max_usd = s->budget.usd,
                                        .readable = readable.v,
                                        .n_readable = readable.n,
                                        .hooks = &place->hooks,
                                        .stop = ks_stop_asked,
                                        .say = say};
    return ks_agent_http_new(&opt, ret, err);
}

enum ks_code ks_agent_open(struct ks_agent_place *place, struct ks_agent **ret, struct ks_err *err)
{
    const char *name = place->unit->settings->agent;
    if (strcmp(name, "builtin") == 0) {
        *ret = ks_agent_builtin_new();
        return KS_OK;
    }
    if (strcmp(name, "http") == 0)
        return open_http(place, ret, err);
    if (ks_str_starts(name, "file:"))
        return ks_agent_replay_new(name + 5, ret, err);
    if (ks_str_starts(name, "command:"))
        return ks_agent_command_new(name + 8, place->unit->path, ret, err);
    return ks_fail(err, KS_ERR_USAGE, "unknown agent '%s' (builtin, http, file:DIR, command:PRESET)", name);
}

enum ks_code ks_agent_check(const struct ks_settings *s, struct ks_err *err)
{
    struct ks_unit unit = {.settings = s, .path = "unit.cu"};
    struct ks_agent_place place = {.unit = &unit};
    struct ks_agent *agent = NULL;
    const char *key;
    if (strcmp(s->agent, "http") != 0) {
        KS_TRY(ks_agent_open(&place, &agent, err));
        agent->free(agent);
        return KS_OK;
    }
    if (!s->http.model)
        return ks_fail(err, KS_ERR_USAGE, "the http agent needs a model: --kscc-model=NAME");
    return ks_secret_key(s->http.key_file, ks_agent_http_key_variable(NULL, s->http.model, s->http.endpoint), &key, err);
}
