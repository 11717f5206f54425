#ifndef KS_TESTS_EMULATED_RT_CHECK_H
#define KS_TESTS_EMULATED_RT_CHECK_H

/* For programs linked with a shared CUDA runtime and run on the emulated device's: every check prints both sides when it fails, and
 * the program's status is the number of failed checks (at most 99). */

#include <cstdio>
#include <cstring>
#include <vector>

static int failed, passed;

template <class A, class B> static void check_equal(const A &a, const B &b, const char *text, const char *file, int line)
{
    if (a == b) {
        passed++;
        return;
    }
    failed++;
    printf("%s:%d: %s: %lld, not %lld\n", file, line, text, (long long)a, (long long)b);
}
#define EQ(a, b)  check_equal((a), (b), #a, __FILE__, __LINE__)
#define OK(call)  check_equal((int)(call), 0, #call, __FILE__, __LINE__)
#define ERR(call, code) check_equal((int)(call), (int)(code), #call, __FILE__, __LINE__)
/* The same for the runtime, whose last error is then read and must be the same one. */
#define RT_ERR(call, code)                                                                                                       \
    do {                                                                                                                         \
        check_equal((int)(call), (int)(code), #call, __FILE__, __LINE__);                                                        \
        check_equal((int)cudaGetLastError(), (int)(code), "cudaGetLastError() after " #call, __FILE__, __LINE__);                \
    } while (0)

static int check_end()
{
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 99 ? 99 : failed;
}

#endif
