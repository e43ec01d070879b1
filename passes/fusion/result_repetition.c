/* Result repetition: a result of a fusion with several that cheap arithmetic makes of what its readers find in memory
 * anyway (other results, arguments, a value for each row) is made again by each of them, and not stored.
 *
 * Works on what multi-output fusion has left.  A result is cut at other results of its fusion, or, where that does not
 * do, at the fusion's operands.  What it is made from must be there without living longer for it: a reader's operand
 * already, the caller's memory, or little. */
#include "base/checked_math.h"
#include "hlo/analysis/loop_nest.h"
#include "passes/cleanup/control_edges.h"
#include "passes/fusion/fused_body.h"
#include "passes/fusion/fusion_decision.h"
#include "passes/fusion/fusion_reads.h"
#include "passes/fusion/kept_results.h"
#include "passes/pipeline/control_computations.h"
#include "passes/pipeline/hlo_pass.h"

enum {
  ROUND_LIMIT = 4,
  RESULT_LIMIT = 32,
  READER_LIMIT = 8,
  PART_LIMIT = 16,         /* instructions that make a result */
  INSTRUCTION_LIMIT = 400, /* of a reader */
  OPERAND_LIMIT = 60,
  MAP_LIMIT = 2,           /* under which a reader may evaluate it */
  SMALL_FRACTION = 8,      /* of a result: what may live longer for it */
  EVALUATIONS_PER_BYTE = 2 /* of a cheap operation, in the time that a byte moves */
};

/* What makes a result, operands after users: instructions of the fusion, without the leaves. */
typedef struct Recipe {
  int32_t count, arithmetic_count;
  HloInstruction *parts[PART_LIMIT];
  int32_t leaf_count;
  HloInstruction *leaves[PART_LIMIT]; /* of the computation that the fusion is in */
  bool is_cut[RESULT_LIMIT];          /* by result: it is a leaf */
} Recipe;

/* A fusion with several results. */
typedef struct Source {
  HloInstruction *fusion;
  const HloComputation *fused;
  int32_t count;
  HloInstruction *elements[RESULT_LIMIT]; /* the get-tuple-element of each result; NULL: there is none, or several */
  bool dropped[RESULT_LIMIT], needed[RESULT_LIMIT];
  Recipe *recipes[RESULT_LIMIT]; /* of those that are dropped */
} Source;

typedef struct Repeater {
  Arena *arena;
  HloComputation *computation;
  const HloDecisionObserver *observer;
  ControlEdges control;
} Repeater;

/* --- sources and readers --- */

static bool find_source(const Repeater *repeater, HloInstruction *fusion, Source *out) {
  const HloComputation *fused = hlo_instruction_fused(fusion);
  if (fused == NULL || fused->root->opcode != HLO_TUPLE || fused->root->operand_count > RESULT_LIMIT) return false;
  if (hlo_instruction_is_root(fusion) || control_edges_touch(&repeater->control, fusion)) return false;
  *out = (Source){.fusion = fusion, .fused = fused, .count = fused->root->operand_count};
  for (int32_t u = 0; u < fusion->user_count; u++) {
    HloInstruction *element = fusion->users[u];
    if (element->opcode != HLO_GET_TUPLE_ELEMENT) return false;
    int64_t index = hlo_instruction_int(element, HLO_ATTR_INDEX, 0);
    if (out->elements[index] != NULL) return false;
    out->elements[index] = element;
  }
  return true;
}

/* A loop over elements or rows, in which anything may be made that a loop can make. */
static bool is_loop(const Repeater *repeater, const HloInstruction *reader) {
  const HloComputation *fused = hlo_instruction_fused(reader);
  if (fused == NULL || control_edges_touch(&repeater->control, reader)) return false;
  if (fused->instructions.count > INSTRUCTION_LIMIT || reader->operand_count > OPERAND_LIMIT - PART_LIMIT) return false;
  int32_t results = fused->root->opcode == HLO_TUPLE ? fused->root->operand_count : 1;
  for (int32_t i = 0; i < results; i++) {
    const HloInstruction *made = fused->root->opcode == HLO_TUPLE ? fused->root->operands[i] : fused->root;
    LoopNestKind kind = hlo_loop_nest(made, false, repeater->arena).kind;
    if (kind == LOOP_NEST_NONE || kind == LOOP_NEST_SUMS) return false;
  }
  return true;
}

/* Evaluations of an operand of |reader| at the most. */
static int64_t evaluation_count(const Repeater *repeater, const HloInstruction *reader, const HloInstruction *operand) {
  const HloComputation *fused = hlo_instruction_fused(reader);
  FusionReads reads = fusion_reads(reader, repeater->arena);
  int64_t maps = 0, elements = 0;
  for (int64_t i = 0; i < reads.count; i++) maps += reads.data[i].operand == operand;
  for (int64_t i = 0; i < fused->instructions.count; i++) {
    const Shape *shape = fused->instructions.data[i]->shape;
    if (shape_is_array(shape)) elements = max_i64(elements, shape_element_count(shape));
  }
  return maps == 0 || maps > MAP_LIMIT ? INT64_MAX : elements * maps;
}

/* --- recipes --- */

static int32_t result_of(const Source *source, const HloInstruction *made) {
  for (int32_t i = 0; i < source->count; i++) {
    if (source->fused->root->operands[i] == made) return i;
  }
  return -1;
}

static bool has_part(HloInstruction *const *parts, int32_t count, const HloInstruction *part) {
  for (int32_t i = 0; i < count; i++) {
    if (parts[i] == part) return true;
  }
  return false;
}

static bool add_leaf(Recipe *recipe, HloInstruction *leaf) {
  if (has_part(recipe->leaves, recipe->leaf_count, leaf)) return true;
  if (recipe->leaf_count == PART_LIMIT) return false;
  recipe->leaves[recipe->leaf_count++] = leaf;
  return true;
}

static bool is_repeatable(const HloInstruction *part) {
  if (part->opcode == HLO_CONSTANT) return shape_is_scalar(part->shape);
  FusionCost cost = fusion_cost(part);
  if (cost == FUSION_COST_FREE) return part->opcode == HLO_BROADCAST || fusion_permutes(part);
  return cost == FUSION_COST_CHEAP;
}

/* Adds what makes |part|; false where that is too much, or costly.  |cuts|: other results are leaves. */
static bool add_part(const Source *source, int32_t result, HloInstruction *part, bool cuts, Recipe *recipe) {
  if (has_part(recipe->parts, recipe->count, part)) return true;
  if (part->opcode == HLO_PARAMETER)
    return add_leaf(recipe, source->fusion->operands[hlo_instruction_parameter_number(part)]);
  int32_t other = result_of(source, part);
  if (other >= 0 && other != result && cuts && !source->dropped[other] && source->elements[other] != NULL) {
    recipe->is_cut[other] = true;
    return add_leaf(recipe, source->elements[other]);
  }
  if (recipe->count == PART_LIMIT || !is_repeatable(part)) return false;
  recipe->parts[recipe->count++] = part;
  bool is_wide = shape_element_count(part->shape) > 1;
  recipe->arithmetic_count += is_wide && fusion_cost(part) == FUSION_COST_CHEAP;
  for (int i = 0; i < part->operand_count; i++) {
    if (!add_part(source, result, part->operands[i], cuts, recipe)) return false;
  }
  return true;
}

/* The caller's, and not overwritten by a result. */
static bool is_callers(const Repeater *repeater, const HloInstruction *leaf) {
  const HloModule *module = repeater->computation->module;
  if (leaf->opcode == HLO_CONSTANT) return true;
  if (leaf->opcode != HLO_PARAMETER || repeater->computation != module->entry) return false;
  int64_t number = hlo_instruction_parameter_number(leaf);
  for (int64_t i = 0; i < module->aliases.count; i++) {
    if (module->aliases.data[i].parameter == number) return false;
  }
  for (int64_t i = 0; i < module->donors.count; i++) {
    if (module->donors.data[i].parameter == number) return false;
  }
  return true;
}

/* Bytes that |reader| reads for |recipe| besides what it reads already; -1: something would live longer for it. */
static int64_t new_bytes(const Repeater *repeater, const Recipe *recipe, const HloInstruction *reader,
                         int64_t result_bytes) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < recipe->leaf_count; i++) {
    const HloInstruction *leaf = recipe->leaves[i];
    if (leaf->shape->rank == 0 || hlo_instruction_uses(reader, leaf)) continue;
    bool is_small = fusion_value_bytes(leaf) <= result_bytes / SMALL_FRACTION;
    if (!is_small && !is_callers(repeater, leaf)) return -1;
    bytes += fusion_value_bytes(leaf);
  }
  return bytes;
}

/* Stored, it is written once and read by each; made again, each reads what it is made from and computes it. */
static const char *refusal(const Repeater *repeater, const HloInstruction *element, const Recipe *recipe) {
  int64_t bytes = fusion_value_bytes(element), stored = bytes, repeated = 0;
  for (int32_t u = 0; u < element->user_count; u++) {
    int64_t read = new_bytes(repeater, recipe, element->users[u], bytes);
    if (read < 0) return "what it is made from would have to live longer";
    int64_t evaluations = evaluation_count(repeater, element->users[u], element);
    if (evaluations == INT64_MAX) return "read under several index maps";
    stored += bytes;
    repeated += read + evaluations * recipe->arithmetic_count / EVALUATIONS_PER_BYTE;
  }
  return repeated <= stored ? NULL : "as quick to read as to make again";
}

static bool may_drop(const Repeater *repeater, const Source *source, int32_t result) {
  const HloInstruction *element = source->elements[result];
  if (element == NULL || source->needed[result] || hlo_instruction_is_root(element) || element->user_count == 0 ||
      element->user_count > READER_LIMIT || control_edges_touch(&repeater->control, element))
    return false;
  for (int32_t u = 0; u < element->user_count; u++) {
    if (!is_loop(repeater, element->users[u])) return false;
  }
  return true;
}

static void observe(const Repeater *repeater, const HloInstruction *element, bool taken, const char *reason) {
  const HloDecisionObserver *observer = repeater->observer;
  for (int32_t u = 0; observer != NULL && u < element->user_count; u++)
    observer->decided(observer->context, "result-repetition", element, element->users[u], taken, reason);
}

/* Decides about one result; true when it is dropped. */
static bool drop_result(const Repeater *repeater, Source *source, int32_t result) {
  if (!may_drop(repeater, source, result)) return false;
  const char *reason = "not cheap to make of what stays in memory";
  Recipe *recipe = ARENA_NEW(repeater->arena, Recipe);
  for (int cuts = 1; cuts >= 0; cuts--) {
    *recipe = (Recipe){0};
    HloInstruction *made = source->fused->root->operands[result];
    if (!add_part(source, result, made, cuts == 1, recipe) || recipe->count == 0) continue;
    reason = refusal(repeater, source->elements[result], recipe);
    if (reason == NULL) break;
  }
  observe(repeater, source->elements[result], reason == NULL, reason == NULL ? "cheaper to make again" : reason);
  if (reason != NULL) return false;
  for (int32_t i = 0; i < source->count; i++) source->needed[i] |= recipe->is_cut[i];
  source->dropped[result] = true;
  source->recipes[result] = recipe;
  return true;
}

/* --- writing --- */

/* |part| as |recipe| makes it, inside of |body|. */
static HloInstruction *write_part(const Source *source, const Recipe *recipe, FusedBody *body, HloInstruction *part) {
  HloInstruction *written = pointer_map_get(&body->inside, part);
  if (written != NULL) return written;
  if (!has_part(recipe->parts, recipe->count, part)) {
    if (part->opcode == HLO_PARAMETER)
      return fused_body_value(body, source->fusion->operands[hlo_instruction_parameter_number(part)]);
    return fused_body_value(body, source->elements[result_of(source, part)]);
  }
  HloInstruction *operands[PART_LIMIT];
  for (int i = 0; i < part->operand_count; i++) operands[i] = write_part(source, recipe, body, part->operands[i]);
  written = hlo_computation_add_clone(body->fused, part, part->shape, operands, part->operand_count);
  pointer_map_set(&body->inside, part, written);
  return written;
}

static void rewrite_reader(const Repeater *repeater, const Source *source, HloInstruction *reader) {
  FusedBody body;
  const HloComputation *fused = hlo_instruction_fused(reader);
  fused_body_begin(&body, repeater->computation, fused->name, repeater->observer, repeater->arena);
  for (int32_t i = 0; i < source->count; i++) {
    if (!source->dropped[i] || !hlo_instruction_uses(reader, source->elements[i])) continue;
    HloInstruction *made = write_part(source, source->recipes[i], &body, source->fused->root->operands[i]);
    pointer_map_set(&body.inside, source->elements[i], made);
  }
  hlo_computation_set_root(body.fused, fused_body_add(&body, reader));
  FusionKind kind = (FusionKind)hlo_instruction_int(reader, HLO_ATTR_FUSION_KIND, FUSION_KIND_LOOP);
  HloInstruction *fusion = fused_body_end(&body, kind, reader->name, reader);
  hlo_instruction_replace_all_uses(reader, fusion);
}

/* The fusion with the results that are left. */
static void rewrite_source(const Repeater *repeater, const Source *source) {
  HloInstruction *elements[RESULT_LIMIT];
  int32_t count = 0;
  for (int32_t i = 0; i < source->count; i++) {
    if (!source->dropped[i] && source->elements[i] != NULL) elements[count++] = source->elements[i];
  }
  kept_results_write(repeater->computation, source->fusion, elements, count, repeater->observer, repeater->arena);
}

/* Readers of what is dropped, each once. */
static void rewrite_readers(const Repeater *repeater, const Source *source) {
  for (int32_t i = 0; i < source->count; i++) {
    HloInstruction *element = source->elements[i];
    while (source->dropped[i] && element->user_count > 0) {
      HloInstruction *reader = element->users[0];
      rewrite_reader(repeater, source, reader);
      hlo_computation_remove(repeater->computation, reader, false);
    }
  }
}

static bool repeat_results_of(const Repeater *repeater, HloInstruction *fusion) {
  Source source;
  int32_t left = 0, dropped = 0;
  if (!find_source(repeater, fusion, &source)) return false;
  for (int32_t i = 0; i < source.count; i++) left += source.elements[i] != NULL;
  for (int32_t i = source.count - 1; i >= 0 && left - dropped > 1; i--) dropped += drop_result(repeater, &source, i);
  if (dropped == 0) return false;
  rewrite_readers(repeater, &source);
  rewrite_source(repeater, &source);
  return true;
}

static bool repeat_results(HloComputation *computation, const HloDecisionObserver *observer) {
  Arena *arena = arena_create();
  Repeater repeater = {.arena = arena, .computation = computation, .observer = observer};
  control_edges_init(&repeater.control, computation, arena);
  int64_t count;
  bool changed = false;
  HloInstruction **order = hlo_computation_post_order(computation, arena, &count);
  /* users before operands: a reader that is written anew has been looked at itself */
  for (int64_t i = count - 1; i >= 0; i--) {
    if (order[i]->opcode == HLO_FUSION) changed |= repeat_results_of(&repeater, order[i]);
  }
  if (changed) hlo_computation_remove_dead(computation);
  arena_destroy(arena);
  return changed;
}

static Status run_result_repetition(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t count;
  HloComputation **computations = control_computations(module, context->scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    bool changed = true;
    for (int round = 0; round < ROUND_LIMIT && changed; round++) {
      changed = repeat_results(computations[i], context->options->decisions);
      *out_changed |= changed;
    }
  }
  return STATUS_OK;
}

const HloPass hlo_result_repetition_pass = {
    "result-repetition", "cheap results of fusions are made again where they are read", run_result_repetition, false};
