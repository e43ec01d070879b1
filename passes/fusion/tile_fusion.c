/* Tile fusion: two contractions with rows between them, which are softmax in attention, become one Kernel of tiles
 * (codegen/lower/kernel_tiles.h): scores of a block of queries, their softmax, the weighted sum of values.
 *
 * The arithmetic and its order are those of the members by themselves; what they hand on never reaches memory that
 * others see.  The fusion written is one of fusions, since each member stays a Kernel of its own. */
#include "hlo/analysis/in_place.h"
#include "hlo/analysis/loop_nest.h"
#include "hlo/analysis/row_alignment.h"
#include "passes/cleanup/control_edges.h"
#include "passes/fusion/fused_body.h"
#include "passes/fusion/fusion_decision.h"
#include "passes/pipeline/control_computations.h"
#include "passes/pipeline/hlo_pass.h"

enum { MEMBER_LIMIT = 8 };

typedef struct TileFuser {
  Arena *arena;
  HloComputation *computation;
  ControlEdges control;
  const HloDecisionObserver *observer;
} TileFuser;

/* The members of a chain, the last one first: fusions, contractions and views between them. */
typedef struct TileChain {
  int count;
  HloInstruction *members[MEMBER_LIMIT];
} TileChain;

/* The dot that |instruction| is or has in it, NULL when there is none or it is something else. */
static const HloInstruction *dot_of(const HloInstruction *instruction) {
  if (instruction->opcode == HLO_DOT) return instruction;
  if (instruction->opcode != HLO_FUSION) return NULL;
  const HloComputation *fused = hlo_instruction_computation(instruction, HLO_ATTR_CALLS);
  const HloInstruction *found = NULL;
  for (int64_t i = 0; i < fused->instructions.count; i++) {
    const HloInstruction *inside = fused->instructions.data[i];
    if (!fusion_is_contraction(inside) && inside->opcode != HLO_FUSION) continue;
    if (found != NULL || inside->opcode != HLO_DOT) return NULL;
    found = inside;
  }
  return found;
}

static bool is_float_array(const Shape *shape) {
  return shape_is_array(shape) && type_is_float(shape->type) && shape->rank >= 2 && !shape_is_dynamic(shape) &&
         shape_has_default_layout(shape) && shape_element_count(shape) > 0;
}

static int64_t row_count(const Shape *shape) {
  return shape_element_count(shape) / shape->dims[shape->rank - 1];
}

/* Handed on to one user alone, in rows as |like|'s. */
static bool is_link(const TileFuser *fuser, const HloInstruction *value, const Shape *like) {
  if (value->user_count != 1 || value == fuser->computation->root) return false;
  if (control_edges_touch(&fuser->control, value) || !is_float_array(value->shape)) return false;
  return row_count(value->shape) == row_count(like) && shape_element_count(value->shape) == shape_element_count(like);
}

/* The value outside that |inside|, part of |instruction|, is up to views. */
static HloInstruction *outside_of(const HloInstruction *instruction, const HloInstruction *inside) {
  if (instruction->opcode != HLO_FUSION) return (HloInstruction *)inside;
  inside = hlo_behind_views(inside);
  if (inside->opcode != HLO_PARAMETER) return NULL;
  return instruction->operands[hlo_instruction_parameter_number(inside)];
}

static bool add(TileChain *chain, HloInstruction *member) {
  if (chain->count == MEMBER_LIMIT) return false;
  chain->members[chain->count++] = member;
  return true;
}

/* |value| and the views it is seen through, down to what makes it; NULL when another instruction needs one of them. */
static HloInstruction *follow_views(const TileFuser *fuser, HloInstruction *value, TileChain *chain) {
  const Shape *like = value->shape;
  for (;; value = value->operands[0]) {
    if (!is_link(fuser, value, like) || !add(chain, value)) return NULL;
    if (!hlo_is_view(value)) return value;
  }
}

/* The operand of |rows| that a dot makes, row by row. */
static HloInstruction *dotted_operand(const TileFuser *fuser, const HloInstruction *rows, TileChain *chain) {
  int count = chain->count;
  for (int k = 0; k < rows->operand_count; k++) {
    HloInstruction *operand = rows->operands[k];
    if (!is_float_array(operand->shape) || !is_link(fuser, operand, rows->shape)) continue;
    if (!row_aligned(rows, operand, row_count(rows->shape), fuser->arena)) continue;
    HloInstruction *made = follow_views(fuser, operand, chain);
    if (made != NULL && dot_of(made) != NULL) return made;
    chain->count = count;
  }
  return NULL;
}

static bool reduces_rows(const HloInstruction *instruction, int64_t rows, Arena *arena) {
  if (instruction->opcode != HLO_FUSION) return false;
  const HloComputation *fused = hlo_instruction_computation(instruction, HLO_ATTR_CALLS);
  LoopNest nest = hlo_loop_nest(fused->root, false, arena);
  return nest.kind == LOOP_NEST_REDUCED && nest.rows == rows;
}

/* |dot| contracts rows of operand |side|: each is needed for one row of the result alone. */
static bool contracts_rows(const HloInstruction *dot, int side) {
  HloAttrId attr = side == 0 ? HLO_ATTR_LHS_CONTRACTING_DIMS : HLO_ATTR_RHS_CONTRACTING_DIMS;
  Int64List dims = hlo_instruction_ints(dot, attr);
  return dims.count == 1 && dims.data[0] == dot->operands[side]->shape->rank - 1;
}

/* The chain that ends in |last|, whose dot reads rows as operand |side|. */
static bool find_chain(const TileFuser *fuser, HloInstruction *last, const HloInstruction *dot, int side,
                       TileChain *out_chain) {
  *out_chain = (TileChain){1, {last}};
  const Shape *read = dot->operands[side]->shape;
  HloInstruction *value = outside_of(last, dot->operands[side]);
  if (value == NULL || !contracts_rows(dot, side) || !is_float_array(value->shape)) return false;
  if (read->dims[read->rank - 1] != value->shape->dims[value->shape->rank - 1]) return false;
  HloInstruction *rows = follow_views(fuser, value, out_chain);
  if (rows == NULL || !reduces_rows(rows, row_count(value->shape), fuser->arena)) return false;
  return dotted_operand(fuser, rows, out_chain) != NULL;
}

static void observe(const TileFuser *fuser, const TileChain *chain) {
  const HloDecisionObserver *observer = fuser->observer;
  for (int i = 1; observer != NULL && i < chain->count; i++) {
    observer->decided(observer->context, "tile-fusion", chain->members[i], chain->members[0], true,
                      "rows of a tile are made and used in the cache");
  }
}

static void write_chain(const TileFuser *fuser, const TileChain *chain) {
  FusedBody body;
  HloInstruction *last = chain->members[0], *copy = NULL;
  fused_body_begin(&body, fuser->computation, SV("fused_tiles"), fuser->observer, fuser->arena);
  for (int i = chain->count - 1; i >= 0; i--) copy = fused_body_nest(&body, chain->members[i]);
  hlo_computation_set_root(body.fused, copy);
  HloInstruction *fusion = fused_body_end(&body, FUSION_KIND_CUSTOM, SV("tiles_fusion"), last);
  hlo_instruction_replace_all_uses(last, fusion);
}

static bool fuse_at(const TileFuser *fuser, HloInstruction *last) {
  const HloInstruction *dot = dot_of(last);
  if (dot == NULL || !shape_is_array(last->shape) || control_edges_touch(&fuser->control, last)) return false;
  for (int side = 0; side < 2; side++) {
    TileChain chain;
    if (!find_chain(fuser, last, dot, side, &chain)) continue;
    observe(fuser, &chain);
    write_chain(fuser, &chain);
    return true;
  }
  return false;
}

static bool fuse_tiles(HloComputation *computation, const HloDecisionObserver *observer) {
  Arena *arena = arena_create();
  bool changed = hlo_computation_remove_dead(computation) > 0; /* readers that nothing needs have no say */
  TileFuser fuser = {.arena = arena, .computation = computation, .observer = observer};
  control_edges_init(&fuser.control, computation, arena);
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(computation, arena, &count);
  for (int64_t i = count - 1; i >= 0; i--) {
    if (hlo_instruction_is_unread(order[i])) continue; /* taken into a chain */
    changed |= fuse_at(&fuser, order[i]);
  }
  if (changed) hlo_computation_remove_dead(computation);
  arena_destroy(arena);
  return changed;
}

static Status run_tile_fusion(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t count;
  HloComputation **computations = control_computations(module, context->scratch, &count);
  for (int64_t i = 0; i < count; i++) *out_changed |= fuse_tiles(computations[i], context->options->decisions);
  return STATUS_OK;
}

const HloPass hlo_tile_fusion_pass = {"tile-fusion", "make scores, softmax and weighted sums tile by tile",
                                      run_tile_fusion, false};
