// A solver that knows its function by virtual methods alone, and a function that knows its data by pointers: what is
// called multiplies by a sparse matrix and by its transpose, whose rows of nodes end by an index of -1.
// usage: trust_region side steps natural
#include <cstdio>
#include <cstdlib>

#include "edges.h"

namespace {
struct Node {
    double value;
    int index; // counted from 1
};

struct Problem {
    int count;
    Node **row;
};

struct Function {
    virtual int size() const = 0;
    virtual void times(const double *s, double *hs) const = 0;
    virtual ~Function() {}
};

double dot(const Node *x, const double *s)
{
    double sum = 0;
    while (x->index != -1) {
        sum += x->value * s[x->index - 1];
        x++;
    }
    return sum;
}

void add(double a, const Node *x, double *y)
{
    while (x->index != -1) {
        y[x->index - 1] += a * x->value;
        x++;
    }
}

struct Losses : Function {
    Losses(const Problem *problem, double *cost) : problem(problem), cost(cost) {}
    int size() const override { return problem->count; }
    void times(const double *s, double *hs) const override
    {
        int n = size(), rows = problem->count;
        Node **x = problem->row;
        for (int i = 0; i < n; i++)
            hs[i] = 0;
        for (int i = 0; i < rows; i++) {
            const Node *own = x[i];
            add(cost[i] * dot(own, s), own, hs);
        }
        for (int i = 0; i < n; i++)
            hs[i] = s[i] + hs[i];
    }

    const Problem *problem;
    double *cost;
};

struct Identity : Function {
    explicit Identity(int n) : n(n) {}
    int size() const override { return n; }
    void times(const double *s, double *hs) const override
    {
        for (int i = 0; i < n; i++)
            hs[i] = s[i];
    }

    int n;
};

struct Solver {
    explicit Solver(const Function *function) : function(function) {}
    __attribute__((noinline)) void run(const double *g, double *s, int steps) // in a file of its own, most often
    {
        int n = function->size();
        double *r = new double[n], *d = new double[n], *hd = new double[n], rr = 0;
        for (int i = 0; i < n; i++)
            r[i] = d[i] = g[i], rr += r[i] * r[i], s[i] = 0;
        for (int t = 0; t < steps && rr > 1e-200; t++) {
            function->times(d, hd);
            double dhd = 0, next = 0;
            for (int i = 0; i < n; i++)
                dhd += d[i] * hd[i];
            double alpha = rr / dhd;
            for (int i = 0; i < n; i++)
                s[i] += alpha * d[i], r[i] -= alpha * hd[i];
            for (int i = 0; i < n; i++)
                next += r[i] * r[i];
            for (int i = 0; i < n; i++)
                d[i] = r[i] + next / rr * d[i];
            rr = next;
        }
        delete[] r, delete[] d, delete[] hd;
    }

    const Function *function;
};
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, n = side * side;
    std::vector<Edge> edges = make_edges(side, argc > 3 && atoi(argv[3]));
    std::vector<int> length(n);
    for (const Edge &e : edges)
        length[e.a]++, length[e.b]++;
    Problem problem{n, new Node *[n]};
    for (int i = 0; i < n; i++)
        problem.row[i] = new Node[length[i] + 1], length[i] = 0;
    for (const Edge &e : edges) {
        problem.row[e.a][length[e.a]++] = Node{0.2 + e.weight, e.b + 1};
        problem.row[e.b][length[e.b]++] = Node{0.2 + e.weight, e.a + 1};
    }
    for (int i = 0; i < n; i++)
        problem.row[i][length[i]] = Node{0, -1};
    double *cost = new double[n], *g = new double[n], *s = new double[n];
    for (int i = 0; i < n; i++)
        cost[i] = 0.01 * (1 + i % 3), g[i] = 0.1 * (i % 11 - 5);
    const Function *function = nullptr;
    if (argc > 4)
        function = new Identity(n);
    else
        function = new Losses(&problem, cost);
    Solver solver(function);
    solver.run(g, s, steps);
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += s[i] * (i % 17);
    printf("%.9g\n", sum);
    return 0;
}
