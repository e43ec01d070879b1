/* What this room's tests share: machines, and a description in text that a test may add to. */
#ifndef XLAC_HLO_MACHINE_DESCRIPTION_MACHINE_TESTING_H
#define XLAC_HLO_MACHINE_DESCRIPTION_MACHINE_TESTING_H

#include "base/fixture_testing.h"
#include "hlo/machine/description/presets.h"

static inline Status parse_text(Fixture *fixture, StringView text, MachineDescription *out_machine) {
  SourceFile *source = ARENA_NEW(fixture->arena, SourceFile);
  *source = (SourceFile){SV("test.vpt"), text};
  return machine_description_parse(fixture->arena, source, &fixture->diag, out_machine);
}

static inline MachineDescription parse_preset(Fixture *fixture, const char *name) {
  MachineDescription machine;
  const MachinePreset *preset = machine_preset_find(sv_from_cstring(name));
  assert_non_null(preset);
  assert_int_equal(machine_preset_parse(fixture->arena, preset, &fixture->diag, &machine), STATUS_OK);
  return machine;
}

/* A queue of each kind of work, a small Buffer, f32: each mistake is one edit away. */
#define SMALL_MACHINE                                                                         \
  "[machine] name=small clock_hz=5\n"                                                         \
  "[buffer] size=2K align=64\n"                                                               \
  "[vector] bytes=32 [memory] bytes_per_cycle=1.5\n"                                          \
  "[queue A] kind=load bytes_per_cycle=0.5 setup=7 row=3 dims=2 depth=4 complete=unordered\n" \
  "[queue B] kind=exec setup=1 depth=2 complete=inorder\n"                                    \
  "[queue C] kind=store bytes_per_cycle=8 setup=9 row=0 dims=1 depth=1 complete=inorder\n"    \
  "[sync] kind=flag ids=3 set=1 wait=2 barrier=4\n"                                           \
  "[op f32] move=1 add=2 mul=3 fma=4 cmp=5 select=6 div=7 sqrt=8 exp=9 log=10 tanh=11\n"      \
  "reduce=12 permute=13 gather=14 mac=15\n"

#endif
