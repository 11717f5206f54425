/* A runner elsewhere, over pipes: what a worker here would answer; one that lies, is cut short or speaks another version; and one
 * of several nodes, of which some are broken. */
#include "harness/remote/remote.h"
#include "harness/remote/runner.h"
#include "harness/remote/slurm.h"
#include "harness/remote/slurm_watch.h"
#include "harness/remote/ssh.h"
#include "harness/health.h"

#include "base/file.h"
#include "base/process.h"
#include "tests/unit/session_fixture.h"

#include <time.h>

#define WORKER KSCC_BUILD_DIR "/bin/kscc-worker"

/* Stands between parent and runner and does `fault` to the answer with number `at`. */
static const char proxy[] =
    "import ctypes, struct, subprocess, sys\n"
    "zstd = ctypes.CDLL('libzstd.so.1')\n"
    "def unpacked(body, n):\n"
    "    if len(body) == n: return bytearray(body)\n"
    "    out = ctypes.create_string_buffer(n)\n"
    "    assert zstd.ZSTD_decompress(out, ctypes.c_size_t(n), body, ctypes.c_size_t(len(body))) == n\n"
    "    return bytearray(out.raw)\n"
    "fault, at = sys.argv[1], int(sys.argv[2])\n"
    "p = subprocess.Popen([sys.argv[3], 'serve'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
    "head = struct.Struct('<IIIIQQ')\n"
    "version = b''\n"
    "while True:\n"
    "    h = sys.stdin.buffer.read(32)\n"
    "    if len(h) < 32: break\n"
    "    f = head.unpack(h)\n"
    "    p.stdin.write(h + sys.stdin.buffer.read(f[5])); p.stdin.flush()\n"
    "    if f[1] == 1: continue\n"
    "    a = p.stdout.read(32); g = list(head.unpack(a)); body = p.stdout.read(g[5])\n"
    "    version = version or body.decode()\n"
    "    if fault == 'wrong' and g[1] == 3:\n" /* of each read-back: another exponent in the middle of each of its contents */
    "        body = unpacked(body, g[4]); n = struct.unpack_from('<I', body, 12)[0]; text = struct.unpack_from('<Q', body, "
    "24)[0]\n"
    "        place = int(version.split('\\n')[0].split('.')[-2]) + text\n"
    "        for i in range(n):\n"
    "            size = struct.unpack_from('<QQ', body, place)[1]; body[place + 16 + size // 2 // 4 * 4 + 3] ^= 0x40; place += "
    "16 + size\n"
    "        g[4] = g[5] = len(body); a = head.pack(*g)\n"
    "    if g[3] == at:\n"
    "        size = int(version.split('\\n')[0].split('.')[-2])\n"
    "        forged = lambda code, text, n: struct.pack('<IIiIqQ', code, 1, 1, n, 0, text) + bytes(size - 32)\n"
    "        if fault == 'cut': sys.stdout.buffer.write(a + body[:-1]); break\n"
    "        if fault == 'close': break\n"
    "        if fault == 'magic': g[0] ^= 1\n"
    "        if fault == 'kind': g[1] = 77\n"
    "        if fault == 'number': g[3] += 1\n"
    "        if fault == 'lane': g[2] += 1\n"
    "        if fault == 'huge': g[4] = 1 << 60\n"
    "        if fault == 'noise': body = bytes(len(body)); g[4] += 1\n"
    "        if fault == 'code': body = forged(4000, 0, 0)\n"
    "        if fault == 'text': body = forged(0, 1 << 40, 0)\n"
    "        if fault == 'short': body = b'done'\n"
    "        if fault == 'more': body = forged(0, 0, 1) + struct.pack('<QQ', 0, 8) + bytes(8)\n"
    "        if fault == 'tail': body = forged(0, 0, 0) + b'tail'\n"
    "        if fault == 'nothing': body = forged(0, 0, 0)\n"
    "        if fault in 'code text short more tail nothing': g[4] = g[5] = len(body)\n"
    "        a = head.pack(*g)\n"
    "    sys.stdout.buffer.write(a + body); sys.stdout.buffer.flush()\n"
    "p.stdin.close(); p.wait()\n";

struct between {
    const char *fault; /* NULL: nobody stands there */
    int at;
    const char *bundle; /* not NULL: the steps go through this folder */
};

static enum ks_code words(void *context, struct ks_args *out, struct ks_err *err)
{
    const struct between *b = context;
    (void)err;
    if (b->bundle) {
        ks_args_add_all(out, (char *const[]){(char *)WORKER, (char *)"keep", (char *)b->bundle, NULL});
        return KS_OK;
    }
    if (!b->fault) {
        ks_args_add_all(out, (char *const[]){(char *)WORKER, (char *)"serve", NULL});
        return KS_OK;
    }
    ks_args_add_all(out, (char *const[]){(char *)"python3", (char *)"-c", (char *)proxy, (char *)b->fault, NULL});
    ks_args_addf(out, "%d", b->at);
    ks_args_add(out, WORKER);
    return KS_OK;
}

#define SYMBOL "_Z5scalePKfPfi"
static const char text[] = "// kscc: entry scale\n// kscc: dims  n=1..5000\n// kscc: in    x : float[n] ~ normal(0,1)\n"
                           "// kscc: out   y : float[n] rtol=1e-5 atol=1e-5\n// kscc: time  n=5000\n"
                           "__global__ void k(const float *x, float *y, int n) {\n"
                           "  for (int i = threadIdx.x; i < n; i += 32) y[i] = 2.5f * x[i]; }\n"
                           "void scale(const float *x, float *y, int n) { k<<<1, 32>>>(x, y, n); }\n";
static const char better[] = "__global__ void k(const float *x, float *y, int n) {\n"
                             "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2.5f * x[i]; }\n"
                             "void scale(const float *x, float *y, int n) { k<<<(n + 63) / 64, 64>>>(x, y, n); }\n";
static struct ks_signature signature = {
    .entry = "scale", .symbol = SYMBOL, .params = scale_params, .n_params = 3, .returns_void = true};

static enum ks_code open_over(struct fixture *f, struct ks_remote *remote, struct ks_err *err)
{
    static const uint8_t secret[32] = "repeatable";
    return fixture_open(
        f, text,
        (struct ks_session_options){.unit_path = "scale.cu", .signature = &signature, .secret = secret, .remote = remote}, err);
}

TEST(a_session_elsewhere_gives_the_verdict_of_one_here)
{
    struct between none = {0};
    struct ks_remote_via via = {.name = "pipes", .context = &none, .command = words};
    struct ks_remote *remote = ks_remote_new(&via);
    double speedup[2] = {0, 0};
    char hash[2][65] = {"", ""};
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        struct ks_err err = {0};
        struct ks_verdict v;
        CHECK_OK(open_over(&f, i ? remote : NULL, &err));
        if (f.session && ks_session_try(f.session, better, strlen(better), &v, &err) == KS_OK) {
            CHECK_INT(v.outcome, KS_OUTCOME_ACCEPTED);
            speedup[i] = v.speedup;
            memcpy(hash[i], v.object_hash, 65);
            ks_verdict_release(&v);
        }
        close_session(&f);
    }
    CHECK(speedup[0] > 1.02 && speedup[0] == speedup[1]);
    CHECK(ks_remote_lost(remote) == NULL);
    ks_remote_free(remote);
}

static int worker_word(const char *word, const char *bundle, const char *result, struct ks_str *said)
{
    char *argv[] = {(char *)WORKER, (char *)word, (char *)bundle, (char *)result, NULL};
    struct ks_spawn s;
    struct ks_exit e;
    struct ks_err err = {0};
    ks_spawn_init(&s);
    s.argv = argv;
    ks_str_clear(said);
    CHECK_OK(ks_process_run(&s, NULL, said, &e, &err));
    return e.status;
}

static int worker_run(const char *bundle, const char *result, struct ks_str *said)
{
    return worker_word("run", bundle, result, said);
}

static void byte_flip(const char *dir, const char *file, size_t from_end)
{
    struct ks_str path = KS_STR_INIT, all = KS_STR_INIT;
    struct ks_err err = {0};
    ks_path_join(&path, dir, file);
    CHECK_OK(ks_file_read(path.data, 1u << 30, &all, &err));
    all.data[all.len - from_end] ^= 1;
    CHECK_OK(ks_file_write_atomic(path.data, all.data, all.len, 0600, &err));
    ks_str_release(&path);
    ks_str_release(&all);
}

/* Writes `all` in the place of what is between the quotes behind "name": in a JSON file of ours. */
static void field_set(const char *dir, const char *file, const char *name, const char *value)
{
    struct ks_str path = KS_STR_INIT, all = KS_STR_INIT;
    struct ks_json *j = NULL;
    struct ks_err err = {0};
    ks_path_join(&path, dir, file);
    CHECK_OK(ks_json_read_file(path.data, &j, &err));
    ks_json_set_str(j, name, value);
    ks_json_print(j, &all);
    CHECK_OK(ks_file_write_atomic(path.data, all.data, all.len, 0600, &err));
    ks_json_free(j);
    ks_str_release(&path);
    ks_str_release(&all);
}

/* Two results of the same steps: the same answers but for times. */
static void results_compare(const char *a_path, const char *b_path)
{
    struct ks_str a = KS_STR_INIT, b = KS_STR_INIT, x = KS_STR_INIT, y = KS_STR_INIT;
    struct ks_err err = {0};
    size_t at[2] = {0, 0}, n = 0, n_contents = 0;
    CHECK_OK(ks_file_read(a_path, 1u << 30, &a, &err));
    CHECK_OK(ks_file_read(b_path, 1u << 30, &b, &err));
    for (; at[0] < a.len && at[1] < b.len; n++) {
        struct ks_frame f, g;
        struct ks_step_result r, s;
        CHECK_OK(ks_frame_take(&a, &at[0], &f, &x, &err));
        CHECK_OK(ks_frame_take(&b, &at[1], &g, &y, &err));
        CHECK(f.kind == g.kind && f.lane == g.lane && f.number == g.number);
        if (f.kind == KS_STEP_HEAD)
            continue;
        memcpy(&r, x.data, sizeof r);
        memcpy(&s, y.data, sizeof s);
        CHECK_INT(r.code, s.code);
        CHECK_INT(r.n_ranges, s.n_ranges);
        n_contents += r.n_ranges;
        CHECK_INT(x.len - sizeof r - r.text_bytes, y.len - sizeof s - s.text_bytes);
        CHECK(memcmp(x.data + sizeof r + r.text_bytes, y.data + sizeof s + s.text_bytes, x.len - sizeof r - r.text_bytes) == 0);
    }
    CHECK(at[0] == a.len && at[1] == b.len);
    CHECK(n > 20 && n_contents > 4);
    ks_str_release(&a);
    ks_str_release(&b);
    ks_str_release(&x);
    ks_str_release(&y);
}

/* A trial whose steps went through a folder has a verdict as one here; the folder, closed by then, is run again on its own and
 * gives the same outputs.  What was changed on the way is seen. */
TEST(a_bundle_is_a_trial_as_a_folder)
{
    char *dir;
    struct ks_err err = {0};
    struct ks_str bundle = KS_STR_INIT, again = KS_STR_INIT, said = KS_STR_INIT, path[2] = {KS_STR_INIT, KS_STR_INIT};
    CHECK_OK(ks_dir_make_temp("kscc-test", &dir, &err));
    ks_path_join(&bundle, dir, "b");
    ks_path_join(&again, dir, "again");
    struct between keep = {.bundle = bundle.data};
    struct ks_remote_via via = {.name = "a folder", .context = &keep, .command = words};
    struct ks_remote *remote = ks_remote_new(&via);
    struct fixture f;
    struct ks_verdict v;
    CHECK_OK(open_over(&f, remote, &err));
    if (f.session && ks_session_try(f.session, better, strlen(better), &v, &err) == KS_OK) {
        CHECK_INT(v.outcome, KS_OUTCOME_ACCEPTED);
        ks_verdict_release(&v);
    }
    CHECK(f.session && ks_remote_lost(remote) == NULL);
    close_session(&f);
    ks_remote_free(remote);

    CHECK_INT(worker_run(bundle.data, again.data, &said), 0);
    ks_path_join(&path[0], bundle.data, "result/answers");
    ks_path_join(&path[1], again.data, "answers");
    results_compare(path[0].data, path[1].data);

    CHECK_INT(worker_word("check", bundle.data, again.data, &said), 0);
    byte_flip(again.data, "answers", 1);
    CHECK_INT(worker_word("check", bundle.data, again.data, &said), 1);
    CHECK(strstr(said.data, "it is damaged: its ") != NULL);
    byte_flip(again.data, "answers", 1);
    field_set(again.data, "result.json", "bundle", "0123");
    CHECK_INT(worker_word("check", bundle.data, again.data, &said), 1);
    CHECK(strstr(said.data, "it is of the bundle 0123, not of") != NULL);
    CHECK_INT(worker_run(bundle.data, again.data, &said), 1);
    CHECK(strstr(said.data, "there is a result already") != NULL);

    ks_path_join(&again, dir, "damaged");
    byte_flip(bundle.data, "steps", 100);
    CHECK_INT(worker_run(bundle.data, again.data, &said), 1);
    CHECK(strstr(said.data, "damaged: its hash is") != NULL && strstr(said.data, bundle.data) != NULL);
    byte_flip(bundle.data, "steps", 100);
    field_set(bundle.data, "bundle.json", "version", "kscc 9.9.9 steps 7 wire 1.2.3.4");
    CHECK_INT(worker_run(bundle.data, again.data, &said), 1);
    CHECK(strstr(said.data, "another version") != NULL && strstr(said.data, "kscc 9.9.9") != NULL &&
          strstr(said.data, ks_step_version()) != NULL);
    field_set(bundle.data, "bundle.json", "kscc_bundle", "two");
    CHECK_INT(worker_run(bundle.data, again.data, &said), 1);
    CHECK(strstr(said.data, "its format is 0, this program's is 1") != NULL);
    CHECK(!ks_file_exists(again.data));
    CHECK_OK(ks_dir_remove(dir, &err));
    free(dir);
    ks_str_release(&bundle);
    ks_str_release(&again);
    ks_str_release(&said);
    ks_str_release(&path[0]);
    ks_str_release(&path[1]);
}

/* What is not an answer ends the connection, is named, and leaves no answer behind. */
TEST(an_answer_that_is_none_is_refused)
{
    static const struct {
        const char *fault;
        int at; /* 0: the greeting, 1: the worker's start, 2: a read-back before anything was placed */
        const char *part;
    } cases[] = {
        {"cut", 0, "ended within it"}, {"close", 0, "closed"},      {"magic", 0, "none"},          {"kind", 0, "kind 77"},
        {"number", 0, "another step"}, {"huge", 0, "bytes"},        {"cut", 1, "ended within it"}, {"close", 1, "closed"},
        {"number", 1, "another step"}, {"lane", 1, "another step"}, {"noise", 1, "decompress"},    {"code", 1, "cut short"},
        {"text", 1, "cut short"},      {"short", 1, "cut short"},   {"more", 1, "1 contents"},     {"tail", 1, "more than"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct between b = {.fault = cases[i].fault, .at = cases[i].at};
        struct ks_remote_via via = {.name = "pipes", .context = &b, .command = words};
        struct ks_remote *remote = ks_remote_new(&via);
        struct ks_err err = {0};
        struct ks_worker *w = NULL;
        struct ks_worker_options *o = ks_xcalloc(1, sizeof *o);
        o->remote = remote;
        o->timeout_ms = 30000;
        o->hello.device = KS_DEVICE_EMULATED;
        snprintf(o->hello.arch, sizeof o->hello.arch, "sm_90a");
        snprintf(o->hello.runtime_path, sizeof o->hello.runtime_path, "here");
        o->hello.shm_bytes = KS_WIRE_DATA_OFF + 4096;
        CHECK(ks_worker_start(o, &w, &err) != KS_OK);
        CHECK(strstr(err.message, cases[i].part) != NULL);
        if (!strstr(err.message, cases[i].part))
            printf("%s at %d: %s\n", cases[i].fault, cases[i].at, err.message);
        CHECK(ks_remote_lost(remote) != NULL);
        ks_worker_stop(w);
        free(o);
        ks_remote_free(remote);
    }
}

TEST(a_read_back_without_contents_is_no_answer_and_a_host_that_keeps_lying_ends_the_session)
{
    /* greeting, start, object, load, configuration, preparation, call, then: the read-back, on every connection */
    struct between b = {.fault = "nothing", .at = 7};
    struct ks_remote_via via = {.name = "pipes", .context = &b, .command = words};
    struct ks_remote *remote = ks_remote_new(&via);
    struct fixture f;
    struct ks_err err = {0};
    CHECK(open_over(&f, remote, &err) != KS_OK);
    CHECK(ks_remote_lost(remote) != NULL);
    close_session(&f);
    ks_remote_free(remote);
}

/* The runner's own checks: it obeys nobody whose version it does not know, takes no path, and reads nothing outside the memory.
 */
TEST(a_runner_refuses_what_a_parent_may_not_ask)
{
    struct ks_runner *r = NULL;
    struct ks_err err = {0};
    struct ks_str answer = KS_STR_INIT, payload = KS_STR_INIT, body = KS_STR_INIT;
    struct ks_frame f = {.magic = KS_STEP_MAGIC, .kind = KS_STEP_START}, got;
    struct ks_step_result res;
    size_t at = 0;
    CHECK_OK(ks_runner_new(WORKER, &r, &err));
    CHECK_OK(ks_runner_step(r, &f, &payload, &answer, &err)); /* before the greeting: an answer that says so */
    CHECK_OK(ks_frame_take(&answer, &at, &got, &body, &err));
    CHECK(body.len >= sizeof res);
    memcpy(&res, body.data, sizeof res);
    CHECK_INT(res.code, KS_ERR_PROTOCOL);
    CHECK(strstr(res.message, "version") != NULL);
    f.kind = KS_STEP_HEAD;
    ks_str_add(&payload, "kscc 0.0.0 steps 0 wire 1");
    CHECK_INT(ks_runner_step(r, &f, &payload, &answer, &err), KS_ERR_UNSUPPORTED);
    CHECK(strstr(err.message, "kscc 0.0.0") != NULL && strstr(err.message, ks_step_version()) != NULL);
    ks_str_clear(&payload);
    ks_str_add(&payload, ks_step_version());
    CHECK_OK(ks_runner_step(r, &f, &payload, &answer, &err));
    f.kind = KS_STEP_START;
    struct ks_step_start *start = ks_xcalloc(1, sizeof *start);
    start->hello.device = KS_DEVICE_EMULATED;
    start->hello.shm_bytes = KS_WIRE_DATA_OFF + 4096;
    snprintf(start->hello.runtime_path, sizeof start->hello.runtime_path, "/etc/passwd");
    ks_str_clear(&payload);
    ks_str_addn(&payload, start, sizeof *start);
    ks_str_clear(&answer);
    at = 0;
    CHECK_OK(ks_runner_step(r, &f, &payload, &answer, &err));
    CHECK_OK(ks_frame_take(&answer, &at, &got, &body, &err));
    memcpy(&res, body.data, sizeof res);
    CHECK_INT(res.code, KS_ERR_PROTOCOL);
    CHECK(strstr(res.message, "no library of ours") != NULL);
    free(start);
    ks_runner_free(r);
    ks_str_release(&answer);
    ks_str_release(&payload);
    ks_str_release(&body);
}

TEST(contents_are_taken_only_where_they_were_asked_for)
{
    static unsigned char shm[KS_WIRE_DATA_OFF + 64];
    struct ks_err err = {0};
    struct ks_str data = KS_STR_INIT;
    struct ks_range r = {KS_WIRE_DATA_OFF + 16, 8}, other = {KS_WIRE_DATA_OFF + 8, 8}, beyond = {KS_WIRE_DATA_OFF + 60, 8},
                    wraps = {~0ull - 3, 8};
    memset(shm + r.off, 7, 8);
    ks_ranges_put(&data, shm, &r, 1);
    memset(shm, 0, sizeof shm);
    CHECK_OK(ks_ranges_take(data.data, data.len, 1, &r, shm, sizeof shm, &err));
    CHECK_INT(shm[r.off], 7);
    CHECK_INT(ks_ranges_take(data.data, data.len, 1, &other, shm, sizeof shm, &err), KS_ERR_PROTOCOL);
    CHECK_INT(ks_ranges_take(data.data, data.len - 1, 1, &r, shm, sizeof shm, &err), KS_ERR_PROTOCOL);
    CHECK_INT(ks_ranges_take(data.data, data.len, 2, NULL, shm, sizeof shm, &err), KS_ERR_PROTOCOL);
    CHECK_INT(ks_ranges_take(data.data, data.len, 0, NULL, shm, sizeof shm, &err), KS_ERR_PROTOCOL);
    memcpy(data.data, &beyond, sizeof beyond);
    CHECK_INT(ks_ranges_take(data.data, data.len, 1, NULL, shm, sizeof shm, &err), KS_ERR_PROTOCOL);
    memcpy(data.data, &wraps, sizeof wraps);
    CHECK_INT(ks_ranges_take(data.data, data.len, 1, NULL, shm, sizeof shm, &err), KS_ERR_PROTOCOL);
    ks_str_release(&data);
}

/* Nodes that connections end at, in turn; those of capital letters give wrong answers. */
struct cluster {
    const char *nodes;
    int at;
};

static enum ks_code node_words(void *context, struct ks_args *out, struct ks_err *err)
{
    struct cluster *c = context;
    char node = c->nodes[c->at++];
    (void)err;
    CHECK(node != 0);
    ks_args_add(out, "env");
    ks_args_addf(out, "SLURMD_NODENAME=%c", node);
    if (node >= 'a')
        ks_args_add_all(out, (char *const[]){(char *)WORKER, (char *)"serve", NULL});
    else
        ks_args_add_all(out, (char *const[]){(char *)"python3", (char *)"-c", (char *)proxy, (char *)"wrong", (char *)"-1",
                                             (char *)WORKER, NULL});
    return KS_OK;
}

static struct ks_str told;

static void tell(const char *what)
{
    ks_str_addf(&told, "%s\n", what);
}

/* The original is looked at on one node; a node that does not agree about it judges nothing, and is in quarantine; when a second
 * one does not agree and nobody does, it is the first that is. */
TEST(a_node_that_fails_its_null_test_judges_nothing)
{
    static const uint8_t secret[32] = "repeatable";
    struct cluster nodes = {.nodes = "aBcaCD"};
    struct ks_remote_via via = {
        .name = "cluster", .context = &nodes, .command = node_words, .by_trial = true, .node_prefix = "slurm:"};
    struct ks_remote *remote = ks_remote_new(&via);
    struct ks_health h;
    struct fixture f;
    struct ks_verdict v;
    struct ks_err err = {0};
    char *health;
    int64_t now_s = (int64_t)time(NULL);
    CHECK_OK(ks_dir_make_temp("kscc-test", &health, &err));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(fixture_open(&f, text,
                              (struct ks_session_options){.unit_path = "scale.cu",
                                                          .signature = &signature,
                                                          .secret = secret,
                                                          .remote = remote,
                                                          .health_dir = health,
                                                          .on_place = tell},
                              &err));
        enum ks_code code = f.session ? ks_session_try(f.session, better, strlen(better), &v, &err) : KS_ERR_DEVICE;
        CHECK_INT(code, i == 0 ? KS_OK : KS_ERR_MISMATCH);
        if (code == KS_OK) {
            CHECK_INT(v.outcome, KS_OUTCOME_ACCEPTED);
            ks_verdict_release(&v);
            CHECK(strstr(told.data, "'slurm:B' fails its null test and is in quarantine: numerics: ") == told.data);
            CHECK(ks_health_read(health, "slurm:B", &h) && ks_health_in_quarantine(&h, now_s) && h.n_null_failed == 1 &&
                  h.n_trials == 0);
            CHECK(ks_health_read(health, "slurm:c", &h) && !ks_health_null_due(&h, now_s) && h.n_trials == 1 && h.aa == 1);
        }
        close_session(&f);
    }
    CHECK(strstr(err.message, "'slurm:a'") != NULL);
    CHECK_STR(nodes.nodes + nodes.at, "");
    CHECK(ks_health_read(health, "slurm:a", &h) && ks_health_in_quarantine(&h, now_s));
    CHECK(ks_health_read(health, "slurm:C", &h) && !ks_health_in_quarantine(&h, now_s) && ks_health_null_due(&h, now_s));
    CHECK(!ks_health_read(health, "slurm:D", &h));
    ks_remote_free(remote);
    CHECK_OK(ks_dir_remove(health, &err));
    free(health);
    ks_str_release(&told);
}

TEST(a_host_is_a_host)
{
    CHECK(ks_ssh_host_ok("gpubox") && ks_ssh_host_ok("me@10.0.0.1") && ks_ssh_host_ok("me@[fe80::1%eth0]"));
    CHECK(!ks_ssh_host_ok("") && !ks_ssh_host_ok("-oProxyCommand=x") && !ks_ssh_host_ok("a b") && !ks_ssh_host_ok("a;b"));
    CHECK(!ks_ssh_host_ok("$(x)") && !ks_ssh_host_ok("a\nb") && !ks_ssh_host_ok("a/b"));
}

TEST(a_request_to_slurm_is_one)
{
    CHECK(ks_slurm_spec_ok("") && ks_slurm_spec_ok("partition=gpu,gres=gpu:h200:1,constraint=a|b&c,nodelist=n[1-3],time=30"));
    CHECK(ks_slurm_spec_ok("dir=/shared/me") && !ks_slurm_spec_ok("dir=me"));
    CHECK(!ks_slurm_spec_ok("partition=") && !ks_slurm_spec_ok("wrap=x") && !ks_slurm_spec_ok("partition=a b"));
    CHECK(!ks_slurm_spec_ok("partition=p,") && !ks_slurm_spec_ok("partition=$(x)") && !ks_slurm_spec_ok("time=1h"));
    CHECK(ks_slurm_spec_ok("files=sbcast,partition=p") && ks_slurm_spec_ok("files=shared") && !ks_slurm_spec_ok("files=s"));
    CHECK(ks_slurm_by_sbcast("partition=p,files=sbcast") && !ks_slurm_by_sbcast("files=shared"));
    CHECK(!ks_slurm_spec_ok("--wrap=x") && !ks_slurm_spec_ok("dir=/a'b"));
}

TEST(states_of_jobs_are_read_from_old_and_new_json)
{
    static const struct {
        const char *json, *state;
        bool known, over;
        const char *id;
    } cases[] = {
        {"{\"jobs\":[{\"job_id\":6,\"job_state\":\"FAILED\"},{\"job_id\":7,\"job_state\":\"RUNNING\",\"nodes\":\"n2\"}]}",
         "RUNNING", true, false, "7"},
        {"{\"jobs\":[{\"job_id\":7,\"job_state\":\"NODE_FAIL\",\"nodes\":\"n2\"}]}", "NODE_FAIL", true, true, "7"},
        {"{\"jobs\":[{\"job_id\":7,\"job_state\":[\"PREEMPTED\"],\"nodes\":\"n2\"}]}", "PREEMPTED", true, true, "7"},
        {"{\"jobs\":[{\"job_id\":7,\"job_state\":[\"PENDING\",\"REQUEUED\"]}]}", "PENDING", true, false, "7"},
        {"{\"jobs\":[{\"job_id\":7,\"state\":{\"current\":\"TIMEOUT\",\"reason\":\"None\"},\"nodes\":\"n2\"}]}", "TIMEOUT", true,
         true, "7"},
        {"{\"jobs\":[{\"job_id\":7,\"state\":{\"current\":[\"COMPLETING\"]}}]}", "COMPLETING", true, false, "7"},
        {"{\"jobs\":[{\"job_id\":8,\"job_state\":\"RUNNING\"}]}", "", false, false, "7"},
        {"{\"jobs\":[]}", "", false, false, "7"},
        {"{\"errors\":[]}", "", false, false, "7"},
        /* tasks of an array: one of its own, one of those that wait together; numbers as of 22.05 and of 23.02; sacct's */
        {"{\"jobs\":[{\"job_id\":7,\"array_job_id\":0,\"job_state\":\"FAILED\"},"
         "{\"job_id\":9,\"array_job_id\":7,\"array_task_id\":3,\"job_state\":\"RUNNING\",\"nodes\":\"n1\"}]}",
         "RUNNING", true, false, "7_3"},
        {"{\"jobs\":[{\"job_id\":7,\"array_job_id\":7,\"array_task_id\":null,\"array_task_string\":\"1,3-5%2\",\"job_state\":"
         "\"PENDING\"},{\"job_id\":8,\"array_job_id\":7,\"array_task_id\":2,\"job_state\":\"COMPLETED\"}]}",
         "PENDING", true, false, "7_4"},
        {"{\"jobs\":[{\"job_id\":{\"set\":true,\"number\":8},\"array_job_id\":{\"set\":true,\"number\":7},\"array_task_id\":{"
         "\"set\":"
         "true,\"number\":0},\"job_state\":[\"FAILED\"]},{\"job_id\":7,\"array_job_id\":{\"set\":true,\"number\":7},"
         "\"array_task_id\":{\"set\":false,\"number\":0},\"array_task_string\":\"1-2\",\"job_state\":[\"PENDING\"]}]}",
         "FAILED", true, true, "7_0"},
        {"{\"jobs\":[{\"job_id\":8,\"array\":{\"job_id\":7,\"task_id\":{\"set\":true,\"number\":1}},\"state\":{\"current\":["
         "\"NODE_FAIL\"]}}]}",
         "NODE_FAIL", true, true, "7_1"},
        {"{\"jobs\":[{\"job_id\":7,\"array_job_id\":7,\"array_task_string\":\"1-2\",\"job_state\":\"PENDING\"}]}", "", false,
         false, "7_3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ks_json *j = NULL;
        struct ks_err err = {0};
        struct ks_slurm_state s;
        CHECK_OK(ks_json_parse(cases[i].json, strlen(cases[i].json), "squeue", &j, &err));
        ks_slurm_state_read(j, cases[i].id, &s);
        CHECK_STR(s.state, cases[i].state);
        CHECK_INT(s.known, cases[i].known);
        CHECK_INT(s.over, cases[i].over);
        ks_json_free(j);
    }
}

TEST(states_of_jobs_are_read_from_lines_where_there_is_no_json)
{
    static const char printed[] = "17|RUNNING|n1|17\n18_3|COMPLETED|n2|21\n18_4|CANCELLED by 1000||18\nnoise\n";
    struct ks_slurm_state s;
    ks_slurm_state_read_lines(printed, "17", &s);
    CHECK(s.known && !s.over && s.number == 17);
    CHECK_STR(s.nodes, "n1");
    ks_slurm_state_read_lines(printed, "18_3", &s);
    CHECK(s.known && s.over && s.number == 21);
    ks_slurm_state_read_lines(printed, "18_4", &s);
    CHECK(s.known && s.over);
    CHECK_STR(s.state, "CANCELLED");
    ks_slurm_state_read_lines(printed, "18", &s);
    CHECK(!s.known);
}

TEST(a_job_whose_trial_is_gone_holds_no_node)
{
    struct ks_err err = {0};
    KS_AUTO_STR struct ks_str json = KS_STR_INIT, path = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *j = NULL;
    KS_AUTO_ARGS struct ks_args ghosts;
    char *dir;
    ks_args_init(&ghosts);
    CHECK_OK(ks_dir_make_temp("kscc-test", &dir, &err));
    ks_path_join(&path, dir, "trial.here");
    CHECK_OK(ks_dir_make(path.data, &err));
    ks_str_add(&json, "{\"jobs\":[");
#define JOB(number, state, format)                                                                                               \
    ks_str_addf(&json, "{\"job_id\":" number ",\"job_state\":\"" state "\",\"command\":\"" format "\"},", dir)
    JOB("1", "RUNNING", "%s/trial.here/job.sh");
    JOB("2", "RUNNING", "%s/trial.gone/job.sh");
    JOB("3", "COMPLETED", "%s/trial.gone/job.sh");
    JOB("4", "RUNNING", "%s/trial.gone/another.sh");
    JOB("5", "RUNNING", "/other%s/trial.gone/job.sh");
#undef JOB
    ks_str_add(&json, "{}]}");
    CHECK_OK(ks_json_parse(json.data, json.len, "squeue", &j, &err));
    ks_slurm_ghosts(j, dir, &ghosts);
    CHECK_INT(ghosts.n, 1);
    CHECK_STR(ghosts.n ? ghosts.v[0] : "", "2");
    CHECK_OK(ks_dir_remove(dir, &err));
    free(dir);
}

TEST(a_runner_may_take_as_long_to_come_as_the_others_did)
{
    CHECK_INT(ks_slurm_come_limit_s(-1), 300);
    CHECK_INT(ks_slurm_come_limit_s(200), 10);
    CHECK_INT(ks_slurm_come_limit_s(40000), 120);
}

TEST_MAIN
