/* The fixture of this room's tests: Kernels from HLO text, machines by name, plans. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_ONCORE_TESTING_H
#define XLAC_CODEGEN_ONCORE_EMIT_ONCORE_TESTING_H

#include <string.h>

#include "codegen/lower/kernel_builder.h"
#include "codegen/lower/module_kernels.h"
#include "codegen/oncore/plan/plan_check.h"
#include "codegen/oncore/tiling/tiler.h"
#include "hlo/machine/description/machine_testing.h"
#include "parser/hlo_parser.h"

#define SUM_REGION "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
#define MOST_REGION "most { c = f32[] parameter(0) d = f32[] parameter(1) ROOT m = f32[] maximum(c, d) }\n"

/* rows × columns softmax as one fusion. */
#define SOFTMAX(rows, columns)                                                          \
  "HloModule m\n" SUM_REGION MOST_REGION "f { x = f32[" rows "," columns                \
  "] parameter(0) low = f32[] constant(-inf) zero = f32[] constant(0)\n"                \
  "  top = f32[" rows                                                                   \
  "] reduce(x, low), dimensions={1}, to_apply=most\n"                                   \
  "  tops = f32[" rows "," columns                                                      \
  "] broadcast(top), dimensions={0}\n"                                                  \
  "  less = f32[" rows "," columns "] subtract(x, tops)  e = f32[" rows "," columns     \
  "] exponential(less)\n"                                                               \
  "  total = f32[" rows                                                                 \
  "] reduce(e, zero), dimensions={1}, to_apply=sum\n"                                   \
  "  totals = f32[" rows "," columns                                                    \
  "] broadcast(total), dimensions={0}\n"                                                \
  "  ROOT y = f32[" rows "," columns                                                    \
  "] divide(e, totals) }\n"                                                             \
  "ENTRY e { p = f32[" rows "," columns "] parameter(0) ROOT r = f32[" rows "," columns \
  "] fusion(p), kind=kLoop, calls=f }\n"

#define EXP(elements) \
  "HloModule m\nENTRY e { x = f32[" elements "] parameter(0) ROOT y = f32[" elements "] exponential(x) }\n"

#define ROW_SUM(rows, columns)                                     \
  "HloModule m\n" SUM_REGION "ENTRY e { x = f32[" rows "," columns \
  "] parameter(0) z = f32[] constant(0)\n"                         \
  "  ROOT y = f32[" rows "] reduce(x, z), dimensions={1}, to_apply=sum }\n"

#define COLUMN_SUM(rows, columns)                                  \
  "HloModule m\n" SUM_REGION "ENTRY e { x = f32[" rows "," columns \
  "] parameter(0) z = f32[] constant(0)\n"                         \
  "  ROOT y = f32[" columns "] reduce(x, z), dimensions={0}, to_apply=sum }\n"

#define MATMUL(m, k, n)                                                       \
  "HloModule m\nENTRY e { a = f32[" m "," k "] parameter(0) b = f32[" k "," n \
  "] parameter(1)\n"                                                          \
  "  ROOT y = f32[" m "," n "] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n"

#define TRANSPOSE(rows, columns)                                                                     \
  "HloModule m\nENTRY e { x = f32[" rows "," columns "] parameter(0) ROOT y = f32[" columns "," rows \
  "] transpose(x), dimensions={1,0} }\n"

#define GATHER                                                                       \
  "HloModule m\nENTRY e { t = f32[90,40] parameter(0) i = s32[70] parameter(1)\n"    \
  "  ROOT r = f32[70,40] gather(t, i), offset_dims={1}, collapsed_slice_dims={0},\n" \
  "    start_index_map={0}, index_vector_dim=1, slice_sizes={1,40} }\n"

/* Gathered for a sum and for a result of another shape: the index is computed for a stage that is not the first. */
#define GATHER_TWICE                                                                                  \
  "HloModule m\n" SUM_REGION                                                                          \
  "f { t = f32[90] parameter(0) i = s32[70,1] parameter(1) zero = f32[] constant(0)\n"                \
  "  g = f32[70] gather(t, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0},\n"      \
  "    index_vector_dim=1, slice_sizes={1} s = f32[] reduce(g, zero), dimensions={0}, to_apply=sum\n" \
  "  c = f32[70,1] reshape(g) n = f32[70,1] negate(c) ROOT r = (f32[], f32[70,1]) tuple(s, n) }\n"    \
  "ENTRY e { p = f32[90] parameter(0) q = s32[70,1] parameter(1)\n"                                   \
  "  ROOT o = (f32[], f32[70,1]) fusion(p, q), kind=kInput, calls=f }\n"

#define SCATTER                                                                                   \
  "HloModule m\n" SUM_REGION                                                                      \
  "ENTRY e { t = f32[19,23] parameter(0) i = s32[99] parameter(1)\n"                              \
  "  u = f32[99,23] parameter(2) ROOT r = f32[19,23] scatter(t, i, u), update_window_dims={1},\n" \
  "    inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum }\n"

#define PAD                                                                        \
  "HloModule m\nENTRY e { x = f32[50,30] parameter(0) zero = f32[] parameter(1)\n" \
  "  ROOT r = f32[53,33] pad(x, zero), padding=1_2x2_1 }\n"

/* A convolution of each of 8 channels by itself, 3 x 3 taps with padding. */
#define DEPTHWISE                                                                          \
  "HloModule m\nENTRY e { x = f32[1,24,18,8] parameter(0) w = f32[3,3,1,8] parameter(1)\n" \
  "  ROOT y = f32[1,24,18,8] convolution(x, w), window={size=3x3 pad=1_1x1_1},\n"          \
  "    dim_labels=b01f_01io->b01f, feature_group_count=8 }\n"

/* 10 positions with holes between them, of which 3 taps meet one or two: 9 times two phases. */
#define DILATED                                                                       \
  "HloModule m\nENTRY e { x = f32[1,10,3] parameter(0) w = f32[3,3,4] parameter(1)\n" \
  "  ROOT y = f32[1,18,4] convolution(x, w), window={size=3 pad=0_1 lhs_dilate=2}, dim_labels=b0f_0io->b0f }\n"

/* Windows of 3 in steps of 2, the last one reaching beyond. */
#define POOL                                                                               \
  "HloModule m\n" MOST_REGION                                                              \
  "ENTRY e { x = f32[40,33] parameter(0) low = f32[] constant(-inf)\n"                     \
  "  ROOT y = f32[40,16] reduce-window(x, low), window={size=1x3 stride=1x2 pad=0_0x0_0}," \
  "    to_apply=most }\n"

/* Windows of 3 in steps of 2 with padding on both sides. */
#define PADDED_POOL                                                                        \
  "HloModule m\n" MOST_REGION                                                              \
  "ENTRY e { x = f32[40,32] parameter(0) low = f32[] constant(-inf)\n"                     \
  "  ROOT y = f32[40,16] reduce-window(x, low), window={size=1x3 stride=1x2 pad=0_0x1_0}," \
  "    to_apply=most }\n"

/* One of each kind. */
static const char *const testing_modules[] = {
    EXP("5000"),
    ROW_SUM("70", "900"),
    COLUMN_SUM("900", "70"),
    MATMUL("65", "130", "70"),
    TRANSPOSE("90", "110"),
    SOFTMAX("33", "70"),
    SOFTMAX("3", "5000"),
    GATHER,
    GATHER_TWICE,
    SCATTER,
    PAD,
    DEPTHWISE,
    POOL,
    PADDED_POOL,
};
enum { TESTING_MODULES = sizeof testing_modules / sizeof *testing_modules };

static inline HloModule *make_module(Fixture *fixture, const char *text) {
  SourceFile *file = ARENA_NEW(fixture->arena, SourceFile);
  HloModule *module;
  *file = (SourceFile){SV("test"), sv_from_cstring(text)};
  assert_int_equal(hlo_parse_module(fixture->arena, shape_table_create(fixture->arena), file, &fixture->diag, &module),
                   STATUS_OK);
  return module;
}

static inline const Kernel *make_kernel(Fixture *fixture, const char *text) {
  KernelList list;
  const HloModule *module = make_module(fixture, text);
  assert_int_equal(kernel_build(fixture->arena, module->entry->root, &fixture->diag, &list), STATUS_OK);
  assert_int_equal(list.count, 1);
  return list.kernels[0];
}

/* All of |module|'s, as a vector processor has them. */
static inline const KernelTable *make_kernels(Fixture *fixture, const HloModule *module) {
  KernelTable *kernels;
  assert_int_equal(module_kernels_build(fixture->arena, module, &(KernelTarget){0}, &fixture->diag, &kernels),
                   STATUS_OK);
  return kernels;
}

static inline MachineDescription *make_machine(Fixture *fixture, const char *name) {
  MachineDescription *machine = ARENA_NEW(fixture->arena, MachineDescription);
  *machine = parse_preset(fixture, name);
  return machine;
}

static inline const Plan *make_plan(Fixture *fixture, const char *text, const MachineDescription *machine) {
  const Plan *plan;
  TilerOptions options = {0};
  const TilerRequest request = {make_kernel(fixture, text), SV("k"), machine, &options, NULL};
  assert_int_equal(tiler_plan(fixture->arena, &request, &fixture->diag, &plan), STATUS_OK);
  return plan;
}

/* |plan| without edge |edge| of command |command|. */
static inline Plan without_edge(Fixture *fixture, const Plan *plan, int32_t command, int32_t edge) {
  Plan copy = *plan;
  PlanCommand *commands = ARENA_NEW_ARRAY(fixture->arena, PlanCommand, plan->command_count);
  memcpy(commands, plan->commands, sizeof *commands * (size_t)plan->command_count);
  PlanCommand *of = &commands[command];
  PlanEdge *edges = ARENA_NEW_ARRAY(fixture->arena, PlanEdge, of->edge_count);
  int32_t kept = 0;
  for (int32_t e = 0; e < of->edge_count; e++) {
    if (e != edge) edges[kept++] = of->edges[e];
  }
  of->edges = edges;
  of->edge_count = kept;
  copy.commands = commands;
  return copy;
}

#endif
