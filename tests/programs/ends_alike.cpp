// How alike the ends of each link are: its own row of links against that of its other end. All are linked to themselves.
// usage: ends_alike side steps natural
#include "edges.h"
#include <cstdio>
#include <cstdlib>

struct Graph {
    std::vector<int> row, col;
    std::vector<double> alike;
    explicit Graph(const std::vector<Edge> &edges, int n) : row(n + 1), col(2 * edges.size() + n), alike(col.size())
    {
        for (int v = 0; v < n; v++)
            row[v + 1]++;
        for (const Edge &e : edges)
            row[e.a + 1]++, row[e.b + 1]++;
        std::partial_sum(row.begin(), row.end(), row.begin());
        std::vector<int> next(row);
        for (int v = 0; v < n; v++)
            col[next[v]++] = v;
        for (const Edge &e : edges)
            col[next[e.a]++] = e.b, col[next[e.b]++] = e.a;
    }
};

static double common(const Graph &g, const std::vector<double> &rank, int u, int v)
{
    double sum = 0;
    for (int i = g.row[u]; i < g.row[u + 1]; i++)
        for (int j = g.row[v]; j < g.row[v + 1]; j++)
            if (g.col[i] == g.col[j])
                sum += rank[g.col[i]];
    return sum;
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 20, steps = argc > 2 ? atoi(argv[2]) : 6;
    int n = side * side;
    Graph g(make_edges(side, argc > 3 && atoi(argv[3])), n);
    std::vector<double> rank(n, 1.0), next(n);
    for (int v = 0; v < n; v++)
        rank[v] += 0.001 * (v % 11);
    for (int t = 0; t < steps; t++) {
        for (int v = 0; v < n; v++)
            for (int k = g.row[v]; k < g.row[v + 1]; k++)
                g.alike[k] = 0.1 * rank[g.col[k]] + common(g, rank, g.col[k], v);
        for (int v = 0; v < n; v++) {
            double sum = 0.5;
            for (int k = g.row[v]; k < g.row[v + 1]; k++)
                sum += 0.1 * g.alike[k] * rank[g.col[k]];
            next[v] = sum / (1 + sum * sum);
        }
        rank.swap(next);
    }
    double sum = 0, last = 0;
    for (int v = 0; v < n; v++)
        sum += rank[v] * (v % 5 + 1);
    for (size_t k = 0; k < g.alike.size(); k++)
        last += g.alike[k];
    printf("%.9e %.9e\n", sum, last);
    return 0;
}
