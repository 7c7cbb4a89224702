static Graph graph;
static double *temperature, *gain;

static void call(int kernel)
{
    (void)kernel;
    edge_flows(&graph, temperature, gain);
}

int main(int argc, char **argv)
{
    graph.n_vertices = 120, graph.n_edges = 400;
    list((void **)&graph.from, 0, INDEX, 400, 120), list((void **)&graph.to, 0, INDEX, 400, 120);
    list((void **)&graph.conductance, 0, NUMBERS, 400, 0);
    list((void **)&temperature, 0, NUMBERS, 120, 0), list((void **)&gain, 0, NUMBERS, 120, 0);
    list_length(&graph.n_edges, 0, 400);
    return run_changed(argc, argv, 1, call);
}
