/* What a program looks at of the file system while it runs: loaded in front of the C library, on for the program only.

One event each time a path is opened or asked for, written at once, so that a crash or `_exit` loses none:
KIND SIZE SECONDS NANOSECONDS INODE MODE, a tab, the absolute path, NUL. The numbers are those of the file before the
call, MODE 0: there is none. KIND: `r` its content or existence may be used, `w` it is emptied first, `!` (the name of
a function instead of a path) the program learns something that cannot be seen here. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH 4096
static char record[PATH];
static long left = 1 << 16; /* events; a program that opens more files is not followed */
static __thread int ours;

/* From now on events go to this file. */
void tc_watch(const char *file) { strncpy(record, file, PATH - 1); }

/* What this thread does is our own work (+1), and the program's again (-1). */
void tc_watch_ours(int step) { ours += step; }

static void put(char kind, const struct stat *found, const char *path) {
    char line[PATH + 128];
    int length;
    long now = __atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED);
    if (now < 0) return;
    if (now == 0) kind = '!', path = "more than 65,000 files";
    length = snprintf(line, sizeof line, "%c %ld %ld %ld %lu %u\t%s", kind, (long)found->st_size,
                      (long)found->st_mtim.tv_sec, (long)found->st_mtim.tv_nsec, (unsigned long)found->st_ino,
                      found->st_mode, path);
    if (length < 0 || length >= (int)sizeof line) return;
    long file = syscall(SYS_openat, AT_FDCWD, record, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return;
    syscall(SYS_write, (int)file, line, (size_t)length + 1);
    syscall(SYS_close, (int)file);
}

static void unseen(const char *what) {
    struct stat none;
    int kept = errno;
    if (!record[0] || ours) return;
    memset(&none, 0, sizeof none);
    put('!', &none, what);
    errno = kept;
}

static void looked(char kind, int folder, const char *path) {
    char whole[PATH] = "";
    struct stat found;
    int kept = errno;
    if (!record[0] || ours || !path) return;
    if (path[0] != '/') {
        if (folder == AT_FDCWD) {
            if (syscall(SYS_getcwd, whole, sizeof whole) < 0) return unseen("a file in a folder that is gone");
        } else {
            char name[64];
            snprintf(name, sizeof name, "/proc/self/fd/%d", folder);
            long length = syscall(SYS_readlinkat, AT_FDCWD, name, whole, sizeof whole - 1);
            if (length < 0) return; /* the call fails, too */
            whole[length] = 0;
        }
        if (strlen(whole) + strlen(path) + 2 > sizeof whole) return unseen("a path that is too long");
        strcat(whole, "/");
    }
    if (strlen(whole) + strlen(path) + 1 > sizeof whole) return unseen("a path that is too long");
    strcat(whole, path);
    if (syscall(SYS_newfstatat, AT_FDCWD, whole, &found, 0)) memset(&found, 0, sizeof found);
    put(kind, &found, whole);
    errno = kept;
}

static void opened(int folder, const char *path, int flags) {
    if ((flags & O_TRUNC) && !(flags & O_EXCL)) looked('w', folder, path);
    else if ((flags & O_ACCMODE) != O_WRONLY || (flags & O_EXCL)) looked('r', folder, path);
}

static void streamed(const char *path, const char *mode) {
    if (!mode || strchr(mode, 'x')) looked('r', AT_FDCWD, path);
    else if (mode[0] == 'w') looked('w', AT_FDCWD, path);
    else if (mode[0] != 'a' || strchr(mode, '+')) looked('r', AT_FDCWD, path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define MODE(flags, last) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | __O_TMPFILE)) { va_list rest; va_start(rest, last); mode = va_arg(rest, mode_t); va_end(rest); }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { MODE(flags, flags) opened(AT_FDCWD, path, flags); return NEXT(name)(path, flags, mode); }
#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { MODE(flags, flags) opened(folder, path, flags); return NEXT(name)(folder, path, flags, mode); }
#define CHECKED(name) \
    int name(const char *path, int flags) { opened(AT_FDCWD, path, flags); return NEXT(name)(path, flags); }
#define CHECKEDAT(name) \
    int name(int folder, const char *path, int flags) { opened(folder, path, flags); return NEXT(name)(folder, path, flags); }
#define FOPEN(name) \
    FILE *name(const char *path, const char *mode) { streamed(path, mode); return NEXT(name)(path, mode); }
#define FREOPEN(name) \
    FILE *name(const char *path, const char *mode, FILE *file) { streamed(path, mode); return NEXT(name)(path, mode, file); }
#define STAT(name, type) \
    int name(const char *path, struct type *found) { looked('r', AT_FDCWD, path); return NEXT(name)(path, found); }
#define OLDSTAT(name, type) \
    int name(int version, const char *path, struct type *found) { looked('r', AT_FDCWD, path); return NEXT(name)(version, path, found); }

int __open_2(const char *, int), __open64_2(const char *, int), __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);
int __xstat(int, const char *, struct stat *), __lxstat(int, const char *, struct stat *);
int __xstat64(int, const char *, struct stat64 *), __lxstat64(int, const char *, struct stat64 *);
OPEN(open) OPEN(open64) OPENAT(openat) OPENAT(openat64)
CHECKED(__open_2) CHECKED(__open64_2) CHECKEDAT(__openat_2) CHECKEDAT(__openat64_2)
FOPEN(fopen) FOPEN(fopen64) FREOPEN(freopen) FREOPEN(freopen64)
STAT(stat, stat) STAT(lstat, stat) STAT(stat64, stat64) STAT(lstat64, stat64)
OLDSTAT(__xstat, stat) OLDSTAT(__lxstat, stat) OLDSTAT(__xstat64, stat64) OLDSTAT(__lxstat64, stat64)

int fstatat(int folder, const char *path, struct stat *found, int flags) {
    if (path && path[0]) looked('r', folder, path);
    return NEXT(fstatat)(folder, path, found, flags);
}
int fstatat64(int folder, const char *path, struct stat64 *found, int flags) {
    if (path && path[0]) looked('r', folder, path);
    return NEXT(fstatat64)(folder, path, found, flags);
}
int statx(int folder, const char *restrict path, int flags, unsigned mask, struct statx *restrict found) {
    if (path && path[0]) looked('r', folder, path);
    return NEXT(statx)(folder, path, flags, mask, found);
}
int access(const char *path, int mode) { looked('r', AT_FDCWD, path); return NEXT(access)(path, mode); }
int faccessat(int folder, const char *path, int mode, int flags) {
    looked('r', folder, path);
    return NEXT(faccessat)(folder, path, mode, flags);
}
ssize_t readlink(const char *restrict path, char *restrict to, size_t room) {
    looked('r', AT_FDCWD, path);
    return NEXT(readlink)(path, to, room);
}
DIR *opendir(const char *path) { looked('r', AT_FDCWD, path); return NEXT(opendir)(path); }
int socket(int domain, int type, int protocol) { unseen("socket"); return NEXT(socket)(domain, type, protocol); }
