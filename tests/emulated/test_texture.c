/* Textures and surfaces of texture_kernels.cu against values worked out here. */

#include "harness/emulated/texture.h"
#include "tests/emulated/emu_test.h"

#include <math.h>

#define W 7
#define H 5

static float texel2[H][W];

static uint64_t make(const struct ks_emu_texture *t)
{
    uint64_t h = 0;
    if (ks_emu_texture_new(dev, t, &h, &err) != KS_OK) {
        printf("cannot make a texture: %s\n", err.message);
        exit(2);
    }
    return h;
}

static void expect(const char *name, enum ks_code code, const float *got, const float *want, int n, float tol)
{
    verdict(code == KS_OK, name, "%s", err.message);
    for (int i = 0; i < n; i++) {
        if (fabsf(got[i] - want[i]) <= tol)
            continue;
        verdict(false, name, "element %d is %g, expected %g", i, (double)got[i], (double)want[i]);
        return;
    }
    verdict(true, name, "ok");
}

/* Bilinear sample by the formula of the Programming Guide, fractions in 1/256. */
static float at2(int x, int y)
{
    x = x < 0 ? 0 : x >= W ? W - 1 : x;
    y = y < 0 ? 0 : y >= H ? H - 1 : y;
    return texel2[y][x];
}
static float bilinear(float x, float y)
{
    float xb = rintf((x - 0.5f) * 256) / 256, yb = rintf((y - 0.5f) * 256) / 256, a = xb - floorf(xb), b = yb - floorf(yb);
    int i = (int)floorf(xb), j = (int)floorf(yb);
    return (1 - a) * (1 - b) * at2(i, j) + a * (1 - b) * at2(i + 1, j) + (1 - a) * b * at2(i, j + 1) + a * b * at2(i + 1, j + 1);
}

static struct ks_emu_texture plane(void *base, uint32_t w, uint32_t h, uint8_t channels, uint8_t bits, uint8_t kind)
{
    size_t pitch = (size_t)w * channels * bits / 8;
    return (struct ks_emu_texture){.level = {{.base = base,
                                              .width = w,
                                              .height = h,
                                              .depth = 1,
                                              .layers = 1,
                                              .pitch_bytes = pitch,
                                              .slice_bytes = pitch * h,
                                              .channels = channels,
                                              .channel_bits = bits,
                                              .kind = kind}},
                                   .n_levels = 1,
                                   .address = {1, 1, 1},
                                   .lod_max = 100};
}

static void test_1d(void)
{
    float rows[6][4], want[10][4] = {{0}}, got[10][4];
    for (int i = 0; i < 24; i++)
        rows[i / 4][i % 4] = (float)i;
    memcpy(want[2], rows, sizeof(rows));
    void *mem = upload(rows, sizeof(rows), "texels"), *out = upload(NULL, sizeof(got), "out");
    struct ks_emu_texture t = plane(mem, 6, 1, 4, 32, KS_EMU_TEXEL_FLOAT);
    t.linear_memory = true;
    uint64_t h = make(&t);
    int n = 10;
    enum ks_code code = launch("tex1d_fetch", 1, 32, 0, &h, &out, &n);
    download(got, out, sizeof(got));
    expect("fetch of linear memory, zero past its ends", code, got[0], want[0], 40, 0);

    float line[4] = {10, 20, 40, 80}, wrapped[8], mirrored[8], bordered[8], x0 = -0.5f + 0.125f, step = 0.25f;
    void *m4 = upload(line, sizeof(line), "line");
    static const int wrap_i[8] = {2, 3, 0, 1, 2, 3, 0, 1}, mirror_i[8] = {1, 0, 0, 1, 2, 3, 3, 2};
    for (int i = 0; i < 8; i++) {
        wrapped[i] = line[wrap_i[i]];
        mirrored[i] = line[mirror_i[i]];
        bordered[i] = i < 2 || i > 5 ? 5.0f : line[i - 2];
    }
    t = plane(m4, 4, 1, 1, 32, KS_EMU_TEXEL_FLOAT);
    t.normalized_coords = true;
    t.border[0] = 5;
    const float *each[3] = {wrapped, mirrored, bordered};
    static const uint8_t mode[3] = {KS_EMU_ADDRESS_WRAP, KS_EMU_ADDRESS_MIRROR, KS_EMU_ADDRESS_BORDER};
    n = 8;
    for (int k = 0; k < 3; k++) {
        t.address[0] = mode[k];
        h = make(&t);
        code = launch("tex1d", 1, 32, 0, &h, &out, &x0, &step, &n);
        download(got, out, 32);
        expect(k == 0 ? "wrap" : k == 1 ? "mirror" : "border", code, got[0], each[k], 8, 0);
    }
}

static void test_2d(void)
{
    for (int i = 0; i < W * H; i++)
        texel2[i / W][i % W] = (float)(i * 37 % 19) - 4;
    void *mem = upload(texel2, sizeof(texel2), "plane"), *out = upload(NULL, 4096, "out");
    struct ks_emu_texture t = plane(mem, W, H, 1, 32, KS_EMU_TEXEL_FLOAT);
    float want[16 * 12], got[16 * 12], x0 = -0.7f, y0 = -0.3f, step = 0.53f;
    int n = 16;
    t.linear = true;
    uint64_t h = make(&t);
    for (int j = 0; j < 12; j++)
        for (int i = 0; i < 16; i++)
            want[j * 16 + i] = bilinear(x0 + step * (float)i, y0 + step * (float)j);
    enum ks_code code = launch("tex2d", 12, 32, 0, &h, &out, &x0, &y0, &step, &n);
    download(got, out, sizeof(got));
    expect("bilinear, clamped", code, got, want, 192, 0.1f); /* a fraction on the edge of 1/512 may round either way */
    int exact = 0;
    for (int i = 0; i < 192; i++)
        exact += fabsf(got[i] - want[i]) < 1e-5f;
    verdict(exact > 180, "bilinear to the last bit", "%d of 192", exact);
    t.linear = false;
    t.normalized_coords = true;
    h = make(&t);
    x0 = 0.5f / W;
    y0 = 0.5f / H;
    step = 0;
    code = launch("tex2d", 1, 32, 0, &h, &out, &x0, &y0, &step, &n);
    download(got, out, 4);
    expect("normalised", code, got, &texel2[0][0], 1, 0);
    float x = 3, y = 2, four[4] = {texel2[2][2], texel2[2][3], texel2[1][3], texel2[1][2]};
    t.normalized_coords = false;
    h = make(&t);
    code = launch("tex2d_gather", 1, 1, 0, &h, &out, &x, &y);
    download(got, out, 16);
    expect("gather", code, got, four, 4, 0);

    unsigned char bytes[2][3][4], back[2][3][4];
    for (int i = 0; i < 24; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)(i * 11);
    void *m8 = upload(bytes, sizeof(bytes), "bytes");
    t = plane(m8, 3, 2, 4, 8, KS_EMU_TEXEL_UINT);
    h = make(&t);
    n = 3;
    code = launch("tex2d_u8x4", 2, 32, 0, &h, &out, &n);
    download(back, out, sizeof(back));
    verdict(code == KS_OK && memcmp(back, bytes, sizeof(bytes)) == 0, "uchar4", "%s", err.message);
    t = plane(m8, 12, 2, 1, 8, KS_EMU_TEXEL_UINT);
    t.normalized_float = t.linear = true;
    h = make(&t);
    x0 = 1.0f;
    y0 = 0.5f;
    step = 0;
    n = 1;
    float mid = 5.5f / 255;
    code = launch("tex2d", 1, 32, 0, &h, &out, &x0, &y0, &step, &n);
    download(got, out, 4);
    expect("bytes as fractions, filtered", code, got, &mid, 1, 1e-7f);
    uint64_t none = 0;
    t.normalized_float = false;
    verdict(ks_emu_texture_new(dev, &t, &none, &err) == KS_ERR_UNSUPPORTED, "filtered integers", "made");
}

static void test_volumes(void)
{
    float cells[3][4][5], got[6], want, x = 2.5f, y = 1.5f, z = 1.0f;
    for (int i = 0; i < 60; i++)
        ((float *)cells)[i] = (float)(i * i % 23);
    void *mem = upload(cells, sizeof(cells), "volume"), *out = upload(NULL, 256, "out");
    struct ks_emu_texture t = plane(mem, 5, 4, 1, 32, KS_EMU_TEXEL_FLOAT);
    t.level[0].depth = 3;
    t.linear = true;
    uint64_t h = make(&t);
    enum ks_code code = launch("tex3d", 1, 1, 0, &h, &out, &x, &y, &z);
    download(got, out, 4);
    want = (cells[0][1][2] + cells[1][1][2]) / 2;
    expect("3D", code, got, &want, 1, 1e-6f);
    t.linear = false;
    t.level[0].depth = 1;
    t.level[0].layers = 3;
    h = make(&t);
    int layer = 2;
    code = launch("tex_layered", 1, 1, 0, &h, &out, &x, &y, &layer);
    download(got, out, 4);
    expect("layers", code, got, &cells[2][1][2], 1, 0);

    float faces[6][2][2], six[6];
    for (int i = 0; i < 24; i++)
        ((float *)faces)[i] = (float)i;
    /* the guide's table: (s, t) of +x is (-z, -y), and so on; 2 x 2 texels a face */
    static const int row[6] = {0, 0, 1, 0, 0, 0}, col[6] = {0, 1, 1, 1, 1, 0};
    for (int i = 0; i < 6; i++)
        six[i] = faces[i][row[i]][col[i]];
    void *mf = upload(faces, sizeof(faces), "faces");
    t = plane(mf, 2, 2, 1, 32, KS_EMU_TEXEL_FLOAT);
    t.level[0].layers = 6;
    t.normalized_coords = true;
    h = make(&t);
    code = launch("tex_cube", 1, 6, 0, &h, &out);
    download(got, out, 24);
    expect("cube map", code, got, six, 6, 0);

    float big[4][4], small[2][2] = {{100, 200}, {300, 400}};
    for (int i = 0; i < 16; i++)
        ((float *)big)[i] = (float)i;
    void *mb = upload(big, sizeof(big), "level 0"), *ms = upload(small, sizeof(small), "level 1");
    t = plane(mb, 4, 4, 1, 32, KS_EMU_TEXEL_FLOAT);
    struct ks_emu_texture s = plane(ms, 2, 2, 1, 32, KS_EMU_TEXEL_FLOAT);
    t.level[1] = s.level[0];
    t.n_levels = 2;
    t.normalized_coords = t.mip_linear = true;
    h = make(&t);
    float u = 0.1f, v = 0.9f, lod = 0.5f;
    want = (big[3][0] + small[1][0]) / 2;
    code = launch("tex_lod", 1, 1, 0, &h, &out, &u, &v, &lod);
    download(got, out, 4);
    expect("between mipmap levels", code, got, &want, 1, 1e-6f);
    float g = 0.5f; /* two texels of level 0: level 1 */
    code = launch("tex_grad", 1, 1, 0, &h, &out, &u, &v, &g);
    download(got, out, 4);
    expect("level from gradients", code, got, &small[1][0], 1, 0);

    float a[16], b[16], mixed[32], gm[32];
    for (int i = 0; i < 32; i++) {
        (i & 1 ? a : b)[i / 2] = (float)i;
        mixed[i] = (float)i;
    }
    void *ma = upload(a, sizeof(a), "a"), *m2 = upload(b, sizeof(b), "b");
    struct ks_emu_texture ta = plane(ma, 16, 1, 1, 32, KS_EMU_TEXEL_FLOAT), tb = plane(m2, 16, 1, 1, 32, KS_EMU_TEXEL_FLOAT);
    uint64_t ha = make(&ta), hb = make(&tb);
    code = launch("tex_two", 1, 32, 0, &ha, &hb, &out);
    download(gm, out, sizeof(gm));
    expect("lanes with different textures", code, gm, mixed, 32, 0);
    verdict(ks_emu_texture_free(dev, ha, &err) == KS_OK, "free", "%s", err.message);
    code = launch("tex_two", 1, 32, 0, &ha, &hb, &out);
    verdict(code == KS_ERR_DEVICE && strstr(err.message, "no texture"), "a destroyed texture", "%s", err.message);
}

static void test_surfaces(void)
{
    unsigned char in[3][5][4], back[3][5][4];
    for (int i = 0; i < 60; i++)
        ((unsigned char *)in)[i] = (unsigned char)(i * 7);
    void *mi = upload(in, sizeof(in), "in"), *mo = upload(in, sizeof(in), "out");
    struct ks_emu_texture ti = plane(mi, 5, 3, 4, 8, KS_EMU_TEXEL_UINT), to = plane(mo, 5, 3, 4, 8, KS_EMU_TEXEL_UINT);
    uint64_t si = 0, so = 0;
    verdict(ks_emu_surface_new(dev, &ti.level[0], &si, &err) == KS_OK &&
                ks_emu_surface_new(dev, &to.level[0], &so, &err) == KS_OK,
            "surfaces", "%s", err.message);
    int w = 5, h = 3;
    enum ks_code code = launch("surf2d", 3, 32, 0, &si, &so, &w, &h);
    download(back, mo, sizeof(back));
    bool ok = code == KS_OK;
    for (int i = 0; i < 60; i++)
        ok &= ((unsigned char *)back)[i] == ((unsigned char *)in)[i / 4 * 4 + 3 - i % 4];
    verdict(ok, "surface read and write", "%s", err.message);
    unsigned edge[2], first;
    void *out = upload(NULL, 8, "edges");
    code = launch("surf_edges", 1, 1, 0, &si, &out);
    download(edge, out, 8);
    memcpy(&first, in, 4);
    verdict(code == KS_OK && edge[0] == first && edge[1] == 0, "past the edge", "%s: %u %u", err.message, edge[0], edge[1]);
    verdict(launch("surf_trap", 1, 1, 0, &si) == KS_ERR_DEVICE, "trap past the edge", "went through");
    float cells[2][3][4];
    bool good = true;
    void *mv = upload(cells, sizeof(cells), "volume");
    struct ks_emu_texture tv = plane(mv, 4, 3, 1, 32, KS_EMU_TEXEL_FLOAT);
    tv.level[0].depth = 2;
    verdict(ks_emu_surface_new(dev, &tv.level[0], &si, &err) == KS_OK, "surface of a volume", "%s", err.message);
    struct ks_emu_launch l = {.name = "surf3d", .grid = {1, 1, 1}, .block = {4, 3, 2}, .args = (void *[]){&si}};
    code = ks_emu_launch_run(dev, mod, &l, &err);
    download(cells, mv, sizeof(cells));
    for (int i = 0; i < 24; i++)
        good &= ((float *)cells)[i] == (float)(i % 4 + 10 * (i / 4 % 3) + 100 * (i / 12));
    verdict(code == KS_OK && good, "volume written", "%s", err.message);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        printf("usage: %s texture_kernels.ptx\n", argv[0]);
        return 2;
    }
    struct ks_emu_config c = {.arch = "sm_90a", .checks = KS_EMU_CHECK_ALL, .counters = true};
    start_device(&c, argv[1]);
    test_1d();
    test_2d();
    test_volumes();
    test_surfaces();
    return finish();
}
