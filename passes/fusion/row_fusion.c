/* Row fusion: reductions of rows together with what makes the rows and with what is done with the results.
 *
 * Works on what `fusion` has left: a cluster grows backwards from its last member over operands that nothing outside
 * needs, as long as each row depends on the same row only (row_alignment.h).  It becomes one fusion with reductions
 * inside, a Kernel of several stages over one row (softmax, layer norm, cross entropy).  One result, nothing else
 * leaves the cluster: so no cycles can arise. */
#include "hlo/analysis/loop_nest.h"
#include "hlo/analysis/row_alignment.h"
#include "passes/cleanup/control_edges.h"
#include "passes/fusion/fused_body.h"
#include "passes/fusion/fusion_decision.h"
#include "passes/pipeline/control_computations.h"
#include "passes/pipeline/hlo_pass.h"

enum {
  MEMBER_LIMIT = 24,
  INSTRUCTION_LIMIT = 200,
  OPERAND_LIMIT = 60,
  ROW_ELEMENTS_LIMIT = 1 << 20,
  ROWS_LIMIT_CANDIDATES = 8
};

typedef struct RowFuser {
  Arena *arena;
  HloComputation *computation;
  ControlEdges control;
  IntMap taken;    /* ids of instructions that stand in a cluster already */
  IntMap position; /* instruction id → place in post-order */
  const HloDecisionObserver *observer;
} RowFuser;

typedef struct RowCluster {
  int64_t rows;
  HloInstructionArray members; /* the last one first */
  IntMap inside;               /* instruction id */
  int64_t instruction_count;
  int reduction_count; /* whose result another member reads */
  bool walks_rows;     /* a member has several elements a row */
} RowCluster;

static const HloInstruction *made_by(const HloInstruction *instruction) {
  const HloComputation *fused = hlo_instruction_fused(instruction);
  return fused != NULL ? fused->root : instruction;
}

static bool is_reduction(const HloInstruction *instruction) {
  return made_by(instruction)->opcode == HLO_REDUCE;
}

/* Computed row by row inside a fusion.  Not what has loops of its own: contractions, sorts, transforms. */
static bool keeps_to_rows(const HloInstruction *fused) {
  if (hlo_opcode_has(fused->opcode, OP_GIVEN) || fused->opcode == HLO_REDUCE) return true;
  return !fusion_has_nest(fused) && fusion_cost(fused) != FUSION_COST_NONE;
}

static bool is_member_opcode(const HloInstruction *instruction) {
  if (instruction->opcode == HLO_REDUCE) return true;
  if (hlo_opcode_info(instruction->opcode)->flow == OP_FLOW_VIEW) return true;
  if (fusion_has_nest(instruction) || instruction->opcode == HLO_GATHER || instruction->opcode == HLO_DYNAMIC_SLICE)
    return false;
  return fusion_cost(instruction) != FUSION_COST_NONE;
}

/* Something this pass can take into a cluster: computed element by element or a reduction, one array in the default
 * layout. */
static bool may_join(const RowFuser *fuser, const HloInstruction *instruction) {
  int64_t ignored;
  if (int_map_find(&fuser->taken, (uint64_t)instruction->id, &ignored) ||
      control_edges_touch(&fuser->control, instruction))
    return false;
  const Shape *shape = instruction->shape;
  if (!shape_is_array(shape) || shape_is_dynamic(shape) || shape->rank == 0 || !shape_has_default_layout(shape))
    return false;
  if (shape_element_count(shape) <= 0) return false;
  const HloComputation *fused = hlo_instruction_fused(instruction);
  if (fused == NULL) return is_member_opcode(instruction);
  HloOpcode root = fused->root->opcode;
  if (root == HLO_DYNAMIC_UPDATE_SLICE || root == HLO_TUPLE) return false;
  for (int64_t i = 0; i < fused->instructions.count; i++) {
    if (!keeps_to_rows(fused->instructions.data[i])) return false;
  }
  return true;
}

static bool is_inside(const RowCluster *cluster, const HloInstruction *instruction) {
  int64_t ignored;
  return int_map_find(&cluster->inside, (uint64_t)instruction->id, &ignored);
}

static void add_member(RowFuser *fuser, RowCluster *cluster, HloInstruction *member) {
  array_push(&cluster->members, fuser->arena, member);
  int_map_set(&cluster->inside, (uint64_t)member->id, 1);
  cluster->walks_rows |= shape_element_count(member->shape) > cluster->rows;
  cluster->instruction_count += fusion_instruction_count(member);
  if (cluster->members.count > 1) cluster->reduction_count += is_reduction(member);
}

/* Why |candidate|, which may join some cluster, stays out of this one; NULL when it fits.  All users are members,
 * aligned to it; a reduction of its own must leave one element a row. */
static const char *refusal(const RowFuser *fuser, const RowCluster *cluster, const HloInstruction *candidate) {
  int64_t elements = shape_element_count(candidate->shape);
  if (hlo_row_dims(candidate->shape, cluster->rows) < 0) return "it does not consist of such rows";
  if (is_reduction(candidate) && elements != cluster->rows) return "it reduces other rows";
  if (is_reduction(candidate) && cluster->walks_rows && !hlo_reduces_rows(made_by(candidate), elements))
    return "it reduces columns, which lie across the rows";
  if (elements / cluster->rows > ROW_ELEMENTS_LIMIT) return "its rows are too long";
  if (cluster->members.count >= MEMBER_LIMIT ||
      cluster->instruction_count + fusion_instruction_count(candidate) > INSTRUCTION_LIMIT)
    return "the fusion is large enough";
  if (candidate == fuser->computation->root) return "stored for another user";
  for (int32_t u = 0; u < candidate->user_count; u++) {
    const HloInstruction *user = candidate->users[u];
    if (!is_inside(cluster, user)) return "stored for another user";
    if (!row_aligned(user, candidate, cluster->rows, fuser->arena)) return "a row depends on several of its rows";
  }
  return NULL;
}

static bool fits(const RowFuser *fuser, const RowCluster *cluster, const HloInstruction *candidate) {
  return may_join(fuser, candidate) && refusal(fuser, cluster, candidate) == NULL;
}

/* Takes in operands of members until nothing more fits. */
static void grow(RowFuser *fuser, RowCluster *cluster) {
  for (bool grew = true; grew;) {
    grew = false;
    for (int64_t m = 0; m < cluster->members.count; m++) {
      const HloInstruction *member = cluster->members.data[m];
      for (int k = 0; k < member->operand_count; k++) {
        HloInstruction *candidate = member->operands[k];
        if (is_inside(cluster, candidate) || !fits(fuser, cluster, candidate)) continue;
        add_member(fuser, cluster, candidate);
        grew = true;
      }
    }
  }
}

static RowCluster cluster_at(RowFuser *fuser, HloInstruction *last, int64_t rows) {
  RowCluster cluster = {.rows = rows};
  int_map_init(&cluster.inside, fuser->arena);
  add_member(fuser, &cluster, last);
  grow(fuser, &cluster);
  return cluster;
}

/* Row counts worth trying for a cluster that ends in |last|: those of reductions it reads, directly or through one
 * re-view. */
static int row_candidates(const HloInstruction *last, int64_t *out_rows) {
  int count = 0;
  for (int k = 0; k < last->operand_count && count < ROWS_LIMIT_CANDIDATES; k++) {
    const HloInstruction *operand = last->operands[k];
    if (!shape_is_array(operand->shape)) continue;
    int64_t rows = shape_element_count(operand->shape);
    bool is_new = rows > 1 && hlo_row_dims(last->shape, rows) >= 0;
    for (int i = 0; i < count; i++) is_new = is_new && out_rows[i] != rows;
    if (is_new) out_rows[count++] = rows;
  }
  return count;
}

/* --- writing --- */

/* Operands before users. */
static void sort_members(const RowFuser *fuser, RowCluster *cluster) {
  HloInstruction **members = cluster->members.data;
  for (int64_t i = 1; i < cluster->members.count; i++) {
    HloInstruction *member = members[i];
    int64_t place = 0, other = 0, at = i;
    int_map_find(&fuser->position, (uint64_t)member->id, &place);
    for (; at > 0; at--) {
      int_map_find(&fuser->position, (uint64_t)members[at - 1]->id, &other);
      if (other < place) break;
      members[at] = members[at - 1];
    }
    members[at] = member;
  }
}

static void write_cluster(RowFuser *fuser, RowCluster *cluster) {
  sort_members(fuser, cluster);
  HloInstruction *last = array_last(&cluster->members);
  FusedBody body;
  fused_body_begin(&body, fuser->computation, SV("fused_rows"), fuser->observer, fuser->arena);
  HloInstruction *root = NULL;
  for (int64_t i = 0; i < cluster->members.count; i++) root = fused_body_add(&body, cluster->members.data[i]);
  hlo_computation_set_root(body.fused, root);
  HloInstruction *fusion = fused_body_end(&body, FUSION_KIND_INPUT, SV("rows_fusion"), last);
  hlo_instruction_replace_all_uses(last, fusion);
  for (int64_t m = 0; m < cluster->members.count; m++)
    int_map_set(&fuser->taken, (uint64_t)cluster->members.data[m]->id, 1);
  int_map_set(&fuser->taken, (uint64_t)fusion->id, 1);
}

static int64_t outside_operand_count(const RowCluster *cluster, Arena *arena) {
  IntMap seen;
  int_map_init(&seen, arena);
  for (int64_t m = 0; m < cluster->members.count; m++) {
    const HloInstruction *member = cluster->members.data[m];
    for (int k = 0; k < member->operand_count; k++) {
      if (!is_inside(cluster, member->operands[k])) int_map_set(&seen, (uint64_t)member->operands[k]->id, 1);
    }
  }
  return seen.count;
}

/* What went into |cluster|, and which operands of its members did not. */
static void observe(const RowFuser *fuser, const RowCluster *cluster, const HloInstruction *last) {
  const HloDecisionObserver *observer = fuser->observer;
  if (observer == NULL) return;
  for (int64_t m = 0; m < cluster->members.count; m++) {
    const HloInstruction *member = cluster->members.data[m];
    if (m > 0)
      observer->decided(observer->context, "row-fusion", member, last, true, "each row depends on the same row only");
    for (int k = 0; k < member->operand_count; k++) {
      const HloInstruction *operand = member->operands[k];
      if (is_inside(cluster, operand) || !may_join(fuser, operand)) continue;
      observer->decided(observer->context, "row-fusion", operand, last, false, refusal(fuser, cluster, operand));
    }
  }
}

/* The largest cluster that ends in |last|, if it is worth a fusion. */
static bool fuse_at(RowFuser *fuser, HloInstruction *last) {
  int64_t rows[ROWS_LIMIT_CANDIDATES];
  int candidates = row_candidates(last, rows);
  RowCluster best = {0};
  for (int i = 0; i < candidates; i++) {
    if (is_reduction(last) && shape_element_count(last->shape) != rows[i]) continue;
    RowCluster cluster = cluster_at(fuser, last, rows[i]);
    if (cluster.reduction_count > best.reduction_count) best = cluster;
  }
  if (best.reduction_count == 0 || outside_operand_count(&best, fuser->arena) > OPERAND_LIMIT) return false;
  observe(fuser, &best, last);
  write_cluster(fuser, &best);
  return true;
}

static bool fuse_rows(HloComputation *computation, const HloDecisionObserver *observer) {
  Arena *arena = arena_create();
  bool changed = hlo_computation_remove_dead(computation) > 0; /* readers that nothing needs have no say */
  RowFuser fuser = {.arena = arena, .computation = computation, .observer = observer};
  control_edges_init(&fuser.control, computation, arena);
  int_map_init(&fuser.taken, arena);
  int_map_init(&fuser.position, arena);
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(computation, arena, &count);
  for (int64_t i = 0; i < count; i++) int_map_set(&fuser.position, (uint64_t)order[i]->id, i);
  for (int64_t i = count - 1; i >= 0; i--) {
    HloInstruction *last = order[i];
    if (hlo_instruction_is_unread(last)) continue; /* taken into a cluster and dead by now */
    if (may_join(&fuser, last)) changed |= fuse_at(&fuser, last);
  }
  if (changed) hlo_computation_remove_dead(computation);
  arena_destroy(arena);
  return changed;
}

static Status run_row_fusion(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t count;
  HloComputation **computations = control_computations(module, context->scratch, &count);
  for (int64_t i = 0; i < count; i++) *out_changed |= fuse_rows(computations[i], context->options->decisions);
  return STATUS_OK;
}

const HloPass hlo_row_fusion_pass = {"row-fusion", "reduce rows together with what makes and uses them", run_row_fusion,
                                     false};
