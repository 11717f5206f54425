/* The device's own record of a call, over all streams, against the window that the events saw. */
#include "harness/session_impl.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_NS    3000.0 /* CUPTI's times of different streams agree to less */
#define LIMIT_SHARE 0.02

struct span {
    double start_ns, end_ns, number;
    bool own;
};

static double field(const struct ks_json *record, size_t i)
{
    return ks_json_num(ks_json_at(record, i), -1);
}

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* The two delays of ours; false: there are not two.  A kernel of the candidate's may have their name. */
static bool window_of(const struct span *all, size_t n, struct span *ret_begin, struct span *ret_end)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        if (all[i].own && found++ < 2)
            *(found == 1 ? ret_begin : ret_end) = all[i];
    if (found == 2 && ret_begin->number > ret_end->number) {
        struct span first = *ret_end;
        *ret_end = *ret_begin;
        *ret_begin = first;
    }
    return found == 2 && ret_end->start_ns >= ret_begin->end_ns;
}

/* Both in order of their start; sums what is covered, once. */
static void spans_add(const struct span *all, size_t n, const struct span *begin, const struct span *end, struct ks_streams *ret)
{
    double lo = begin->end_ns, hi = end->start_ns, reached = 0;
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        /* what has a smaller number was asked for before the call: by us */
        if (all[i].own || all[i].number < begin->number)
            continue;
        double from = any && reached > all[i].start_ns ? reached : all[i].start_ns, to = all[i].end_ns;
        ret->n++;
        if (to <= from)
            continue;
        double in_from = from > lo ? from : lo, in_to = to < hi ? to : hi;
        double inside = in_to > in_from ? in_to - in_from : 0;
        ret->inside_ns += inside;
        ret->outside_ns += to - from - inside;
        reached = to;
        any = true;
    }
}

void ks_streams_look(const struct ks_json *records, struct ks_streams *ret)
{
    size_t n = ks_json_len(records);
    KS_AUTO_FREE struct span *all = ks_xcalloc(n + 1, sizeof *all);
    struct span begin = {0}, end = {0};
    *ret = (struct ks_streams){0};
    for (size_t i = 0; i < n; i++) {
        const struct ks_json *r = ks_json_at(records, i);
        all[i] = (struct span){field(r, 0), field(r, 1), field(r, 2), field(r, 3) == 1};
        if (ks_json_len(r) != 4 || !(all[i].end_ns >= all[i].start_ns)) {
            ret->invalid = "a record has no end";
            return;
        }
    }
    qsort(all, n, sizeof *all, by_start);
    if (!window_of(all, n, &begin, &end)) {
        ret->invalid = "the delays around the call are not among the records, or something else has their name";
        return;
    }
    ret->window_ns = end.start_ns - begin.end_ns;
    spans_add(all, n, &begin, &end, ret);
    if (ret->n == 0)
        ret->invalid = "nothing of the call is among the records";
}

double ks_streams_limit_ns(double reference_outside_ns, double window_ns)
{
    return reference_outside_ns + LIMIT_NS + LIMIT_SHARE * window_ns;
}
