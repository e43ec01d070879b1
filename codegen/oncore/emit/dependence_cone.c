#include "codegen/oncore/emit/dependence_cone.h"

#include <math.h>

#include "base/checked_math.h"

/* --- steps --- */

static void add_step(ConeGraph *graph, const HloInstruction *instruction, const HloInstruction *fusion) {
  graph->step_of[instruction->id] = graph->count;
  graph->steps[graph->count] = instruction;
  graph->fusions[graph->count++] = fusion;
}

bool cone_graph_make(Arena *arena, const HloModule *module, ConeGraph *out_graph) {
  const HloComputation *entry = module->entry;
  ConeGraph *graph = out_graph;
  int64_t most = module->next_instruction_id;
  *graph = (ConeGraph){.step_of = ARENA_NEW_ARRAY(arena, int32_t, most + 1)};
  graph->steps = ARENA_NEW_ARRAY(arena, const HloInstruction *, most + 1);
  graph->fusions = ARENA_NEW_ARRAY(arena, const HloInstruction *, most + 1);
  for (int64_t i = 0; i <= most; i++) graph->step_of[i] = -1;
  for (int64_t i = 0; i < entry->instructions.count; i++) {
    const HloInstruction *instruction = entry->instructions.data[i];
    if (instruction->opcode == HLO_FUSION) {
      const HloComputation *inside = hlo_instruction_called(instruction, 0);
      if (graph->step_of[inside->root->id] >= 0) return false;
      for (int64_t k = 0; k < inside->instructions.count; k++)
        add_step(graph, inside->instructions.data[k], instruction);
    }
    add_step(graph, instruction, NULL);
  }
  return true;
}

/* Leaf |index| of what |tuple| is; NULL: nobody knows. */
static const HloInstruction *leaf_of(const HloInstruction *tuple, int64_t index) {
  if (tuple->opcode == HLO_FUSION) tuple = hlo_instruction_called(tuple, 0)->root;
  return tuple->opcode == HLO_TUPLE && index < tuple->operand_count ? tuple->operands[index] : NULL;
}

/* What |instruction|, inside of |fusion| or not, is another name of; NULL: of nothing. */
static const HloInstruction *stands_for(const HloInstruction *instruction, const HloInstruction *fusion) {
  if (instruction->opcode == HLO_FUSION) return hlo_instruction_called(instruction, 0)->root;
  if (instruction->opcode == HLO_GET_TUPLE_ELEMENT)
    return leaf_of(instruction->operands[0], hlo_instruction_int(instruction, HLO_ATTR_INDEX, 0));
  if (instruction->opcode == HLO_PARAMETER && fusion != NULL)
    return fusion->operands[hlo_instruction_int(instruction, HLO_ATTR_PARAMETER_NUMBER, 0)];
  return NULL;
}

/* --- parts --- */

static bool has_parts(const Shape *shape) {
  return shape_is_array(shape) && shape->rank <= CONE_MOST_RANK && shape_element_count(shape) > 0;
}

double cone_part_volume(const ConePart *part, const Shape *shape) {
  double volume = part->any ? 1 : 0;
  for (int i = 0; part->any && i < shape->rank; i++) volume *= (double)part->counts[i];
  return volume;
}

static double share_of(const ConePart *part, const Shape *shape) {
  return cone_part_volume(part, shape) / (double)shape_element_count(shape);
}

static bool is_whole(const ConePart *part, const Shape *shape, int first, int end) {
  for (int i = first; i < end; i++)
    if (part->counts[i] != shape->dims[i]) return false;
  return true;
}

static ConePart whole_part(const Shape *shape) {
  ConePart part = {.any = has_parts(shape)};
  for (int i = 0; part.any && i < shape->rank; i++) part.counts[i] = shape->dims[i];
  return part;
}

/* The dims from |*first| on of |a| and |b| that have equally many elements, as few as possible. */
static void next_group(const Shape *a, int *first_a, const Shape *b, int *first_b) {
  int64_t elements_a = 1, elements_b = 1;
  int begin_a = *first_a, begin_b = *first_b;
  while (*first_a < a->rank || *first_b < b->rank) {
    bool grows_a = elements_a <= elements_b ? *first_a < a->rank : *first_b >= b->rank;
    if (grows_a)
      elements_a *= a->dims[(*first_a)++];
    else
      elements_b *= b->dims[(*first_b)++];
    if (elements_a == elements_b && *first_a > begin_a && *first_b > begin_b) break;
  }
}

/* The dim in [first, end) that has more than one index, the last one if none has, -1: several have. */
static int only_dim(const Shape *shape, int first, int end) {
  int found = end - 1;
  bool is_found = false;
  for (int i = first; i < end; i++) {
    if (shape->dims[i] == 1) continue;
    if (is_found) return -1;
    is_found = true;
    found = i;
  }
  return found;
}

/* |part| of |from| as a part of |to|, the same elements in the same order with other dims. */
static ConePart reshaped_part(const ConePart *part, const Shape *from, const Shape *to) {
  ConePart made = {.any = part->any && has_parts(to), .is_scattered = part->is_scattered};
  if (!made.any) return made;
  if (is_whole(part, from, 0, from->rank)) return whole_part(to);
  if (!shape_has_default_layout(from) || !shape_has_default_layout(to)) return (ConePart){0};
  for (int i = 0; i < to->rank; i++) made.counts[i] = 1;
  for (int a = 0, b = 0; a < from->rank || b < to->rank;) {
    int first_a = a, first_b = b;
    next_group(from, &a, to, &b);
    int one = only_dim(to, first_b, b);
    int64_t elements = 1;
    for (int i = first_a; i < a; i++) elements *= part->counts[i];
    if (is_whole(part, from, first_a, a)) {
      for (int i = first_b; i < b; i++) made.counts[i] = to->dims[i];
    } else if (one >= 0) {
      made.counts[one] = elements;
      made.is_scattered = made.is_scattered || only_dim(from, first_a, a) < 0;
    }
  }
  return made;
}

/* --- rules --- */

typedef struct ConeWalk {
  Arena *arena;
  const ConeGraph *graph;
  const bool *is_known;
  ConePart *parts;
  Cone *cone;
  int32_t step; /* at hand */
} ConeWalk;

static const ConePart *part_of(const ConeWalk *walk, const HloInstruction *instruction) {
  return &walk->parts[walk->graph->step_of[instruction->id]];
}

static ConePart broadcast_operand(const HloInstruction *broadcast, const ConePart *part) {
  Int64List dimensions = hlo_instruction_ints(broadcast, HLO_ATTR_DIMENSIONS);
  ConePart made = {.any = has_parts(broadcast->operands[0]->shape), .is_scattered = part->is_scattered};
  for (int64_t i = 0; made.any && i < dimensions.count; i++) made.counts[i] = part->counts[dimensions.data[i]];
  return made;
}

/* The argument's bytes that |part| of |value| takes: as far as only moves lie between. */
static void ask(ConeWalk *walk, const HloInstruction *value, ConePart part) {
  while (part.any) {
    const HloInstruction *named = stands_for(value, walk->graph->fusions[walk->graph->step_of[value->id]]);
    if (named != NULL) {
      value = named;
      continue;
    }
    if (value->opcode == HLO_PARAMETER) {
      double bytes = cone_part_volume(&part, value->shape) * (double)type_storage_bytes(value->shape->type);
      int64_t number = hlo_instruction_int(value, HLO_ATTR_PARAMETER_NUMBER, 0);
      array_push(&walk->cone->demands, walk->arena, ((ConeDemand){walk->step, number, bytes}));
      return;
    }
    if (value->opcode == HLO_BROADCAST) {
      part = broadcast_operand(value, &part);
    } else if (value->opcode == HLO_TRANSPOSE) {
      Int64List dimensions = hlo_instruction_ints(value, HLO_ATTR_DIMENSIONS);
      ConePart made = part;
      for (int64_t i = 0; i < dimensions.count; i++) made.counts[dimensions.data[i]] = part.counts[i];
      part = made;
    } else if (value->opcode == HLO_RESHAPE || value->opcode == HLO_BITCAST) {
      part = reshaped_part(&part, value->shape, value->operands[0]->shape);
    } else if (value->operand_count != 1 || !hlo_opcode_has(value->opcode, OP_ELEMENTWISE)) {
      return;
    }
    value = value->operands[0];
  }
}

/* --- lane-wise --- */

static void walk_lanes(ConeWalk *walk, const HloInstruction *instruction, ConePart *out_part) {
  const Shape *shape = instruction->shape;
  if (instruction->opcode == HLO_SELECT && walk->is_known[instruction->operands[0]->id]) return;
  for (int32_t i = 0; i < instruction->operand_count; i++) {
    const HloInstruction *operand = instruction->operands[i];
    const ConePart *part = part_of(walk, operand);
    if (!part->any || !shape_same_dims(operand->shape, shape)) continue;
    if (cone_part_volume(part, shape) > cone_part_volume(out_part, shape)) *out_part = *part;
  }
  if (!out_part->any) return;
  walk->cone->shares[walk->step] = share_of(out_part, shape);
  for (int32_t i = 0; i < instruction->operand_count; i++)
    if (shape_same_dims(instruction->operands[i]->shape, shape)) ask(walk, instruction->operands[i], *out_part);
}

/* --- moves --- */

static void walk_broadcast(ConeWalk *walk, const HloInstruction *broadcast, ConePart *out_part) {
  const ConePart *part = part_of(walk, broadcast->operands[0]);
  Int64List dimensions = hlo_instruction_ints(broadcast, HLO_ATTR_DIMENSIONS);
  if (!part->any) return;
  *out_part = whole_part(broadcast->shape);
  out_part->is_scattered = part->is_scattered;
  for (int64_t i = 0; out_part->any && i < dimensions.count; i++)
    out_part->counts[dimensions.data[i]] = part->counts[i];
}

static void walk_transpose(ConeWalk *walk, const HloInstruction *transpose, ConePart *out_part) {
  Int64List dimensions = hlo_instruction_ints(transpose, HLO_ATTR_DIMENSIONS);
  *out_part = *part_of(walk, transpose->operands[0]);
  for (int64_t i = 0; out_part->any && i < dimensions.count; i++)
    out_part->counts[i] = part_of(walk, transpose->operands[0])->counts[dimensions.data[i]];
}

static void walk_reshape(ConeWalk *walk, const HloInstruction *reshape, ConePart *out_part) {
  *out_part = reshaped_part(part_of(walk, reshape->operands[0]), reshape->operands[0]->shape, reshape->shape);
}

static void walk_concatenate(ConeWalk *walk, const HloInstruction *concatenate, ConePart *out_part) {
  for (int32_t i = 0; i < concatenate->operand_count; i++) {
    const ConePart *part = part_of(walk, concatenate->operands[i]);
    if (cone_part_volume(part, concatenate->shape) > cone_part_volume(out_part, concatenate->shape)) *out_part = *part;
  }
}

static bool leaves_out_none(const HloInstruction *pad) {
  const PaddingConfig *padding = hlo_instruction_padding(pad);
  for (int i = 0; i < padding->rank; i++)
    if (padding->dims[i].low < 0 || padding->dims[i].high < 0) return false;
  return true;
}

static void walk_pad(ConeWalk *walk, const HloInstruction *pad, ConePart *out_part) {
  if (!leaves_out_none(pad)) return;
  *out_part = *part_of(walk, pad->operands[0]);
  out_part->is_scattered = true; /* with padding in between */
}

/* What the slice leaves out may be what depends. */
static void walk_slice(ConeWalk *walk, const HloInstruction *slice, ConePart *out_part) {
  ConePart part = *part_of(walk, slice->operands[0]);
  for (int i = 0; part.any && i < slice->shape->rank; i++) {
    part.counts[i] -= slice->operands[0]->shape->dims[i] - slice->shape->dims[i];
    if (part.counts[i] <= 0) part.any = false;
  }
  part.is_scattered = true;
  *out_part = part;
}

/* --- sums of products --- */

static void walk_reduce(ConeWalk *walk, const HloInstruction *reduce, ConePart *out_part) {
  const ConePart *part = part_of(walk, reduce->operands[0]);
  const Shape *from = reduce->operands[0]->shape;
  Int64List dimensions = hlo_instruction_ints(reduce, HLO_ATTR_DIMENSIONS);
  if (!part->any || !has_parts(reduce->shape)) return;
  *out_part = (ConePart){.any = true, .is_scattered = part->is_scattered};
  for (int i = 0, axis = 0; i < from->rank; i++) {
    bool is_reduced = false;
    for (int64_t k = 0; k < dimensions.count; k++) is_reduced = is_reduced || dimensions.data[k] == i;
    if (!is_reduced) out_part->counts[axis++] = part->counts[i];
  }
  walk->cone->shares[walk->step] = share_of(part, from);
}

/* One side of a dot: its own dims and the other's, as the attributes say. */
typedef struct DotSide {
  int operand;
  Int64List batch, contracted, other_batch, other_contracted;
} DotSide;

static DotSide dot_side(const HloInstruction *dot, int operand) {
  Int64List batch[] = {hlo_instruction_ints(dot, HLO_ATTR_LHS_BATCH_DIMS),
                       hlo_instruction_ints(dot, HLO_ATTR_RHS_BATCH_DIMS)};
  Int64List contracted[] = {hlo_instruction_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS),
                            hlo_instruction_ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS)};
  return (DotSide){operand, batch[operand], contracted[operand], batch[1 - operand], contracted[1 - operand]};
}

/* The result's dims: of the batch, the left one's own, the right one's own. */
static void walk_dot_side(ConeWalk *walk, const HloInstruction *dot, const DotSide *side, ConePart *out_part) {
  const ConePart *part = part_of(walk, dot->operands[side->operand]);
  const Shape *own = dot->operands[side->operand]->shape, *other = dot->operands[1 - side->operand]->shape;
  if (!part->any || !has_parts(other) || !has_parts(dot->shape)) return;
  ConePart made = whole_part(dot->shape), asked = whole_part(other);
  int own_free = own->rank - (int)(side->batch.count + side->contracted.count);
  int axis = (int)side->batch.count + (side->operand == 1 ? dot->shape->rank - (int)side->batch.count - own_free : 0);
  made.is_scattered = part->is_scattered;
  for (int64_t i = 0; i < side->batch.count; i++) {
    made.counts[i] = part->counts[side->batch.data[i]];
    asked.counts[side->other_batch.data[i]] = made.counts[i];
  }
  for (int64_t i = 0; i < side->contracted.count; i++)
    asked.counts[side->other_contracted.data[i]] = part->counts[side->contracted.data[i]];
  for (int i = 0; i < own->rank; i++)
    if (!int64_list_has(side->batch, i) && !int64_list_has(side->contracted, i)) made.counts[axis++] = part->counts[i];
  ask(walk, dot->operands[1 - side->operand], asked);
  walk->cone->shares[walk->step] = fmax(walk->cone->shares[walk->step], share_of(part, own));
  if (cone_part_volume(&made, dot->shape) > cone_part_volume(out_part, dot->shape)) *out_part = made;
}

static void walk_dot(ConeWalk *walk, const HloInstruction *dot, ConePart *out_part) {
  for (int operand = 0; operand < 2; operand++) {
    DotSide side = dot_side(dot, operand);
    walk_dot_side(walk, dot, &side, out_part);
  }
}

/* --- windows --- */

/* Along one dim, what |count| indices that follow one another meet at least, wherever they are. */
typedef struct WindowReach {
  int64_t positions; /* of the result */
  int64_t taps;
  int64_t pairs; /* of a position and a tap */
} WindowReach;

#define MOST_WINDOW_PAIRS 100000 /* longer ones count as if nothing met */

static WindowReach window_reach(Arena *arena, const WindowDimension *window, int64_t elements, int64_t positions,
                                int64_t count) {
  WindowReach least = {positions, window->size, INT64_MAX}, now = {0};
  if (elements > MOST_WINDOW_PAIRS / window->size || positions > MOST_WINDOW_PAIRS) return (WindowReach){0};
  int32_t *by_position = ARENA_NEW_ARRAY(arena, int32_t, positions + 1);
  int32_t *by_tap = ARENA_NEW_ARRAY(arena, int32_t, window->size + 1);
  for (int64_t step = 0; step < 2 * elements - count; step++) {
    /* first |count| elements enter, then one leaves and one enters in turn */
    bool enters = step < count || (step - count) % 2 != 0;
    int64_t element = step < count ? step : enters ? count + (step - count) / 2 : (step - count) / 2;
    for (int64_t k = 0; k < window->size; k++) {
      int64_t at = element * window->base_dilation + window->pad_low - k * window->window_dilation;
      if (at < 0 || at % window->stride != 0 || at / window->stride >= positions) continue;
      int64_t o = at / window->stride;
      now.pairs += enters ? 1 : -1;
      now.positions += enters ? by_position[o]++ == 0 : -(--by_position[o] == 0);
      now.taps += enters ? by_tap[k]++ == 0 : -(--by_tap[k] == 0);
    }
    if (step + 1 < count || !enters) continue;
    least.positions = min_i64(least.positions, now.positions);
    least.taps = min_i64(least.taps, now.taps);
    least.pairs = min_i64(least.pairs, now.pairs);
  }
  return least;
}

/* Of dim |d| of the windows, which sees |count| of |elements|. */
static WindowReach reach_along(ConeWalk *walk, const Window *window, int d, int64_t elements, int64_t positions,
                               int64_t count, bool is_scattered) {
  static const WindowDimension one = {.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
  int64_t seen = is_scattered && count < elements ? 1 : count;
  return window_reach(walk->arena, window != NULL ? &window->dims[d] : &one, elements, positions, seen);
}

static void walk_reduce_window(ConeWalk *walk, const HloInstruction *windows, ConePart *out_part) {
  const ConePart *part = part_of(walk, windows->operands[0]);
  const Shape *from = windows->operands[0]->shape;
  if (!part->any || !has_parts(windows->shape)) return;
  *out_part = (ConePart){.any = true};
  for (int i = 0; i < from->rank; i++) {
    WindowReach reach = reach_along(walk, hlo_instruction_window(windows), i, from->dims[i], windows->shape->dims[i],
                                    part->counts[i], part->is_scattered);
    out_part->counts[i] = reach.positions;
    if (reach.positions == 0) out_part->any = false;
  }
  out_part->is_scattered = true;
}

/* Of what the image has in the cone; a kernel in the cone is passed over. */
static void walk_convolution(ConeWalk *walk, const HloInstruction *convolution, ConePart *out_part) {
  const ConvolutionDimensionNumbers *dims = hlo_instruction_dim_labels(convolution);
  const HloInstruction *image = convolution->operands[0], *kernel = convolution->operands[1];
  const ConePart *part = part_of(walk, image);
  int64_t groups = hlo_instruction_int(convolution, HLO_ATTR_FEATURE_GROUP_COUNT, 1);
  if (!part->any || hlo_instruction_int(convolution, HLO_ATTR_BATCH_GROUP_COUNT, 1) != 1) return;
  if (!has_parts(kernel->shape) || !has_parts(convolution->shape)) return;
  if (dims->input.rank != dims->spatial_rank + 2 || dims->output.rank != dims->spatial_rank + 2) return;
  if (dims->input.batch < 0 || dims->input.feature < 0 || dims->output.batch < 0 || dims->output.feature < 0) return;
  int64_t features = part->counts[dims->input.feature];
  int64_t in_group = image->shape->dims[dims->input.feature] / groups;
  int64_t out_group = convolution->shape->dims[dims->output.feature] / groups;
  int64_t met = (features + in_group - 1) / in_group; /* groups */
  ConePart made = {.any = true, .is_scattered = part->is_scattered}, asked = whole_part(kernel->shape);
  made.counts[dims->output.batch] = part->counts[dims->input.batch];
  made.counts[dims->output.feature] = met * out_group;
  if (dims->kernel.output_feature >= 0) asked.counts[dims->kernel.output_feature] = met * out_group;
  if (dims->kernel.input_feature >= 0) asked.counts[dims->kernel.input_feature] = groups == 1 ? features : 1;
  double share = (double)part->counts[dims->input.batch] / (double)image->shape->dims[dims->input.batch] *
                 (double)features / (double)image->shape->dims[dims->input.feature];
  for (int i = 0; i < dims->spatial_rank; i++) {
    int64_t elements = image->shape->dims[dims->input.spatial[i]];
    int64_t positions = convolution->shape->dims[dims->output.spatial[i]];
    WindowReach reach = reach_along(walk, hlo_instruction_window(convolution), i, elements, positions,
                                    part->counts[dims->input.spatial[i]], part->is_scattered);
    if (reach.positions == 0) return;
    made.counts[dims->output.spatial[i]] = reach.positions;
    int64_t taps = kernel->shape->dims[dims->kernel.spatial[i]];
    asked.counts[dims->kernel.spatial[i]] = reach.taps;
    share *= (double)reach.pairs / ((double)positions * (double)taps);
    const Window *window = hlo_instruction_window(convolution);
    bool is_dense = window == NULL || (window->dims[i].window_dilation == 1 && window->dims[i].base_dilation == 1);
    made.is_scattered = made.is_scattered || !is_dense;
  }
  walk->cone->shares[walk->step] = share;
  ask(walk, kernel, asked);
  *out_part = made;
}

/* --- all steps --- */

typedef struct ConeRule {
  HloOpcode opcode;
  void (*walk)(ConeWalk *walk, const HloInstruction *instruction, ConePart *out_part);
} ConeRule;

static const ConeRule rules[] = {
    {HLO_BROADCAST, walk_broadcast},
    {HLO_TRANSPOSE, walk_transpose},
    {HLO_RESHAPE, walk_reshape},
    {HLO_BITCAST, walk_reshape},
    {HLO_CONCATENATE, walk_concatenate},
    {HLO_PAD, walk_pad},
    {HLO_SLICE, walk_slice},
    {HLO_REDUCE, walk_reduce},
    {HLO_DOT, walk_dot},
    {HLO_REDUCE_WINDOW, walk_reduce_window},
    {HLO_CONVOLUTION, walk_convolution},
};

static void walk_step(ConeWalk *walk, const HloInstruction *instruction, ConePart *out_part) {
  const HloInstruction *named = stands_for(instruction, walk->graph->fusions[walk->step]);
  if (named != NULL && has_parts(instruction->shape) && has_parts(named->shape)) {
    *out_part = *part_of(walk, named);
    return;
  }
  if (!has_parts(instruction->shape)) return;
  for (int32_t i = 0; i < instruction->operand_count; i++)
    if (!has_parts(instruction->operands[i]->shape)) return;
  if (hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE)) {
    walk_lanes(walk, instruction, out_part);
    return;
  }
  for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
    if (rules[r].opcode == instruction->opcode) rules[r].walk(walk, instruction, out_part);
}

void cone_find(Arena *arena, const ConeGraph *graph, const bool *is_known, int32_t from, Cone *out_cone) {
  ConeWalk walk = {arena, graph, is_known, ARENA_NEW_ARRAY(arena, ConePart, graph->count), out_cone, from};
  *out_cone = (Cone){.parts = walk.parts, .shares = ARENA_NEW_ARRAY(arena, double, graph->count)};
  const Shape *shape = graph->steps[from]->shape;
  walk.parts[from] = (ConePart){.any = true};
  for (int i = 0; i < shape->rank; i++) walk.parts[from].counts[i] = 1;
  for (walk.step = from + 1; walk.step < graph->count; walk.step++)
    walk_step(&walk, graph->steps[walk.step], &walk.parts[walk.step]);
}

/* --- what is needed --- */

/* Whether windows see each element of their image, and use each tap. */
static bool uses_image(Arena *arena, const Window *window, int d, int64_t elements, int64_t positions) {
  return window == NULL || window_reach(arena, &window->dims[d], elements, positions, 1).positions > 0;
}

static bool uses_taps(Arena *arena, const Window *window, int d, int64_t elements, int64_t positions) {
  if (window == NULL) return true;
  return window_reach(arena, &window->dims[d], elements, positions, elements).taps == window->dims[d].size;
}

static bool convolution_uses_all(Arena *arena, const HloInstruction *convolution, int32_t operand) {
  const ConvolutionDimensionNumbers *dims = hlo_instruction_dim_labels(convolution);
  for (int i = 0; i < dims->spatial_rank; i++) {
    int64_t elements = convolution->operands[0]->shape->dims[dims->input.spatial[i]];
    int64_t positions = convolution->shape->dims[dims->output.spatial[i]];
    bool uses = elements > 0 && (operand == 0 ? uses_image : uses_taps)(arena, hlo_instruction_window(convolution), i,
                                                                        elements, positions);
    if (!uses) return false;
  }
  return true;
}

static bool reduce_window_uses_all(Arena *arena, const HloInstruction *windows) {
  const Shape *from = windows->operands[0]->shape;
  if (!shape_is_array(windows->shape)) return false;
  for (int i = 0; i < from->rank; i++)
    if (from->dims[i] == 0 ||
        !uses_image(arena, hlo_instruction_window(windows), i, from->dims[i], windows->shape->dims[i]))
      return false;
  return true;
}

/* Whether each element of operand |operand| is used for all of |instruction|. */
static bool uses_all(Arena *arena, const bool *is_known, const HloInstruction *instruction, int32_t operand) {
  HloOpcode opcode = instruction->opcode;
  if (opcode == HLO_PAD) return leaves_out_none(instruction);
  if (opcode == HLO_SLICE) return false;
  if (opcode == HLO_CONVOLUTION) return convolution_uses_all(arena, instruction, operand);
  if (opcode == HLO_REDUCE_WINDOW) return operand == 0 && reduce_window_uses_all(arena, instruction);
  if (opcode == HLO_SELECT) return operand == 0 || !is_known[instruction->operands[0]->id];
  for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
    if (rules[r].opcode == opcode) return true;
  return hlo_opcode_has(opcode, OP_ELEMENTWISE) || opcode == HLO_TUPLE;
}

void cone_needed(Arena *arena, const ConeGraph *graph, const bool *is_known, int32_t target, bool *out_needed) {
  for (int32_t s = 0; s < graph->count; s++) out_needed[s] = s == target;
  for (int32_t s = target; s >= 0; s--) {
    const HloInstruction *instruction = graph->steps[s];
    if (!out_needed[s]) continue;
    const HloInstruction *named = stands_for(instruction, graph->fusions[s]);
    if (named != NULL) out_needed[graph->step_of[named->id]] = true;
    if (named != NULL) continue;
    for (int32_t i = 0; i < instruction->operand_count; i++) {
      bool uses = shape_element_count(instruction->shape) != 0 && uses_all(arena, is_known, instruction, i);
      if (uses) out_needed[graph->step_of[instruction->operands[i]->id]] = true;
    }
  }
}
