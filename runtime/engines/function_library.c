#include "runtime/engines/function_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *function_library_open(Arena *arena, const char *file, const char **out_reason) {
  const char *path = strchr(file, '/') ? file : arena_printf(arena, "./%s", file);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  *out_reason = library == NULL ? dlerror() : NULL;
  return library;
}

void *function_library_find(void *library, const char *symbol) {
  struct link_map *map;
  Dl_info info;
  void *address = dlsym(library, symbol);
  if (address == NULL || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || dladdr(address, &info) == 0) return NULL;
  return strcmp(info.dli_fname, map->l_name) == 0 ? address : NULL;
}

/* --- libraries of xlac's own --- */

/* In the folder of the file |path|, or where an installation has it beside that. */
static void *open_beside(Arena *arena, StringView path, const char *name, int flags) {
  static const char *const places[] = {"", "../lib/"};
  while (path.size > 0 && path.data[path.size - 1] != '/') path.size--;
  void *library = NULL;
  for (size_t i = 0; i < sizeof places / sizeof *places && library == NULL && path.size > 0; i++)
    library = dlopen(arena_printf(arena, "%.*s%s%s", SV_ARG(path), places[i], name), flags);
  return library;
}

/* The file that this code is in: a shared library, or the program, whose name may be without its folder. */
static StringView own_file(void) {
  static const char here;
  Dl_info info;
  return dladdr(&here, &info) != 0 ? sv_from_cstring(info.dli_fname) : SV("");
}

static void *open_own(Arena *arena, const char *name, int flags) {
  void *library = open_beside(arena, own_file(), name, flags);
  if (library != NULL) return library;
  char program[PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", program, sizeof program);
  return size > 0 ? open_beside(arena, (StringView){program, (size_t)size}, name, flags) : NULL;
}

bool lapack_library_has(StringView symbol) {
  return sv_starts_with(symbol, SV("lapack_")) && sv_ends_with(symbol, SV("_ffi"));
}

void *lapack_library_open(Arena *arena) {
  /* OpenBLAS starts as many threads as there are processors when it is loaded; the library uses none of them. */
  setenv("OPENBLAS_NUM_THREADS", "1", true);
  return open_own(arena, "libxlac_lapack.so", RTLD_NOW | RTLD_LOCAL);
}

/* Open MPI's own parts, which it loads later, look for its symbols among the global ones. */
void *mpi_library_open(Arena *arena, const char *name, const char **out_reason) {
  void *library = open_own(arena, name, RTLD_NOW | RTLD_GLOBAL);
  *out_reason = library == NULL ? dlerror() : NULL;
  return library;
}
