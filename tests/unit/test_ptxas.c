#include "tests/unit/test.h"

#include "analyzer/hypothesis.h"

static const char text[] = "ptxas info    : 0 bytes gmem, 16 bytes cmem[4]\n"
                           "ptxas info    : Compiling entry function '_Z1bILi3EEvPf' for 'sm_90a'\n"
                           "ptxas info    : Function properties for _Z1bILi3EEvPf\n"
                           "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                           "ptxas info    : Used 8 registers, used 0 barriers\n"
                           "ptxas info    : Function properties for _Z6helperf\n"
                           "    77 bytes stack frame, 77 bytes spill stores, 77 bytes spill loads\n"
                           "ptxas info    : Compiling entry function '_Z1aPfi' for 'sm_90a'\n"
                           "ptxas info    : Function properties for _Z1aPfi\n"
                           "    320 bytes stack frame, 24 bytes spill stores, 40 bytes spill loads\n"
                           "ptxas info    : Used 38 registers, used 1 barriers, 320 bytes cumulative stack size, 256 bytes smem\n"
                           "ptxas info    : Compile time = 21.025 ms";

TEST(ptxas_text_gives_each_entry_its_numbers)
{
    struct ks_arena arena;
    ks_arena_init(&arena);
    struct ks_ptxas_info *infos;
    size_t n;
    ks_ptxas_parse(text, strlen(text), &arena, &infos, &n);
    CHECK_INT(n, 2);
    CHECK_STR(infos[0].mangled, "_Z1bILi3EEvPf");
    CHECK_INT(infos[0].registers, 8);
    CHECK_INT(infos[0].spill_store_bytes, 0);
    CHECK_INT(infos[0].static_shared_bytes, 0);
    CHECK_STR(infos[1].mangled, "_Z1aPfi");
    CHECK_INT(infos[1].registers, 38);
    CHECK_INT(infos[1].stack_bytes, 320);
    CHECK_INT(infos[1].spill_store_bytes, 24);
    CHECK_INT(infos[1].spill_load_bytes, 40);
    CHECK_INT(infos[1].static_shared_bytes, 256);
    ks_arena_release(&arena);
}

TEST(cut_off_or_foreign_text_gives_what_is_there)
{
    struct ks_arena arena;
    ks_arena_init(&arena);
    struct ks_ptxas_info *infos;
    size_t n;
    for (size_t len = 0; len <= strlen(text); len++) {
        ks_ptxas_parse(text, len, &arena, &infos, &n);
        CHECK(n <= 2);
    }
    ks_ptxas_parse("error: no\nUsed 5 registers\n", 27, &arena, &infos, &n);
    CHECK_INT(n, 0);
    ks_arena_release(&arena);
}

TEST_MAIN
