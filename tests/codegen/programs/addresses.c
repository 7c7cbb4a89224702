
/* Numbers that are addresses: other ones in each run, so that a guard on them holds in none but this. */
SHAPE place_of_a_pointer(void) /* how far it has come is reckoned from an address, which is a number from outside */
{
    int *b = ints(3 * JOBS, DATA);
    long *x = longs(DATA, 100), *z = longs(JOBS, 9), *volatile begin = z;
    long *p = begin, *stop = begin + JOBS;
    for (int t = 0; t < SWEEPS; t++, p = begin)
        while (p != stop) { // @place_of_a_pointer
            int i = (int)(p - z);
            long *here = p++;
            for (int k = 0; k < 3; k++)
                *here += x[b[3 * i + k]] + i;
        }
    show("place_of_a_pointer", z, JOBS);
}

int main(void)
{
    place_of_a_pointer();
    return 0;
}
