#include "hlo/ir/custom_call.h"

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
  const HloAttr *config = hlo_instruction_attr(call, HLO_ATTR_BACKEND_CONFIG);
  StringView text = config ? config->value.text : SV("");
  for (size_t at = 0; at + name.size < text.size; at++) {
    if (!sv_starts_with(sv_sub(text, at, name.size), name)) continue;
    size_t i = at + name.size;
    while (i < text.size && (text.data[i] == ' ' || text.data[i] == '=')) i++;
    int64_t value = 0;
    for (; i < text.size && text.data[i] >= '0' && text.data[i] <= '9' && value < 1000; i++)
      value = value * 10 + (text.data[i] - '0');
    return value;
  }
  return fallback;
}
