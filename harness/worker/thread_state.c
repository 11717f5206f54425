#include "harness/worker/thread_state.h"

#include "harness/protocol.h"

#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

/* As the C++ ABI has it. */
struct exception_globals {
    void *caught;
    unsigned uncaught;
};

static struct exception_globals *exceptions; /* NULL: no C++ runtime */

static uint32_t exceptions_left(void)
{
    bool left = exceptions && (exceptions->caught || exceptions->uncaught);
    if (left)
        *exceptions = (struct exception_globals){NULL, 0};
    return left ? 1u << KS_LEFT_EXCEPTIONS : 0;
}

#if defined(__x86_64__) && defined(__GLIBC__)

#include <sys/auxv.h>

/* Bytes of glibc's thread control block that only programs built against very old ones use. */
#define UNUSED_OFF   0x80
#define UNUSED_BYTES 0x200

#define CONTROL_OF_MXCSR 0xffc0u /* the rest are flags that any computation raises */
#define FLAG_DF          (1ull << 10)
#define FLAG_AC          (1ull << 18)
#define FLAG_ID          (1ull << 21)
#define HAS_FSGSBASE     2u /* of AT_HWCAP2 */

/* The layout of FXSAVE. */
struct fx {
    _Alignas(16) uint16_t control;
    uint16_t status;
    uint8_t tags, reserved; /* a bit for each register that is in use */
    uint16_t opcode;
    uint64_t instruction, operand;
    uint32_t mxcsr, mxcsr_mask;
    uint8_t x87[8][16], xmm[16][16], rest[96];
};
_Static_assert(sizeof(struct fx) == 512, "as the processor writes it");

static struct fx saved; /* as it was */
static uint64_t gs, gs_given, flags, flags_given;
static unsigned char unused[UNUSED_BYTES];

static bool has_gs(void)
{
    return (getauxval(AT_HWCAP2) & HAS_FSGSBASE) != 0;
}

static unsigned char *unused_bytes(void)
{
    return (unsigned char *)__builtin_thread_pointer() + UNUSED_OFF;
}

__attribute__((target("fxsr"), noinline)) static void fx_read(struct fx *x)
{
    __builtin_ia32_fxsave64(x);
}

__attribute__((target("fxsr"), noinline)) static void fx_write(const struct fx *x)
{
    __builtin_ia32_fxrstor64((void *)(uintptr_t)x);
}

__attribute__((target("fsgsbase"), noinline)) static uint64_t gs_read(void)
{
    return __builtin_ia32_rdgsbase64();
}

__attribute__((target("fsgsbase"), noinline)) static void gs_write(uint64_t v)
{
    __builtin_ia32_wrgsbase64(v);
}

/* Random without a promise: a generator of our own where there is none. */
static void random_fill(void *p, size_t n)
{
    static uint64_t state = 0x9e3779b97f4a7c15ull;
    unsigned char *at = p;
    if (getrandom(p, n, GRND_NONBLOCK) == (ssize_t)n)
        return;
    for (size_t i = 0; i < n; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        at[i] = (unsigned char)state;
    }
}

void ks_thread_state_disturb(void *(*get_globals)(void))
{
    struct {
        uint8_t x87[8][10], xmm[16][16], flags;
        uint64_t gs;
    } r;
    random_fill(&r, sizeof r);
    exceptions = get_globals ? get_globals() : NULL;
    random_fill(unused, sizeof unused);
    memcpy(unused_bytes(), unused, sizeof unused);
    if (has_gs()) {
        gs = gs_read();
        gs_given = r.gs & 0x7fffffffffffull;
        gs_write(gs_given);
    }
    flags = __builtin_ia32_readeflags_u64();
    flags_given = (flags & ~FLAG_ID) | (r.flags & 0x80 ? FLAG_ID : 0);
    __builtin_ia32_writeeflags_u64(flags_given);
    fx_read(&saved);
    struct fx x = saved;
    x.status = 0;
    x.tags = 0;
    x.opcode = 0;
    x.instruction = x.operand = 0;
    x.mxcsr = (saved.mxcsr & CONTROL_OF_MXCSR) | (r.flags & 0x3fu);
    for (size_t i = 0; i < 8; i++)
        memcpy(x.x87[i], r.x87[i], sizeof r.x87[i]);
    memcpy(x.xmm, r.xmm, sizeof x.xmm);
    fx_write(&x);
}

uint32_t ks_thread_state_left(void)
{
    struct fx x;
    uint64_t f = __builtin_ia32_readeflags_u64();
    fx_read(&x);
    uint32_t left = exceptions_left();
    left |= (x.mxcsr ^ saved.mxcsr) & CONTROL_OF_MXCSR || x.control != saved.control ? 1u << KS_LEFT_FLOAT_MODE : 0;
    left |= x.tags ? 1u << KS_LEFT_X87 : 0;
    left |= (f ^ flags_given) & (FLAG_DF | FLAG_AC | FLAG_ID) ? 1u << KS_LEFT_FLAGS : 0;
    left |= memcmp(unused_bytes(), unused, sizeof unused) != 0 ? 1u << KS_LEFT_THREAD_BLOCK : 0;
    if (has_gs()) {
        left |= gs_read() != gs_given ? 1u << KS_LEFT_GS : 0;
        gs_write(gs);
    }
    __builtin_ia32_writeeflags_u64(flags);
    fx_write(&saved);
    return left;
}

#else

void ks_thread_state_disturb(void *(*get_globals)(void))
{
    exceptions = get_globals ? get_globals() : NULL;
}

uint32_t ks_thread_state_left(void)
{
    return exceptions_left();
}

#endif
