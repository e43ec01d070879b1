/* Preloaded into xlac (LD_PRELOAD): makes one call of the system or the C library fail as if resources were used up.
 *
 * - FAULT_KIND: own-memory (allocations that xlac's own code makes), memory (all), open, read, write, rename, map or
 *   process
 * - FAULT_AT: the call of that kind that fails, counted from 1 from the beginning of main; 0: none
 * - FAULT_REST: where set, all later ones fail as well
 * - FAULT_COUNT: a file that the number of calls is written to at the end
 *
 * Not counted: calls that the C library makes itself. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

typedef enum Kind { OWN_MEMORY, MEMORY, OPEN, READ, WRITE, RENAME, MAP, PROCESS, KIND_COUNT } Kind;
static const char *const names[] = {"own-memory", "memory", "open", "read", "write", "rename", "map", "process"};

static Kind wanted = KIND_COUNT; /* none before main */
static long fail_at;
static bool fails_rest;
static atomic_long count;
static const char *count_file;

static bool hits(Kind kind) {
  if (kind != wanted) return false;
  long number = atomic_fetch_add(&count, 1) + 1;
  return fail_at > 0 && (number == fail_at || (fails_rest && number > fail_at));
}

/* --- memory: glibc's own names, since dlsym allocates --- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *data, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static char *program_begin, *program_end; /* of the program's own code */

static bool memory_fails(const void *caller) {
  if (wanted != OWN_MEMORY && wanted != MEMORY) return false;
  bool is_own = (const char *)caller >= program_begin && (const char *)caller < program_end;
  if (wanted == OWN_MEMORY && !is_own) return false;
  if (!hits(wanted)) return false;
  errno = ENOMEM;
  return true;
}

void *malloc(size_t size) {
  return memory_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
  return memory_fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *data, size_t size) {
  return memory_fails(__builtin_return_address(0)) ? NULL : __libc_realloc(data, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return memory_fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  if (memory_fails(__builtin_return_address(0))) return ENOMEM;
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}

char *strdup(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = memory_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
  return copy ? memcpy(copy, text, size) : NULL;
}

/* --- the rest --- */

/* Fails with |error| and |result| where it is this call's turn, else goes on to the C library's function. */
#define FAIL(kind, error, result) \
  if (hits(kind)) {               \
    errno = error;                \
    return result;                \
  }
#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))

#define OPEN_FUNCTION(name)                                                 \
  int name(const char *path, int flags, ...) {                              \
    va_list arguments;                                                      \
    va_start(arguments, flags);                                             \
    int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;                \
    va_end(arguments);                                                      \
    FAIL(OPEN, EMFILE, -1)                                                  \
    return NEXT(int (*)(const char *, int, ...), #name)(path, flags, mode); \
  }
OPEN_FUNCTION(open)
OPEN_FUNCTION(open64)

#define STREAM_FUNCTION(name)                                               \
  FILE *name(const char *path, const char *mode) {                          \
    FAIL(OPEN, EMFILE, NULL)                                                \
    return NEXT(FILE * (*)(const char *, const char *), #name)(path, mode); \
  }
STREAM_FUNCTION(fopen)
STREAM_FUNCTION(fopen64)

char *mkdtemp(char *pattern) {
  FAIL(OPEN, ENOSPC, NULL)
  return NEXT(char *(*)(char *), "mkdtemp")(pattern);
}

ssize_t read(int descriptor, void *data, size_t size) {
  FAIL(READ, EIO, -1)
  return NEXT(ssize_t(*)(int, void *, size_t), "read")(descriptor, data, size);
}

ssize_t write(int descriptor, const void *data, size_t size) {
  if (descriptor != STDERR_FILENO) FAIL(WRITE, ENOSPC, -1)
  return NEXT(ssize_t(*)(int, const void *, size_t), "write")(descriptor, data, size);
}

size_t fwrite(const void *data, size_t size, size_t n, FILE *file) {
  if (file != stderr) FAIL(WRITE, ENOSPC, 0)
  return NEXT(size_t (*)(const void *, size_t, size_t, FILE *), "fwrite")(data, size, n, file);
}

int rename(const char *from, const char *to) {
  FAIL(RENAME, EIO, -1)
  return NEXT(int (*)(const char *, const char *), "rename")(from, to);
}

int link(const char *from, const char *to) {
  FAIL(RENAME, EPERM, -1)
  return NEXT(int (*)(const char *, const char *), "link")(from, to);
}

#define MAP_FUNCTION(name)                                                                                          \
  void *name(void *place, size_t size, int protection, int flags, int descriptor, off_t offset) {                   \
    FAIL(MAP, ENOMEM, MAP_FAILED)                                                                                   \
    return NEXT(void *(*)(void *, size_t, int, int, int, off_t), #name)(place, size, protection, flags, descriptor, \
                                                                        offset);                                    \
  }
MAP_FUNCTION(mmap)
MAP_FUNCTION(mmap64)

int mprotect(void *place, size_t size, int protection) {
  FAIL(MAP, ENOMEM, -1)
  return NEXT(int (*)(void *, size_t, int), "mprotect")(place, size, protection);
}

pid_t fork(void) {
  FAIL(PROCESS, EAGAIN, -1)
  return NEXT(pid_t(*)(void), "fork")();
}

typedef int Spawn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *,
                  char *const *);

int posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const *arguments, char *const *environment) {
  if (hits(PROCESS)) return EAGAIN;
  return NEXT(Spawn *, "posix_spawn")(child, path, actions, attributes, arguments, environment);
}

int posix_spawnp(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const *arguments, char *const *environment) {
  if (hits(PROCESS)) return EAGAIN;
  return NEXT(Spawn *, "posix_spawnp")(child, path, actions, attributes, arguments, environment);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
  if (hits(PROCESS)) return EAGAIN;
  return NEXT(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *), "pthread_create")(
      thread, attributes, run, argument);
}

/* --- beginning and end --- */

/* From the first to the last of the functions that the program itself exports: its archives hide theirs, LLVM's
 * among them, and come after it. */
static int find_program(struct dl_phdr_info *program, size_t size, void *data) {
  (void)size, (void)data;
  const ElfW(Dyn) *dynamic = NULL;
  for (int i = 0; i < program->dlpi_phnum; i++) {
    if (program->dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = (const void *)(program->dlpi_addr + program->dlpi_phdr[i].p_vaddr);
  }
  const ElfW(Sym) *symbol = NULL, *end = NULL; /* the names follow the symbols */
  for (; dynamic != NULL && dynamic->d_tag != DT_NULL; dynamic++) {
    if (dynamic->d_tag == DT_SYMTAB) symbol = (const void *)dynamic->d_un.d_ptr;
    if (dynamic->d_tag == DT_STRTAB) end = (const void *)dynamic->d_un.d_ptr;
  }
  for (; symbol != NULL && symbol + 1 <= end; symbol++) {
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF) continue;
    char *begin = (char *)(program->dlpi_addr + symbol->st_value);
    if (program_begin == NULL || begin < program_begin) program_begin = begin;
    if (begin + symbol->st_size > program_end) program_end = begin + symbol->st_size;
  }
  return 1; /* the first is the program */
}

static void write_count(void) {
  wanted = KIND_COUNT;
  FILE *file = count_file ? fopen(count_file, "w") : NULL;
  if (!file) return;
  fprintf(file, "%ld\n", (long)count);
  fclose(file);
}

static int (*real_main)(int, char **, char **);

static int counted_main(int argc, char **argv, char **environment) {
  const char *kind = getenv("FAULT_KIND"), *at = getenv("FAULT_AT");
  fails_rest = getenv("FAULT_REST") != NULL;
  fail_at = at ? atol(at) : 0;
  count_file = getenv("FAULT_COUNT");
  dl_iterate_phdr(find_program, NULL);
  unsetenv("LD_PRELOAD"); /* not for the programs that it starts */
  for (int k = 0; k < KIND_COUNT; k++)
    if (kind && strcmp(kind, names[k]) == 0) wanted = (Kind)k;
  int code = real_main(argc, argv, environment);
  write_count();
  return code;
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end) {
  typedef int Start(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void),
                    void *);
  real_main = main;
  return NEXT(Start *, "__libc_start_main")(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
