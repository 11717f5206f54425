#ifndef KS_HARNESS_SESSION_IMPL_H
#define KS_HARNESS_SESSION_IMPL_H

/* Inside of a session: what the gates share.  See session.h for the promises. */

#include "harness/build.h"
#include "harness/client.h"
#include "harness/compare.h"
#include "harness/constants.h"
#include "harness/device_lock.h"
#include "harness/inputs.h"
#include "harness/oracle.h"
#include "harness/remote/remote.h"
#include "harness/session.h"
#include "harness/stats.h"

#include <pthread.h>

#define KS_MAX_CASES         48
#define KS_ROUND_CONFIRM     (1u << 20) /* rounds from here on are final confirmations */
#define KS_MAX_CACHED_BUILDS 8
#define KS_LARGE_SHAPE_BYTES ((size_t)64 << 20) /* emulated: the largest shapes drawn for a confirmation */

/* Where each argument of the entry comes from. */
struct ks_binding {
    enum ks_param_kind kind;
    int buffer; /* pointer: index into contract->buffers */
    int dim;    /* scalar: a dim of this name, or -1 */
    int arg;    /* scalar: an arg line, or -1 */
};

/* The buffers and arguments of one call at one shape.  Calls 2k and 2k+1 have the same place in memory (if their sizes agree) and
 * different contents: an answer kept under a pointer is a wrong one. */
struct ks_layout {
    struct ks_shape shape;
    uint64_t call; /* names the contents, together with the secret */
    enum ks_input_set set;
    size_t n;
    struct {
        size_t n_elem, bytes, row_elems, used_elems; /* of a row, elements behind used_elems are a gap */
        size_t shm_off, arena_off, red_bytes, place_off;
    } buf[KS_MAX_PARAMS];
    struct ks_wire_call args;
    size_t shm_bytes, arena_bytes, data_bytes;
};

/* One call of the numerics gate. */
struct ks_case {
    struct ks_shape shape;
    enum ks_input_set set;
    uint64_t call;
    int64_t thread_insts; /* of the baseline, emulated */
    int64_t warp_insts;
    int64_t candidate_warp_insts;         /* of the trial's candidate, emulated; 0: not known */
    int point;                            /* timing point + 1; 0: none */
    bool arms;                            /* the oracle is not asked, and each arm may be its tolerance away from it */
    double left_bytes;                    /* by the baseline, emulated */
    int last_error;                       /* the baseline's */
    uint32_t left_state;                  /* the baseline's: bits of enum ks_left */
    unsigned char *want[KS_MAX_PARAMS];   /* the baseline's outputs; NULL: not kept */
    double *exact[KS_MAX_PARAMS];         /* the oracle's; NULL: there is none */
    unsigned char *inputs[KS_MAX_PARAMS]; /* GPU: what the device made of the contents; NULL: not kept */
};

/* How one call went. */
struct ks_run {
    enum ks_code code; /* KS_OK: the call came back and the buffers were read */
    struct ks_err err;
    double device_ns, late_ns, busy_ns;
    int64_t wall_ns;
    bool touched;          /* wrote an input or a red zone */
    bool outside;          /* it was a red zone: an access out of bounds */
    struct ks_str problem; /* what was touched, or what the entry returned */
    bool returned_error;
    double left_bytes; /* emulated: device memory taken and not given back */
    int last_error;    /* of the runtime, after the call */
    uint32_t left_state;
};

struct ks_arm {
    const struct ks_built *built; /* NULL: not known yet */
    struct ks_worker *worker;     /* NULL: not running */
    bool loaded;                  /* the worker has the object */
};

#define KS_MAX_STANDBY     4 /* two pairs of processes: what a trial of three looks starts anew */
#define KS_MAX_PARKED      2 /* one pair */
#define KS_WORKER_START_MS 60000

/* Workers that a thread waits for, and their share of the device's lock. */
struct ks_grave {
    bool used;
    pthread_t thread;
    struct ks_worker *workers[1 + KS_MAX_PARKED];
    size_t n;
    struct ks_device_lock lock;
};

/* Of a session that may be at another place in each trial: who agrees with the place where the original was looked at. */
struct ks_places {
    char first[160];        /* that place */
    char failed[160];       /* the first that did not agree; "": none */
    unsigned n_agree;       /* others that did */
    bool first_is_at_fault; /* two others did not */
};

struct ks_session {
    struct ks_session_options opt; /* owns its strings through `arena` */
    struct ks_arena arena;
    uint8_t secret[32];
    const struct ks_contract *c;
    const unsigned char **recorded; /* by buffer: what a program had there; NULL: nothing is recorded.  Arena */
    size_t *recorded_bytes;
    struct ks_binding *bindings;
    struct ks_built *baseline;
    struct ks_constants base_constants;
    struct ks_args confined_to;                    /* what builds of candidates may read */
    bool confinement_works;                        /* a build has come through */
    char *unconfined_why;                          /* builds are not confined: why; NULL: they are */
    struct ks_built *builds[KS_MAX_CACHED_BUILDS]; /* candidates, by hash */
    size_t n_builds, next_tag;
    struct ks_arm base;
    char *worker_path, *runtime_path;
    size_t shm_bytes, arena_bytes;
    struct ks_case cases[KS_MAX_CASES];
    size_t n_cases;
    double point_reference_ns[KS_MAX_TIME_POINTS]; /* emulated: modelled, of the baseline */
    struct ks_json *base_counters;
    struct ks_json *base_findings; /* of the safety gate's cases */
    struct ks_json *device, *sandbox, *control;
    unsigned n_trials;
    struct ks_places places;
    struct ks_args known;       /* code hash and source hash of earlier trials, in turn */
    ks_code_asked_fn ask_code;  /* NULL: nobody judges beside this session */
    void *ask_code_ctx;
    struct ks_device_lock lock; /* GPU: checks share it, timing is alone */
    int64_t waited_ns;          /* for the lock, so far */
    enum ks_worker_walls walls; /* around a worker, once walls_known */
    bool walls_known;
    struct ks_str walls_why; /* what the device said behind those that were tried and left */
    bool activity; /* workers that are started now have CUPTI (streams.h) */
    bool standby_allowed;
    struct ks_worker *standby[KS_MAX_STANDBY]; /* the one that was started first is first */
    size_t n_standby;
    struct ks_worker *parked[KS_MAX_PARKED]; /* their part of the trial is over */
    size_t n_parked;
    struct ks_grave grave;
    double busy_ns;           /* of the GPU in calls and their preparation, so far */
    bool base_changes_device; /* the original leaves limits or attributes of the GPU changed */
    bool base_varies;         /* its answers differ in bits from run to run */
    bool base_captures;       /* the original can be recorded into a graph */
    bool base_unordered;      /* the original's work is not ordered with the stream it is given */
    int base_threads;         /* threads of the baseline's worker after its first call */
};

/* session.c: one trial over the connection there is. */
KS_NODISCARD enum ks_code ks_trial_once(struct ks_session *s, const char *source, size_t len, bool confirm,
                                        struct ks_verdict *ret_verdict, struct ks_err *err);
/* null_test.c */
/* Judges the original as a candidate where a null test is due at the place that the next trial is to run at.  Errors:
 * KS_ERR_DEVICE (it failed, and the place is in quarantine now; or the connection broke), KS_ERR_MISMATCH (it is the place where
 * the original was looked at that is not to be trusted: this session is over). */
KS_NODISCARD enum ks_code ks_place_check(struct ks_session *s, struct ks_err *err);
/* The original was looked at; control: how the A/A control of a GPU ended.  Then: a verdict came, or the place was lost. */
void ks_place_opened(struct ks_session *s, enum ks_code control, const struct ks_err *why);
void ks_place_judged(struct ks_session *s);
void ks_place_lost(const struct ks_session_options *opt);

/* run.c */
void ks_bindings_make(struct ks_session *s);
KS_NODISCARD enum ks_code ks_layout_make(const struct ks_session *s, const struct ks_shape *shape, enum ks_input_set set,
                                         uint64_t call, struct ks_layout *ret, struct ks_err *err);
void ks_layout_gen(const struct ks_session *s, const struct ks_layout *l, size_t buffer, struct ks_input_gen *ret);
/* The contents of an input in this call: made by ks_layout_gen, or recorded ones. */
void ks_layout_contents(const struct ks_session *s, const struct ks_layout *l, size_t buffer, void *out);
/* In this call the buffer holds what was recorded. */
bool ks_layout_is_recorded(const struct ks_session *s, const struct ks_layout *l, size_t buffer);
/* recorded.c: reads what the contract names.  Errors: KS_ERR_NOT_FOUND, KS_ERR_MISMATCH: fewer bytes than the buffer has. */
KS_NODISCARD enum ks_code ks_recorded_load(struct ks_session *s, struct ks_err *err);
/* Starts the arm's worker and loads its object when it is not running. */
/* A worker that has opened the device; the object, which need not be there yet, is loaded by ks_arm_start. */
KS_NODISCARD enum ks_code ks_arm_open(struct ks_session *s, struct ks_arm *arm, struct ks_err *err);
KS_NODISCARD enum ks_code ks_arm_start(struct ks_session *s, struct ks_arm *arm, struct ks_err *err);
void ks_arm_stop(struct ks_arm *arm);
/* Starts a worker of the session behind the walls that are known to do, without waiting for it (ks_worker_await). */
KS_NODISCARD enum ks_code ks_worker_of_session(struct ks_session *s, struct ks_worker **ret, struct ks_err *err);
KS_NODISCARD enum ks_code ks_arm_configure(struct ks_session *s, struct ks_arm *arm, const struct ks_wire_config *config,
                                           struct ks_err *err);
struct ks_run_options {
    bool on_device;              /* contents are generated in the worker, nothing is read back */
    bool trust;                  /* the original's own call: its inputs are taken as they come back */
    unsigned char *const *known; /* contents of the inputs, NULL: made here */
    bool fresh;                  /* cuda: other physical memory than before */
    bool watch;                  /* cuda: changed limits and attributes of the device are a fault */
    enum ks_wire_cache cache;
    enum ks_wire_order order;
    uint32_t tenant; /* blocks of the tenant */
    uint32_t poison;
    int64_t timeout_ms;
};
/* Zeros into the gaps between the rows of a buffer: what lies there has been checked and is no answer. */
void ks_gaps_clear(const struct ks_session *s, const struct ks_layout *l, size_t i, unsigned char *data);
/* Whether answers that are not finite have to be of the same kind for contents of this set. */
bool ks_set_judges_kinds(enum ks_input_set set);
/* One call.  With !on_device inputs, red zones and gaps are checked and the outputs lie in the shared memory (ks_run_output). */
void ks_run_once(struct ks_session *s, struct ks_arm *arm, const struct ks_layout *l, const struct ks_run_options *opt,
                 struct ks_run *ret);
const unsigned char *ks_run_output(const struct ks_arm *arm, const struct ks_layout *l, size_t buffer);
/* After a call with on_device: the outputs into the shared memory. */
KS_NODISCARD enum ks_code ks_run_fetch_outputs(struct ks_session *s, struct ks_arm *arm, const struct ks_layout *l,
                                               int64_t timeout_ms, struct ks_err *err);
void ks_run_release(struct ks_run *r);
KS_NODISCARD enum ks_code ks_arm_report(struct ks_session *s, struct ks_arm *arm, enum ks_wire_report_kind kind,
                                        struct ks_json **ret_json, double *ret_modelled_ns, struct ks_err *err);
bool ks_buffer_is_output(const struct ks_buffer *b);
bool ks_buffer_is_input(const struct ks_buffer *b);

/* cases.c */
/* Chooses shapes and contents and runs the baseline over them.  round: 0 the session's own, else fresh ones (confirmation, GPU
 * trials). */
KS_NODISCARD enum ks_code ks_cases_make(struct ks_session *s, uint64_t round, struct ks_case *cases, size_t *ret_n,
                                        struct ks_err *err);
void ks_cases_release(struct ks_case *cases, size_t n);
/* The baseline's answer to one call, kept in `k`.  *ret_skip: it needs more than max_warp_insts (emulated). */
KS_NODISCARD enum ks_code ks_case_answer(struct ks_session *s, struct ks_case *k, int64_t max_warp_insts, bool *ret_skip,
                                         struct ks_err *err);
/* Bytes of all buffers at a shape; SIZE_MAX: more than there can be. */
size_t ks_shape_bytes(const struct ks_session *s, const struct ks_shape *shape);
/* Emulated: the warp instructions that the original may need at a shape of `bytes`, by those of the cases and timing points. */
double ks_insts_expected(const struct ks_session *s, const struct ks_case *cases, size_t n, size_t bytes);
KS_NODISCARD enum ks_code ks_selftest(struct ks_session *s, struct ks_err *err);

/* oracle_run.c */
/* The oracle's answers to the cases.  Those that it is too slow for stay without. */
KS_NODISCARD enum ks_code ks_oracle_cases(struct ks_session *s, struct ks_case *cases, size_t n, struct ks_err *err);
/* Output i of a case against the oracle's answer where there is one, else against the baseline's.  sum: may be NULL. */
void ks_case_compare(const struct ks_session *s, const struct ks_case *k, size_t i, const void *got, size_t n_elem,
                     struct ks_oracle_sum *sum, struct ks_compare *ret);
/* Output i of the two arms on declared inputs, where the oracle was not asked. */
void ks_arms_compare(const struct ks_session *s, size_t i, const void *got, const void *want, size_t n_elem,
                     struct ks_compare *ret);

/* streams.c: what CUPTI saw of the device in one call. */
struct ks_streams {
    size_t n;            /* kernels, copies and sets of the call */
    double window_ns;    /* from our delay before the call to the one behind it, in its stream */
    double inside_ns;    /* of the window something ran in some stream */
    double outside_ns;   /* something ran before or after it */
    const char *invalid; /* these are no records of one call: why */
};
void ks_streams_look(const struct ks_json *records, struct ks_streams *ret);
/* Of the limit: what a call may have outside of its window, by the original's and its own. */
double ks_streams_limit_ns(double reference_outside_ns, double window_ns);

/* Gates.  Each fills its result; deadline_ns is the trial's. */
struct ks_sized_call {
    struct ks_shape shape;
    uint64_t call;
};
struct ks_trial {
    struct ks_session *s;
    struct ks_arm arm;
    struct ks_verdict *v;
    int64_t deadline_ns;
    bool confirm;
    bool ran;   /* the candidate's code */
    bool stuck; /* a call did not end, or cannot be emulated */
    struct ks_case *cases;
    size_t n_cases;
    KS_VEC(struct ks_sized_call) sized;         /* made at sizes that the code names */
    struct ks_oracle_sum oracle[KS_MAX_PARAMS]; /* by buffer */
};
void ks_gate_pass(struct ks_trial *t, enum ks_gate gate, struct ks_json *details);
void ks_gate_fail(struct ks_trial *t, enum ks_gate gate, struct ks_json *details, const char *fmt, ...) KS_PRINTF(4, 5);
void ks_gate_skip(struct ks_trial *t, enum ks_gate gate, const char *fmt, ...) KS_PRINTF(3, 4);
/* perturb.c */
/* The largest declared cases of at most 4 MiB, largest first.  Returns how many. */
size_t ks_cases_choose(const struct ks_session *s, const struct ks_case *cases, size_t n, const struct ks_case **ret,
                       size_t most);
/* One call in another order; its outputs against the baseline's.  KS_OK also when they differ: then `what` says how. */
KS_NODISCARD enum ks_code ks_order_run(struct ks_session *s, struct ks_arm *arm, const struct ks_case *k,
                                       enum ks_wire_order order, int64_t timeout_ms, struct ks_str *what, struct ks_err *err);

/* standby.c, GPU.  Callers of fill hold their share of the device's lock. */
void ks_standby_allow(struct ks_session *s);
void ks_standby_fill(struct ks_session *s);
/* The one that has waited longest; NULL: none. */
struct ks_worker *ks_standby_take(struct ks_session *s);
void ks_standby_drop(struct ks_session *s);
/* The arm goes on in another process, and its worker ends with the trial, if the device has room for both: at an end of its own it
 * would be waited for.  False: its worker is as it was. */
bool ks_arm_park(struct ks_session *s, struct ks_arm *arm);
void ks_parked_drop(struct ks_session *s);
/* Kills the arm's worker and those that are parked, and leaves the rest to a thread, with s->lock as it is held: the session's is
 * another one afterwards. */
void ks_arm_bury(struct ks_session *s, struct ks_arm *arm);
void ks_grave_wait(struct ks_session *s);

/* capture.c: the call recorded into a graph, which is then launched.  What the original allows, a candidate must. */
void ks_capture_baseline(struct ks_session *s);
/* False: the gate `interface` has failed. */
bool ks_capture_check(struct ks_trial *t);

/* admit.c: the two gates on the object alone.  False: why not is appended to `reason`. */
bool ks_admit_interface(const struct ks_session *s, const struct ks_built *b, struct ks_str *reason);
bool ks_admit_object(const struct ks_session *s, const struct ks_built *b, const char *source, size_t len, struct ks_str *reason);

/* build_job.c: the build of a trial's candidate, on a GPU in a thread of its own.  Until it has been waited for, its fields, the
 * session's builds and what the session knows of confinement are the thread's. */
struct ks_build_job {
    struct ks_session *s;
    const char *source;
    size_t len;
    int64_t timeout_ms;
    pthread_t thread;
    bool threaded, done;
    enum ks_code code; /* of the build */
    struct ks_built *built;
    struct ks_str log;
    struct ks_err err;
};
void ks_build_start(struct ks_session *s, const char *source, size_t len, int64_t timeout_ms, struct ks_build_job *job);
/* ret: owned by the session. */
KS_NODISCARD enum ks_code ks_build_wait(struct ks_build_job *job, struct ks_built **ret);
/* Waits for what still runs; once for every start. */
void ks_build_end(struct ks_build_job *job);

/* session.c: the device's lock, taken for one call (or one batch of tools) at a time, so that who wants to be alone gets in after
 * it. A trial's waiting is not held against it. */
void ks_session_enter(struct ks_session *s, bool alone);
void ks_session_leave(struct ks_session *s);
void ks_trial_enter(struct ks_trial *t, bool alone);
/* A call did not come back well: which gate is it that failed?  A fault of the device is a matter of safety, a refused system
 * call one of admission, anything else of the gate at work. */
enum ks_gate ks_gate_of_fault(enum ks_code code, enum ks_gate at_work);
int64_t ks_trial_left_ms(const struct ks_trial *t);
void ks_gate_numerics(struct ks_trial *t);
/* One call of the numerics gate, the index-th; `note` follows the shape in what is said of it.  False: a gate has failed. */
bool ks_numerics_case(struct ks_trial *t, struct ks_case *k, size_t index, const char *note);
/* gate_literals.c: sizes that the candidate's code names, run on both arms.  *ret_details: how many were found and tried, NULL
 * when false: a gate has failed. */
bool ks_literals_check(struct ks_trial *t, struct ks_json **ret_details);
void ks_gate_safety(struct ks_trial *t);
void ks_gate_resources(struct ks_trial *t);
void ks_gate_time(struct ks_trial *t);
/* time_cuda.c */
KS_NODISCARD enum ks_code ks_time_control(struct ks_session *s, struct ks_err *err);
void ks_time_pairs(struct ks_trial *t);
/* time_streams.c: looks at calls of both arms through CUPTI.  *ret: what it saw, or what is missing for it.  False: a gate has
 * failed. */
bool ks_time_streams(struct ks_trial *t, struct ks_json **ret);
/* Decides from the filled points. */
/* worst_round: the speed-up that the worst round of processes shows; 0: there are none. */
void ks_time_judge(struct ks_trial *t, struct ks_interval gate_interval, const double *point_hi, double worst_round,
                   struct ks_json *details);
/* safety.c: findings of the baseline over the safety cases. */
KS_NODISCARD enum ks_code ks_safety_baseline(struct ks_session *s, struct ks_err *err);
/* perturb.c, GPU: another order and other company.  Learns what the original does; false: the trial's safety gate has failed. */
KS_NODISCARD enum ks_code ks_perturb_baseline(struct ks_session *s, struct ks_err *err);
bool ks_perturb_check(struct ks_trial *t);
/* sanitizer.c: compute-sanitizer's four tools over a replay of small cases; skipped with the reason where the program is missing.
 */
void ks_safety_sanitizer(struct ks_trial *t);
int64_t ks_counter_sum(const struct ks_json *kernels, const char *name);
/* The largest call, by the original's work, of all that are compared; NULL: none. */
const struct ks_case *ks_cases_largest(const struct ks_case *cases, size_t n);
/* plausible.c: false: the point's time is less than any card of this kind needs, and the gate has failed with `details`. */
bool ks_plausible_point(struct ks_trial *t, size_t point, struct ks_json *details);
/* Bytes of the contract's inputs and outputs, gaps left out; the shape is complete. */
void ks_least_bytes(const struct ks_contract *c, const struct ks_shape *shape, double *ret_in, double *ret_out);
/* Sets v->approval for a gain that is too good to be emitted unseen. */
void ks_plausible_approval(const struct ks_contract *c, struct ks_verdict *v);
/* gate_time.c: modelled times of the baseline. */
struct ks_json *ks_counters_object(const struct ks_session *s, struct ks_json *points);
/* Is `ns` at least the sum of the kernels' modelled times?  Runtime calls add to it. */
bool ks_counters_agree(const struct ks_json *kernels, double ns);
KS_NODISCARD enum ks_code ks_time_baseline(struct ks_session *s, struct ks_err *err);

#endif
