/* What `tracecut-cc` and `tracecut-c++` do for lines that compile one source, without Python.

   `templates.py` writes what is done for lines of a form; a line of no form that has a template is left to Python. So are
   sources that the preprocessor refuses. The rules of `forms_of` stand in `templates.py` as well.

   Built with FOLDER: where the templates are. HERE: the folder of the commands. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deflate.h"
#include "elf_sections.h"
#include "record.h"

enum { MOST_VALUES = 256, PATIENCE = 600 };
#define VERSION "tracecut template 1"
#define MOST_BYTES (1ull << 30)

typedef struct {
    Text key;
    const char *values[MOST_VALUES]; /* of the words that differ from line to line; the first is the folder */
    int count, sources;
    char *source; /* without its ending */
    const char *ending;
} Form;

typedef struct {
    char *data, *at, *end;
} Fields;

static char folder[PATH_MAX];

/* Leave a line to Python. `how`: "new", or "again" where the compiler has run already. */
static int by_python(const char *how, const char *mode, int count, char **words) {
    const char **line = calloc((size_t)count + 6, sizeof *line);
    if (!line) return 127;
    line[0] = HERE "/tracecut", line[1] = "compile-recorded", line[2] = HERE, line[3] = mode, line[4] = how;
    for (int i = 0; i < count; i++) line[5 + i] = words[i];
    execv(line[0], (char **)line);
    fprintf(stderr, "tracecut-%s: %s: %s\n", mode, line[0], strerror(errno));
    return 127;
}

static int is_source(const char *word) {
    static const char *const endings[] = {".c", ".i", ".cpp", ".cc", ".cxx", ".c++", ".cp", ".C", ".CPP", ".ii"};
    const char *name = strrchr(word, '/'), *ending = strrchr(word, '.');
    name = name ? name + 1 : word;
    name += strspn(name, ".");
    if (!ending || ending <= name) return 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (!strcmp(ending, endings[i])) return 1;
    return 0;
}

static int is_plain(const char *word) {
    while (*word >= ' ' && *word <= '~') word++;
    return !*word;
}

static int add_value(Form *form, const char *value) {
    char number[32];
    if (form->count == MOST_VALUES) return 0;
    snprintf(number, sizeof number, "\1%d\2", form->count);
    form->values[form->count++] = value;
    return add_word(&form->key, number);
}

/* The form of a line: its words, with numbers in the places of what differs from line to line. */
static int form_of(Form *form, const char *mode, int count, char **words) {
    int is_value = 0;
    form->values[form->count++] = folder;
    if (!add_word(&form->key, mode)) return 0;
    for (int i = 0; i < count; i++) {
        const char *word = words[i];
        if (*word == '@' || !is_plain(word) || !add(&form->key, "\37", 1)) return 0;
        if (is_value) {
            if (!add_value(form, word)) return 0;
            is_value = 0;
        } else if (word[0] == '-' && word[1] && strchr("DIU", word[1]) && word[2]) {
            if (!add(&form->key, word, 2) || !add_value(form, word + 2)) return 0;
        } else if (word[0] != '-' && is_source(word)) {
            form->ending = strrchr(word, '.');
            form->source = strndup(word, (size_t)(form->ending - word));
            if (form->sources++ || !form->source || !add_value(form, form->source) || !add_word(&form->key, form->ending))
                return 0;
        } else if (!add_word(&form->key, word)) {
            return 0;
        } else {
            is_value = !strcmp(word, "-o") || !strcmp(word, "-MF") || !strcmp(word, "-MT") || !strcmp(word, "-MQ");
        }
    }
    return !is_value;
}

static const char *field(Fields *fields) {
    char *found = fields->at, *end = found < fields->end ? memchr(found, 0, (size_t)(fields->end - found)) : NULL;
    if (!end) return NULL;
    fields->at = end + 1;
    return found;
}

static int number(Fields *fields) {
    const char *found = field(fields);
    return found ? atoi(found) : -1;
}

/* A text of a template with the values of this line. */
static int filled(Text *out, const char *text, const Form *form, int escaped) {
    for (; text && *text; text++) {
        if (*text != '\1') {
            if (!add(out, text, 1)) return 0;
            continue;
        }
        char *end;
        long place = strtol(text + 1, &end, 10);
        if (*end != '\2' || place < 0 || place >= form->count) return 0;
        if (!(escaped ? add_escaped : add_word)(out, form->values[place])) return 0;
        text = end;
    }
    return text != NULL;
}

/* The template of a form, behind its key and whatever it holds for; 0 where there is none. */
static int template_of(const Form *form, Fields *template) {
    uint64_t hash = 0xCBF29CE484222325ull; /* FNV-1a */
    char path[PATH_MAX];
    struct stat state;
    size_t size;
    for (size_t i = 0; i < form->key.size; i++) hash = (hash ^ (unsigned char)form->key.data[i]) * 0x100000001B3ull;
    if (snprintf(path, sizeof path, "%s/%016llx", FOLDER, (unsigned long long)hash) >= (int)sizeof path) return 0;
    template->data = template->at = (char *)content_of(path, &state, &size);
    if (!template->data || state.st_uid != geteuid()) return 0;
    template->end = template->data + size;
    const char *version = field(template), *key = field(template);
    if (!version || strcmp(version, VERSION) || !key || strcmp(key, form->key.data)) return 0;
    for (int left = number(template); left; left--) { /* files that are to be as they were */
        char now[64] = "";
        const char *name = field(template), *then = field(template);
        if (left < 0 || !name || !then) return 0;
        if (!stat(name, &state))
            snprintf(now, sizeof now, "%lld %lld", state.st_mtim.tv_sec * 1000000000ll + state.st_mtim.tv_nsec,
                     (long long)state.st_size);
        if (strcmp(now, then)) return 0;
    }
    return 1;
}

static char *found_on_path(const char *name) {
    struct stat state;
    if (strchr(name, '/')) return !stat(name, &state) && S_ISREG(state.st_mode) && !access(name, X_OK) ? strdup(name) : NULL;
    for (const char *at = getenv("PATH"); at && *at;) {
        const char *end = strchrnul(at, ':');
        Text path = {0};
        if (!add(&path, at, (size_t)(end - at)) || !add_word(&path, "/") || !add_word(&path, name)) return NULL;
        if (end > at && !stat(path.data, &state) && S_ISREG(state.st_mode) && !access(path.data, X_OK)) return path.data;
        free(path.data);
        at = *end ? end + 1 : end;
    }
    return NULL;
}

/* The words that start the compiler (see `wrapper.find_compiler`); their number, 0 where Python is to say it. */
static int compiler_of(const char *mode, char **command, int most) {
    int cxx = !strcmp(mode, "c++"), count = 0;
    const char *chosen = getenv(cxx ? "TRACECUT_REAL_CXX" : "TRACECUT_REAL_CC");
    const char *names[] = {cxx ? "c++" : "cc", cxx ? "g++" : "gcc", cxx ? "clang++" : "clang", NULL};
    char *words = chosen ? strdup(chosen) : NULL, *word = words ? strtok(words, " \t\n") : NULL;
    char real[PATH_MAX];
    if (word) names[0] = word, names[1] = NULL;
    for (int i = 0; names[i] && !count; i++) {
        char *path = found_on_path(names[i]), *name;
        if (!path || !realpath(path, real)) continue;
        name = strrchr(real, '/');
        if (strncmp(name ? name + 1 : real, "tracecut-", 9)) command[count++] = path;
    }
    while (count && word && (word = strtok(NULL, " \t\n")) && count < most) command[count++] = word;
    return count;
}

static void nothing(int number) { (void)number; }

/* Start the preprocessor of a template, whose words follow. Returns its number, -1 where it does not start. */
static pid_t preprocessor(Fields *template, const Form *form, int output) {
    int settings = number(template);
    if (settings < 0) return -1;
    pid_t parent = getpid(), child = fork();
    if (child) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct rlimit limit = {MOST_BYTES, MOST_BYTES};
    int none = open("/dev/null", O_RDWR), words = -1;
    char **command = NULL;
    if (getppid() != parent || none < 0 || dup2(none, 0) < 0 || dup2(output, 1) < 0 || dup2(none, 2) < 0) _exit(126);
    setrlimit(RLIMIT_FSIZE, &limit);
    for (const char *name, *value; settings; settings--)
        if (!(name = field(template)) || !(value = field(template)) || setenv(name, value, 1)) _exit(126);
    words = number(template);
    command = words > 0 ? calloc((size_t)words + 1, sizeof *command) : NULL;
    for (int i = 0; command && i < words; i++) {
        Text word = {0};
        if (!add(&word, "", 0) || !filled(&word, field(template), form, 0)) _exit(126);
        command[i] = word.data;
    }
    if (command) execv(command[0], command);
    _exit(126);
}

static int waited(pid_t child) {
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return status;
}

static pid_t late; /* the child that is killed when it takes too long */

static void stop(int number) {
    (void)number;
    kill(late, SIGKILL);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "cc", *chosen = getenv("TRACECUT_CC");
    char **words = argv + 2, *command[64 + 1] = {0};
    int count = argc > 2 ? argc - 2 : 0, used;
    Form form = {0};
    Fields template = {0};
    struct stat state;
    if (!strcmp(mode, "version")) return puts(VERSION) < 0;
    if (!strcmp(mode, "form")) return count && form_of(&form, *words, count - 1, words + 1) ? puts(form.key.data) < 0 : 1;
    if ((chosen && *chosen) || !getcwd(folder, sizeof folder) || !is_plain(folder) || !form_of(&form, mode, count, words) ||
        !template_of(&form, &template) || !(used = compiler_of(mode, command, 64)))
        return by_python("new", mode, count, words);
    char **line = calloc((size_t)(used + count) + 1, sizeof *line);
    if (!line) return 127;
    memcpy(line, command, (size_t)used * sizeof *line);
    memcpy(line + used, words, (size_t)count * sizeof *line);
    const char *kind = field(&template);
    if (kind && !strcmp(kind, "other")) {
        execv(line[0], line);
        fprintf(stderr, "tracecut-%s: %s: %s\n", mode, line[0], strerror(errno));
        return 127;
    }
    Text source = {0}, target = {0}, unit = {0}, linked = {0};
    const char *output = field(&template), *unit_fields = field(&template), *link_fields = field(&template);
    int preprocessed = memfd_create("unit", MFD_CLOEXEC), with_unit = unit_fields && *unit_fields;
    if (!link_fields || preprocessed < 0 || !add(&target, "", 0) || !filled(&target, output, &form, 0) ||
        !add(&unit, "", 0) || !filled(&unit, unit_fields, &form, 1) || !add_word(&unit, "\n") ||
        !filled(&linked, link_fields, &form, 1) || !add_word(&linked, "\n"))
        return by_python("new", mode, count, words);
    if (with_unit && (!form.source || !add_word(&source, form.source) || !add_word(&source, form.ending) ||
                      stat(source.data, &state) || !S_ISREG(state.st_mode)))
        return by_python("new", mode, count, words);
    if (!target.size) { /* in this folder, by the name of the source */
        const char *name = form.source ? strrchr(form.source, '/') : NULL;
        if (!form.source || !add_word(&target, name ? name + 1 : form.source) || !add_word(&target, ".o")) return 127;
    }
    struct sigaction quiet = {.sa_handler = nothing}, before;
    sigaction(SIGINT, NULL, &before);
    if (before.sa_handler != SIG_IGN) sigaction(SIGINT, &quiet, NULL); /* the compiler has got it too, and cleans up */
    if (with_unit) late = preprocessor(&template, &form, preprocessed);
    pid_t child;
    extern char **environ;
    int error = posix_spawn(&child, line[0], NULL, NULL, line, environ);
    if (error) {
        fprintf(stderr, "tracecut-%s: %s: %s\n", mode, line[0], strerror(error));
        return 127;
    }
    int status = waited(child);
    if (status) {
        if (late > 0) kill(late, SIGKILL), waited(late);
        if (WIFSIGNALED(status)) {
            signal(WTERMSIG(status), SIG_DFL);
            raise(WTERMSIG(status));
        }
        return WEXITSTATUS(status);
    }
    sigaction(SIGINT, &before, NULL);
    Text records = {0};
    if (with_unit) {
        struct sigaction timer = {.sa_handler = stop};
        sigaction(SIGALRM, &timer, NULL);
        alarm(PATIENCE);
        status = late > 0 ? waited(late) : -1;
        alarm(0);
        if (status || fstat(preprocessed, &state)) return by_python("again", mode, count, words);
        char *text = state.st_size ? mmap(NULL, (size_t)state.st_size, PROT_READ, MAP_PRIVATE, preprocessed, 0) : "";
        if (text == MAP_FAILED || !add_marked(&unit, text, (size_t)state.st_size, folder) || !add_record(&records, &unit))
            return by_python("again", mode, count, words);
    }
    if (*link_fields && !add_record(&records, &linked)) return by_python("again", mode, count, words);
    const char *why = records.size ? attach(target.data, &records) : NULL;
    if (why) fprintf(stderr, "tracecut-%s: %s: not recorded: %s\n", mode, target.data, why);
    return 0;
}
