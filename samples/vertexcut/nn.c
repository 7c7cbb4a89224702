/*
 * nn: one input sent through a neural network with three hidden fully connected layers, ReLU between the layers.
 *
 * 32 inputs, three layers of 32 neurons, 10 outputs; weights and biases are random.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define WIDTH 32
#define HIDDEN 3
#define OUTPUTS 10
#define EXPECTED -9.6899681

static float weight[HIDDEN + 1][WIDTH][WIDTH], bias[HIDDEN + 1][WIDTH];

static uint32_t state = 1;

static float next_random(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / 16777216.0f - 0.5f;
}

/* Values of a layer of `count` neurons; `rectify` applies ReLU. */
static void layer(int number, int count, int rectify, const float *in, float *out)
{
    for (int i = 0; i < count; i++) {
        float sum = bias[number][i];
        for (int j = 0; j < WIDTH; j++)
            sum += weight[number][i][j] * in[j];
        out[i] = rectify && sum < 0 ? 0 : sum;
    }
}

int main(void)
{
    float a[WIDTH], b[WIDTH];
    for (int number = 0; number <= HIDDEN; number++)
        for (int i = 0; i < (number < HIDDEN ? WIDTH : OUTPUTS); i++) {
            bias[number][i] = next_random();
            for (int j = 0; j < WIDTH; j++)
                weight[number][i][j] = next_random();
        }
    for (int j = 0; j < WIDTH; j++)
        a[j] = next_random();
    layer(0, WIDTH, 1, a, b);
    layer(1, WIDTH, 1, b, a);
    layer(2, WIDTH, 1, a, b);
    layer(3, OUTPUTS, 0, b, a);
    double sum = 0;
    for (int i = 0; i < OUTPUTS; i++)
        sum += (i + 1) * (double)a[i];
    printf("nn %.3e\n", sum);
    return fabs(sum - EXPECTED) > 1e-4 * fabs(EXPECTED);
}
