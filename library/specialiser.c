/* Executables by signature. */
#include "xlac/specialiser.h"

#include <string.h>

#include "base/hash_map.h"
#include "base/monotonic_clock.h"
#include "library/library_internal.h"

typedef enum SpecialState { SPECIAL_EMPTY, SPECIAL_COMPILING, SPECIAL_READY, SPECIAL_FAILED } SpecialState;

/* What there is for one signature; it stays where it is. */
typedef struct Special {
  SpecialState state;
  XlacExecutable *executable; /* SPECIAL_READY */
  XlacStatus failure;         /* SPECIAL_FAILED */
  struct Special *next;
} Special;

struct XlacSpecialiser {
  XlacClient *client;
  const XlacOptions *options;
  const char *name;
  XlacBuildFunction build;
  void *data;
  pthread_mutex_t mutex; /* of what follows */
  pthread_cond_t state_changed;
  Arena *arena, *scratch;
  StringMap by_signature; /* → Special */
  Special *specials;
  XlacSpecialiserStatistics statistics;
};

/* --- the end and the beginning --- */

typedef struct SpecialiserCreation {
  XlacClient *client;
  const XlacOptions *options;
  const char *name;
  XlacBuildFunction build;
  void *data;
  XlacSpecialiser *made;
} SpecialiserCreation;

static void create(void *self) {
  SpecialiserCreation *creation = self;
  Arena *arena = arena_create();
  XlacSpecialiser *made = ARENA_NEW(arena, XlacSpecialiser);
  made->arena = arena;
  made->scratch = arena_create();
  made->client = creation->client;
  made->options = creation->options;
  made->name = arena_copy_string(arena, creation->name, strlen(creation->name));
  made->build = creation->build;
  made->data = creation->data;
  string_map_init(&made->by_signature, arena);
  pthread_mutex_init(&made->mutex, NULL);
  pthread_cond_init(&made->state_changed, NULL);
  creation->made = made;
}

XlacStatus xlac_specialiser_create(XlacClient *client, const XlacOptions *options, const char *name,
                                   XlacBuildFunction build, void *data, XlacSpecialiser **out_specialiser) {
  SpecialiserCreation creation = {client, options, name, build, data, NULL};
  XlacStatus status = library_call(library_listener(client, options), create, &creation);
  *out_specialiser = creation.made;
  return status;
}

void xlac_specialiser_destroy(XlacSpecialiser *specialiser) {
  if (specialiser == NULL) return;
  for (Special *special = specialiser->specials; special != NULL; special = special->next)
    xlac_executable_destroy(special->executable);
  pthread_cond_destroy(&specialiser->state_changed);
  pthread_mutex_destroy(&specialiser->mutex);
  arena_destroy(specialiser->scratch);
  arena_destroy(specialiser->arena);
}

/* --- signatures --- */

typedef struct SpecialSearch {
  XlacSpecialiser *specialiser;
  const XlacArrayType *types;
  int64_t count;
  Special *special;
} SpecialSearch;

/* "f32[2,3]", as shapes are written. */
static void print_type(StringBuilder *out, const XlacArrayType *type) {
  sb_append_cstring(out, type_text((PrimitiveType)type->type));
  sb_append_char(out, '[');
  for (int32_t d = 0; d < type->rank; d++) sb_printf(out, "%s%lld", d > 0 ? "," : "", (long long)type->dims[d]);
  sb_append_char(out, ']');
}

/* The mutex is held. */
static void find_special(void *self) {
  SpecialSearch *search = self;
  XlacSpecialiser *specialiser = search->specialiser;
  StringBuilder signature;
  arena_reset(specialiser->scratch);
  sb_init(&signature, specialiser->scratch);
  sb_append_char(&signature, '(');
  for (int64_t i = 0; i < search->count; i++) {
    print_type(&signature, &search->types[i]);
    sb_append_char(&signature, ' ');
  }
  StringView key;
  void **place = string_map_enter(&specialiser->by_signature, sb_view(&signature), specialiser->arena, &key);
  if (*place == NULL) {
    Special *special = ARENA_NEW(specialiser->arena, Special);
    special->next = specialiser->specials;
    specialiser->specials = special;
    *place = special;
  }
  search->special = *place;
}

/* --- compilations --- */

static XlacStatus add_parameters(XlacBuilder *builder, XlacComputation *entry, const SpecialSearch *search,
                                 Arena *scratch, XlacOp **parameters) {
  for (int64_t i = 0; i < search->count; i++) {
    StringBuilder shape;
    sb_init(&shape, scratch);
    print_type(&shape, &search->types[i]);
    const char *name = arena_printf(scratch, "argument.%lld", (long long)i);
    XlacStatus status =
        xlac_builder_add_parameter(builder, entry, i, sv_copy(scratch, sb_view(&shape)).data, name, &parameters[i]);
    if (status != XLAC_STATUS_OK) return status;
  }
  return XLAC_STATUS_OK;
}

typedef struct SpecialCompilation {
  const SpecialSearch *search;
  XlacExecutable *executable;
  XlacStatus status;
} SpecialCompilation;

static XlacStatus build_module(const SpecialSearch *search, XlacBuilder *builder, Arena *scratch,
                               XlacModule **out_module) {
  const XlacSpecialiser *specialiser = search->specialiser;
  XlacComputation *entry;
  XlacOp **parameters = ARENA_NEW_ARRAY(scratch, XlacOp *, search->count + 1);
  XlacStatus status = xlac_builder_add_computation(builder, "main", &entry);
  if (status == XLAC_STATUS_OK) status = xlac_builder_set_entry(builder, entry);
  if (status == XLAC_STATUS_OK) status = add_parameters(builder, entry, search, scratch, parameters);
  if (status == XLAC_STATUS_OK)
    status = specialiser->build(specialiser->data, builder, entry, parameters, search->types, search->count);
  return status == XLAC_STATUS_OK ? xlac_builder_finish(builder, out_module) : status;
}

static void compile_special(void *self) {
  SpecialCompilation *compilation = self;
  const XlacSpecialiser *specialiser = compilation->search->specialiser;
  Arena *scratch = arena_create();
  XlacBuilder *builder;
  XlacModule *module = NULL;
  compilation->status = xlac_builder_create(specialiser->client, specialiser->name, &builder);
  if (compilation->status == XLAC_STATUS_OK)
    compilation->status = build_module(compilation->search, builder, scratch, &module);
  if (compilation->status == XLAC_STATUS_OK)
    compilation->status =
        xlac_compile_module(specialiser->client, specialiser->options, module, &compilation->executable);
  xlac_module_destroy(module);
  xlac_builder_destroy(builder);
  arena_destroy(scratch);
}

/* Whether the same would happen again. */
static bool is_lasting(XlacStatus failure) {
  return failure == XLAC_STATUS_INVALID || failure == XLAC_STATUS_UNSUPPORTED || failure == XLAC_STATUS_EXHAUSTED;
}

/* The mutex is held, but not while it compiles. */
static XlacStatus fill_special(const SpecialSearch *search) {
  XlacSpecialiser *specialiser = search->specialiser;
  Special *special = search->special;
  XlacSpecialiserStatistics *statistics = &specialiser->statistics;
  special->state = SPECIAL_COMPILING;
  pthread_mutex_unlock(&specialiser->mutex);
  double start = monotonic_seconds();
  SpecialCompilation compilation = {.search = search};
  const XlacListener *listener = library_listener(specialiser->client, specialiser->options);
  XlacStatus status = library_call(listener, compile_special, &compilation);
  if (status == XLAC_STATUS_OK) status = compilation.status;
  double seconds = monotonic_seconds() - start;
  pthread_mutex_lock(&specialiser->mutex);
  statistics->seconds += seconds;
  if (status == XLAC_STATUS_OK) {
    const void *object;
    size_t size;
    xlac_executable_object(compilation.executable, &object, &size);
    statistics->compilations++;
    statistics->object_bytes += (int64_t)size;
    *special = (Special){.state = SPECIAL_READY, .executable = compilation.executable, .next = special->next};
  } else {
    statistics->failures++;
    special->state = is_lasting(status) ? SPECIAL_FAILED : SPECIAL_EMPTY;
    special->failure = status;
  }
  pthread_cond_broadcast(&specialiser->state_changed);
  return status;
}

/* The mutex is held. */
static XlacStatus await_special(const SpecialSearch *search) {
  Special *special = search->special;
  while (special->state == SPECIAL_COMPILING)
    pthread_cond_wait(&search->specialiser->state_changed, &search->specialiser->mutex);
  if (special->state == SPECIAL_EMPTY) return fill_special(search);
  return special->state == SPECIAL_READY ? XLAC_STATUS_OK : special->failure;
}

static bool types_exist(const XlacArrayType *types, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (types[i].type < XLAC_PRED || types[i].type > XLAC_C128 || types[i].rank < 0) return false;
  return true;
}

XlacStatus xlac_specialiser_get(XlacSpecialiser *specialiser, const XlacArrayType *types, int64_t count,
                                XlacExecutable **out_executable) {
  *out_executable = NULL;
  const XlacListener *listener = library_listener(specialiser->client, specialiser->options);
  if (!types_exist(types, count)) {
    library_tell_error(listener, "usage", "an argument's type is no XlacType, or its rank is negative");
    return XLAC_STATUS_INVALID;
  }
  SpecialSearch search = {specialiser, types, count, NULL};
  pthread_mutex_lock(&specialiser->mutex);
  specialiser->statistics.calls++;
  XlacStatus status = library_call(listener, find_special, &search);
  if (status == XLAC_STATUS_OK) status = await_special(&search);
  if (status == XLAC_STATUS_OK) *out_executable = search.special->executable;
  pthread_mutex_unlock(&specialiser->mutex);
  return status;
}

void xlac_specialiser_statistics(XlacSpecialiser *specialiser, XlacSpecialiserStatistics *out_statistics) {
  uint64_t size = out_statistics->struct_size;
  pthread_mutex_lock(&specialiser->mutex);
  XlacSpecialiserStatistics statistics = specialiser->statistics;
  pthread_mutex_unlock(&specialiser->mutex);
  statistics.struct_size = size;
  memcpy(out_statistics, &statistics, size < sizeof statistics ? (size_t)size : sizeof statistics);
}
