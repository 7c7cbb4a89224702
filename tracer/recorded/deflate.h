/* A zlib stream of a text (Deutsch 1996): matches of a hash table, codes of the fixed table. One file includes it. */

enum { WINDOW = 1 << 15, HASHES = 1 << 15, TRIES = 12, SHORTEST = 4, LONGEST = 258 };

typedef struct {
    unsigned char *data;
    size_t size;
    uint64_t held;
    int bits;
} Stream;

static void put(Stream *out, unsigned value, int bits) {
    out->held |= (uint64_t)value << out->bits;
    for (out->bits += bits; out->bits >= 8; out->bits -= 8, out->held >>= 8) out->data[out->size++] = (unsigned char)out->held;
}

/* A code word: these begin with their highest bit. */
static void put_code(Stream *out, unsigned code, int bits) {
    unsigned turned = 0;
    for (int i = 0; i < bits; i++) turned |= (code >> i & 1u) << (bits - 1 - i);
    put(out, turned, bits);
}

static void put_symbol(Stream *out, unsigned symbol) {
    if (symbol < 144) put_code(out, 0x30 + symbol, 8);
    else if (symbol < 256) put_code(out, 0x190 + symbol - 144, 9);
    else if (symbol < 280) put_code(out, symbol - 256, 7);
    else put_code(out, 0xC0 + symbol - 280, 8);
}

/* Lengths and distances are written alike: `first` of each step values have a code of their own, and from then on each
   `first` codes span twice as many values as those before. `from`: what the first code means. */
static unsigned step_of(unsigned value, unsigned first, int *extra, unsigned *rest) {
    unsigned code = value, width = 0;
    while (code >= 2 * first) code >>= 1, width++;
    *extra = (int)width;
    *rest = value & ((1u << width) - 1);
    return width * first + code;
}

static void put_match(Stream *out, unsigned length, unsigned distance) {
    int extra;
    unsigned rest, code;
    if (length == LONGEST) {
        put_symbol(out, 285);
    } else {
        code = step_of(length - 3, 4, &extra, &rest);
        put_symbol(out, 257 + code);
        put(out, rest, extra);
    }
    code = step_of(distance - 1, 2, &extra, &rest);
    put_code(out, code, 5);
    put(out, rest, extra);
}

static uint32_t four(const unsigned char *at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static unsigned hash_of(const unsigned char *at) { return (four(at) * 2654435761u) >> 17; }

static uint32_t adler32(const unsigned char *text, size_t size) {
    uint32_t low = 1, high = 0;
    for (size_t i = 0; i < size;) {
        size_t end = size - i < 5000 ? size : i + 5000; /* so many sums fit 32 bits */
        for (; i < end; i++) high += low += text[i];
        low %= 65521, high %= 65521;
    }
    return high << 16 | low;
}

/* `size` bytes, compressed; NULL without memory. */
static unsigned char *deflated(const unsigned char *text, size_t size, size_t *made) {
    Stream out = {malloc(size + size / 8 + 64), 0, 0, 0};
    uint32_t *last = calloc(HASHES, sizeof *last), *before = calloc(WINDOW, sizeof *before); /* places, plus one */
    if (!out.data || !last || !before || size >= UINT32_MAX) {
        free(out.data), free(last), free(before);
        return NULL;
    }
    put(&out, 0x78, 8), put(&out, 0x9C, 8);
    put(&out, 3, 3); /* the last block, fixed codes */
    for (size_t at = 0; at < size;) {
        size_t best = 0, where = 0, most = size - at < LONGEST ? size - at : LONGEST;
        if (most >= SHORTEST) {
            uint32_t place = last[hash_of(text + at)];
            for (int tries = TRIES; place && at - (place - 1) <= WINDOW - 1 && tries; tries--) {
                const unsigned char *old = text + place - 1;
                if (four(old) == four(text + at) && (best < SHORTEST || (best < most && old[best] == text[at + best]))) {
                    size_t length = SHORTEST;
                    while (length < most && old[length] == text[at + length]) length++;
                    if (length > best) best = length, where = at - (place - 1);
                }
                uint32_t next = before[(place - 1) % WINDOW];
                if (next >= place) break;
                place = next;
            }
        }
        size_t step = best ? best : 1;
        if (best) put_match(&out, (unsigned)best, (unsigned)where);
        else put_symbol(&out, text[at]);
        for (; step; step--, at++) {
            if (size - at < SHORTEST) continue;
            unsigned hash = hash_of(text + at);
            before[at % WINDOW] = last[hash];
            last[hash] = (uint32_t)at + 1;
        }
    }
    put_symbol(&out, 256);
    put(&out, 0, (8 - out.bits) & 7);
    uint32_t sum = adler32(text, size);
    for (int shift = 24; shift >= 0; shift -= 8) put(&out, sum >> shift & 255, 8);
    free(last), free(before);
    *made = out.size;
    return out.data;
}
