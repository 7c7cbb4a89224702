/* Loops over tiles of the elements, and fields that follow each other in one array, which blocks are copied over. */
static long size = 8, skipped = 1;

#define PLANES 3
#define TILES(FIRST, END) for (long i_ = (FIRST), end_ = (END), i = i_; i < end_; i++)
#define TILE(T, SIZE) TILES((T) * (SIZE), ((T) + 1) * (SIZE) > DATA ? DATA : ((T) + 1) * (SIZE))
#define NEAR(K) near[i + (K)*DATA]
#define GIVEN                                                                                                         \
    int *near = ints(2 * DATA, DATA);                                                                                 \
    long *u = longs(PLANES * DATA, 1000), *r = longs(PLANES * DATA, 1000), *old = longs(PLANES * DATA, 10)
#define FLUX(P) r[i + (P)*DATA] += (u[NEAR(0) + (P)*DATA] - u[NEAR(1) + (P)*DATA]) & 255
#define UPDATE(P) u[i + (P)*DATA] = old[i + (P)*DATA] + (r[i + (P)*DATA] & 7)

SHAPE tiled(void)
{
    GIVEN;
    for (int t = 0; t < SWEEPS; t++) {
        memcpy(old, u, PLANES * DATA * sizeof *u);
        for (int s = 0; s < 2; s++) {
            for (long b = 0; b < (DATA + 7) / 8; b++)
                TILE(b, 8) { FLUX(0), FLUX(1), FLUX(2); } // @tiled
            for (long b = 0; b < (DATA + 7) / 8; b++)
                TILE(b, 8) { UPDATE(0), UPDATE(1), UPDATE(2); }
        }
    }
    show("tiled", u, PLANES * DATA);
}

SHAPE of_a_size(void) /* nobody knows which before it runs */
{
    GIVEN;
    for (int t = 0; t < SWEEPS; t++) {
        memset(r + DATA, 0, 2 * DATA * sizeof *r); /* two of three */
        for (long b = 0; b < DATA; b += size)
            TILES(b, b + size > DATA ? DATA : b + size) { FLUX(0), FLUX(1), FLUX(2); } // @of_a_size
        memcpy(old, u, PLANES * DATA * sizeof *u);
        for (long i = 0; i < DATA; i++)
            UPDATE(0), UPDATE(1), UPDATE(2);
    }
    show("of_a_size", u, PLANES * DATA);
}

SHAPE with_gaps(void) /* the elements between the tiles belong to none */
{
    GIVEN;
    for (int t = 0; t < SWEEPS; t++) {
        for (long b = 0; b < DATA; b += size)
            TILES(b + skipped, b + size > DATA ? DATA : b + size) { FLUX(0); } // @with_gaps
        for (long i = 0; i < DATA; i++)
            u[i] += r[i] & 7;
    }
    show("with_gaps", u, DATA);
}

SHAPE between_planes(void) /* from the middle of one to the start of another */
{
    GIVEN;
    for (int t = 0; t < SWEEPS; t++) {
        memcpy(old, u + DATA / 2, 2 * DATA * sizeof *u);
        for (long i = 0; i < DATA; i++) { // @between_planes
            FLUX(0), FLUX(1), FLUX(2);
        }
        for (long i = 0; i < DATA; i++)
            UPDATE(0), UPDATE(1), UPDATE(2);
    }
    show("between_planes", u, PLANES * DATA);
}

SHAPE exchanged(void) /* one field becomes another one */
{
    GIVEN;
    for (int t = 0; t < SWEEPS; t++) {
        memcpy(old + DATA, u, 2 * DATA * sizeof *u);
        for (long i = 0; i < DATA; i++) { // @exchanged
            FLUX(0), FLUX(1), FLUX(2);
        }
        for (long i = 0; i < DATA; i++)
            UPDATE(0), UPDATE(1), UPDATE(2);
    }
    show("exchanged", u, PLANES * DATA);
}

int main(int argc, char **argv)
{
    if (argc > 2)
        size = atol(argv[1]), skipped = atol(argv[2]);
    tiled();
    of_a_size();
    with_gaps();
    between_planes();
    exchanged();
    return 0;
}
