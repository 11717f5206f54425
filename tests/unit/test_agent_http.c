/* The http agent against an endpoint that is broken in every way (tests/agents/faults.py): each fault ends in bounded time, with
 * a sentence that says what it was, or is got over. */
#include "base/file.h"
#include "base/process.h"
#include "base/redact.h"
#include "rewriter/agent_http.h"
#include "rewriter/http/prices.h"
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BOUND_S 40 /* with its retry, on a busy machine */

static const char source[] = "int a;\n";
static char endpoint[64], dir[] = "/tmp/test-agent-http.XXXXXX";
static int input = -1; /* the server ends with it */

/* A server of its own, which ends when *ret_input is closed; what it says of requests is in dir/<name>.log. */
static int server_start(const char *name, int *ret_input)
{
    KS_AUTO_STR struct ks_str port = KS_STR_INIT, log = KS_STR_INIT, text = KS_STR_INIT;
    struct ks_err err;
    struct ks_spawn s;
    int fds[2];
    pid_t pid;
    CHECK(pipe2(fds, O_CLOEXEC) == 0);
    ks_str_addf(&port, "%s/%s.port", dir, name);
    ks_str_addf(&log, "%s/%s.log", dir, name);
    char *argv[] = {
        "python3", KSCC_SOURCE_DIR "/tests/agents/endpoint.py", KSCC_SOURCE_DIR "/tests/agents/faults.py", port.data, log.data,
        NULL};
    ks_spawn_init(&s);
    s.argv = argv;
    s.stdin_fd = fds[0];
    s.die_with_parent = true;
    CHECK_OK(ks_process_start(&s, &pid, &err));
    close(fds[0]);
    *ret_input = fds[1];
    for (int i = 0; i < 600 && !ks_file_exists(port.data); i++)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    CHECK_OK(ks_file_read(port.data, 100, &text, &err));
    return atoi(ks_str_cstr(&text));
}

struct outcome {
    enum ks_code code;
    struct ks_err err;
    struct ks_proposal p;
    double seconds;
    struct ks_spend spend;
    char stopped_by[16];
};

static struct ks_agent_http_options options(const char *model)
{
    bool never = strcmp(model, "drip") == 0 || strcmp(model, "silence") == 0; /* what it waits for does not come */
    return (struct ks_agent_http_options){.unit_path = "unit.cu",
                                          .model = model,
                                          .api = strncmp(model, "anthropic", 9) == 0 ? "anthropic" : "openai",
                                          .endpoint = endpoint,
                                          .stream = true,
                                          .retries = 1,
                                          .request_timeout_s = never ? 1 : 10,
                                          .context_tokens = 50000};
}

static struct ks_agent_view view_of_source(void)
{
    return (struct ks_agent_view){.path = "unit.cu",
                                  .source = source,
                                  .source_len = strlen(source),
                                  .original = source,
                                  .original_len = strlen(source),
                                  .entry = "e",
                                  .arch = "sm_90a"};
}

static struct outcome run(const struct ks_agent_http_options *opt, int64_t deadline_s)
{
    struct outcome o = {0};
    struct ks_agent *agent = NULL;
    int64_t start = ks_clock_ns();
    struct ks_agent_view view = view_of_source();
    view.trials_left = 5;
    view.deadline_ns = deadline_s ? start + deadline_s * 1000000000 : 0;
    o.code = ks_agent_http_new(opt, &agent, &o.err);
    if (o.code != KS_OK)
        return o;
    o.code = agent->propose(agent, &view, &o.p, &o.err);
    o.seconds = (double)(ks_clock_ns() - start) / 1e9;
    agent->spend(agent, &o.spend);
    const char *why = agent->stopped_by(agent);
    snprintf(o.stopped_by, sizeof o.stopped_by, "%s", why ? why : "");
    agent->free(agent);
    return o;
}

#define CHECK_OK_MESSAGE(o)                                                                                                      \
    do {                                                                                                                         \
        if ((o).code != KS_OK)                                                                                                   \
            printf("failed: %s\n", (o).err.message);                                                                             \
        CHECK_INT((o).code, KS_OK);                                                                                              \
    } while (0)

static void expect_failure(const char *model, enum ks_code code, const char *words)
{
    struct ks_agent_http_options opt = options(model);
    struct outcome o = run(&opt, 0);
    if (o.code != code || !strstr(o.err.message, words))
        printf("%s: %s\n", model, o.code == KS_OK ? "no error" : o.err.message);
    CHECK_INT(o.code, code);
    CHECK_CONTAINS(o.err.message, words);
    CHECK(o.seconds < BOUND_S);
    CHECK(o.p.source == NULL);
    for (const char *c = o.err.message; *c; c++)
        CHECK((unsigned char)*c >= ' '); /* nothing of the endpoint's reaches a terminal as an escape */
    ks_proposal_release(&o.p);
}

TEST(answers_that_are_none_are_tried_again_and_named)
{
    CHECK(mkdtemp(dir) != NULL);
    setenv("no_proxy", "127.0.0.1", 1);
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d", server_start("faults", &input));
    expect_failure("not-json", KS_ERR_PROTOCOL, "holds no choice");
    expect_failure("broken-json", KS_ERR_PROTOCOL, "not JSON");
    expect_failure("closes-the-json", KS_ERR_PROTOCOL, "not JSON");
    expect_failure("empty-choices", KS_ERR_PROTOCOL, "no choice");
    expect_failure("no-choices", KS_ERR_PROTOCOL, "no choice");
    expect_failure("array", KS_ERR_PROTOCOL, "no choice");
    expect_failure("empty-body", KS_ERR_PROTOCOL, "not JSON");
    expect_failure("null-message", KS_ERR_PROTOCOL, "no choice");
    expect_failure("error-in-200", KS_ERR_PROTOCOL, "the upstream is gone");
    expect_failure("stream-of-nothing", KS_ERR_PROTOCOL, "not of the API's form");
    expect_failure("negative-index", KS_ERR_PROTOCOL, "not of the API's form");
    expect_failure("far-index", KS_ERR_PROTOCOL, "not of the API's form");
}

TEST(connections_that_break_are_tried_again_and_named)
{
    expect_failure("cut-stream", KS_ERR_PROTOCOL, "cut off");
    expect_failure("cut-head", KS_ERR_IO, "no answer");
    expect_failure("nothing", KS_ERR_IO, "no answer");
    expect_failure("not-http", KS_ERR_IO, "no answer");
    expect_failure("drip", KS_ERR_TIMEOUT, "no answer in time");
    expect_failure("silence", KS_ERR_TIMEOUT, "no answer in time");
}

TEST(refusals_are_named_and_only_passing_ones_tried_again)
{
    expect_failure("429-storm", KS_ERR_PROTOCOL, "status 429: slow down");
    expect_failure("429-for-an-hour", KS_ERR_PROTOCOL, "status 429");
    expect_failure("500-storm", KS_ERR_PROTOCOL, "status 500");
    expect_failure("401", KS_ERR_DENIED, "status 401: no such key: [redacted]");
    expect_failure("404", KS_ERR_PROTOCOL, "status 404");
    expect_failure("redirect", KS_ERR_PROTOCOL, "status 302");
    expect_failure("huge", KS_ERR_LIMIT, "larger than");
    expect_failure("gzip-bomb", KS_ERR_LIMIT, "larger than");
    expect_failure("anthropic-million", KS_ERR_PROTOCOL, "not of the API's form");
    expect_failure("redirect-home", KS_ERR_PROTOCOL, "status 307");
    expect_failure("huge-event", KS_ERR_LIMIT, "larger than");
    expect_failure("no-calls", KS_ERR_PROTOCOL, "neither text nor a tool call");
    expect_failure("only-reads", KS_ERR_LIMIT, "without an evaluation");
}

TEST(a_key_that_comes_back_is_not_shown)
{
    struct ks_agent_http_options opt = options("echoes-the-key");
    opt.key = "planted-key-of-no-known-form";
    ks_redact_add(opt.key);
    struct outcome o = run(&opt, 0);
    CHECK_INT(o.code, KS_ERR_DENIED);
    CHECK_CONTAINS(o.err.message, "Bearer [redacted]");
    CHECK(!strstr(o.err.message, "planted"));
}

TEST(streams_are_read_however_they_are_cut_numbered_or_packed)
{
    static const char *const models[] = {"interleaved", "numbered-from-one", "behind-the-stop", "bytewise", "gzip"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct ks_agent_http_options opt = options(models[i]);
        struct outcome o = run(&opt, 0);
        CHECK_OK_MESSAGE(o);
        CHECK_STR(o.p.source, "int z;\n");
        CHECK_STR(o.p.hypothesis, "h");
        CHECK_STR(o.p.transform, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
        ks_proposal_release(&o.p);
    }
}

TEST(what_passes_is_got_over)
{
    static const char *const models[] = {"429-thrice", "old-server", "wrong-calls"};
    for (size_t i = 0; i < 3; i++) {
        struct ks_agent_http_options opt = options(models[i]);
        opt.retries = 3;
        struct outcome o = run(&opt, 0);
        CHECK_OK_MESSAGE(o);
        CHECK_STR(o.p.source, "int z;\n");
        CHECK_STR(o.p.hypothesis, "h");
        ks_proposal_release(&o.p);
    }
}

TEST(a_pause_that_the_endpoint_names_is_kept)
{
    static const struct {
        const char *model;
        double least_s, most_s; /* a date has whole seconds */
    } cases[] = {{"once-408-0-number", 0, 40},
                 {"once-409-0-number", 0, 40},
                 {"once-503-0-date", 0, 40},
                 {"once-429-1-number", 1, 40},
                 {"once-429-3-date", 1.9, 40}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ks_agent_http_options opt = options(cases[i].model);
        struct outcome o = run(&opt, 0);
        CHECK_OK_MESSAGE(o);
        CHECK(o.seconds >= cases[i].least_s && o.seconds < cases[i].most_s);
        ks_proposal_release(&o.p);
    }
}

/* ok: NULL, or a part of the message. */
static void expect_tls(const char *url, const char *ca, enum ks_code code, const char *words)
{
    struct ks_agent_http_options opt = options("good");
    opt.endpoint = url;
    opt.ca_file = ca;
    opt.retries = 0;
    struct outcome o = run(&opt, 0);
    if (o.code != code)
        printf("%s: %s\n", url, o.code == KS_OK ? "no error" : o.err.message);
    CHECK_INT(o.code, code);
    if (words)
        CHECK_CONTAINS(o.err.message, words);
    ks_proposal_release(&o.p);
}

TEST(a_certificate_is_trusted_only_where_it_was_named_and_proxies_are_those_of_the_environment)
{
    KS_AUTO_STR struct ks_str ca = KS_STR_INIT, key = KS_STR_INIT, both = KS_STR_INIT, log = KS_STR_INIT, said = KS_STR_INIT;
    struct ks_err err;
    struct ks_exit e;
    struct ks_spawn s;
    char here[64], proxy[64];
    int tls_input, proxy_input;
    ks_path_join(&ca, dir, "certificate.pem");
    ks_path_join(&key, dir, "key.pem");
    char *argv[] = {"openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:prime256v1",
                    "-nodes",
                    "-days",
                    "2",
                    "-subj",
                    "/CN=model.test",
                    "-addext",
                    "subjectAltName=DNS:model.test,IP:127.0.0.1",
                    "-keyout",
                    key.data,
                    "-out",
                    ca.data,
                    NULL};
    ks_spawn_init(&s);
    s.argv = argv;
    CHECK_OK(ks_process_run(&s, &said, &said, &e, &err));
    CHECK(ks_exit_ok(&e));
    ks_str_addf(&both, "%s:%s", ca.data, key.data);
    setenv("ENDPOINT_TLS", both.data, 1);
    int port = server_start("tls", &tls_input);
    unsetenv("ENDPOINT_TLS");
    snprintf(here, sizeof here, "%d", port);
    setenv("ENDPOINT_BEHIND", here, 1);
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", server_start("proxy", &proxy_input));
    snprintf(here, sizeof here, "https://127.0.0.1:%d", port);
    expect_tls(here, NULL, KS_ERR_DENIED, "certificate is not trusted");
    expect_tls(here, ca.data, KS_OK, NULL);
    expect_tls(here, "/nonexistent/ca.pem", KS_ERR_DENIED, "certificate is not trusted");
    /* a name that nobody but the proxy knows; then another than the certificate's */
    setenv("HTTPS_PROXY", proxy, 1);
    expect_tls("https://model.test", ca.data, KS_OK, NULL);
    expect_tls("https://other.test", ca.data, KS_ERR_DENIED, "certificate is not trusted");
    /* one that libcurl does not know, and quotes */
    setenv("HTTPS_PROXY", "socks9://somebody:hunter2hunter2@127.0.0.1:1", 1);
    expect_tls("https://model.test", ca.data, KS_ERR_IO, "somebody:[redacted]@");
    /* a proxy that is not there, and is not asked where no_proxy says so */
    setenv("HTTPS_PROXY", "http://127.0.0.1:1", 1);
    expect_tls(here, ca.data, KS_OK, NULL);
    setenv("no_proxy", "elsewhere.test", 1);
    expect_tls(here, ca.data, KS_ERR_IO, "no answer");
    unsetenv("HTTPS_PROXY");
    setenv("no_proxy", "127.0.0.1", 1);
    ks_path_join(&log, dir, "proxy.log");
    ks_str_clear(&said);
    CHECK_OK(ks_file_read(log.data, 10000, &said, &err));
    CHECK_STR(ks_str_cstr(&said), "{\"connect\": \"model.test:443\"}\n{\"connect\": \"other.test:443\"}\n");
    close(tls_input);
    close(proxy_input);
}

TEST(talk_is_a_claim_and_no_verdict)
{
    struct ks_agent_http_options opt = options("only-talk");
    struct outcome o = run(&opt, 0);
    CHECK_OK_MESSAGE(o);
    CHECK(o.p.claims_limit);
    CHECK(o.p.source == NULL);
    ks_proposal_release(&o.p);
}

TEST(budgets_stop_before_they_are_passed)
{
    struct ks_agent_http_options opt = options("only-reads");
    opt.max_tokens = 6000;
    struct outcome o = run(&opt, 0);
    CHECK_OK_MESSAGE(o);
    CHECK_STR(o.stopped_by, "tokens");
    CHECK(o.spend.tokens_in + o.spend.tokens_out <= 6000 && o.spend.requests > 0);
    ks_proposal_release(&o.p);
    opt = options("only-reads");
    opt.max_usd = 1;
    opt.prices = KSCC_SOURCE_DIR "/rewriter/http/prices.json";
    o = run(&opt, 0); /* no price for that model */
    CHECK_INT(o.code, KS_ERR_NOT_FOUND);
    CHECK_CONTAINS(o.err.message, "no price");
    opt.model = "gpt-4o"; /* answers well; a request costs 1000 x 2.5 + 100 x 10 USD a million */
    opt.max_usd = 0.0001;
    o = run(&opt, 0);
    CHECK_OK_MESSAGE(o);
    CHECK_STR(o.stopped_by, "money");
    CHECK_INT(o.spend.requests, 0);
    opt.max_usd = 1;
    o = run(&opt, 0);
    CHECK_STR(o.p.source, "int z;\n");
    CHECK_NEAR(o.spend.money_usd, 0.0035, 1e-9);
    ks_proposal_release(&o.p);
}

TEST(a_price_is_that_of_the_model_and_of_no_cheaper_one)
{
    static const struct {
        const char *model;
        double out_usd; /* of a million; 0: there is none */
    } cases[] = {{"gpt-4o", 10},
                 {"openai/gpt-4o", 10},
                 {"gpt-4o-2031-01-02", 10},
                 {"gpt-5-pro", 120},
                 {"o3-pro", 80},
                 {"claude-haiku-4-5-20251001", 5},
                 {"gpt-4o-turbo", 0},
                 {"gpt-5.1-nobody-knows", 0},
                 {"gpt-4o-", 0},
                 {"gpt-4o-20", 0},
                 {"gpt", 0},
                 {"", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ks_price price = {0};
        struct ks_err err;
        enum ks_code code = ks_price_find(KSCC_SOURCE_DIR "/rewriter/http/prices.json", cases[i].model, &price, &err);
        CHECK_INT(code, cases[i].out_usd > 0 ? KS_OK : KS_ERR_NOT_FOUND);
        CHECK_NEAR(price.out_usd * 1e6, cases[i].out_usd, 1e-6);
    }
    static const char own[] = "{\"models\":[{\"prefix\":\"gpt\",\"in\":1,\"out\":2},{\"prefix\":\"gpt-x\",\"in\":1,\"out\":3},{"
                              "\"model\":\"gpt-x-y\",\"in\":1,\"out\":4},{\"model\":\"free\",\"in\":1}]}";
    static const char *const models[] = {"gpt-4o", "gpt-x-z", "gpt-x-y", "free"};
    static const double usd[] = {2, 3, 4, 0};
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct ks_err err;
    ks_path_join(&path, dir, "prices.json");
    CHECK_OK(ks_file_write_atomic(path.data, own, strlen(own), 0600, &err));
    for (size_t i = 0; i < 4; i++) {
        struct ks_price price = {0};
        CHECK_INT(ks_price_find(path.data, models[i], &price, &err), usd[i] > 0 ? KS_OK : KS_ERR_NOT_FOUND);
        CHECK_NEAR(price.out_usd * 1e6, usd[i], 1e-6);
    }
}

TEST(the_searchs_end_bounds_a_request)
{
    struct ks_agent_http_options opt = options("silence");
    opt.request_timeout_s = 300;
    struct outcome o = run(&opt, 2);
    CHECK_INT(o.code, KS_ERR_TIMEOUT);
    CHECK(o.seconds < 30);
    opt.endpoint = "http://127.0.0.1:1";
    o = run(&opt, 0);
    CHECK_INT(o.code, KS_ERR_IO);
    opt.endpoint = "file:///etc/passwd";
    o = run(&opt, 0);
    CHECK_INT(o.code, KS_ERR_USAGE);
}

/* ---- kills -------------------------------------------------------------------------------------------------------- */

#define MAX_EVENTS 64

/* What a search hands to the agent and gets from it, to the end: each text is tried once and is wrong. */
struct searched {
    int64_t max_tokens; /* given; 0: none */
    const char *prices; /* of its model, with a budget of max_usd; NULL: none */
    double max_usd;
    char stopped_by[16];
    struct ks_str texts; /* proposed, in order */
    struct ks_spend spend;
    size_t n_requests; /* sent, of all searches so far */
};

static size_t count_lines(const char *path)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_err err;
    size_t n = 0;
    if (ks_file_read(path, SIZE_MAX, &text, &err) == KS_OK)
        for (const char *p = ks_str_cstr(&text); (p = strchr(p, '\n')); p++)
            n++;
    return n;
}

static void search(const char *journal, const char *log, struct searched *ret)
{
    struct ks_agent_http_options opt = options("steady");
    struct ks_attempt attempts[4];
    struct ks_proposal p[4];
    struct ks_agent *agent = NULL;
    struct ks_err err;
    struct ks_agent_view view = view_of_source();
    view.attempts = attempts;
    opt.journal = journal;
    opt.max_tokens = ret->max_tokens;
    opt.prices = ret->prices;
    opt.max_usd = ret->max_usd;
    CHECK_OK(ks_agent_http_new(&opt, &agent, &err));
    for (view.trials_left = 4; view.trials_left; view.trials_left--) {
        size_t n = view.n_attempts;
        CHECK_OK(agent->propose(agent, &view, &p[n], &err));
        ks_json_free(p[n].conversation);
        p[n].conversation = NULL;
        if (p[n].claims_limit || agent->stopped_by(agent))
            break;
        ks_str_addf(&ret->texts, "%s|%s", p[n].source, p[n].transform);
        attempts[view.n_attempts++] = (struct ks_attempt){.source = p[n].source,
                                                          .transform = p[n].transform,
                                                          .hypothesis = p[n].hypothesis,
                                                          .layer = p[n].layer,
                                                          .failed_gate = "numerics",
                                                          .reason = "wrong",
                                                          .predicted = p[n].predicted_speedup};
    }
    agent->spend(agent, &ret->spend);
    const char *why = agent->stopped_by(agent);
    snprintf(ret->stopped_by, sizeof(ret->stopped_by), "%s", why ? why : "");
    agent->free(agent);
    for (size_t i = 0; i <= view.n_attempts; i++)
        ks_proposal_release(&p[i]);
    ret->n_requests = count_lines(log);
}

/* The next line of *at, which moves behind it; NULL: there is none, or it is none of the journal's. */
static struct ks_json *next_line(const char **at)
{
    struct ks_json *j = NULL;
    struct ks_err err;
    size_t len = strcspn(*at, "\n");
    enum ks_code code = ks_json_parse(*at, len, "journal", &j, &err);
    *at += len + ((*at)[len] == '\n');
    return code == KS_OK ? j : NULL;
}

static bool is_event(const struct ks_json *line, const char *ev)
{
    return line && ks_streq(ks_json_get_str(line, "ev", NULL), ev);
}

/* The conversation without what was asked for it, and without half lines. */
static void conversation(const char *path, struct ks_str *out)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_err err;
    CHECK_OK(ks_file_read(path, SIZE_MAX, &text, &err));
    for (const char *p = text.data; *p;) {
        KS_AUTO_JSON struct ks_json *line = next_line(&p);
        if (line && !is_event(line, "request"))
            ks_json_print(line, out);
    }
}

/* What a whole search came to, and what one must come to that a kill left with the first n bytes of its journal. */
struct sweep {
    struct ks_str journal, log, whole, said;
    struct searched first;
    size_t n_replies; /* in those bytes */
    bool lost;        /* they end with a request */
};

static void resume_at(struct sweep *w, size_t n)
{
    KS_AUTO_STR struct ks_str said = KS_STR_INIT;
    struct searched again = {0};
    struct ks_err err;
    size_t sent = count_lines(w->log.data);
    CHECK_OK(ks_file_write_atomic(w->journal.data, w->whole.data, n, 0600, &err));
    search(w->journal.data, w->log.data, &again);
    CHECK_STR(ks_str_cstr(&again.texts), ks_str_cstr(&w->first.texts));
    CHECK_INT(again.n_requests - sent, 4 - w->n_replies);
    CHECK_INT(again.spend.requests, w->first.spend.requests);
    CHECK_INT(again.spend.tokens_out, w->first.spend.tokens_out);
    CHECK(w->lost ? again.spend.tokens_in > w->first.spend.tokens_in : again.spend.tokens_in == w->first.spend.tokens_in);
    conversation(w->journal.data, &said);
    CHECK_STR(ks_str_cstr(&said), ks_str_cstr(&w->said));
    ks_str_release(&again.texts);
}

TEST(a_kill_at_any_place_of_the_journal_costs_at_most_the_request_under_way)
{
    struct sweep w = {0};
    struct ks_err err;
    size_t n_places = 0;
    ks_path_join(&w.journal, dir, "conversation.jsonl");
    ks_path_join(&w.log, dir, "faults.log");
    size_t sent = count_lines(w.log.data);
    search(w.journal.data, w.log.data, &w.first);
    CHECK_STR(ks_str_cstr(&w.first.texts), "int one;\n|oneint two;\n|two");
    CHECK_INT(w.first.n_requests - sent, 4);
    CHECK_OK(ks_file_read(w.journal.data, SIZE_MAX, &w.whole, &err));
    conversation(w.journal.data, &w.said);
    for (const char *line = w.whole.data, *end = line; *line; line = end, n_places++) {
        KS_AUTO_JSON struct ks_json *j = next_line(&end);
        size_t begin = (size_t)(line - w.whole.data), behind = (size_t)(end - w.whole.data);
        resume_at(&w, (begin + behind) / 2); /* in the middle of each line, and behind it */
        w.n_replies += is_event(j, "reply");
        w.lost = is_event(j, "request");
        resume_at(&w, behind);
    }
    CHECK(n_places > 15);
    ks_str_release(&w.journal);
    ks_str_release(&w.log);
    ks_str_release(&w.whole);
    ks_str_release(&w.said);
    ks_str_release(&w.first.texts);
}

TEST(a_kill_forgets_no_token_and_no_money)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, log = KS_STR_INIT, prices = KS_STR_INIT, whole = KS_STR_INIT;
    static const char dollar_a_token[] = "{\"models\": [{\"model\": \"steady\", \"in\": 1000000, \"cached\": 1000000, \"out\": 1000000}]}";
    struct searched first = {0}, tokens = {.max_tokens = 2300}, money = {.max_usd = 2300}, enough = {.max_tokens = 100000};
    struct ks_err err;
    ks_path_join(&path, dir, "spent.jsonl");
    ks_path_join(&log, dir, "faults.log");
    ks_path_join(&prices, dir, "prices.json");
    CHECK_OK(ks_file_write_atomic(prices.data, dollar_a_token, strlen(dollar_a_token), 0600, &err));
    money.prices = prices.data;
    search(path.data, log.data, &first); /* four replies of 1000 and 100 */
    CHECK_INT(first.spend.tokens_in + first.spend.tokens_out, 4400);
    CHECK_OK(ks_file_read(path.data, SIZE_MAX, &whole, &err));
    const char *end = whole.data;
    for (int n_replies = 0; *end && n_replies < 2;) { /* killed behind the second */
        KS_AUTO_JSON struct ks_json *j = next_line(&end);
        n_replies += is_event(j, "reply");
    }
    struct searched *const again[] = {&tokens, &money, &enough};
    for (int i = 0; i < 3; i++) {
        size_t sent = count_lines(log.data);
        CHECK_OK(ks_file_write_atomic(path.data, whole.data, (size_t)(end - whole.data), 0600, &err));
        search(path.data, log.data, again[i]);
        CHECK_INT(again[i]->n_requests - sent, i < 2 ? 0 : 2);
        CHECK_INT(again[i]->spend.tokens_in + again[i]->spend.tokens_out, i < 2 ? 2200 : 4400);
        ks_str_release(&again[i]->texts);
    }
    CHECK_STR(tokens.stopped_by, "tokens");
    CHECK_STR(money.stopped_by, "money");
    CHECK_NEAR(money.spend.money_usd, 2200, 1e-6);
    CHECK_STR(enough.stopped_by, "");
    ks_str_release(&first.texts);
}

TEST(old_turns_give_way_and_calls_keep_their_answers)
{
    struct ks_agent_http_options opt = options("only-reads"); /* the server refuses a call without its answer */
    opt.context_tokens = 3000;
    opt.max_tokens = 45000;
    struct outcome o = run(&opt, 0);
    CHECK_OK_MESSAGE(o);
    CHECK_STR(o.stopped_by, "tokens");
    CHECK(o.spend.requests > 10);
    ks_proposal_release(&o.p);
    close(input);
    struct ks_err err;
    CHECK_OK(ks_dir_remove(dir, &err));
}

TEST_MAIN
