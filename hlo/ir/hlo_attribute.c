#include "hlo/ir/hlo_attribute.h"

static const HloAttrInfo attr_infos[HLO_ATTR_COUNT] = {
    [HLO_ATTR_NONE] = {"", HLO_ATTR_KIND_INT64, HLO_ENUM_NONE},
#define HLO_ATTR(id, text, kind, enumeration) [HLO_ATTR_##id] = {text, HLO_ATTR_KIND_##kind, HLO_ENUM_##enumeration},
#include "hlo/ir/hlo_attribute.def"
#undef HLO_ATTR
};

const HloAttrInfo *hlo_attr_info(HloAttrId id) {
  XLAC_CHECK((unsigned)id < HLO_ATTR_COUNT);
  return &attr_infos[id];
}

#define V(id, text) [id] = text,
#define HLO_ENUM(type, id, ignores_case, values) static const char *const words_##id[] = {values};
#include "hlo/ir/hlo_enum.def"
#undef HLO_ENUM
#undef V

typedef struct EnumInfo {
  const char *const *words;
  int64_t count;
  bool ignores_case;
} EnumInfo;

static const EnumInfo enum_infos[HLO_ENUM_COUNT] = {
#define HLO_ENUM(type, id, ignores_case, values) \
  [HLO_ENUM_##id] = {words_##id, (int64_t)(sizeof(words_##id) / sizeof(words_##id[0])), ignores_case},
#include "hlo/ir/hlo_enum.def"
#undef HLO_ENUM
};

int64_t hlo_enum_count(HloEnumId id) {
  XLAC_CHECK((unsigned)id < HLO_ENUM_COUNT);
  return enum_infos[id].count;
}

const char *hlo_enum_text(HloEnumId id, int64_t value) {
  XLAC_CHECK(value >= 0 && value < hlo_enum_count(id));
  return enum_infos[id].words[value];
}

/* ASCII only: locales must not change what is accepted. */
static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool equal_ignoring_case(StringView a, const char *b) {
  size_t i = 0;
  for (; i < a.size && b[i] != 0; i++) {
    if (lower(a.data[i]) != lower(b[i])) return false;
  }
  return i == a.size && b[i] == 0;
}

int64_t hlo_enum_from_text(HloEnumId id, StringView text) {
  for (int64_t i = 0; i < hlo_enum_count(id); i++) {
    const char *word = enum_infos[id].words[i];
    if (enum_infos[id].ignores_case ? equal_ignoring_case(text, word) : sv_equal_cstring(text, word)) return i;
  }
  return -1;
}

ComparisonDirection comparison_direction_exchanged(ComparisonDirection direction) {
  switch (direction) {
    case COMPARISON_DIRECTION_LT: return COMPARISON_DIRECTION_GT;
    case COMPARISON_DIRECTION_GT: return COMPARISON_DIRECTION_LT;
    case COMPARISON_DIRECTION_LE: return COMPARISON_DIRECTION_GE;
    case COMPARISON_DIRECTION_GE: return COMPARISON_DIRECTION_LE;
    case COMPARISON_DIRECTION_EQ:
    case COMPARISON_DIRECTION_NE: return direction;
  }
  XLAC_BUG("direction %d", (int)direction);
}

bool window_dimension_is_trivial(const WindowDimension *dimension) {
  return dimension->size == 1 && dimension->stride == 1 && dimension->pad_low == 0 && dimension->pad_high == 0 &&
         dimension->base_dilation == 1;
}
