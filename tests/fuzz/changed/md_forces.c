static Atoms atoms;
static PairList pairs;
static double *energy;

static void call(int kernel)
{
    (void)kernel;
    *energy += pair_forces(&atoms, &pairs);
}

int main(int argc, char **argv)
{
    atoms.n = 90;
    atoms.box = (Vec3){9, 9, 9};
    list((void **)&pairs.start, 0, STARTS, 91, 500), list((void **)&pairs.neighbour, 0, INDEX, 500, 90);
    list((void **)&atoms.position, 0, NUMBERS, 3 * 91, 0), list((void **)&atoms.force, 0, NUMBERS, 3 * 91, 0);
    list((void **)&atoms.lj, 0, NUMBERS, 2 * 91, 0);
    list((void **)&energy, 0, NUMBERS, 1, 0);
    for (int i = 0; i < 3 * 91; i++) /* no two atoms in one place, whatever becomes of one of them */
        ((double *)atoms.position)[i] += 2.5 * (i % 3 == 0 ? i / 3 % 4 : i % 3 == 1 ? i / 12 % 5 : i / 60 % 5);
    list_length(&atoms.n, 0, 90);
    return run_changed(argc, argv, 1, call);
}
