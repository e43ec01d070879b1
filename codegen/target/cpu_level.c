#include "codegen/target/cpu_level.h"

#include "codegen/target/feature_list.h"

#define AVX_FEATURES "+sse4.1,+sse4.2,+avx,+popcnt"
#define AVX2_FEATURES "+sse4.1,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt"
#define AVX512_FEATURES AVX2_FEATURES ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
#define VNNI_FEATURES AVX512_FEATURES ",+avx512vnni"
#define BF16_FEATURES VNNI_FEATURES ",+avx512bf16"
#define VBMI_FEATURES VNNI_FEATURES ",+avx512vbmi"
#define VBMI_BF16_FEATURES BF16_FEATURES ",+avx512vbmi"
#define ZEN4_FEATURES VBMI_BF16_FEATURES ",+sse4a"
#define AMX_FEATURES VBMI_BF16_FEATURES ",+avx512fp16,+amx-tile,+amx-int8,+amx-bf16"

static const CpuLevel cpu_levels[] = {
    {"x86-64", ""},
    {"x86-64-v2", "+sse4.1,+popcnt"},
    {"x86-64-v3", AVX2_FEATURES},
    {"x86-64-v4", AVX512_FEATURES},
    {"core2", ""},
    {"penryn", "+sse4.1"},
    {"nehalem", "+sse4.1,+popcnt"},
    {"westmere", "+sse4.1,+popcnt"},
    {"silvermont", "+sse4.1,+popcnt"},
    {"goldmont", "+sse4.1,+popcnt"},
    {"tremont", "+sse4.1,+popcnt"},
    {"sandybridge", AVX_FEATURES},
    {"ivybridge", AVX_FEATURES ",+f16c"},
    {"haswell", AVX2_FEATURES},
    {"broadwell", AVX2_FEATURES},
    {"skylake", AVX2_FEATURES},
    {"alderlake", AVX2_FEATURES},
    {"raptorlake", AVX2_FEATURES},
    {"meteorlake", AVX2_FEATURES},
    {"lunarlake", AVX2_FEATURES},
    {"arrowlake", AVX2_FEATURES},
    {"sierraforest", AVX2_FEATURES},
    {"skylake-avx512", AVX512_FEATURES},
    {"cascadelake", VNNI_FEATURES},
    {"cooperlake", BF16_FEATURES},
    {"icelake-client", VBMI_FEATURES},
    {"icelake-server", VBMI_FEATURES},
    {"tigerlake", VBMI_FEATURES},
    {"rocketlake", VBMI_FEATURES},
    {"sapphirerapids", AMX_FEATURES},
    {"emeraldrapids", AMX_FEATURES},
    {"graniterapids", AMX_FEATURES},
    {"btver2", AVX_FEATURES ",+f16c"},
    {"znver1", AVX2_FEATURES},
    {"znver2", AVX2_FEATURES},
    {"znver3", AVX2_FEATURES},
    {"znver4", ZEN4_FEATURES},
    {"znver5", ZEN4_FEATURES ",+avx512vp2intersect"},
};

enum { CPU_LEVEL_COUNT = sizeof cpu_levels / sizeof *cpu_levels };

static const CpuVariant cpu_variants[CPU_VARIANT_COUNT] = {
    [CPU_VARIANT_BASELINE] = {"baseline", "x86-64", "x86-64"},
    [CPU_VARIANT_AVX2] = {"avx2", "x86-64-v3", "x86-64-v3"},
    [CPU_VARIANT_AVX512] = {"avx512", "x86-64-v4", "x86-64-v4"},
    [CPU_VARIANT_BF16] = {"bf16", "cooperlake", "x86-64-v4"},
    [CPU_VARIANT_AMX] = {"amx", "sapphirerapids", "x86-64-v4"},
};

const CpuVariant *cpu_variant(CpuVariantId id) {
  return &cpu_variants[id];
}

const CpuLevel *cpu_level_find(StringView cpu) {
  for (int i = 0; i < CPU_LEVEL_COUNT; i++) {
    if (sv_equal_cstring(cpu, cpu_levels[i].cpu)) return &cpu_levels[i];
  }
  return NULL;
}

void cpu_level_names(StringBuilder *out, NearestWord *nearest) {
  for (int i = 0; i < CPU_LEVEL_COUNT; i++) {
    sb_printf(out, "%s%s", i == 0 ? "" : ", ", cpu_levels[i].cpu);
    nearest_word_offer(nearest, sv_from_cstring(cpu_levels[i].cpu));
  }
}

/* Who takes a feature away takes those that build on it. */
VecTarget cpu_vec_target(const char *features) {
  VecTarget target = {
      .vector_bits = 128, .register_count = 16, .has_pairs = true, .has_uncached_stores = true, .selects_singly = true};
  target.has_rounding = feature_is_given(features, "sse4.1");
  bool avx = feature_mention(features, "avx") != FEATURE_DENIED;
  target.has_f16c = avx && feature_is_given(features, "f16c");
  target.has_fma = avx && feature_is_given(features, "fma");
  if (avx && feature_is_given(features, "avx2")) {
    target.vector_bits = 256;
    target.has_masks_32 = true;
  }
  static const char *const avx512[] = {"avx512f", "avx512bw", "avx512dq", "avx512vl"};
  bool has_avx512 = avx && feature_mention(features, "avx2") != FEATURE_DENIED;
  for (size_t i = 0; i < sizeof avx512 / sizeof *avx512; i++) has_avx512 &= feature_is_given(features, avx512[i]);
  if (has_avx512) {
    target.vector_bits = 512;
    target.register_count = 32;
    target.has_masks = target.has_masks_32 = target.has_avx512 = true;
    target.has_vnni = feature_is_given(features, "avx512vnni");
    target.has_byte_permutes = feature_is_given(features, "avx512vbmi");
    target.has_f16_arithmetic = target.has_f16c && feature_is_given(features, "avx512fp16");
    target.has_bf16_pairs = feature_is_given(features, "avx512bf16");
    target.owns_whole_lines = feature_is_given(features, "sse4a"); /* AMD alone has it */
    /* no feature says so: of those with SSE4a one has this */
    target.multiplies_by_halves = target.owns_whole_lines && !feature_is_given(features, "avx512vp2intersect");
    bool has_matrices = feature_is_given(features, "amx-tile");
    target.has_large_caches = has_matrices;
    target.has_matrix_s8 = has_matrices && target.has_vnni && feature_is_given(features, "amx-int8");
    target.has_matrix_bf16 = has_matrices && target.has_bf16_pairs && feature_is_given(features, "amx-bf16");
  }
  target.has_avx2_fma = target.has_fma && target.vector_bits >= 256;
  return target;
}
