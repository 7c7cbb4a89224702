/* Cells with four neighbours, in tiles of eight: each loop runs over tiles, each table and field by planes (all first
   neighbours, all second ones, …), and the last step is kept by a copy of all fields at once.
   usage: cells_tiled side steps natural */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

static const int TILE = 8, NEAR = 4, FIELDS = 3, STAGES = 3;

template <typename Cell> static void in_tiles(int cells, Cell cell)
{
    for (int tile = 0; tile < cells / TILE; ++tile) {
        const int begin = tile * TILE, end = std::min((tile + 1) * TILE, cells);
        for (int i = begin; i < end; ++i)
            cell(i);
    }
}

static void flux(int cells, const int *near, const float *side, const float *u, float *f)
{
    in_tiles(cells, [=](int i) {
        const float h = u[i], p = u[i + cells], q = u[i + 2 * cells];
        float fh = 0, fp = 0, fq = 0;
        for (int k = 0; k < NEAR; k++) {
            const int j = near[i + k * cells];
            const float w = side[i + k * cells];
            if (j >= 0) {
                fh += w * (u[j] - h);
                fp += w * (u[j + cells] - p) + 0.1f * w * (u[j] + h);
                fq += w * (u[j + 2 * cells] - q);
            } else if (j == -1) {
                fp += w * h;
            }
        }
        f[i] = fh;
        f[i + cells] = fp;
        f[i + 2 * cells] = fq;
    });
}

static void advance(int cells, float factor, const float *old, const float *area, const float *f, float *u)
{
    in_tiles(cells, [=](int i) {
        const float by = factor / area[i];
        for (int k = 0; k < FIELDS; k++)
            u[i + k * cells] = old[i + k * cells] + by * f[i + k * cells];
    });
}

int main(int argc, char **argv)
{
    const int side = (argc > 1 ? atoi(argv[1]) : 32) / TILE * TILE, steps = argc > 2 ? atoi(argv[2]) : 6;
    const int cells = side * side;
    std::vector<int> number(cells);
    std::iota(number.begin(), number.end(), 0);
    uint64_t seed = 12345;
    for (int i = cells - 1; i > 0 && !(argc > 3 && atoi(argv[3])); i--) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        std::swap(number[i], number[(seed >> 33) % (unsigned)(i + 1)]);
    }
    int *near = new int[NEAR * (size_t)cells];
    float *width = new float[NEAR * (size_t)cells], *area = new float[cells];
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++)
            for (int k = 0; k < NEAR; k++) {
                const int v = x + (k == 0) - (k == 1), w = y + (k == 2) - (k == 3), i = number[y * side + x];
                near[i + k * cells] = v < 0 || w < 0 || v >= side || w >= side ? -1 : number[w * side + v];
                width[i + k * cells] = 0.2f + 0.01f * (float)((x + y + k) % 5);
                area[i] = 4.0f + (float)((x ^ y) % 3);
            }
    float *u = new float[FIELDS * (size_t)cells], *old = new float[FIELDS * (size_t)cells];
    float *f = new float[FIELDS * (size_t)cells];
    for (int i = 0; i < cells; i++)
        for (int k = 0; k < FIELDS; k++)
            u[number[i] + k * cells] = (float)(i % (7 + k)) * 0.1f;
    for (int t = 0; t < steps; t++) {
        memcpy(old, u, FIELDS * (size_t)cells * sizeof *u);
        for (int s = 0; s < STAGES; s++) {
            flux(cells, near, width, u, f);
            advance(cells, 1.0f / (float)(STAGES - s), old, area, f, u);
        }
    }
    double sum = 0;
    for (int i = 0; i < cells; i++)
        sum += u[i] + 2 * u[i + cells] + 3 * u[i + 2 * cells];
    printf("%.6e %.6e %.6e\n", sum, u[number[0]], u[number[cells / 2] + cells]);
    return 0;
}
