/* A 127-bit keyed fingerprint of memory, at the speed of memory: VHASH's construction (Dai and Krovetz 2007).
 *
 * Each block of memory is reduced by NH, a sum of products of words to which secret words are added: two blocks that
 * differ give numbers that differ by any one amount with probability 2^-64 at most, whatever the blocks are, because
 * their maker does not know the secret. The numbers of all blocks are the coefficients of a polynomial modulo
 * 2^127 - 1, evaluated at a secret point; the length is its last coefficient. Two inputs that were chosen without
 * knowing the secret agree with probability below 2^-61.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef unsigned __int128 Wide;

#define BLOCK 2048 /* bytes, and so many of the secret lie behind its point */
#define GROUP 16   /* fields that are packed together */
#define POINT 2    /* words of the secret in front */
static const Wide PRIME = ((Wide)1 << 127) - 1;

static Wide folded(Wide x) { return (x & PRIME) + (x >> 127); }

/* h · point modulo 2^127 - 1, for numbers below 2^127; the result too. */
static Wide times(Wide h, Wide point) {
    uint64_t h0 = (uint64_t)h, h1 = (uint64_t)(h >> 64), p0 = (uint64_t)point, p1 = (uint64_t)(point >> 64);
    Wide middle = (Wide)h0 * p1 + (Wide)h1 * p0;
    Wide low = (Wide)h0 * p0, sum = low + (middle << 64);
    Wide high = (Wide)h1 * p1 + (middle >> 64) + (sum < low);
    return folded((sum & PRIME) + (high << 1 | sum >> 127));
}

static Wide product(const char *at, const uint64_t *secret) {
    uint64_t w[2];
    memcpy(w, at, sizeof w);
    return (Wide)(w[0] + secret[0]) * (w[1] + secret[1]);
}

/* NH of `bytes`, a multiple of 16 and not more than a block. */
static Wide reduced(const char *at, size_t bytes, const uint64_t *secret) {
    Wide even = 0, odd = 0;
    size_t done = 0;
    for (; done + 64 <= bytes; done += 64, at += 64, secret += 8) {
        __builtin_prefetch(at + 8192, 0, 2); /* what the processor does by itself ends at each page */
        even += product(at, secret);
        odd += product(at + 16, secret + 2);
        even += product(at + 32, secret + 4);
        odd += product(at + 48, secret + 6);
    }
    for (; done < bytes; done += 16, at += 16, secret += 2) even += product(at, secret);
    return even + odd;
}

typedef struct { Wide sum, point; const uint64_t *secret; } State;

static void add_block(State *state, const char *at, size_t bytes) {
    char last[BLOCK + 16];
    size_t even = bytes & ~(size_t)15;
    if (even != bytes) { /* filled up by zeros; the length tells them from zeros of the data */
        memcpy(last, at, bytes);
        memset(last + bytes, 0, 16);
        at = last;
        even += 16;
    }
    Wide number = folded(reduced(at, even, state->secret));
    state->sum = times(folded(state->sum + number), state->point);
}

/* Fields of `width` bytes, one behind the other: as many as fill a block, or as are left. Returns how many. */
static int64_t packed(char *room, const char *from, int64_t left, int64_t stride, int64_t width) {
    int64_t count = left < BLOCK / width ? left : BLOCK / width;
    int64_t i = 0, line = stride < 64 ? 64 : stride; /* what is fetched ahead: each line once, or each field's */
#define PACK(BYTES)                                                                                               \
    for (; i + GROUP <= count; i += GROUP, from += GROUP * stride) {                                              \
        for (int64_t ahead = 0; ahead < GROUP * stride; ahead += line) __builtin_prefetch(from + 4096 + ahead, 0, 2); \
        for (int64_t j = 0; j < GROUP; j++) memcpy(room + (i + j) * (BYTES), from + j * stride, BYTES);            \
    }                                                                                                             \
    for (; i < count; i++, from += stride) memcpy(room + i * (BYTES), from, BYTES);
    switch (width) {
    case 1: PACK(1) break;
    case 2: PACK(2) break;
    case 4: PACK(4) break;
    case 8: PACK(8) break;
    default: PACK(width)
    }
    return count;
}

static void add_bytes(State *state, const char *at, size_t bytes) {
    for (; bytes >= BLOCK; bytes -= BLOCK, at += BLOCK) add_block(state, at, BLOCK);
    if (bytes) add_block(state, at, bytes);
}

/* Fingerprint of `count` fields of `width` bytes, `stride` apart (stride == width: plain memory). `secret`: a point
   below 2^126 and a block of words. `out`: two words. */
void tc_fingerprint(const void *data, int64_t count, int64_t stride, int32_t width, const uint64_t *secret,
                    uint64_t *out) {
    State state = {0, ((Wide)secret[1] << 64 | secret[0]) & (PRIME >> 1), secret + POINT};
    const char *at = data;
    if (stride == width) {
        add_bytes(&state, at, (size_t)count * (size_t)width);
    } else if (width > BLOCK) {
        for (int64_t i = 0; i < count; i++) add_bytes(&state, at + i * stride, (size_t)width);
    } else {
        char room[BLOCK];
        for (int64_t done = 0, some; done < count; done += some, at += some * stride) {
            some = packed(room, at, count - done, stride, width);
            add_block(&state, room, (size_t)(some * width));
        }
    }
    Wide sum = folded(folded(state.sum + (Wide)(uint64_t)count * (uint64_t)width));
    if (sum == PRIME) sum = 0;
    out[0] = (uint64_t)sum;
    out[1] = (uint64_t)(sum >> 64);
}
