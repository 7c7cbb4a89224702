static Csr matrix;
static double *given, *result;

static void call(int kernel)
{
    (void)kernel;
    spmv(&matrix, given, result);
}

int main(int argc, char **argv)
{
    matrix.rows = 120;
    list((void **)&matrix.start, 0, STARTS, 121, 700), list((void **)&matrix.column, 0, INDEX, 700, 120);
    list((void **)&matrix.value, 0, NUMBERS, 700, 0);
    list((void **)&given, 0, NUMBERS, 120, 0), list((void **)&result, 0, NUMBERS, 120, 0);
    list_length(&matrix.rows, 0, 120);
    return run_changed(argc, argv, 1, call);
}
