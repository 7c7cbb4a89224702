static Mesh mesh;
static State field;

static void call(int kernel)
{
    (void)kernel;
    edge_fluxes(&mesh, &field);
}

int main(int argc, char **argv)
{
    double **numbers[] = {&field.h,     &field.hu,     &field.hv,     &field.hc, &field.res_h,
                          &field.res_hu, &field.res_hv, &field.res_hc, &mesh.z};
    mesh.n_edges = 350;
    list((void **)&mesh.ea, 0, INDEX, 350, 130), list((void **)&mesh.eb, 0, INDEX, 350, 130);
    list((void **)&mesh.nx, 0, NUMBERS, 350, 0), list((void **)&mesh.ny, 0, NUMBERS, 350, 0);
    for (int i = 0; i < 9; i++)
        list((void **)numbers[i], 0, NUMBERS, 130, 0);
    list_length(&mesh.n_edges, 0, 350);
    return run_changed(argc, argv, 1, call);
}
