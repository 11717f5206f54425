/* ks_contract_fuzz_shapes: what it draws, within what limits, and that the key decides. */

#include "harness/contract.h"
#include "test.h"

static struct ks_arena arena;
static const uint8_t key_a[32] = {1, 2, 3}, key_b[32] = {1, 2, 4}, key_c[32] = {[31] = 9};

static const char attention[] =
    "// kscc: entry f\n// kscc: dims B=1..8 H=1..32 S=1..4096 D=64|128 T=ceildiv(S,32)\n"
    "// kscc: in q : half[B,H,S,D]\n// kscc: out o : half[B,H,S,D]\n// kscc: scratch w : float[B,H,S,S]\n"
    "// kscc: scratch t : float[T]\n"
    "// kscc: time B=4 H=16 S=1024 D=64 ; B=1 H=16 S=4096 D=128\n";

static const struct ks_contract *parse(const char *text)
{
    struct ks_err err = {0};
    struct ks_diags diags;
    struct ks_contract *c = NULL;
    size_t n = 0;
    ks_diags_init(&diags);
    CHECK_OK(ks_contracts_parse("t.cu", text, strlen(text), &arena, &diags, &c, &n, &err));
    ks_diags_release(&diags);
    return n ? c : NULL;
}

static bool has(const struct ks_shape *shapes, size_t n, const struct ks_shape *s)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(shapes[i].dim, s->dim, sizeof s->dim) == 0)
            return true;
    return false;
}

TEST(shapes_are_distinct_inside_the_domain_and_fit)
{
    ks_arena_init(&arena);
    struct ks_err err = {0};
    const struct ks_contract *c = parse(attention);
    struct ks_shape shapes[64];
    const size_t limits[] = {4096, 100000, 1u << 20, 1u << 28};
    for (size_t l = 0; l < 4; l++) {
        size_t n = ks_contract_fuzz_shapes(c, key_a, limits[l], shapes, 64);
        CHECK(n >= (l == 0 ? 3 : 32));
        bool ragged = false;
        for (size_t i = 0; i < n; i++) {
            int64_t bytes = 0;
            CHECK(ks_contract_covers(c, &shapes[i]));
            CHECK_OK(ks_contract_bytes(c, &shapes[i], &bytes, &err));
            CHECK(bytes <= (int64_t)limits[l]);
            CHECK(!has(shapes, i, &shapes[i]));
            ragged |= shapes[i].dim[2] > 16 && shapes[i].dim[2] % 2 == 1;
        }
        CHECK(ragged || l == 0);
    }
    ks_arena_release(&arena);
}

TEST(a_small_n_still_gets_an_edge_and_a_ragged_shape)
{
    ks_arena_init(&arena);
    const struct ks_contract *c = parse(attention);
    struct ks_shape shapes[4];
    CHECK_INT(ks_contract_fuzz_shapes(c, key_a, 1 << 20, shapes, 4), 4);
    struct ks_shape smallest = {{1, 1, 1, 64, 1}};
    CHECK(has(shapes, 4, &smallest));
    CHECK(shapes[1].dim[2] > 32 || shapes[2].dim[2] > 32 || shapes[3].dim[2] > 32);
    ks_arena_release(&arena);
}

/* Ten shapes in a quarter of a mebibyte must still hold rows longer than any tile, and two dims that are both larger than a
 * block. */
TEST(little_memory_still_meets_long_rows)
{
    ks_arena_init(&arena);
    struct ks_shape shapes[10];
    const struct ks_contract *c = parse(attention);
    const struct ks_contract *grid =
        parse("// kscc: entry f\n// kscc: dims h=1..8192 w=1..8192\n// kscc: in i : float[h,w]\n// kscc: out o : float[h,w]\n"
              "// kscc: time h=8192 w=8192\n");
    for (uint8_t k = 0; k < 20; k++) {
        const uint8_t key[32] = {k, 77};
        bool long_row = false, both = false, wide = false, tall = false;
        size_t n = ks_contract_fuzz_shapes(c, key, 256 << 10, shapes, 10);
        CHECK_INT(n, 10);
        for (size_t i = 0; i < n; i++)
            long_row |= shapes[i].dim[2] >= 96;
        n = ks_contract_fuzz_shapes(grid, key, 256 << 10, shapes, 10);
        CHECK_INT(n, 10);
        for (size_t i = 0; i < n; i++) {
            both |= shapes[i].dim[0] > 64 && shapes[i].dim[1] > 64;
            wide |= shapes[i].dim[1] > 1024;
            tall |= shapes[i].dim[0] > 1024;
        }
        CHECK(long_row && both && wide && tall);
    }
    ks_arena_release(&arena);
}

TEST(edges_reach_the_end_of_the_domain_or_of_the_memory)
{
    ks_arena_init(&arena);
    const struct ks_contract *c =
        parse("// kscc: entry f\n// kscc: dims r=1..100 n=1..1000000000\n// kscc: out o : float[r,n]\n// kscc: time r=1 n=2\n");
    struct ks_shape shapes[32];
    size_t n = ks_contract_fuzz_shapes(c, key_a, 120000, shapes, 32);
    struct ks_shape rows = {{100, 1}}, largest = {{1, 10000}}; /* a third of the memory */
    CHECK(has(shapes, n, &rows));
    CHECK(has(shapes, n, &largest));
    ks_arena_release(&arena);
}

TEST(the_key_decides_and_nothing_else)
{
    ks_arena_init(&arena);
    const struct ks_contract *c = parse(attention);
    struct ks_shape a[16], again[16], b[16], d[16];
    size_t n = ks_contract_fuzz_shapes(c, key_a, 1 << 22, a, 16);
    CHECK_INT(n, 16);
    CHECK_INT(ks_contract_fuzz_shapes(c, key_a, 1 << 22, again, 16), n);
    CHECK(memcmp(a, again, sizeof a) == 0);
    CHECK_INT(ks_contract_fuzz_shapes(c, key_b, 1 << 22, b, 16), n);
    CHECK_INT(ks_contract_fuzz_shapes(c, key_c, 1 << 22, d, 16), n);
    CHECK(memcmp(a, b, sizeof a) != 0);
    CHECK(memcmp(a, d, sizeof a) != 0);
    ks_arena_release(&arena);
}

TEST(multiples_and_choices_are_kept)
{
    ks_arena_init(&arena);
    const struct ks_contract *c =
        parse("// kscc: entry f\n// kscc: dims n=10..5000%16 k=3|7|20\n// kscc: out o : float[n,k]\n// kscc: time n=4000 k=7\n");
    struct ks_shape shapes[40];
    size_t n = ks_contract_fuzz_shapes(c, key_a, 1 << 20, shapes, 40);
    CHECK_INT(n, 40);
    bool all_choices[21] = {false}, smallest = false, largest = false;
    for (size_t i = 0; i < n; i++) {
        CHECK_INT(shapes[i].dim[0] % 16, 0);
        all_choices[shapes[i].dim[1] > 20 ? 0 : shapes[i].dim[1]] = true;
        smallest |= shapes[i].dim[0] == 16;
        largest |= shapes[i].dim[0] == 5000 / 16 * 16;
    }
    CHECK(all_choices[3] && all_choices[7] && all_choices[20]);
    CHECK(smallest && largest);
    ks_arena_release(&arena);
}

TEST(a_domain_of_one_shape_or_none_that_fits_ends)
{
    ks_arena_init(&arena);
    const struct ks_contract *c =
        parse("// kscc: entry f\n// kscc: dims n=100\n// kscc: out o : float[n]\n// kscc: time n=100\n");
    struct ks_shape shapes[8];
    CHECK_INT(ks_contract_fuzz_shapes(c, key_a, 1000, shapes, 8), 1);
    CHECK_INT(ks_contract_fuzz_shapes(c, key_a, 100, shapes, 8), 0);
    c = parse("// kscc: entry f\n// kscc: out o : float[3]\n// kscc: time\n");
    CHECK_INT(ks_contract_fuzz_shapes(c, key_a, 1000, shapes, 8), 1);
    ks_arena_release(&arena);
}

TEST_MAIN
