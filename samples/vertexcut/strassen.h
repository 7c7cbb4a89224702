/*
 * Strassen's multiplication of two matrices of SIZE x SIZE random digits, seven products of halves, down to single
 * numbers. The including file defines SIZE, a power of two, and NAME and EXPECTED of what is printed.
 */
#include <stdint.h>
#include <stdio.h>

#define HALF (SIZE / 2)

static int a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];

static uint32_t state = 1;

static int next_digit(void)
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 8) % 10u);
}

/* out = x + sign y for n x n numbers; x and y are parts of matrices with rows of `row` numbers, out is dense. */
static void combine(int n, int row, const int *x, int sign, const int *y, int *out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            out[i * n + j] = x[i * row + j] + sign * y[i * row + j];
}

/* out = x y, all n x n, with rows of `rx`, `ry` and `row` numbers. */
static void multiply(int n, int rx, const int *x, int ry, const int *y, int row, int *out)
{
    if (n == 1) {
        out[0] = x[0] * y[0];
        return;
    }
    int h = n / 2;
    const int *x11 = x, *x12 = x + h, *x21 = x + h * rx, *x22 = x21 + h;
    const int *y11 = y, *y12 = y + h, *y21 = y + h * ry, *y22 = y21 + h;
    int s[HALF * HALF], t[HALF * HALF], p[7][HALF * HALF];
    combine(h, rx, x11, 1, x22, s);
    combine(h, ry, y11, 1, y22, t);
    multiply(h, h, s, h, t, h, p[0]);
    combine(h, rx, x21, 1, x22, s);
    multiply(h, h, s, ry, y11, h, p[1]);
    combine(h, ry, y12, -1, y22, t);
    multiply(h, rx, x11, h, t, h, p[2]);
    combine(h, ry, y21, -1, y11, t);
    multiply(h, rx, x22, h, t, h, p[3]);
    combine(h, rx, x11, 1, x12, s);
    multiply(h, h, s, ry, y22, h, p[4]);
    combine(h, rx, x21, -1, x11, s);
    combine(h, ry, y11, 1, y12, t);
    multiply(h, h, s, h, t, h, p[5]);
    combine(h, rx, x12, -1, x22, s);
    combine(h, ry, y21, 1, y22, t);
    multiply(h, h, s, h, t, h, p[6]);
    for (int i = 0; i < h; i++)
        for (int j = 0; j < h; j++) {
            int k = i * h + j;
            out[i * row + j] = p[0][k] + p[3][k] - p[4][k] + p[6][k];
            out[i * row + h + j] = p[2][k] + p[4][k];
            out[(h + i) * row + j] = p[1][k] + p[3][k];
            out[(h + i) * row + h + j] = p[0][k] - p[1][k] + p[2][k] + p[5][k];
        }
}

int main(void)
{
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = next_digit();
        b[i] = next_digit();
    }
    multiply(SIZE, SIZE, a, SIZE, b, SIZE, c);
    long sum = 0;
    for (int i = 0; i < SIZE * SIZE; i++)
        sum += (long)(i + 1) * c[i];
    printf("%s %ld\n", NAME, sum);
    return sum != EXPECTED;
}
