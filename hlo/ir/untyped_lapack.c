#include "hlo/ir/untyped_lapack.h"

#define LAPACK "lapack_"
#define NO_GATE UNTYPED_LAPACK_NO_GATE

static const UntypedLapackRoutine routines[] = {
    {"blas_",
     "trsm",
     "trsm",
     10,
     3,
     {8, 9, 7},
     {{"side", "RL", 0, NO_GATE},
      {"uplo", "UL", 1, NO_GATE},
      {"trans_x", "NTC", 2, NO_GATE},
      {"diag", "NU", 3, NO_GATE}},
     {1, 1},
     {{0}, {0}}},
    {LAPACK, "getrf", "getrf", 4, 1, {3}, {{0}}, {3, 3}, {{0, 1, 2}, {0, 1, 2}}},
    {LAPACK, "geqrf", "geqrf", 5, 1, {4}, {{0}}, {2, 2}, {{0, 1}, {0, 1}}},
    {LAPACK, "geqp3", "geqp3", 6, 2, {4, 5}, {{0}}, {3, 3}, {{0, 1, 2}, {0, 1, 2}}},
    {LAPACK, "orgqr", "ungqr", 7, 2, {5, 6}, {{0}}, {1, 1}, {{0}, {0}}},
    {LAPACK, "potrf", "potrf", 4, 1, {3}, {{"uplo", "UL", 0, NO_GATE}}, {2, 2}, {{0, 1}, {0, 1}}},
    {LAPACK, "gesdd", "gesdd", 7, 1, {6}, {{"mode", "NSA", 0, 1}}, {5, 5}, {{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}}},
    {LAPACK,
     "syevd",
     "heevd",
     4,
     1,
     {3},
     {{"mode", "V", -1, NO_GATE}, {"uplo", "UL", 0, NO_GATE}},
     {3, 3},
     {{0, 1, 2}, {0, 1, 2}}},
    {LAPACK,
     "geev",
     "geev",
     5,
     1,
     {4},
     {{"compute_left", NULL, 2, NO_GATE}, {"compute_right", NULL, 3, NO_GATE}},
     {5, 4},
     {{3, 4, 5, 6, 7}, {2, 3, 4, 5}}},
    {LAPACK,
     "gees",
     "gees",
     5,
     1,
     {4},
     {{"mode", NULL, 2, NO_GATE}, {"sort", NULL, 3, NO_GATE}},
     {6, 5},
     {{0, 3, 1, 2, 4, 5}, {0, 3, 2, 4, 5}}},
    {LAPACK,
     "gehrd",
     "gehrd",
     7,
     1,
     {6},
     {{"low", NULL, 1, NO_GATE}, {"high", NULL, 2, NO_GATE}},
     {3, 3},
     {{0, 1, 2}, {0, 1, 2}}},
    {LAPACK, "sytrd", "hetrd", 6, 1, {5}, {{"uplo", "UL", 1, NO_GATE}}, {5, 5}, {{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}}},
};

static bool is_target(const UntypedLapackRoutine *routine, StringView target, char *out_letter) {
  StringView prefix = sv_from_cstring(routine->prefix);
  if (!sv_starts_with(target, prefix) || target.size <= prefix.size) return false;
  char letter = target.data[prefix.size];
  StringView name = sv_sub(target, prefix.size + 1, target.size);
  *out_letter = letter;
  if (letter != 's' && letter != 'd' && !untyped_lapack_is_complex(letter)) return false;
  return sv_equal_cstring(name, untyped_lapack_is_complex(letter) ? routine->complex : routine->real);
}

const UntypedLapackRoutine *untyped_lapack_find(StringView target, char *out_letter) {
  for (size_t i = 0; i < sizeof routines / sizeof *routines; i++) {
    if (is_target(&routines[i], target, out_letter)) return &routines[i];
  }
  return NULL;
}
