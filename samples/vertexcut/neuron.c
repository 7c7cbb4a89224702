/*
 * neuron: 64 neurons with the ReLU function, each with weights of its own for the same 24 inputs.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define NEURONS 64
#define INPUTS 24
#define EXPECTED 331.15414

typedef struct {
    float weight[INPUTS], bias, value;
} Neuron;

static Neuron neuron[NEURONS];
static float input[INPUTS];

static uint32_t state = 1;

static float next_random(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / 16777216.0f - 0.5f;
}

static float relu(float v) { return v > 0 ? v : 0; }

static void fire(Neuron *n)
{
    float sum = n->bias;
    for (int j = 0; j < INPUTS; j++)
        sum += n->weight[j] * input[j];
    n->value = relu(sum);
}

int main(void)
{
    for (int j = 0; j < INPUTS; j++)
        input[j] = next_random();
    for (int i = 0; i < NEURONS; i++) {
        neuron[i].bias = next_random();
        for (int j = 0; j < INPUTS; j++)
            neuron[i].weight[j] = next_random();
    }
    for (int i = 0; i < NEURONS; i++)
        fire(&neuron[i]);
    double sum = 0;
    for (int i = 0; i < NEURONS; i++)
        sum += (i + 1) * (double)neuron[i].value;
    printf("neuron %.3e\n", sum);
    return fabs(sum - EXPECTED) > 1e-4 * fabs(EXPECTED);
}
