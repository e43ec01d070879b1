/* Any bytes: parsing must end with a module or a located error, and a module must survive printing and parsing.
 *
 * LLVMFuzzerTestOneInput serves libFuzzer (clang -fsanitize=fuzzer -DXLAC_LIBFUZZER …).  Built plainly it replays the
 * files named as arguments, or without arguments mutates the texts in testdata a fixed number of times with a fixed
 * seed. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "parser/parser_testing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                              \
  do {                                                     \
    if (!(condition)) XLAC_BUG("fuzzing: %s", #condition); \
  } while (0)

static void check_module(Arena *arena, ShapeTable *shapes, const HloModule *module) {
  enum { LONGEST = 1 << 16 };
  StringBuilder out;
  DiagSink diag;
  HloModule *again = NULL;
  HloPrintOptions options = HLO_PRINT_DEFAULT;
  sb_init(&out, arena);
  diag_sink_init(&diag, arena);
  hlo_module_print(&out, module, &options);
  if (out.size > LONGEST) return;
  SourceFile file = {SV("printed"), sb_view(&out)};
  Status status = hlo_parse_module(arena, shapes, &file, &diag, &again);
  if (status != STATUS_OK) {
    fprintf(stderr, "%s\n%u:%u: %.*s\n", out.data, diag.first->loc.line, diag.first->loc.column,
            SV_ARG(diag.first->message));
  }
  FUZZ_CHECK(status == STATUS_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Arena *arena = arena_create();
  ShapeTable *shapes = shape_table_create(arena);
  /* an exact copy, so that reading beyond the end is noticed */
  char *text = malloc(size ? size : 1);
  if (size) memcpy(text, data, size);
  SourceFile file = {SV("fuzz"), {text, size}};
  DiagSink diag;
  HloModule *module = NULL;
  diag_sink_init(&diag, arena);
  Status status = hlo_parse_module(arena, shapes, &file, &diag, &module);
  FUZZ_CHECK((status == STATUS_OK) == (module != NULL));
  FUZZ_CHECK((status == STATUS_OK) == (diag.error_count == 0));
  for (const Diagnostic *d = diag.first; d; d = d->next) FUZZ_CHECK(d->loc.line > 0 && d->loc.column > 0);
  if (module) check_module(arena, shapes, module);
  arena_destroy(arena);
  free(text);
  return 0;
}

#ifndef XLAC_LIBFUZZER

typedef ARRAY(StringView) Texts;

static StringView read_text(Arena *arena, const char *path) {
  DiagSink diag;
  StringView text = {0};
  diag_sink_init(&diag, arena);
  if (file_read(arena, path, &diag, &text) != STATUS_OK) fail_msg("cannot read %s", path);
  return text;
}

static int compare_texts(const void *a, const void *b) {
  return sv_compare(*(const StringView *)a, *(const StringView *)b);
}

static Texts read_seeds(Arena *arena) {
  static const char *const folders[] = {"testdata/parser/data", "testdata/invalid"};
  Texts texts = {0};
  for (int i = 0; i < 2; i++) {
    DIR *folder = opendir(folders[i]);
    if (!folder) continue;
    for (const struct dirent *entry; (entry = readdir(folder));) {
      StringView name = sv_from_cstring(entry->d_name);
      if (!sv_ends_with(name, SV(".hlo"))) continue;
      array_push(&texts, arena, read_text(arena, arena_printf(arena, "%s/%s", folders[i], entry->d_name)));
    }
    closedir(folder);
  }
  if (texts.count > 0) qsort(texts.data, (size_t)texts.count, sizeof(StringView), compare_texts);
  return texts;
}

static uint32_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

/* Overwrites, removes or repeats a few bytes, or pastes a piece of another text. */
static size_t mutate(char *text, size_t size, size_t capacity, StringView other, uint64_t *state) {
  static const char bytes[] = "{}()[],:=%\"'\\-.x_0123456789<>*#/?aT \n\r\t";
  for (uint32_t i = 0, count = 1 + next_random(state) % 4; i < count && size > 0; i++) {
    size_t at = next_random(state) % size, length = 1 + next_random(state) % 12;
    if (length > size - at) length = size - at;
    switch (next_random(state) % 4) {
      case 0: text[at] = bytes[next_random(state) % (sizeof(bytes) - 1)]; break;
      case 1:
        memmove(text + at, text + at + length, size - at - length);
        size -= length;
        break;
      case 2:
        if (size + length > capacity) break;
        memmove(text + at + length, text + at, size - at);
        size += length;
        break;
      default: {
        if (other.size == 0 || size + 40 > capacity) break;
        size_t from = next_random(state) % other.size, piece = 1 + next_random(state) % 40;
        if (piece > other.size - from) piece = other.size - from;
        memmove(text + at + piece, text + at, size - at);
        memcpy(text + at, other.data + from, piece);
        size += piece;
      }
    }
  }
  return size;
}

static void mutated_texts_end_well(void **state) {
  (void)state;
  enum { CAPACITY = 1 << 14, ROUNDS = 20000 };
  Arena *arena = arena_create();
  Texts seeds = read_seeds(arena);
  if (seeds.count == 0) skip();
  char *text = arena_alloc(arena, CAPACITY);
  uint64_t random = 1;
  const char *rounds = getenv("XLAC_FUZZ_ROUNDS"), *seed = getenv("XLAC_FUZZ_SEED");
  if (seed) random = strtoull(seed, NULL, 10);
  for (long i = 0, count = rounds ? strtol(rounds, NULL, 10) : ROUNDS; i < count; i++) {
    StringView base = seeds.data[next_random(&random) % (uint64_t)seeds.count];
    StringView other = seeds.data[next_random(&random) % (uint64_t)seeds.count];
    size_t size = base.size < CAPACITY / 2 ? base.size : CAPACITY / 2;
    memcpy(text, base.data, size);
    size = mutate(text, size, CAPACITY, other, &random);
    (void)LLVMFuzzerTestOneInput((const uint8_t *)text, size);
  }
  arena_destroy(arena);
}

/* Cut off anywhere. */
static void truncated_texts_end_well(void **state) {
  (void)state;
  Arena *arena = arena_create();
  Texts seeds = read_seeds(arena);
  for (int64_t i = 0; i < seeds.count; i++) {
    size_t step = 1 + seeds.data[i].size / 200;
    for (size_t size = 0; size < seeds.data[i].size; size += step) {
      (void)LLVMFuzzerTestOneInput((const uint8_t *)seeds.data[i].data, size);
    }
  }
  arena_destroy(arena);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(mutated_texts_end_well),
                                     cmocka_unit_test(truncated_texts_end_well)};
  if (argc == 1) return cmocka_run_group_tests(tests, NULL, NULL);
  for (int i = 1; i < argc; i++) {
    Arena *arena = arena_create();
    StringView text = read_text(arena, argv[i]);
    (void)LLVMFuzzerTestOneInput((const uint8_t *)text.data, text.size);
    arena_destroy(arena);
  }
  return 0;
}

#endif
