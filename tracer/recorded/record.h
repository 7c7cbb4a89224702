/* Records of units, as `records.encode` makes them, and their places in objects. One file includes it. */

#define MAGIC "tracecut record 2\n"
#define SECTION ".tracecut"

typedef struct {
    char *data;
    size_t size, room;
} Text;

static int add(Text *text, const char *data, size_t size) {
    if (text->size + size + 1 > text->room) {
        size_t room = 2 * (text->size + size) + 256;
        char *more = realloc(text->data, room);
        if (!more) return 0;
        text->data = more, text->room = room;
    }
    memcpy(text->data + text->size, data, size);
    text->data[text->size += size] = 0;
    return 1;
}

static int add_word(Text *text, const char *word) { return add(text, word, strlen(word)); }

/* A word within the quotes of JSON or of a line mark. It has no control characters. */
static int add_escaped(Text *text, const char *word) {
    for (; *word; word++) {
        if ((*word == '"' || *word == '\\') && !add(text, "\\", 1)) return 0;
        if (!add(text, word, 1)) return 0;
    }
    return 1;
}

/* What a preprocessor wrote, with whole names of files in the marks of lines (see `preprocess.py`). */
static int add_marked(Text *out, const char *text, size_t size, const char *folder) {
    const char *end = text + size, *done = text;
    for (const char *line = text; line < end;) {
        const char *at = line;
        if (end - at > 2 && at[0] == '#' && at[1] == ' ') {
            for (at += 2; at < end && *at >= '0' && *at <= '9'; at++) {}
            if (at > line + 2 && end - at > 3 && at[0] == ' ' && at[1] == '"' && !strchr("\"/<", at[2]) &&
                memchr(at + 2, '"', (size_t)(end - at - 2))) {
                at += 2;
                if (!add(out, done, (size_t)(at - done)) || !add_escaped(out, folder) || !add(out, "/", 1)) return 0;
                done = at;
            }
        }
        const char *next = memchr(at, '\n', (size_t)(end - at));
        line = next ? next + 1 : end;
    }
    return add(out, done, (size_t)(end - done));
}

/* Add the bytes of a record to others. */
static int add_record(Text *records, const Text *fields_and_text) {
    size_t size;
    unsigned char *packed = deflated((const unsigned char *)fields_and_text->data, fields_and_text->size, &size);
    uint64_t stored = size;
    int well = packed && add_word(records, MAGIC) && add(records, (char *)&stored, sizeof stored) &&
               add(records, (char *)packed, size);
    free(packed);
    return well;
}

static unsigned char *content_of(const char *path, struct stat *state, size_t *size) {
    unsigned char *data = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return NULL;
    if (!fstat(file, state) && (data = malloc((size_t)state->st_size + 1))) {
        ssize_t got = 1;
        for (*size = 0; *size < (size_t)state->st_size && got > 0; *size += got > 0 ? (size_t)got : 0)
            got = read(file, data + *size, (size_t)state->st_size - *size);
        if (*size != (size_t)state->st_size) free(data), data = NULL;
        else data[*size] = 0;
    }
    close(file);
    return data;
}

static int written(int file, const unsigned char *data, size_t size) {
    while (size) {
        ssize_t done = write(file, data, size);
        if (done < 0) return 0;
        data += done, size -= (size_t)done;
    }
    return 1;
}

/* Put records into an object, which is replaced as a whole. What is no file, or no ELF file of 64 bits, stays as it is.
   Returns why it is not there, NULL if all is well. */
static const char *attach(const char *path, const Text *records) {
    struct stat state;
    size_t size;
    if (lstat(path, &state) || !S_ISREG(state.st_mode)) return NULL;
    unsigned char *data = content_of(path, &state, &size);
    if (!data) return strerror(errno);
    if (size < 6 || memcmp(data, "\177ELF\2\1", 6)) return NULL;
    unsigned char *made = with_section(data, &size, SECTION, (unsigned char *)records->data, records->size);
    if (!made) return "a damaged ELF file";
    const char *name = strrchr(path, '/');
    Text other = {0};
    if (!add(&other, path, name ? (size_t)(name + 1 - path) : 0) || !add_word(&other, ".") ||
        !add_word(&other, name ? name + 1 : path) || !add_word(&other, ".XXXXXX"))
        return strerror(errno);
    int file = mkostemp(other.data, O_CLOEXEC);
    if (file < 0) return strerror(errno);
    int well = written(file, made, size) && !fchmod(file, state.st_mode & 07777);
    if (close(file) || !well || rename(other.data, path)) {
        const char *why = strerror(errno);
        unlink(other.data);
        return why;
    }
    return NULL;
}
