#include "hlo/ir/custom_call.h"

#include <string.h>

#include "hlo/ir/call_attributes.h"

static const char *const markers[] = {
    "Sharding",         "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement",
    "LayoutConstraint", "MoveToHost",           "MoveToDevice",
};

bool custom_call_is_marker(StringView target) {
  for (size_t i = 0; i < sizeof markers / sizeof *markers; i++) {
    if (sv_equal_cstring(target, markers[i])) return true;
  }
  return false;
}

bool custom_call_is_lapack(StringView target, StringView routine) {
  const size_t prefix = sizeof "lapack_s" - 1, suffix = sizeof "_ffi" - 1;
  if (target.size != prefix + routine.size + suffix) return false;
  return sv_starts_with(target, SV("lapack_")) && sv_ends_with(target, SV("_ffi")) &&
         sv_equal(sv_sub(target, prefix, routine.size), routine);
}

int64_t custom_call_integer(const HloInstruction *call, StringView name, int64_t fallback) {
  Arena *arena = arena_create();
  DiagSink unheard;
  diag_sink_init(&unheard, arena);
  CallAttribute dictionary;
  const CallAttribute *entry = NULL;
  if (call_attributes_parse(arena, call, &unheard, &dictionary) == STATUS_OK)
    entry = call_attribute_find(&dictionary, name);
  if (entry != NULL && entry->kind == CALL_ATTRIBUTE_SCALAR && !type_is_float(entry->type)) {
    fallback = 0;
    memcpy(&fallback, entry->data, (size_t)type_storage_bytes(entry->type)); /* little endian */
  }
  arena_destroy(arena);
  return fallback;
}
