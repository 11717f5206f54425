/* operator-boundary: work cut into launches that talk through memory, and host code between them. */

#include "analyzer/evidence.h"

#include "analyzer/expand.h"
#include "analyzer/poly.h"
#include "analyzer/usage.h"
#include "base/str.h"

#include <math.h>

struct host_calls {
    const struct ks_facts *facts;
    const struct ks_node *call; /* in the entry, of the function that is looked at; NULL: in the entry itself */
    int depth;
    const struct ks_node *allocation, *copy, *sync, *to_host, *on_device; /* the first of each, in the entry */
    int allocations, copies, syncs, to_hosts, on_devices;
};

static bool is_any(const char *name, const char *const *list)
{
    for (; *list; list++) {
        if (ks_streq(name, *list))
            return true;
    }
    return false;
}

struct direction {
    const char *name;
    bool found;
};

static bool visit_direction(const struct ks_node *n, void *data)
{
    struct direction *d = data;
    d->found |= n->kind == KS_NODE_DECL_REF && n->symbol && ks_streq(n->symbol->name, d->name);
    return true;
}

static bool goes(const struct ks_node *copy, const char *direction)
{
    struct direction d = {.name = direction};
    ks_node_walk(copy, visit_direction, &d);
    return d.found;
}

/* A launch after the node, in the text or in the next turn of a loop around both. */
static bool launch_follows(const struct ks_entry *e, const struct ks_node *n)
{
    for (size_t i = 0; i < e->n_done; i++) {
        const struct ks_node *launch = e->done[i]->call ? e->done[i]->call : e->done[i]->node;
        if (launch->span.begin > n->span.begin || e->done[i]->in_loop)
            return true;
    }
    return false;
}

static bool visit_host(const struct ks_node *n, void *data)
{
    static const char *const allocations[] = {"cudaMalloc", "cudaMallocAsync", "cudaMallocManaged",
                                              "cudaFree",   "cudaFreeAsync",   NULL};
    static const char *const copies[] = {"cudaMemcpy",      "cudaMemcpyAsync",    "cudaMemset",
                                         "cudaMemsetAsync", "cudaMemcpyToSymbol", NULL};
    static const char *const syncs[] = {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", NULL};
    struct host_calls *h = data;
    if (n->kind != KS_NODE_CALL || !n->name)
        return true;
    const struct ks_node *at = h->call ? h->call : n;
    if (is_any(n->name, allocations) && !h->allocations++)
        h->allocation = at;
    if (is_any(n->name, copies) && !h->copies++)
        h->copy = at;
    if (is_any(n->name, copies) && goes(n, "cudaMemcpyDeviceToHost") && !h->to_hosts++)
        h->to_host = at;
    if (is_any(n->name, copies) && goes(n, "cudaMemcpyDeviceToDevice") && !h->on_devices++)
        h->on_device = at;
    if (is_any(n->name, syncs) && !h->syncs++)
        h->sync = at;
    const struct ks_node *function = ks_facts_callee(h->facts, n);
    if (function && h->depth < KS_MAX_HOST_DEPTH) {
        const struct ks_node *outer = h->call;
        h->call = at;
        h->depth++;
        ks_node_walk(function, visit_host, h);
        h->depth--;
        h->call = outer;
    }
    return true;
}

static bool launch_touches(const struct ks_launch *l, const struct ks_symbol *buffer, bool writes)
{
    for (size_t i = 0; l->kernel && i < l->n_args && i < l->kernel->n_params; i++) {
        if (l->arg_buffers[i] != buffer)
            continue;
        for (size_t k = 0; k < l->kernel->n_accesses; k++) {
            const struct ks_access *a = &l->kernel->accesses[k];
            if (a->buffer == l->kernel->params[i] && (writes ? a->is_write : a->is_read))
                return true;
        }
    }
    return false;
}

/* Buffers of the entry that two or more launches read and none writes. */
static int count_rereads(const struct ks_entry *e, const struct ks_symbol **ret_first)
{
    int n = 0;
    for (size_t p = 0; p < e->n_params; p++) {
        int readers = 0, writers = 0;
        for (size_t i = 0; i < e->n_done; i++) {
            readers += launch_touches(e->done[i], e->params[p], false);
            writers += launch_touches(e->done[i], e->params[p], true);
        }
        if (readers >= 2 && writers == 0 && n++ == 0)
            *ret_first = e->params[p];
    }
    return n;
}

/* Accesses of a kernel weighted by how often they run, those to `buffer` (NULL: all). */
static double weight_of(const struct ks_launch *l, const struct ks_symbol *buffer)
{
    double sum = 0.0;
    for (size_t k = 0; k < l->kernel->n_accesses; k++) {
        const struct ks_access *a = &l->kernel->accesses[k];
        bool counts = ks_access_is_global(a) && buffer == NULL;
        for (size_t i = 0; buffer && i < l->n_args && i < l->kernel->n_params; i++)
            counts |= a->buffer == l->kernel->params[i] && l->arg_buffers[i] == buffer;
        if (counts)
            sum += a->loop ? 8.0 : 1.0;
    }
    return sum;
}

/* The pointer names another buffer in every turn of a loop: it is assigned there, and not moved on inside one buffer. */
static bool changes_buffers(const struct ks_node *arg)
{
    arg = ks_node_strip(arg);
    const struct ks_symbol *s = arg && arg->kind == KS_NODE_DECL_REF ? arg->symbol : NULL;
    for (const struct ks_write *w = s ? s->writes : NULL; w; w = w->next) {
        const struct ks_node *value = w->value ? ks_node_strip(w->value) : NULL;
        if (value && ks_node_is(w->node, KS_NODE_BINARY, "=") && value->kind != KS_NODE_BINARY && ks_node_in_loop(w->node))
            return true;
    }
    return false;
}

/* What the kernel reads and writes behind argument i is there for the next turn of the host loop: the same place of the same
 * buffer every time, or buffers that change roles. */
static bool stays_for_next_turn(const struct ks_launch *l, size_t i)
{
    const struct ks_symbol *buffer = l->arg_buffers[i];
    if (!buffer)
        return changes_buffers(l->args[i]);
    return l->arg_polys[i].known && !l->arg_polys[i].has_opaque && launch_touches(l, buffer, false) &&
           launch_touches(l, buffer, true);
}

/* Part of the launch's accesses that goes to what one turn of a host loop leaves to the next. */
static double turned_over(const struct ks_launch *l, double total)
{
    double sum = 0.0;
    for (size_t k = 0; l->in_loop && k < l->kernel->n_accesses; k++) {
        const struct ks_access *a = &l->kernel->accesses[k];
        for (size_t i = 0; i < l->n_args && i < l->kernel->n_params; i++)
            if (a->buffer && a->buffer == l->kernel->params[i] && stays_for_next_turn(l, i))
                sum += a->loop ? 8.0 : 1.0;
    }
    return sum / total;
}

static double launches_in_text(const struct ks_entry *e, const struct ks_kernel *k)
{
    double n = 0.0;
    for (size_t i = 0; i < e->n_done; i++)
        n += e->done[i]->kernel == k;
    return n;
}

/* Share of all requested bytes that goes to buffers handed over, by one launch to another or by one turn of a host loop to the
 * next; the bytes of a kernel are spread over its accesses. */
static double handover_share(const struct ks_case *c)
{
    double handed = 0.0, all = 0.0;
    for (size_t i = 0; i < c->entry->n_done; i++) {
        const struct ks_launch *l = c->entry->done[i];
        struct ks_counters n;
        if (!l->kernel)
            continue;
        ks_counters_read(c->profile, l->kernel->name, l->kernel->mangled, &n);
        double bytes = n.load_bytes + n.store_bytes, total = weight_of(l, NULL), part = 0.0;
        if (!(bytes > 0.0) || total <= 0.0)
            continue;
        all += bytes;
        for (size_t h = 0; h < c->facts->n_handovers; h++) {
            const struct ks_handover *x = &c->facts->handovers[h];
            if (x->producer == l || x->consumer == l)
                part += weight_of(l, x->buffer) / total;
        }
        double turns = n.launches / launches_in_text(c->entry, l->kernel);
        if (turns > 1.0)
            part = fmax(part, turned_over(l, total) * (1.0 - 1.0 / turns));
        handed += bytes * part;
    }
    return all > 0.0 ? ks_clamp(handed / all, 0.0, 1.0) : (double)NAN;
}

static double overhead_share(const struct ks_case *c)
{
    double time = 0.0, overhead = 0.0;
    for (size_t i = 0; i < c->facts->n_kernels; i++) {
        struct ks_counters n;
        ks_counters_read(c->profile, c->facts->kernels[i].name, c->facts->kernels[i].mangled, &n);
        if (n.total_ns >= 0.0 && n.launch_ns >= 0.0) {
            time += n.total_ns;
            overhead += n.launch_ns * n.launches;
        }
    }
    return time > 0.0 ? ks_clamp(overhead / time, 0.0, 1.0) : (double)NAN;
}

static double launches_done(const struct ks_case *c)
{
    double n = 0.0;
    for (size_t i = 0; i < c->facts->n_kernels; i++) {
        struct ks_counters k;
        ks_counters_read(c->profile, c->facts->kernels[i].name, c->facts->kernels[i].mangled, &k);
        n += k.launches > 0.0 ? k.launches : 0.0;
    }
    return n;
}

static void add_handovers(struct ks_case *c)
{
    size_t n = 0, elementwise = 0, temporary = 0;
    const struct ks_handover *first = NULL, *first_elementwise = NULL, *first_temporary = NULL;
    for (size_t i = 0; i < c->facts->n_handovers; i++) {
        const struct ks_handover *h = &c->facts->handovers[i];
        if (h->consumer->entry != c->entry)
            continue;
        first = n++ ? first : h;
        if (h->elementwise && elementwise++ == 0)
            first_elementwise = h;
        if (h->last_reader && temporary++ == 0)
            first_temporary = h;
    }
    if (n == 0)
        return;
    double weight = 1.0 - pow(0.6, (double)n);
    ks_case_add(c, "handovers", (double)n, elementwise ? weight * 0.7 : weight, first->consumer->node,
                "'%s' goes through global memory from %s to %s", first->buffer->name, first->producer->kernel->name,
                first->consumer->kernel->name);
    if (elementwise)
        ks_case_add(c, "handovers_elementwise", (double)elementwise, 1.0 - pow(0.45, (double)elementwise),
                    first_elementwise->consumer->node,
                    "each thread of %s reads back from '%s' just what the same thread of %s wrote",
                    first_elementwise->consumer->kernel->name, first_elementwise->buffer->name,
                    first_elementwise->producer->kernel->name);
    if (temporary)
        ks_case_add(c, "handovers_temporary", (double)temporary, 0.1, first_temporary->consumer->node,
                    "no launch after %s reads '%s'", first_temporary->consumer->kernel->name, first_temporary->buffer->name);
}

/* How far the entry is from what its bytes and operations allow: says nothing of a layer, but questions may ask for it. */
static void add_roofline(struct ks_case *c)
{
    const struct ks_json *r = ks_json_get(c->profile, "roofline");
    double reached = ks_json_get_num(r, "reached", 0.0), intensity = ks_json_get_num(r, "intensity", 0.0);
    if (!(reached > 0.0) || !ks_facts_entry_named(c->entry, ks_json_get_str(r, "entry", "")))
        return;
    bool compute = ks_streq(ks_json_get_str(r, "bound", ""), "compute");
    ks_case_add(c, "roofline_reached", reached, 0.0, NULL,
                "what the contract's bytes and operations take at the device's ceilings is %.3g %% of the time, bound by %s",
                reached * 100.0, compute ? "arithmetic" : "memory");
    ks_case_add(c, "roofline_intensity", intensity, 0.0, NULL, "%.3g operations for each byte that has to move", intensity);
}

void ks_case_operator_boundary(struct ks_case *c)
{
    const struct ks_entry *e = c->entry;
    size_t in_loop = 0;
    const struct ks_launch *looped = NULL;
    for (size_t i = 0; i < e->n_done; i++) {
        if (e->done[i]->in_loop && in_loop++ == 0)
            looped = e->done[i];
    }
    ks_case_add(c, "launches", (double)e->n_done, e->n_done > 1 ? 0.06 : 0.0, e->done[0]->node, "%zu launch%s in one call",
                e->n_done, e->n_done == 1 ? "" : "es");
    add_handovers(c);
    add_roofline(c);
    if (in_loop)
        ks_case_add(
            c, "launches_in_loop", (double)in_loop, 0.35, looped->node,
            "%s is launched again in every turn of a host loop, and everything it keeps goes through global memory in between",
            looped->node->name);
    const struct ks_symbol *reread = NULL;
    int rereads = count_rereads(e, &reread);
    if (rereads)
        ks_case_add(c, "input_rereads", rereads, 0.15, reread->decl, "'%s' is read from global memory by more than one launch",
                    reread->name);
    struct host_calls h = {.facts = c->facts};
    ks_node_walk(e->node, visit_host, &h);
    if (h.allocations)
        ks_case_add(c, "allocations", h.allocations, 0.3, h.allocation, "device memory is allocated or freed in every call");
    if (h.copies)
        ks_case_add(c, "host_copies", h.copies, 0.1, h.copy, "the call copies or clears memory besides its launches");
    if (h.on_device)
        ks_case_add(c, "device_copies", h.on_devices, 1.0 - pow(0.5, fmin(h.on_devices, 3)), h.on_device,
                    "a copy from device memory to device memory is a pass over the data that computes nothing");
    if (h.to_host && launch_follows(e, h.to_host))
        ks_case_add(c, "host_round_trips", h.to_hosts, 0.7, h.to_host,
                    "results come to the host here, and launches after them wait for what the host makes of them");
    if (h.syncs)
        ks_case_add(c, "host_syncs", h.syncs, 0.2, h.sync, "the host waits for the device inside the call");
    double share = handover_share(c), overhead = overhead_share(c);
    if (share > 0.0)
        ks_case_add(c, "handover_bytes_ratio", share, share * 0.8, NULL,
                    "about %.0f %% of the bytes requested belong to what one launch leaves in memory for another", share * 100.0);
    if (overhead > 0.0)
        ks_case_add(c, "launch_overhead_ratio", overhead, e->n_done > 1 || in_loop ? overhead : 0.0, NULL,
                    "%.0f %% of the time is launch overhead", overhead * 100.0);
    if (!(overhead >= 0.0))
        return;
    /* one launch stays, and so do the bytes that are not handed over; a round trip costs about as much as two launches */
    bool several = e->n_done > 1 || in_loop;
    double left = (several ? 1.0 - overhead * (1.0 - 1.0 / fmax(launches_done(c), 2.0)) : 1.0) -
                  (share > 0.0 ? 0.8 * share * (1.0 - overhead) : 0.0);
    if (h.to_host && launch_follows(e, h.to_host))
        left *= 0.45;
    else if (h.allocations || h.syncs)
        left *= 0.6;
    /* a copy moves as many bytes as a launch that does little with them */
    left *= (double)e->n_done / ((double)e->n_done + h.on_devices);
    c->entry_share = 1.0 - ks_clamp(left, 0.02, 1.0);
    c->local_gain = 1.0 / ks_clamp(left, 0.05, 1.0);
}
