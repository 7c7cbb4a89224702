// A matrix and vectors on the caller's stack, handed on by reference to a solver that takes the time of its parts.
// usage: jacobi_references side steps natural
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "edges.h"

struct Matrix {
    int rows = 0;
    std::vector<int> start, column;
    std::vector<double> value;
};

struct Vector {
    int first = 0;
    std::vector<double> data;
};

static double now()
{
    timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return double(at.tv_sec) + 1e-9 * double(at.tv_nsec);
}

static void multiply(const Matrix &a, const Vector &x, Vector &y)
{
    int n = int(a.start.size()) - 1;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int k = a.start[i]; k < a.start[i + 1]; k++)
            sum += a.value[k] * x.data[a.column[k]];
        y.data[i] = sum;
    }
}

__attribute__((noinline)) static int solve(const Matrix &a, const Vector &b, Vector &x, int steps, double &took)
{
    Vector y;
    y.data.resize(x.data.size());
    int t = 0;
    for (; t < steps; t++) {
        double begin = now(), most = 0;
        multiply(a, x, y);
        took += now() - begin;
        for (std::size_t i = 0; i < x.data.size(); i++) {
            double change = 0.01 * (b.data[i] - y.data[i]);
            x.data[i] += change;
            most = std::fmax(most, std::fabs(change));
        }
        if (most < 1e-12)
            break;
    }
    return t;
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, n = side * side;
    Matrix a;
    Vector b, x;
    a.rows = n;
    a.start.assign(n + 1, 0);
    auto edges = make_edges(side, argc > 3 && atoi(argv[3]));
    for (const Edge &e : edges) {
        a.start[e.a + 1]++;
        a.start[e.b + 1]++;
    }
    for (int i = 0; i < n; i++)
        a.start[i + 1] += a.start[i] + 1;
    a.column.resize(a.start[n]);
    a.value.resize(a.start[n]);
    std::vector<int> at(a.start.begin(), a.start.end() - 1);
    for (int i = 0; i < n; i++) {
        a.column[at[i]] = i;
        a.value[at[i]++] = 7;
    }
    for (const Edge &e : edges) {
        a.column[at[e.a]] = e.b;
        a.value[at[e.a]++] = -e.weight;
        a.column[at[e.b]] = e.a;
        a.value[at[e.b]++] = -e.weight;
    }
    b.data.resize(n);
    x.data.assign(n, 0.0);
    for (int i = 0; i < n; i++)
        b.data[i] = 1 + i % 5;
    double took = 0, sum = 0;
    int done = solve(a, b, x, steps, took);
    for (double value : x.data)
        sum += value;
    printf("%d %.9e %d\n", done, sum, took >= 0);
    return 0;
}
