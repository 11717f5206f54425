/* Data paths of tcgen05: this test has ld and st, test_tcgen_products.c the rest of the table.
 *
 * Every data path of tcgen05 on the emulated device against answers worked out here, from the ISA's tables and figures and by no
 * function of the emulator.  The PTX is written here too, an instruction a kernel; numbers are small and whole, so that every
 * order of accumulation gives the same bits and everything is compared exactly, all of tensor memory that was not to change
 * included.
 *
 *   what                          cases here                                                          worked out from
 *   ld, st shapes                 32x32b 16x64b 16x128b 16x256b 16x32bx2 (2 distances)                figures of 9.7.16.2.3.1
 *   ld, st multiplicities         x1 to x128, whatever a shape has (table of 9.7.16.8.3)
 *   pack::16b, unpack::16b        with each shape and multiplicity                                    9.7.16.8.2
 *   ld, st lanes                  each warp its 32; the 16-lane shapes in both halves                 9.7.16.8.1
 *   cp                            all six shapes, swizzles none 32 64 128, rows apart, cta_group 1, 2 9.7.16.9.2, 9.7.16.3.3
 *   shift                         31 rows, the last stays (direction: as CUTLASS uses it)             9.7.16.9.3
 *   mma, result                   M 64 at lanes 0 and 16, M 128; pairs: M 128, M 256; N 8 to 256      9.7.16.10.5 layouts F D B A
 *   mma, operands in shared       K-major and MN-major by swizzle none 32 64 128, for A and B;        9.7.16.3.3, 9.7.16.4.1
 *                                 dense and spread strides; K in the middle of a span; tf32 MN-major
 *                                 with 128 of 32-byte atoms
 *   mma, A in tensor memory       f16, tf32, e4m3; M 64 at both lanes, M 128, M 256 of a pair         9.7.16.10.4
 *   mma, types                    f16 bf16 tf32, e4m3 e5m2 e2m3 e3m2 e2m1, s8 u8; D f32 f16 s32       table of 9.7.16.4.2
 *   instruction descriptor        negate A, B, both; transpose A, B, both; saturate                   9.7.16.4.2
 *   enable-input-d, scale-input-d both; scale 0, 1, 15                                                9.7.16.10.9.1
 *   disable-output-lane           4 words, and 8 of a pair                                            9.7.16.10.9.1
 *   collector::a::...             fill use lastuse discard: accepted, no effect on the answer
 *   not here                      what the emulated device refuses by name: .ws, .sp, block scaling, .ashift, cp's conversions,
 *                                 ld.red; A in tensor memory with M 128 of a pair (the ISA has no words for it)
 *
 * Accesses that must be refused are tcgen_faults.cu's. */

#include "tests/emulated/tcgen_paths.h"

/* ------------------------------------------------------------------------------------------------ ld and st */

/* The figures: what each bit of the thread and of the register's number adds to row and column. */
struct shape {
    const char *name;
    unsigned registers, most; /* of x1; the largest multiplicity */
    unsigned thread_row[5], thread_column[5];
    unsigned register_row[2], register_column[2]; /* of the first bits; further ones go on with columns */
    unsigned bits, next;                          /* how many those are, and the columns of the bit behind them */
};
static const struct shape shapes[] = {
    {"32x32b", 1, 128, {1, 2, 4, 8, 16}, {0}, {0}, {0}, 0, 1},
    {"16x64b", 1, 128, {8, 0, 1, 2, 4}, {0, 1}, {0}, {0}, 0, 2},
    {"16x128b", 2, 64, {0, 0, 1, 2, 4}, {1, 2}, {8}, {0}, 1, 4},
    {"16x256b", 4, 32, {0, 0, 1, 2, 4}, {2, 4}, {0, 8}, {1, 0}, 2, 8},
    {"16x32bx2", 1, 128, {1, 2, 4, 8, 0}, {0}, {0}, {0}, 0, 1},
};
#define N_SHAPES (sizeof(shapes) / sizeof(*shapes))

struct move {
    const struct shape *shape;
    unsigned times, split, half;
    bool packs, store;
};
static void name_move(const struct move *m, char *to, size_t size)
{
    (void)snprintf(to, size, "%s_%s_x%u_%u%s%s", m->store ? "st" : "ld", m->shape->name, m->times, m->split,
                   m->packs ? "_16b" : "", m->half ? "_upper" : "");
}
/* packed, the column behind it too */
static void cell(const struct move *m, unsigned first_column, unsigned thread, unsigned reg, unsigned *row, unsigned *column)
{
    const struct shape *s = m->shape;
    *row = thread / 32 * 32 + 16 * m->half;
    *column = 0;
    for (unsigned i = 0; i < 5; i++) {
        *row += thread >> i & 1 ? s->thread_row[i] : 0;
        *column += thread >> i & 1 ? s->thread_column[i] : 0;
    }
    for (unsigned i = 0; i < s->bits; i++) {
        *row += reg >> i & 1 ? s->register_row[i] : 0;
        *column += reg >> i & 1 ? s->register_column[i] : 0;
    }
    *column += (reg >> s->bits) * s->next;
    *column = first_column + (m->packs ? 2 * *column : *column) + (thread >> 4 & 1 ? m->split : 0);
}
/* The column an instruction starts at, so that it ends where tensor memory does. */
static unsigned first_column(const struct move *m)
{
    unsigned row, column, most = 0;
    for (unsigned t = 0; t < 32; t++) {
        cell(m, 0, t, m->shape->registers * m->times - 1, &row, &column);
        most = column > most ? column : most;
    }
    return 512 - most - (m->packs ? 2 : 1);
}
static void emit_move(struct ks_str *t, const struct move *m)
{
    char name[64], split[16] = "";
    unsigned n = m->shape->registers * m->times;
    name_move(m, name, sizeof(name));
    begin_kernel(t, name, 1);
    ks_str_addf(t, "add.u32 %%r22, %%r16, %u;\n", first_column(m) + (m->half ? 16u << 16 : 0));
    for (unsigned r = 0; r < n && m->store; r++) /* thread and register in both halves */
        ks_str_addf(t, "mad.lo.u32 %%v%u, %%r1, 0x00800080, %u;\n", r, r << 16 | r);
    if (m->shape->next == 1 && m->shape->thread_row[4] == 0)
        (void)snprintf(split, sizeof(split), ", %u", m->split);
    ks_str_addf(t, "tcgen05.%s.sync.aligned.%s.x%u%s.b32 ", m->store ? "st" : "ld", m->shape->name, m->times,
                !m->packs  ? ""
                : m->store ? ".unpack::16b"
                           : ".pack::16b");
    if (m->store)
        ks_str_addf(t, "[%%r22]%s, ", split);
    for (unsigned r = 0; r < n; r++)
        ks_str_addf(t, "%s%%v%u", r ? ", " : "{", r);
    ks_str_addf(t, m->store ? "};\ntcgen05.wait::st.sync.aligned;\n" DUMP : "}, [%%r22]%s;\ntcgen05.wait::ld.sync.aligned;\n",
                split);
    for (unsigned r = 0; r < n && !m->store; r++)
        ks_str_addf(t, "st.global.u32 [%%rd13+%u], %%v%u;\n", 4 * r, r);
    ks_str_addf(t, END, 1u);
}

/* Calls visit for every legal combination. */
static void each_move(void (*visit)(const struct move *m, void *arg), void *arg)
{
    for (size_t s = 0; s < N_SHAPES; s++)
        for (unsigned times = 1; times <= shapes[s].most; times *= 2)
            for (unsigned how = 0; how < 16; how++) {
                bool split = shapes[s].next == 1 && shapes[s].thread_row[4] == 0, whole = s == 0;
                struct move m = {&shapes[s],   times,   split ? (how & 8 ? 2 * times + 3 : 2 * times) : 0,
                                 how >> 2 & 1, how & 1, how & 2};
                if ((whole && m.half) || (how & 8 && (!split || times == 128)))
                    continue;
                visit(&m, arg);
            }
}

/* Cells that say where they are, in the low half too. */
static void number_cells(void)
{
    for (unsigned i = 0; i < 2 * LANES * 512; i++)
        (&init[0][0][0])[i] = (0xa5a5u + i / (LANES * 512)) << 16 | i % (LANES * 512);
    memcpy(want, init, sizeof(want));
}
static void check_move(const struct move *m, void *arg)
{
    char name[64];
    unsigned n = m->shape->registers * m->times, row, column;
    (void)arg;
    number_cells();
    name_move(m, name, sizeof(name));
    for (unsigned t = 0; t < 128; t++)
        for (unsigned r = 0; r < n; r++) {
            uint32_t value = t * 0x00800080u + (r << 16 | r);
            cell(m, first_column(m), t, r, &row, &column);
            if (!m->store)
                want[0][t][r] =
                    m->packs ? (init[0][row][column] & 0xffff) | init[0][row][column + 1] << 16 : init[0][row][column];
            else if (!m->packs)
                want[0][row][column] = value;
            else
                want[0][row][column] = value & 0xffff, want[0][row][column + 1] = value >> 16;
        }
    enum ks_code code = run(name, 1, 512, 0, 0, 0, 0, 0, 0);
    compare(name, code, 1, m->store ? 512 : n);
}
static void emit_visitor(const struct move *m, void *arg)
{
    emit_move(arg, m);
}

int main(int argc, char **argv)
{
    struct ks_str ptx = KS_STR_INIT;
    ks_str_add(&ptx, HEAD);
    each_move(emit_visitor, &ptx);
    if (argc == 2) { /* the text, for ptxas */
        FILE *f = fopen(argv[1], "w");
        return !f || fputs(ks_str_cstr(&ptx), f) < 0 || fclose(f) != 0;
    }
    start_with(&ptx);
    each_move(check_move, NULL);
    return finish();
}
