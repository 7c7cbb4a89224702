/*
 * fft: discrete Fourier transform of a complex vector of 1024 random numbers, recursive, radix two, with a table of the
 * roots of unity.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define SIZE 1024
#define EXPECTED 524.479164101

typedef struct {
    double re, im;
} Complex;

static Complex signal[SIZE], spectrum[SIZE], scratch[SIZE], root[SIZE / 2];

static uint32_t state = 1;

static double next_random(void)
{
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / 16777216.0 - 0.5;
}

/* Transforms n numbers, `stride` apart, to `out`; `work` has room for as many. */
static void transform(const Complex *in, Complex *out, Complex *work, int n, int stride)
{
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    int half = n / 2;
    transform(in, work, out, half, 2 * stride);
    transform(in + stride, work + half, out + half, half, 2 * stride);
    for (int k = 0; k < half; k++) {
        Complex even = work[k], odd = work[half + k], w = root[k * stride];
        double re = w.re * odd.re - w.im * odd.im, im = w.re * odd.im + w.im * odd.re;
        out[k].re = even.re + re;
        out[k].im = even.im + im;
        out[half + k].re = even.re - re;
        out[half + k].im = even.im - im;
    }
}

int main(void)
{
    double before = 0, after = 0, weighted = 0;
    for (int i = 0; i < SIZE / 2; i++) {
        double angle = -2.0 * 3.14159265358979323846 * i / SIZE;
        root[i].re = cos(angle);
        root[i].im = sin(angle);
    }
    for (int i = 0; i < SIZE; i++) {
        signal[i].re = next_random();
        signal[i].im = next_random();
        before += signal[i].re * signal[i].re + signal[i].im * signal[i].im;
    }
    transform(signal, spectrum, scratch, SIZE, 1);
    for (int i = 0; i < SIZE; i++) {
        double power = spectrum[i].re * spectrum[i].re + spectrum[i].im * spectrum[i].im;
        after += power;
        weighted += power * i;
    }
    double sum = weighted / after;
    printf("fft %.9e\n", sum);
    return fabs(after / SIZE - before) > 1e-9 * before || fabs(sum - EXPECTED) > 1e-9 * EXPECTED;
}
