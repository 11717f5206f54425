/* kscc mcp [FILE.cu nvcc-options]: the Model Context Protocol over stdin and stdout. */

#include "base/limits.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/mcp.h"
#include "driver/paths.h"
#include "driver/say.h"
#include "driver/stop.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define TICK_MS       500
#define LAST_WORDS_MS 200
#define GRACE_MS      1500 /* clients wait about two seconds between closing our stdin and killing us */

/* What the client has sent; false: it sends no more. */
static bool read_client(struct ks_mcp *m, struct ks_str *in)
{
    char buf[1 << 16];
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    ssize_t n = read(STDIN_FILENO, buf, sizeof(buf));
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0)
        return false;
    if (in->len + (size_t)n > KS_MAX_JSON_BYTES) {
        ks_mcp_error(NULL, KS_RPC_INVALID_REQUEST, NULL, "the message is longer than %u bytes", KS_MAX_JSON_BYTES);
        return false;
    }
    ks_str_addn(in, buf, (size_t)n);
    while (ks_mcp_engine_line(in, &line))
        if (strspn(ks_str_cstr(&line), " \t\r") != line.len)
            ks_mcp_message(m, ks_str_cstr(&line), line.len);
    return true;
}

static void read_engine(struct ks_mcp *m, int fd)
{
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    bool out = fd == m->engine.out, open = ks_mcp_engine_read(&m->engine, fd);
    while (!out && ks_mcp_engine_line(&m->engine.err_text, &line))
        ks_mcp_progress(m, ks_str_cstr(&line));
    while (out && ks_mcp_engine_line(&m->engine.out_text, &line)) {
        KS_AUTO_JSON struct ks_json *answer = NULL;
        struct ks_err err;
        if (ks_json_parse(ks_str_cstr(&line), line.len, "answer", &answer, &err) == KS_OK)
            ks_mcp_answer(m, answer);
    }
    if (open)
        return;
    if (out) {
        struct pollfd last = {.fd = m->engine.err, .events = POLLIN}; /* its last words */
        while (last.fd >= 0 && poll(&last, 1, LAST_WORDS_MS) > 0 && ks_mcp_engine_read(&m->engine, last.fd))
            continue;
        ks_mcp_engine_ended(m, "the process that judges has ended");
    } else {
        close(m->engine.err);
        m->engine.err = -1;
    }
}

static void serve(struct ks_mcp *m)
{
    KS_AUTO_STR struct ks_str in = KS_STR_INIT;
    bool open = true;
    while (open && !ks_stop_asked() && !ks_mcp_output_failed()) {
        struct pollfd p[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = m->engine.out, .events = POLLIN},
                             {.fd = m->engine.err, .events = POLLIN}};
        if (poll(p, 3, m->jobs.n ? TICK_MS : -1) < 0)
            continue;
        if (p[2].revents)
            read_engine(m, p[2].fd);
        if (p[1].revents && p[1].fd == m->engine.out)
            read_engine(m, p[1].fd);
        if (p[0].revents)
            open = read_client(m, &in);
        ks_mcp_step(m);
        ks_mcp_progress(m, NULL);
    }
    if (m->jobs.n == 0) /* it writes its trace */
        ks_mcp_engine_stop(&m->engine, GRACE_MS);
}

int ks_cmd_mcp(char *const *argv)
{
    struct ks_mcp m = {0};
    struct ks_settings settings;
    KS_AUTO_ARGS struct ks_args words;
    KS_AUTO_STR struct ks_str bank = KS_STR_INIT;
    ks_args_init(&words);
    ks_stop_install();
    if (!ks_command_args(argv, &settings, &words)) /* a wrong one is better said now than at the first call */
        return 2;
    ks_mcp_engine_init(&m.engine);
    if (words.n)
        ks_args_add_all(&m.engine.line, argv + 1);
    ks_paths_bank(&bank);
    m.bank = settings.bank ? settings.bank : ks_str_cstr(&bank);
    serve(&m);
    ks_mcp_release(&m);
    return 0;
}
