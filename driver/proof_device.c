#include "driver/proof_device.h"

#include "driver/certificate.h"
#include "driver/entry_session.h"
#include "driver/signed.h"

#include <stdio.h>
#include <stdlib.h>

/* The device that a certificate names. */
static struct ks_device_chosen device_of(const struct ks_json *certificate)
{
    const struct ks_json *j = ks_json_get(certificate, "device");
    const char *arch = ks_json_get_str(j, "arch", "");
    struct ks_device_chosen d = {0};
    bool cuda = ks_streq(ks_json_get_str(j, "kind", ""), "cuda");
    /* a GPU reports its number; what it is built for has the architecture's own instructions (harness/cuda_probe.c) */
    const char *own = cuda && ks_str_starts(arch, "sm_") && strtol(arch + 3, NULL, 10) >= 90 ? "a" : "";
    d.kind = cuda ? KS_DEVICE_CUDA : KS_DEVICE_EMULATED;
    snprintf(d.arch, sizeof(d.arch), "%s%s", arch, own);
    snprintf(d.label, sizeof(d.label), "%s%s%s %s", cuda ? "cuda" : "emulated", cuda ? " " : "",
             cuda ? ks_json_get_str(j, "name", "") : "", d.arch);
    return d;
}

/* A build server that emits what was approved has not the device of the proof, and needs none: a certificate whose key is the one
 * that this unit would have on the certificate's own device is about this unit. */
static const struct ks_device_chosen *device_of_proof(const struct ks_entry_context *x, const struct ks_store *store,
                                                      const char *entry, const struct ks_json *contract)
{
    KS_AUTO_ARGS struct ks_args keys;
    struct ks_err none;
    ks_args_init(&keys);
    if (!store || ks_store_keys(store, &keys, &none) != KS_OK)
        return NULL;
    for (size_t i = 0; i < keys.n; i++) {
        char key[65];
        KS_AUTO_JSON struct ks_json *c = ks_store_read_json(store, keys.v[i], KS_CERTIFICATE_FILE);
        if (!c || !ks_streq(ks_json_get_str(c, "entry", NULL), entry) ||
            ks_approval_check(store, keys.v[i], x->allowed_signers, &none) != KS_OK)
            continue;
        struct ks_device_chosen *d = KS_ARENA_NEW(x->unit->arena, struct ks_device_chosen);
        struct ks_entry_context there = *x;
        *d = device_of(c);
        there.device = d;
        ks_entry_key(&there, contract, key);
        if (ks_streq(key, keys.v[i]))
            return d;
    }
    return NULL;
}

const struct ks_device_chosen *ks_proof_device(const struct ks_entry_context *x, const char *entry,
                                               const struct ks_json *contract)
{
    const struct ks_store *const stores[] = {x->shared, x->read_only, x->store};
    for (size_t i = 0; x->policy == KS_POLICY_APPROVED && i < sizeof(stores) / sizeof(stores[0]); i++) {
        const struct ks_device_chosen *d = device_of_proof(x, stores[i], entry, contract);
        if (d)
            return d;
    }
    return x->device;
}
