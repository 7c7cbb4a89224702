"""What the functions of the C and C++ libraries do to memory: `NAMES: EFFECTS`, in the notation of `externals`."""

ROWS = """
# Memory
malloc valloc pvalloc: alloc=a0
calloc: alloc=a0*a1
realloc: realloc=a1
reallocarray: realloc=a1*a2
free cfree: free
aligned_alloc memalign: alloc=a1
posix_memalign: w0=8! allocat0=a2
strdup: alloc=str0 r0=str wret=str0
memcpy memmove mempcpy: copy=a2
memset: w0=a2
bzero explicit_bzero: w0=a1
memcmp bcmp: r0=a2 r1=a2
memchr memrchr: r0=a2
malloc_usable_size:
strndup: r0=min1 alloc=str wret=str
asprintf: format1 w0=8! allocat0=ret1 wat0=ret1
memmem: r0=a1 r2=a3
# Strings and numbers in them
strlen strchr strrchr atoi atol atoll atof strchrnul index rindex: r0=str
strnlen: r0=min1
strcmp strcasecmp strstr strspn strcspn strpbrk strcasestr strcoll: r0=str r1=str
strncmp strncasecmp: r0=min2 r1=min2
strcpy stpcpy: r1=str w0=str1
strncpy stpncpy: r1=min2 w0=a2
strcat: r0=str r1=str w0=str!
strtol strtoul strtoll strtoull strtoimax strtoumax strtod strtof strtold __isoc23_strtol: r0=str w1=8*nn1!
__isoc23_strtoul __isoc23_strtoll __isoc23_strtoull __isoc23_strtoimax __isoc23_strtoumax: r0=str w1=8*nn1!
__isoc23_strtold: r0=str w1=8*nn1!
sprintf: format1 w0=str!
snprintf: format2 w0=min1!
strncat: r0=str r1=min2 w0=str!
strlcpy: r1=str w0=min2!
strlcat: r0=min2 r1=str w0=min2!
strtok: x0=str r1=str xret=str
strtok_r __strtok_r: x0=str r1=str x2=8 xret=str
strsep: x0=8 r1=str xret=str
strerror strsignal:
sscanf __isoc99_sscanf __isoc23_sscanf: r0=str scan1
# Files
puts fputs perror remove fputs_unlocked unlink rmdir mkdir access chdir open open64 creat opendir: r0=str
putchar putchar_unlocked putc fputc _IO_putc getchar getc fgetc ungetc fflush fclose feof ferror rewind fseek ftell:
close tmpfile pclose clearerr fileno setbuf setvbuf fseeko ftello putc_unlocked fputc_unlocked getc_unlocked:
fgetc_unlocked getchar_unlocked _IO_getc __overflow __uflow putw getw lseek lseek64 dup dup2 ftruncate fsync readdir:
closedir:
fopen rename freopen popen: r0=str r1=str
fwrite fwrite_unlocked: r0=a1*a2
fread fread_unlocked: w0=a1*ret!
write pwrite: r1=a2
read pread: w1=ret!
fgets getcwd: wret=str!
printf: format0
fprintf dprintf: format1
vprintf: r0=str x1=24 va1
vfprintf vdprintf: r1=str x2=24 va2
vsprintf: r1=str x2=24 va2 w0=str!
vsnprintf: r2=str x3=24 va3 w0=min1!
vasprintf: r1=str x2=24 va2 w0=8! allocat0=ret1 wat0=ret1
vwarn vwarnx: r0=str x1=24 va1
vsyslog: r1=str x2=24 va2
getline getdelim __getdelim: x0=8 x1=8 allocat0=m1*gt0 wat0=ret1
scanf __isoc99_scanf __isoc23_scanf: scan0
fscanf __isoc99_fscanf __isoc23_fscanf: scan1
fdopen: r1=str
fgetpos: w1=16!
fsetpos: r1=16
mkstemp: x0=str
pipe: w0=8!
stat lstat: r0=str w1=144!
fstat: w1=144!
# Time
time: w0=8*nn0!
clock omp_get_wtime usleep sleep alarm difftime:
timespec_get gettimeofday: w0=16!
clock_gettime: w1=16!
localtime gmtime: r0=8 wret=56*ok
localtime_r gmtime_r: r0=8 w1=56!
mktime timegm: x0=56
asctime: r0=56 wret=str
ctime: r0=8 wret=str
strftime: r2=str r3=56 w0=ret1!
nanosleep: r0=16 w1=16*nn1!
clock_nanosleep: r2=16 w3=16*nn3!
clock_getres: w1=16*nn1!
getrusage: w1=144!
times: w0=32*nn0!
setitimer: r1=32 w2=32*nn2!
getitimer: w1=32!
# Numbers
rand srand random srandom drand48 srand48 lrand48 mrand48 arc4random arc4random_uniform div ldiv lldiv:
rand_r: x0=4
erand48 nrand48 jrand48: x0=6
getrandom: w0=ret!
getentropy: w0=a1!
arc4random_buf: w0=a1
modf: w1=8
modff frexp frexpf frexpl lgamma_r lgammaf_r: w1=4
modfl: w1=16
sincos: w1=8 w2=8
sincosf: w1=4 w2=4
remquo remquof: w2=4
nan nanf: r0=str
# The process, its end and its callbacks
getpid sysconf isatty __errno_location __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc localeconv getppid:
getuid geteuid getgid getegid getpagesize get_nprocs:
getenv unsetenv: r0=str
signal raise kill pause fork atexit on_exit at_quick_exit: callback
tce_enter tce_leave tce_iteration: callback
wait: w0=4*nn0!
waitpid: w1=4*nn1!
qsort qsort_r: x0=a1*a2 callback behind
bsearch: r0=a3 r1=a2*a3 callback
tsearch tdelete: x1=8 callback
tfind: r1=8 callback
twalk: callback
lfind: r2=8 r1=m2*a3 callback
lsearch: r0=a3 x2=8 r1=m2*a3 callback
exit quick_exit: callback leaves
_exit _Exit abort __stack_chk_fail: leaves
setjmp _setjmp sigsetjmp __sigsetjmp: w0=200
longjmp _longjmp siglongjmp __longjmp_chk: r0=200 leaves
__assert_fail: r0=str r1=str leaves
setenv: r0=str r1=str
setlocale: r1=str
gethostname: w0=a1!
sigemptyset sigfillset: w0=128
sigaddset sigdelset: x0=128
sigismember: r0=128
system: r0=str callback
# Threads
sched_yield pthread_self pthread_detach sched_getcpu pthread_equal pthread_key_delete pthread_setspecific:
pthread_getspecific:
pthread_mutex_init: w0=40!
pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock pthread_mutex_destroy: x0=40
pthread_create: w0=8 callback
pthread_join: w1=8*nn1
pthread_cond_wait: x0=48 x1=40
pthread_cond_signal pthread_cond_broadcast pthread_cond_destroy: x0=48
pthread_barrier_init sem_init: w0=32
pthread_barrier_wait pthread_barrier_destroy sem_wait sem_trywait sem_post sem_destroy: x0=32
pthread_exit: callback leaves
pthread_attr_init pthread_rwlock_init: w0=56
pthread_attr_destroy pthread_attr_setdetachstate pthread_attr_setstacksize pthread_rwlock_rdlock: x0=56
pthread_rwlock_wrlock pthread_rwlock_unlock pthread_rwlock_destroy: x0=56
pthread_mutexattr_init pthread_spin_init pthread_key_create: w0=4
pthread_mutexattr_settype pthread_mutexattr_destroy pthread_spin_lock pthread_spin_unlock pthread_spin_destroy: x0=4
pthread_cond_init: w0=48
pthread_cond_timedwait: x0=48 x1=40 r2=16
pthread_once: x0=4 callback
# What compilers put in the place of others, with checks
__memcpy_chk __memmove_chk __mempcpy_chk: copy=a2
__memset_chk: w0=a2
__strcpy_chk __stpcpy_chk: r1=str w0=str1
__strncpy_chk: r1=min2 w0=a2
__strcat_chk: r0=str r1=str w0=str!
__strncat_chk: r0=str r1=min2 w0=str!
__printf_chk: format1
__fprintf_chk: format2
__sprintf_chk: format3 w0=str!
__snprintf_chk: format4 w0=min1!
__asprintf_chk: format2 w0=8! allocat0=ret1 wat0=ret1
__vprintf_chk: r1=str x2=24 va2
__vfprintf_chk: r2=str x3=24 va3
__vsprintf_chk: r3=str x4=24 va4 w0=str!
__vsnprintf_chk: r4=str x5=24 va5 w0=min1!
__fgets_chk: wret=str
__fread_chk: w0=a2*ret!
__read_chk: w1=ret!
# C++
_Znwm _Znam _ZnwmSt11align_val_t _ZnamSt11align_val_t: alloc=a0 throws
_ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t __cxa_allocate_exception: alloc=a0
_ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t: alloc=a0
_ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t: free
_ZdaPvmSt11align_val_t __cxa_free_exception _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t: free
_ZdlPvSt11align_val_tRKSt9nothrow_t _ZdaPvSt11align_val_tRKSt9nothrow_t: free
__cxa_begin_catch __cxa_get_exception_ptr __cxa_atexit __cxa_thread_atexit:
__cxa_end_catch: callback
__cxa_throw __cxa_rethrow __cxa_call_unexpected __cxa_call_terminate __cxa_pure_virtual: callback leaves
__cxa_bad_cast __cxa_bad_typeid __cxa_throw_bad_array_new_length _ZSt9terminatev: callback leaves
_ZSt17__throw_bad_allocv _ZSt28__throw_bad_array_new_lengthv _ZSt16__throw_bad_castv: callback leaves
_ZSt25__throw_bad_function_callv: callback leaves
_ZSt15set_new_handlerPFvvE _ZSt15get_new_handlerv:
__cxa_guard_acquire __cxa_guard_release __cxa_guard_abort: x0=8
__dynamic_cast: r0=8
_ZSt19__throw_logic_errorPKc _ZSt20__throw_length_errorPKc _ZSt20__throw_out_of_rangePKc: r0=str callback leaves
_ZSt21__throw_runtime_errorPKc _ZSt24__throw_invalid_argumentPKc: r0=str callback leaves
"""

# Functions of their arguments alone, apart from those that `effects` names.
_REAL = (
    "exp10 pow10 fmod nexttoward scalbln ilogb significand drem gamma j0 j1 jn y0 y1 yn fpclassify signbit isnan isinf "
    "isfinite finite __fpclassify __signbit __isnan __isinf __finite __iscanonical __issignaling lrint llrint"
).split()
_LONG = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma "
    "fmax fmin fmod hypot ldexp lgamma log log10 log1p log2 logb lround llround nearbyint nextafter pow remainder rint "
    "round scalbn sin sinh sqrt tan tanh tgamma trunc"
).split()
_COMPLEX = (
    "cabs carg cimag creal conj cproj cexp clog cpow csqrt csin ccos ctan casin cacos catan csinh ccosh ctanh casinh "
    "cacosh catanh"
).split()
_OTHER = (
    "isalnum isascii isblank iscntrl isgraph islower isprint ispunct isupper isxdigit toascii imaxabs ffs ffsl ffsll "
    "htonl htons ntohl ntohs towlower towupper iswalpha iswdigit iswspace iswalnum iswupper iswlower iswpunct "
    "__mulsc3 __muldc3 __mulxc3 __divsc3 __divdc3 __divxc3 __powisf2 __powidf2 __powixf2 __popcountdi2 __popcountsi2"
).split()
ARITHMETIC = {name + suffix for name in _REAL for suffix in ("", "f", "l")} | {name + "l" for name in _LONG}
ARITHMETIC |= {name + suffix for name in _COMPLEX for suffix in ("", "f")} | set(_OTHER)
