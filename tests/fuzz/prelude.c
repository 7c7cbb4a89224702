/* Not inlined: else each of some hundred calls would bring a loop into the program, and a kernel could be there twice. */
#define APART __attribute__((noinline))

#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An array, or one field of an array of records. */
struct part {
    void *base;
    size_t stride;
    int count;
    char type; /* d double, f float, i int, l long, u unsigned, s short, c unsigned char */
};

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
unsigned long long next_random(unsigned long long *state)
{
    unsigned long long r = *state += 0x9e3779b97f4a7c15u;
    r = (r ^ (r >> 30)) * 0xbf58476d1ce4e5b9u;
    r = (r ^ (r >> 27)) * 0x94d049bb133111ebu;
    return r ^ (r >> 31);
}

APART void *allocate(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (p == NULL)
        exit(1);
    return p;
}

size_t size_of(char type)
{
    switch (type) {
    case 'd': return sizeof(double);
    case 'f': return sizeof(float);
    case 'l': return sizeof(long);
    case 's': return sizeof(short);
    case 'c': return sizeof(unsigned char);
    default: return sizeof(int);
    }
}

int is_real(const struct part *p) { return p->type == 'd' || p->type == 'f'; }

void *element(const struct part *p, int e) { return (char *)p->base + (size_t)e * p->stride; }

double real_of(const struct part *p, int e)
{
    double d;
    float f;
    if (p->type == 'd') {
        memcpy(&d, element(p, e), sizeof d);
        return d;
    }
    memcpy(&f, element(p, e), sizeof f);
    return (double)f;
}

void put_whole(const struct part *p, int e, long value)
{
    unsigned u = (unsigned)value; /* also the bits of an int */
    unsigned short s = (unsigned short)value;
    unsigned char c = (unsigned char)value;
    const void *from = &u;
    if (p->type == 'l')
        from = &value;
    else if (p->type == 's')
        from = &s;
    else if (p->type == 'c')
        from = &c;
    memcpy(element(p, e), from, size_of(p->type));
}

void put_real(const struct part *p, int e, double value)
{
    float f = (float)value;
    memcpy(element(p, e), p->type == 'd' ? (const void *)&value : (const void *)&f, size_of(p->type));
}

/* What the arrays are filled with, indices aside: other sets of numbers, over twice the range; of every second set, few
   different ones, so that some are equal. */
static unsigned long long data_set;
static int coarse;

void other_data(int number)
{
    data_set = 0x9e3779b97f4a7c15u * (unsigned)number;
    coarse = number % 2 == 0;
}

APART void fill(const struct part *p, unsigned long long state, double least, double greatest)
{
    double wider = data_set != 0 && least < 0 ? 2 : 1;
    state ^= data_set;
    least *= wider;
    greatest *= wider;
    for (int e = 0; e < p->count; e++) {
        double u = (double)(next_random(&state) >> 11) * 0x1p-53;
        u = coarse ? floor(5 * u) / 5 : u;
        if (is_real(p))
            put_real(p, e, 0.999 * (least + (greatest - least) * u)); /* not on a grid: sums are rounded */
        else
            put_whole(p, e, (long)floor(least + (greatest - least + 1) * u));
    }
}

APART void set(const struct part *p, const int *values)
{
    for (int e = 0; e < p->count; e++)
        if (is_real(p))
            put_real(p, e, values[e]);
        else
            put_whole(p, e, values[e]);
}

/* One line: for each array of real numbers its mean, its mean weighted by place, its greatest absolute value, and
   three of its elements; then a hash of all integers. */
void show(int number, const struct part *parts, size_t count)
{
    unsigned long long hash = 0;
    printf("kernel_%d", number);
    for (const struct part *p = parts; p < parts + count; p++) {
        double mean = 0, weighted = 0, most = 0;
        for (int e = 0; e < p->count; e++) {
            if (is_real(p)) {
                double x = real_of(p, e);
                mean += x / p->count;
                weighted += x / p->count * (1 + 37 * e % 101) / 101;
                most = fabs(x) > most ? fabs(x) : most;
            } else {
                unsigned long long bits = 0;
                memcpy(&bits, element(p, e), size_of(p->type));
                bits ^= hash;
                hash = next_random(&bits);
            }
        }
        if (is_real(p))
            printf(" %c=%.17g,%.17g,%.17g,%.17g,%.17g,%.17g", p->type, mean, weighted, most, real_of(p, 0),
                   real_of(p, p->count / 2), real_of(p, p->count - 1));
    }
    printf(" whole=%016llx\n", hash);
}
