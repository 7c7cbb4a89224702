/*
 * cnn: one image sent through a convolutional network: convolution, pooling, convolution, pooling, fully connected.
 *
 * Image 18 x 18; 4 filters of 3 x 3 (16 x 16 each), maximum of 2 x 2 (8 x 8); 8 filters of 4 x 3 x 3 (6 x 6), maximum
 * of 2 x 2 (3 x 3); 10 outputs. ReLU after each convolution; weights and image are random.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define IMAGE 18
#define FILTER 3
#define FIRST 4
#define SECOND 8
#define OUTPUTS 10
#define A (IMAGE - FILTER + 1)
#define B (A / 2)
#define C (B - FILTER + 1)
#define D (C / 2)
#define FLAT (SECOND * D * D)
#define EXPECTED -18.759340

static float image[IMAGE][IMAGE], filter1[FIRST][FILTER][FILTER], filter2[SECOND][FIRST][FILTER][FILTER];
static float map1[FIRST][A][A], pool1[FIRST][B][B], map2[SECOND][C][C], pool2[FLAT];
static float weight[OUTPUTS][FLAT], output[OUTPUTS];

static uint32_t state = 1;

static float next_random(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / 16777216.0f - 0.5f;
}

static void fill(float *values, int count)
{
    for (int i = 0; i < count; i++)
        values[i] = next_random();
}

static float largest(float a, float b) { return a > b ? a : b; }

static void convolve1(void)
{
    for (int f = 0; f < FIRST; f++)
        for (int r = 0; r < A; r++)
            for (int c = 0; c < A; c++) {
                float sum = 0;
                for (int i = 0; i < FILTER; i++)
                    for (int j = 0; j < FILTER; j++)
                        sum += filter1[f][i][j] * image[r + i][c + j];
                map1[f][r][c] = largest(sum, 0);
            }
}

static void convolve2(void)
{
    for (int f = 0; f < SECOND; f++)
        for (int r = 0; r < C; r++)
            for (int c = 0; c < C; c++) {
                float sum = 0;
                for (int g = 0; g < FIRST; g++)
                    for (int i = 0; i < FILTER; i++)
                        for (int j = 0; j < FILTER; j++)
                            sum += filter2[f][g][i][j] * pool1[g][r + i][c + j];
                map2[f][r][c] = largest(sum, 0);
            }
}

/* Maximum of each square of 2 x 2, in `planes` planes of `side` x `side`. */
static void pool(const float *in, float *out, int planes, int side)
{
    for (int p = 0; p < planes; p++)
        for (int r = 0; r < side; r += 2)
            for (int c = 0; c < side; c += 2) {
                const float *corner = in + (p * side + r) * side + c;
                *out++ = largest(largest(corner[0], corner[1]), largest(corner[side], corner[side + 1]));
            }
}

int main(void)
{
    fill(&image[0][0], IMAGE * IMAGE);
    fill(&filter1[0][0][0], FIRST * FILTER * FILTER);
    fill(&filter2[0][0][0][0], SECOND * FIRST * FILTER * FILTER);
    fill(&weight[0][0], OUTPUTS * FLAT);
    convolve1();
    pool(&map1[0][0][0], &pool1[0][0][0], FIRST, A);
    convolve2();
    pool(&map2[0][0][0], pool2, SECOND, C);
    double sum = 0;
    for (int i = 0; i < OUTPUTS; i++) {
        for (int j = 0; j < FLAT; j++)
            output[i] += weight[i][j] * pool2[j];
        sum += (i + 1) * (double)output[i];
    }
    printf("cnn %.3e\n", sum);
    return fabs(sum - EXPECTED) > 1e-4 * fabs(EXPECTED);
}
