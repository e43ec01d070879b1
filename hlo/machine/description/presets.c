#include "hlo/machine/description/presets.h"

/* vp-ref's parts, which its variants share. */
#define REF_BUFFER(size) "[buffer]   size = " size "  unit = 1  align = 64  reserve = 0\n"
#define REF_VECTOR          \
  "[vector]   bytes = 64\n" \
  "[memory]   bytes_per_cycle = 48\n"
#define REF_QUEUES                                                                                                \
  "[queue LD] kind = load  bytes_per_cycle = 32  setup = 64  row = 2  dims = 3  depth = 16  complete = inorder\n" \
  "[queue EX] kind = exec  setup = 16  depth = 32  complete = inorder\n"                                          \
  "[queue ST] kind = store bytes_per_cycle = 32  setup = 64  row = 2  dims = 3  depth = 16  complete = inorder\n" \
  "[sync]     kind = counter  ids = 0  set = 1  wait = 1  barrier = 20\n"
/* Costs of the other types follow from those of f32 by their size. */
#define REF_OPS                                                                                                       \
  "[op f32]   move=1 add=1 mul=1 fma=1 cmp=1 select=1 div=4 sqrt=4 exp=6 log=8 tanh=10 reduce=1 permute=2 gather=8\n" \
  "           mac=256\n"                                                                                              \
  "[op bf16]  inherit = f32  scale = 0.5\n"                                                                           \
  "[op f16]   inherit = bf16\n"                                                                                       \
  "[op f64]   inherit = f32  scale = 2\n"                                                                             \
  "[op s32]   inherit = f32\n"                                                                                        \
  "[op u32]   inherit = f32\n"                                                                                        \
  "[op s64]   inherit = f64\n"                                                                                        \
  "[op u64]   inherit = f64\n"                                                                                        \
  "[op s16]   inherit = bf16\n"                                                                                       \
  "[op u16]   inherit = bf16\n"                                                                                       \
  "[op s8]    inherit = f32  scale = 0.25\n"                                                                          \
  "[op u8]    inherit = s8\n"                                                                                         \
  "[op pred]  inherit = s8\n"                                                                                         \
  "[op s4]    inherit = s8\n"                                                                                         \
  "[op u4]    inherit = s8\n"                                                                                         \
  "[op s2]    inherit = s8\n"                                                                                         \
  "[op u2]    inherit = s8\n"                                                                                         \
  "[op s1]    inherit = s8\n"                                                                                         \
  "[op u1]    inherit = s8\n"                                                                                         \
  "[op f8e5m2]        inherit = s8\n"                                                                                 \
  "[op f8e4m3]        inherit = s8\n"                                                                                 \
  "[op f8e4m3fn]      inherit = s8\n"                                                                                 \
  "[op f8e4m3b11fnuz] inherit = s8\n"                                                                                 \
  "[op f8e3m4]        inherit = s8\n"                                                                                 \
  "[op f8e5m2fnuz]    inherit = s8\n"                                                                                 \
  "[op f8e4m3fnuz]    inherit = s8\n"                                                                                 \
  "[op f8e8m0fnu]     inherit = s8\n"                                                                                 \
  "[op f4e2m1fn]      inherit = s8\n"                                                                                 \
  "[op f6e2m3fn]      inherit = s8\n"                                                                                 \
  "[op f6e3m2fn]      inherit = s8\n"

static const MachinePreset presets[] = {
    {"vp-tiny", "vp-ref with a Buffer in which nothing fits",
     "[machine]  name = vp-tiny  clock_hz = 1000000000\n" REF_BUFFER("4K") REF_VECTOR REF_QUEUES REF_OPS},
    {"vp-ref", "the reference machine",
     "[machine]  name = vp-ref  clock_hz = 1000000000\n" REF_BUFFER("256K") REF_VECTOR REF_QUEUES REF_OPS},
    {"vp-rvv", "vp-ref on RISC-V with the V extension",
     "[machine]  name = vp-rvv  clock_hz = 1000000000\n" REF_BUFFER("256K") REF_VECTOR REF_QUEUES
     "[isa]      triple = riscv64-unknown-linux-gnu  cpu = generic-rv64  features = +m,+a,+f,+d,+c,+v  abi = "
     "lp64d\n" REF_OPS},
    {"ub192", "wide vectors, synchronised by eight flags between two queues",
     "[machine]  name = ub192  clock_hz = 1000000000\n"
     "[buffer]   size = 192K  unit = 1  align = 32  reserve = 0\n"
     "[vector]   bytes = 256\n"
     "[memory]   bytes_per_cycle = 96\n"
     "[queue LD] kind = load  bytes_per_cycle = 64  setup = 64  row = 2  dims = 2  depth = 16  complete = inorder\n"
     "[queue EX] kind = exec  setup = 16  depth = 32  complete = inorder\n"
     "[queue ST] kind = store bytes_per_cycle = 64  setup = 64  row = 2  dims = 2  depth = 16  complete = inorder\n"
     "[sync]     kind = flag  ids = 8  set = 1  wait = 1  barrier = 20\n" REF_OPS},
    {"vtcm4m", "a large Buffer behind one queue for both directions",
     "[machine]  name = vtcm4m  clock_hz = 1000000000\n"
     "[buffer]   size = 4M  unit = 1  align = 128  reserve = 0\n"
     "[vector]   bytes = 128\n"
     "[memory]   bytes_per_cycle = 0\n"
     "[queue MV] kind = move  bytes_per_cycle = 32  setup = 128  row = 2  dims = 2  depth = 16  complete = inorder\n"
     "[queue EX] kind = exec  setup = 16  depth = 32  complete = inorder\n"
     "[sync]     kind = counter  ids = 0  set = 1  wait = 1  barrier = 20\n" REF_OPS},
};

int machine_preset_count(void) {
  return (int)(sizeof presets / sizeof presets[0]);
}

const MachinePreset *machine_preset_at(int index) {
  return &presets[index];
}

const MachinePreset *machine_preset_find(StringView name) {
  for (int i = 0; i < machine_preset_count(); i++)
    if (sv_equal_cstring(name, presets[i].name)) return &presets[i];
  return NULL;
}

Status machine_preset_parse(Arena *arena, const MachinePreset *preset, DiagSink *diag,
                            MachineDescription *out_machine) {
  SourceFile *source = ARENA_NEW(arena, SourceFile);
  *source = (SourceFile){sv_from_cstring(preset->name), sv_from_cstring(preset->text)};
  return machine_description_parse(arena, source, diag, out_machine);
}
