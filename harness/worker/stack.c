#include "harness/worker/stack.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <ucontext.h>

#define STACK_BYTES ((size_t)8 << 20)
#define FRESH_BYTES ((size_t)512 << 10) /* of the top: as deep as most calls go */
#define GUARD_BYTES ((size_t)64 << 10)

static ucontext_t outside, inside;
static void (*job)(void *);
static void *job_arg;

void ks_stack_forget_arguments(int argc, char **argv)
{
    char *name = (char *)(uintptr_t)getauxval(AT_EXECFN);
    for (int i = 0; i < argc; i++)
        memset(argv[i], 0, strlen(argv[i]));
    if (name)
        memset(name, 0, strlen(name));
}

#ifndef __SANITIZE_ADDRESS__ /* which keeps its own account of the stack */
static unsigned char *stack; /* NULL: not mapped yet */

static bool stack_get(void)
{
    if (stack)
        return true;
    unsigned char *p = mmap(NULL, STACK_BYTES + 2 * GUARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED || mprotect(p + GUARD_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE) != 0)
        return false;
    stack = p + GUARD_BYTES;
    return true;
}

static void run_inside(void)
{
    job(job_arg);
}

/* A byte that is another one in every call. */
static int fresh_byte(void)
{
    static uint32_t state;
    if (state == 0 && getrandom(&state, sizeof state, GRND_NONBLOCK) != (ssize_t)sizeof state)
        state = 0x9e3779b9u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (int)(state & 0xff);
}
#endif

void ks_stack_call(void (*f)(void *), void *arg)
{
#ifndef __SANITIZE_ADDRESS__
    if (stack_get() && getcontext(&inside) == 0) {
        memset(stack + STACK_BYTES - FRESH_BYTES, fresh_byte(), FRESH_BYTES);
        job = f;
        job_arg = arg;
        inside.uc_stack.ss_sp = stack;
        inside.uc_stack.ss_size = STACK_BYTES;
        inside.uc_link = &outside;
        makecontext(&inside, run_inside, 0);
        if (swapcontext(&outside, &inside) == 0)
            return;
    }
#endif
    f(arg);
}
