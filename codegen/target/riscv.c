#include "codegen/target/riscv.h"

#include <stdio.h>

#include "base/nearest_word.h"
#include "codegen/target/feature_list.h"

#define GENERIC "generic-rv64"
#define RV64GC "+m,+a,+f,+d,+c"

/* What each can do that matters to emitted code. */
static const struct {
  const char *cpu, *features;
} processors[] = {
    {GENERIC, ""},
    {"rocket-rv64", ""},
    {"sifive-p450", RV64GC},
    {"sifive-p670", RV64GC ",+v"},
    {"sifive-s51", "+m,+a,+c"},
    {"sifive-s54", RV64GC},
    {"sifive-s76", RV64GC},
    {"sifive-u54", RV64GC},
    {"sifive-u74", RV64GC},
    {"sifive-x280", RV64GC ",+v,+zfh,+zvfh,+zvl512b"},
    {"spacemit-x60", RV64GC ",+v,+zfh,+zvfh,+zvl256b"},
    {"veyron-v1", RV64GC},
    {"xiangshan-nanhu", RV64GC},
};

/* Extensions of programs, as ratified. */
static const char *const extensions[] = {
    "a",
    "b",
    "c",
    "d",
    "f",
    "m",
    "v",
    "za64rs",
    "za128rs",
    "zaamo",
    "zabha",
    "zalrsc",
    "zama16b",
    "zawrs",
    "zba",
    "zbb",
    "zbc",
    "zbkb",
    "zbkc",
    "zbkx",
    "zbs",
    "zca",
    "zcb",
    "zcd",
    "zcmop",
    "zfa",
    "zfbfmin",
    "zfh",
    "zfhmin",
    "zic64b",
    "zicbom",
    "zicbop",
    "zicboz",
    "zicntr",
    "zicond",
    "zicsr",
    "zihpm",
    "zifencei",
    "zihintntl",
    "zihintpause",
    "zimop",
    "zk",
    "zkn",
    "zknd",
    "zkne",
    "zknh",
    "zkr",
    "zks",
    "zksed",
    "zksh",
    "zkt",
    "zmmul",
    "ztso",
    "zvbb",
    "zvbc",
    "zve32f",
    "zve32x",
    "zve64d",
    "zve64f",
    "zve64x",
    "zvfbfmin",
    "zvfbfwma",
    "zvfh",
    "zvfhmin",
    "zvkb",
    "zvkg",
    "zvkn",
    "zvknc",
    "zvkned",
    "zvkng",
    "zvknha",
    "zvknhb",
    "zvks",
    "zvksc",
    "zvksed",
    "zvksg",
    "zvksh",
    "zvkt",
    "zvl32b",
    "zvl64b",
    "zvl128b",
    "zvl256b",
    "zvl512b",
    "zvl1024b",
    "zvl2048b",
    "zvl4096b",
    "zvl8192b",
    "zvl16384b",
    "zvl32768b",
    "zvl65536b",
    "relax",
    "unaligned-scalar-mem",
    "unaligned-vector-mem",
};

enum {
  PROCESSOR_COUNT = sizeof processors / sizeof *processors,
  EXTENSION_COUNT = sizeof extensions / sizeof *extensions
};

/* A calling convention and the extension that it passes numbers in. */
static const struct {
  const char *name, *needs;
} conventions[] = {{"lp64", NULL}, {"lp64f", "f"}, {"lp64d", "d"}};

enum { CONVENTION_COUNT = sizeof conventions / sizeof *conventions };

bool riscv_is_triple(StringView triple) {
  return sv_starts_with(triple, SV("riscv64-"));
}

/* --- what a description says --- */

static Status check_cpu(const MachineIsa *isa, DiagSink *diag) {
  if (isa->cpu.size == 0) return STATUS_OK;
  NearestWord nearest = nearest_word_begin(isa->cpu);
  for (int i = 0; i < PROCESSOR_COUNT; i++) {
    if (sv_equal_cstring(isa->cpu, processors[i].cpu)) return STATUS_OK;
    nearest_word_offer(&nearest, sv_from_cstring(processors[i].cpu));
  }
  Status status = diag_error(diag, STATUS_INVALID, isa->loc, "machine-isa", "'%.*s' has no processor '%.*s'",
                             SV_ARG(isa->triple), SV_ARG(isa->cpu));
  nearest_word_note(&nearest, diag);
  StringBuilder known;
  sb_init(&known, diag->arena);
  for (int i = 0; i < PROCESSOR_COUNT; i++) sb_printf(&known, "%s%s", i == 0 ? "" : ", ", processors[i].cpu);
  diag_note(diag, NO_LOC, "known processors: %.*s", SV_ARG(sb_view(&known)));
  return status;
}

static bool is_extension(StringView name) {
  for (int i = 0; i < EXTENSION_COUNT; i++) {
    if (sv_equal_cstring(name, extensions[i])) return true;
  }
  return false;
}

static Status check_features(const MachineIsa *isa, DiagSink *diag) {
  for (size_t start = 0, end; start < isa->features.size; start = end + 1) {
    for (end = start; end < isa->features.size && isa->features.data[end] != ','; end++) continue;
    StringView word = {isa->features.data + start, end - start};
    bool has_sign = word.size > 0 && (word.data[0] == '+' || word.data[0] == '-');
    if (!has_sign)
      return diag_error(diag, STATUS_INVALID, isa->loc, "machine-isa",
                        "features are written '+NAME' or '-NAME', separated by commas, not '%.*s'", SV_ARG(word));
    if (!is_extension((StringView){word.data + 1, word.size - 1}))
      return diag_error(diag, STATUS_INVALID, isa->loc, "machine-isa", "'%.*s' has no feature '%.*s'",
                        SV_ARG(isa->triple), (int)word.size - 1, word.data + 1);
  }
  return STATUS_OK;
}

/* Extensions bring those that they build on. */
static bool has_floats(const char *features, const char *name) {
  static const char *const implying_d[] = {"d", "v", "zve64d"};
  for (size_t i = 0; i < sizeof implying_d / sizeof *implying_d; i++) {
    if (feature_is_given(features, implying_d[i])) return true;
  }
  return feature_is_given(features, name);
}

static Status check_convention(const MachineIsa *isa, DiagSink *diag) {
  if (isa->abi.size == 0) return STATUS_OK;
  const char *features = riscv_features(isa, diag->arena);
  for (int i = 0; i < CONVENTION_COUNT; i++) {
    if (!sv_equal_cstring(isa->abi, conventions[i].name)) continue;
    if (conventions[i].needs == NULL || has_floats(features, conventions[i].needs)) return STATUS_OK;
    return diag_error(diag, STATUS_INVALID, isa->loc, "machine-isa", "abi '%s' needs feature '+%s'",
                      conventions[i].name, conventions[i].needs);
  }
  return diag_error(diag, STATUS_INVALID, isa->loc, "machine-isa", "'%.*s' has no abi '%.*s': lp64, lp64f or lp64d",
                    SV_ARG(isa->triple), SV_ARG(isa->abi));
}

Status riscv_check(const MachineIsa *isa, DiagSink *diag) {
  RETURN_IF_ERROR(check_cpu(isa, diag));
  RETURN_IF_ERROR(check_features(isa, diag));
  return check_convention(isa, diag);
}

/* --- what a command line says --- */

MachineIsa riscv_isa(StringView triple, StringView cpu, StringView features, Arena *arena) {
  bool is_plain = cpu.size == 0 && features.size == 0;
  MachineIsa isa = {.triple = triple, .cpu = cpu, .features = is_plain ? SV(RV64GC) : features};
  const char *all = riscv_features(&isa, arena);
  for (int i = 0; i < CONVENTION_COUNT; i++) {
    if (conventions[i].needs == NULL || has_floats(all, conventions[i].needs))
      isa.abi = sv_from_cstring(conventions[i].name);
  }
  return isa;
}

/* --- what LLVM and the emitters are told --- */

const char *riscv_cpu(const MachineIsa *isa, Arena *arena) {
  return isa->cpu.size == 0 ? GENERIC : arena_copy_string(arena, isa->cpu.data, isa->cpu.size);
}

const char *riscv_features(const MachineIsa *isa, Arena *arena) {
  const char *own = "";
  for (int i = 0; i < PROCESSOR_COUNT; i++) {
    if (sv_equal_cstring(isa->cpu, processors[i].cpu)) own = processors[i].features;
  }
  const char *separator = own[0] != '\0' && isa->features.size > 0 ? "," : "";
  return arena_printf(arena, "%s%s%.*s", own, separator, SV_ARG(isa->features));
}

/* Bits of a vector register, at least. */
static int promised_bits(const char *features) {
  for (int bits = 65536; bits > 128; bits /= 2) {
    char name[16];
    snprintf(name, sizeof name, "zvl%db", bits);
    if (feature_is_given(features, name)) return bits;
  }
  return 128;
}

VecTarget riscv_vec_target(const char *features) {
  enum { LEAST_BITS = 256, MOST_BITS = 512, REGISTERS = 32 };
  VecTarget target = {.vector_bits = 128, .register_count = 16, .has_fma = has_floats(features, "d")};
  target.lacks_f32 = !has_floats(features, "f");
  target.lacks_f64 = !has_floats(features, "d");
  if (!feature_is_given(features, "v")) return target;
  /* Two registers to a group where there are only 128 bits: half as many instructions, and groups enough. */
  int bits = promised_bits(features);
  target.vector_bits = bits < LEAST_BITS ? LEAST_BITS : bits > MOST_BITS ? MOST_BITS : bits;
  target.register_count = bits < LEAST_BITS ? REGISTERS * bits / LEAST_BITS : REGISTERS;
  target.has_masks = target.has_masks_32 = target.has_rounding = true;
  target.has_division = target.has_saturation = true;
  bool has_half_vectors = feature_is_given(features, "zvfhmin") && feature_is_given(features, "zfhmin");
  target.has_f16c = has_half_vectors || feature_is_given(features, "zvfh");
  return target;
}
