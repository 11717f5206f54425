#include "driver/agent_command.h"

#include "base/file.h"
#include "base/process.h"
#include "driver/command_task.h"
#include "driver/paths.h"
#include "driver/say.h"
#include "driver/search_state.h"
#include "driver/stop.h"
#include "driver/try_client.h"
#include "driver/work_dir.h"
#include "driver/workspace.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define MAX_RUNS       3
#define TICK_MS        100
#define REQUEST_S      10 /* for one who has connected to say what it wants */
#define MAX_CALLS      16 /* of one request */
#define PROMPT         "Read TASK.md in this folder and do what it says."
#define MAX_KEPT_BYTES 4000

struct command {
    struct ks_agent agent; /* first: the caller holds a pointer to it */
    struct ks_agent *inner;
    struct ks_command_preset preset;
    char *name, *unit_path;
    struct ks_work_dir work;
    struct ks_workspace space;
    struct ks_call_list list; /* the calls of one request */
    int client_fd;            /* who asked; -1 */
    struct ks_trace *trace;
    struct ks_search *search;
    int runs;
    int64_t tries; /* of this run */
    bool claiming, over;
};

static struct command *of(struct ks_agent *agent)
{
    return (struct command *)agent;
}

/* ---- requests ------------------------------------------------------------------------------------------------------- */

static void reply(struct command *c)
{
    KS_AUTO_JSON struct ks_json *j = ks_json_object();
    struct ks_err err;
    if (c->client_fd < 0)
        return;
    ks_json_set_str(j, "tool", c->list.last_tool);
    ks_json_set(j, "content", c->list.last ? ks_json_copy(c->list.last) : ks_json_object());
    ks_json_set_bool(j, "refused", c->list.refused || !c->list.last);
    enum ks_code sent = ks_line_write(c->client_fd, j, &err);
    (void)sent; /* it may be gone */
    close(c->client_fd);
    c->client_fd = -1;
}

static void refuse(struct command *c, const char *why)
{
    ks_json_free(c->list.last);
    c->list.last = ks_json_object();
    c->list.last_tool = "";
    c->list.refused = true;
    ks_json_set_str(c->list.last, "error", why);
    reply(c);
    ks_call_list_release(&c->list);
}

/* The tool's name as a constant, which a list wants; NULL: not one of those on offer. */
static const char *tool_name(const char *name)
{
    static const char *const names[] = {"edit", "state_hypothesis", "evaluate", "ask",        "history",
                                        "best", "profile",          "branch",   "claim_limit"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return names[i];
    return NULL;
}

static void take_request(struct command *c, const char *line, size_t len)
{
    KS_AUTO_JSON struct ks_json *request = NULL;
    struct ks_err err;
    const struct ks_json *calls =
        ks_json_parse(line, len, "request", &request, &err) == KS_OK ? ks_json_get(request, "calls") : NULL;
    size_t n = ks_json_is_array(calls) ? ks_json_len(calls) : 0;
    if (n == 0 || n > MAX_CALLS) {
        refuse(c, "the request holds no calls, or too many");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct ks_json *call = ks_json_at(calls, i), *arguments = ks_json_get(call, "arguments");
        const char *tool = tool_name(ks_json_get_str(call, "tool", ""));
        if (!tool) {
            refuse(c, "the request names a tool that is not on offer");
            return;
        }
        ks_call_list_add(&c->list, tool, arguments ? ks_json_copy(arguments) : NULL);
    }
}

static void accept_request(struct command *c)
{
    struct ks_err err;
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    const struct timeval limit = {.tv_sec = REQUEST_S};
    c->client_fd = accept4(c->space.listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (c->client_fd < 0)
        return;
    setsockopt(c->client_fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(c->client_fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (ks_line_read(c->client_fd, &line, &err) == KS_OK)
        take_request(c, ks_str_cstr(&line), line.len);
    else
        refuse(c, err.message);
}

/* ---- runs ----------------------------------------------------------------------------------------------------------- */

static enum ks_code start(struct command *c, struct ks_err *err)
{
    struct ks_agent_view view;
    KS_AUTO_STR struct ks_str task = KS_STR_INIT, contract = KS_STR_INIT;
    ks_search_view(c->search, &view);
    if (!c->space.dir) {
        KS_TRY(ks_work_dir_open("kscc-work", &c->work, err));
        KS_TRY(ks_workspace_make(&c->space, c->work.path, c->unit_path, &c->preset, err));
    }
    ks_command_task(&view, ks_path_base(c->unit_path), &task);
    ks_json_print_pretty(view.contract, &contract);
    KS_TRY(ks_workspace_write(&c->space, ks_path_base(c->unit_path), view.source, view.source_len, err));
    KS_TRY(ks_workspace_write(&c->space, "contract.json", ks_str_cstr(&contract), contract.len, err));
    KS_TRY(ks_workspace_write(&c->space, "TASK.md", ks_str_cstr(&task), task.len, err));
    KS_TRY(ks_workspace_start(&c->space, &c->preset, PROMPT, err));
    c->runs++;
    c->tries = 0;
    ks_say_progress("%s: %s started in '%s' (run %d)", c->name, c->preset.program, c->space.dir, c->runs);
    return KS_OK;
}

/* The program is gone: says so, and whether it is to be asked once more. */
static void run_ended(struct command *c)
{
    struct ks_json *j = ks_json_object();
    size_t kept = c->space.output.len < MAX_KEPT_BYTES ? c->space.output.len : MAX_KEPT_BYTES;
    ks_json_set_str(j, "preset", c->preset.name);
    ks_json_set_str(j, "ended", c->space.ended ? c->space.ended : "?");
    ks_json_set_str(j, "output", ks_str_cstr(&c->space.output) + c->space.output.len - kept);
    KS_AUTO_JSON struct ks_json *clean = ks_json_repeatable(j);
    ks_json_free(j);
    ks_trace_event(c->trace, "command", ks_steal(clean));
    ks_say_progress("%s: %s %s after %lld tr%s", c->name, c->preset.program, c->space.ended ? c->space.ended : "ended",
                    (long long)c->tries, c->tries == 1 ? "y" : "ies");
    if (c->tries == 0 || c->runs == MAX_RUNS) {
        c->over = true;
        return;
    }
    struct ks_json *arguments = ks_json_object();
    ks_json_set_str(arguments, "reason", "its program ended by itself");
    ks_call_list_add(&c->list, "claim_limit", arguments);
    c->claiming = true;
}

static bool out_of_time(const struct command *c)
{
    double limit_s = c->search->budget.time_s;
    return limit_s > 0 && (double)(ks_clock_ns() - c->search->state->start_ns) / 1e9 >= limit_s;
}

static bool next(void *ctx, char **ret_tool, struct ks_json **ret_arguments)
{
    struct command *c = ctx;
    struct ks_err err;
    for (;;) {
        struct ks_operator_port list = ks_call_list_port(&c->list);
        if (list.next(list.ctx, ret_tool, ret_arguments))
            return true;
        reply(c);
        ks_call_list_release(&c->list);
        if (c->over || ks_stop_asked() || out_of_time(c))
            return false;
        if (!c->space.pid && start(c, &err) != KS_OK) {
            ks_say_instead(&err, "no program proposes anything");
            c->over = true;
            return false;
        }
        struct pollfd p[] = {{.fd = c->space.listen_fd, .events = POLLIN}, {.fd = c->space.output_fd, .events = POLLIN}};
        if (poll(p, 2, TICK_MS) > 0 && p[0].revents)
            accept_request(c);
        if (c->list.calls.n == 0 && !ks_workspace_alive(&c->space))
            run_ended(c);
    }
}

static void answer(void *ctx, const struct ks_json *content, bool refused)
{
    struct command *c = ctx;
    ks_json_free(c->list.last);
    c->list.last = ks_json_copy(content);
    c->list.refused = refused;
    c->tries += !refused && strcmp(c->list.last_tool, "evaluate") == 0;
    if (c->claiming) /* without a question another run would be the same */
        c->over = !ks_json_get(content, "question");
    c->claiming = false;
}

/* ---- life cycle ----------------------------------------------------------------------------------------------------- */

static enum ks_code propose(struct ks_agent *self, const struct ks_agent_view *view, struct ks_proposal *ret, struct ks_err *err)
{
    return of(self)->inner->propose(of(self)->inner, view, ret, err);
}

static const char *stopped_by(const struct ks_agent *self)
{
    const struct command *c = (const struct command *)self;
    return c->inner->stopped_by(c->inner) ? "command" : NULL;
}

static void command_free(struct ks_agent *self)
{
    struct command *c = of(self);
    ks_workspace_release(&c->space);
    ks_work_dir_close(&c->work);
    ks_call_list_release(&c->list);
    if (c->client_fd >= 0)
        close(c->client_fd);
    if (c->inner)
        c->inner->free(c->inner);
    ks_command_preset_release(&c->preset);
    free(c->name);
    free(c->unit_path);
    free(c);
}

enum ks_code ks_agent_command_new(const char *preset, const char *unit_path, struct ks_agent **ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str presets = KS_STR_INIT, name = KS_STR_INIT;
    KS_AUTO_FREE char *program = NULL;
    struct command *c = ks_xcalloc(1, sizeof(*c));
    c->client_fd = -1;
    c->work.lock_fd = -1;
    c->space = (struct ks_workspace){.listen_fd = -1, .output_fd = -1};
    c->unit_path = ks_xstrdup(unit_path);
    ks_paths_presets(&presets);
    enum ks_code code = ks_command_preset_read(preset, ks_str_cstr(&presets), &c->preset, err);
    if (code == KS_OK)
        code = ks_path_search(c->preset.program, &program, err);
    ks_str_addf(&name, "command:%s", c->preset.name ? c->preset.name : "");
    c->name = ks_str_detach(&name, NULL);
    c->agent = (struct ks_agent){.name = c->name, .propose = propose, .free = command_free, .stopped_by = stopped_by};
    const struct ks_operator_options opt = {
        .name = c->name, .unit_path = unit_path, .port = {.ctx = c, .next = next, .answer = answer}};
    if (code == KS_OK)
        code = ks_agent_operator_new(&opt, &c->inner, err);
    if (code != KS_OK) {
        command_free(&c->agent);
        return code;
    }
    *ret = &c->agent;
    return KS_OK;
}

void ks_agent_command_attach(struct ks_agent *agent, struct ks_trace *trace, struct ks_search *search)
{
    if (agent->free != command_free)
        return;
    of(agent)->trace = trace;
    of(agent)->search = search;
    ks_agent_operator_attach(of(agent)->inner, trace, search);
}

void ks_agent_command_end(struct ks_agent *agent)
{
    if (agent->free != command_free)
        return;
    struct command *c = of(agent);
    ks_agent_operator_end(c->inner, "the search has ended");
    reply(c);
    if (!c->space.pid)
        return;
    ks_workspace_stop(&c->space);
    c->runs = MAX_RUNS;
    run_ended(c);
}
