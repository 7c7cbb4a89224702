/* The few C library functions that glibc keeps in a static archive instead of libc.so. */
#include <stddef.h>

extern int __cxa_atexit(void (*)(void *), void *, void *);
extern int __cxa_at_quick_exit(void (*)(void *), void *);
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);

__attribute__((weak, visibility("hidden"))) void *__dso_handle = NULL;

__attribute__((weak)) int atexit(void (*handler)(void)) {
    return __cxa_atexit((void (*)(void *))handler, NULL, NULL);
}
__attribute__((weak)) int at_quick_exit(void (*handler)(void)) {
    return __cxa_at_quick_exit((void (*)(void *))handler, NULL);
}
__attribute__((weak)) int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    return __register_atfork(prepare, parent, child, NULL);
}
