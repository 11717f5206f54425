#ifndef KS_TESTS_UNIT_TEST_H
#define KS_TESTS_UNIT_TEST_H

/* A unit test program: TEST(sentence_like_name) { CHECK_...; } and one TEST_MAIN at the end.  A failing check prints both sides and
 * the test goes on; the program's exit status is the number of failed tests (at most 99). */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct test_case {
    const char *name;
    void (*run)(void);
    struct test_case *next;
};
static struct test_case *test_first, **test_last = &test_first;
static int test_failures;

#define TEST(ident)                                                                              \
    static void test_##ident(void);                                                              \
    __attribute__((constructor)) static void test_register_##ident(void)                         \
    {                                                                                            \
        static struct test_case c = {#ident, test_##ident, NULL};                                \
        *test_last = &c;                                                                         \
        test_last = &c.next;                                                                     \
    }                                                                                            \
    static void test_##ident(void)

#define CHECK(cond)                                                                              \
    do {                                                                                         \
        if (!(cond)) {                                                                           \
            test_failures++;                                                                     \
            printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #cond);                            \
        }                                                                                        \
    } while (0)
#define CHECK_INT(a, b)                                                                          \
    do {                                                                                         \
        long long check_a_ = (long long)(a), check_b_ = (long long)(b);                          \
        if (check_a_ != check_b_) {                                                              \
            test_failures++;                                                                     \
            printf("%s:%d: %s is %lld, expected %s = %lld\n", __FILE__, __LINE__, #a, check_a_, #b, check_b_); \
        }                                                                                        \
    } while (0)
#define CHECK_STR(a, b)                                                                          \
    do {                                                                                         \
        const char *check_a_ = (a), *check_b_ = (b);                                             \
        if (!check_a_ || !check_b_ || strcmp(check_a_, check_b_) != 0) {                         \
            test_failures++;                                                                     \
            printf("%s:%d: %s is \"%s\", expected \"%s\"\n", __FILE__, __LINE__, #a, check_a_ ? check_a_ : "(null)", check_b_ ? check_b_ : "(null)"); \
        }                                                                                        \
    } while (0)
#define CHECK_CONTAINS(text, part)                                                               \
    do {                                                                                         \
        const char *check_a_ = (text), *check_b_ = (part);                                       \
        if (!check_a_ || !strstr(check_a_, check_b_)) {                                          \
            test_failures++;                                                                     \
            printf("%s:%d: \"%s\" does not contain \"%s\"\n", __FILE__, __LINE__, check_a_ ? check_a_ : "(null)", check_b_); \
        }                                                                                        \
    } while (0)
#define CHECK_NEAR(a, b, tol)                                                                    \
    do {                                                                                         \
        double check_a_ = (a), check_b_ = (b), check_t_ = (tol);                                 \
        if (!(fabs(check_a_ - check_b_) <= check_t_)) {                                          \
            test_failures++;                                                                     \
            printf("%s:%d: %s is %.17g, expected %.17g within %g\n", __FILE__, __LINE__, #a, check_a_, check_b_, check_t_); \
        }                                                                                        \
    } while (0)
#define CHECK_OK(call)                                                                           \
    do {                                                                                         \
        if ((call) != KS_OK) {                                                                   \
            test_failures++;                                                                     \
            printf("%s:%d: %s failed: %s\n", __FILE__, __LINE__, #call, err.message);            \
        }                                                                                        \
    } while (0)

#define TEST_MAIN                                                                                \
    int main(void)                                                                               \
    {                                                                                            \
        int n_failed = 0, n = 0;                                                                 \
        for (struct test_case *c = test_first; c; c = c->next, n++) {                            \
            int before = test_failures;                                                          \
            c->run();                                                                            \
            if (test_failures > before) {                                                        \
                n_failed++;                                                                      \
                printf("FAILED %s\n", c->name);                                                  \
            }                                                                                    \
        }                                                                                        \
        printf("%d passed, %d failed\n", n - n_failed, n_failed);                                \
        return n_failed > 99 ? 99 : n_failed;                                                    \
    }

#endif
