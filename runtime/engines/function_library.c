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

/* --- LAPACK --- */

bool lapack_library_has(StringView symbol) {
  return sv_starts_with(symbol, SV("lapack_")) && sv_ends_with(symbol, SV("_ffi"));
}

/* In the folder of the file |path|, or where an installation has it beside that. */
static void *open_beside(Arena *arena, StringView path) {
  static const char *const places[] = {"libxlac_lapack.so", "../lib/libxlac_lapack.so"};
  while (path.size > 0 && path.data[path.size - 1] != '/') path.size--;
  void *library = NULL;
  for (size_t i = 0; i < sizeof places / sizeof *places && library == NULL && path.size > 0; i++)
    library = dlopen(arena_printf(arena, "%.*s%s", SV_ARG(path), places[i]), RTLD_NOW | RTLD_LOCAL);
  return library;
}

/* The file that this code is in: a shared library, or the program, whose name may be without its folder. */
static StringView own_file(void) {
  static const char here;
  Dl_info info;
  return dladdr(&here, &info) != 0 ? sv_from_cstring(info.dli_fname) : SV("");
}

void *lapack_library_open(Arena *arena) {
  /* OpenBLAS starts as many threads as there are processors when it is loaded; the library uses none of them. */
  setenv("OPENBLAS_NUM_THREADS", "1", true);
  void *library = open_beside(arena, own_file());
  if (library != NULL) return library;
  char program[PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", program, sizeof program);
  return size > 0 ? open_beside(arena, (StringView){program, (size_t)size}) : NULL;
}
