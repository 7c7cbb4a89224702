/* Loops of every shape. Each counts its own iterations by hand, for comparison with what the tracer counts. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile long hand[40];
static const char *names[40];
static int known;
#define BY_HAND(NAME) (names[known] = #NAME, known++)
static jmp_buf back;

__attribute__((noinline)) static long called(int n)
{
    long s = 0;
    for (int i = 0; i < n; i++) { hand[0]++; s += i; } // @called
    return s;
}
__attribute__((noinline)) static long deep(int n)
{
    long s = 0;
    for (int i = 0; i < 3; i++) { // @deep
        hand[1]++;
        if (n) s += deep(n - 1);
    }
    return s + 1;
}
static int compare(const void *a, const void *b)
{
    for (int i = 0; i < known; i++) hand[2]++; // @compare
    return *(const int *)a - *(const int *)b;
}
static void late(void)
{
    for (int i = 0; i < 9; i++) hand[3]++; // @late
    printf("late %ld\n", hand[3]);
}
__attribute__((noinline)) static void thrown(int n)
{
    for (int i = 0; i < n; i++) { // @thrown
        hand[4]++;
        if (i == n - 47) longjmp(back, 1);
    }
}
__attribute__((noinline)) static void some(long *y, const int *index, int n)
{
    for (int i = 0; i < n; i++) { hand[5]++; y[index[i]] = y[i] + n; } // @some
}

int main(int argc, char **argv)
{
    for (int i = 0; i < 6; i++) BY_HAND(unknown);
    names[0] = "called"; names[1] = "deep"; names[2] = "compare"; names[3] = "late"; names[4] = "thrown"; names[5] = "some";
    atexit(late);
    int n = argc > 1 ? atoi(argv[1]) : 10, k;
    k = BY_HAND(plain);
    for (int i = 0; i < n; i++) hand[k]++; // @plain
    k = BY_HAND(outer);
    int in = BY_HAND(triangle);
    for (int i = 0; i < n; i++) { // @outer
        hand[k]++;
        for (int j = 0; j < i; j++) hand[in]++; // @triangle
    }
    k = BY_HAND(never);
    for (int i = n; i < 5; i++) hand[k]++; // @never
    k = BY_HAND(once);
    volatile int left = 0;
    do { hand[k]++; left--; } while (left > 0); // @once
    k = BY_HAND(steps);
    for (int i = 100; i > 0; i -= 7) hand[k]++; // @steps
    k = BY_HAND(unsigned_down);
    for (unsigned char i = 20; i < 200; i--) hand[k]++; // @unsigned_down
    k = BY_HAND(broken);
    for (int i = 0; i < n; i++) { // @broken
        hand[k]++;
        if (i * i > 30) break;
    }
    k = BY_HAND(read);
    char word[64];
    while (scanf("%63s", word) == 1) hand[k]++; // @read
    k = BY_HAND(pointers);
    const char *text = "some words";
    for (const char *p = text; *p; p++) hand[k]++; // @pointers
    for (int i = 0; i < 3; i++) called(i + 2);
    deep(2);
    int unsorted[] = {5, 3, 9, 1, 7, 2, 8};
    qsort(unsorted, 7, sizeof *unsorted, compare);
    if (!setjmp(back)) thrown(argc + 50);
    long *y = calloc(400, sizeof *y);
    int *index = malloc(400 * sizeof *index);
    for (int i = 0; i < 400; i++) index[i] = 399 - i;
    int sizes[] = {5, 5, 5, 50, 50, 50, 50, 400, 400, 30};
    for (int i = 0; i < 10; i++) some(y, index, sizes[i]);
    fprintf(stderr, "%d words on standard error\n", 6);
    printf("%s %s %d %ld\n", argv[0], argv[argc - 1], unsorted[3], y[7]);
    for (int i = 0; i < known; i++) printf("#%s %ld\n", names[i], hand[i]);
    if (argc > 2 && !strcmp(argv[2], "abort")) abort();
    return argc > 2 ? atoi(argv[2]) : 0;
}
