#include "passes/memory/memory_trial.h"

#include <stdlib.h>

#include "base/checked_math.h"

/* The places in the source that tell instructions of a copy from one another: lines of it are ids of originals, from 1.
 */
static const SourceFile ORIGINALS = {{NULL, 0}, {NULL, 0}};

/* --- the copy --- */

MemoryCopy memory_copy(const HloModule *module, Arena *arena) {
  MemoryCopy copy = {.module = hlo_module_clone(module, arena), .id_count = module->next_instruction_id};
  copy.by_id = ARENA_NEW_ARRAY(arena, HloInstruction *, copy.id_count + 1);
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *originals = &module->computations.data[c]->instructions;
    const HloInstructionArray *copies = &copy.module->computations.data[c]->instructions;
    for (int64_t i = 0; i < originals->count; i++) copy.by_id[originals->data[i]->id] = copies->data[i];
  }
  return copy;
}

/* By id; what was removed is not there. */
static HloInstruction **instructions_by_id(const HloModule *module, Arena *arena) {
  HloInstruction **all = ARENA_NEW_ARRAY(arena, HloInstruction *, module->next_instruction_id + 1);
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *list = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < list->count; i++) all[list->data[i]->id] = list->data[i];
  }
  return all;
}

MemoryCopy memory_copy_of_itself(HloModule *module, Arena *arena) {
  return (MemoryCopy){module, instructions_by_id(module, arena), module->next_instruction_id};
}

static void tag(const MemoryCopy *copy) {
  for (int64_t c = 0; c < copy->module->computations.count; c++) {
    const HloInstructionArray *all = &copy->module->computations.data[c]->instructions;
    for (int64_t i = 0; i < all->count; i++) all->data[i]->loc = NO_LOC;
  }
  for (int64_t id = 0; id < copy->id_count; id++) {
    if (copy->by_id[id] != NULL) copy->by_id[id]->loc = (SourceLoc){&ORIGINALS, (uint32_t)id + 1, 1};
  }
}

/* The id of the original that |instruction| was made from; -1: unknown. */
static int64_t origin_id(const HloInstruction *instruction) {
  return instruction->loc.file == &ORIGINALS ? (int64_t)instruction->loc.line - 1 : -1;
}

/* Of the leaf |node| of what |instruction| makes: inside a fusion that is an instruction of its own. */
static int64_t origin_of_leaf(const HloInstruction *instruction, int node) {
  while (instruction->opcode == HLO_FUSION) {
    const HloInstruction *root = hlo_instruction_computation(instruction, HLO_ATTR_CALLS)->root;
    instruction = root;
    if (root->opcode == HLO_TUPLE && node > 0) {
      int64_t path[1];
      if (shape_node_path(root->shape, node, path) != 1) break;
      instruction = root->operands[path[0]];
      node = 0;
    }
  }
  return origin_id(instruction);
}

/* --- times --- */

static void note_time(PlannedTimes *times, const HloInstruction *instruction, int64_t position) {
  int64_t id = origin_id(instruction);
  if (id >= 0 && id < times->count) {
    if (times->first[id] < 0 || position < times->first[id]) times->first[id] = position;
    times->last[id] = max_i64(times->last[id], position);
  }
  if (instruction->opcode != HLO_FUSION) return;
  const HloComputation *fused = hlo_instruction_computation(instruction, HLO_ATTR_CALLS);
  for (int64_t i = 0; i < fused->instructions.count; i++) {
    if (fused->instructions.data[i]->opcode != HLO_PARAMETER) note_time(times, fused->instructions.data[i], position);
  }
}

static void find_times(MemoryTrial *trial, const BufferAssignment *assignment, int64_t ids, Arena *arena) {
  PlannedTimes *times = &trial->times;
  *times = (PlannedTimes){.count = ids,
                          .first = ARENA_NEW_ARRAY(arena, int64_t, ids + 1),
                          .last = ARENA_NEW_ARRAY(arena, int64_t, ids + 1),
                          .kept_to = ARENA_NEW_ARRAY(arena, int64_t, ids + 1)};
  for (int64_t i = 0; i < ids; i++) times->first[i] = times->last[i] = times->kept_to[i] = -1;
  for (int64_t p = 0; p < assignment->schedule_length; p++) note_time(times, assignment->schedule[p], p);
  for (int32_t v = 0; v < assignment->value_count; v++) {
    const HloValue *value = &assignment->values[v];
    int64_t id = origin_of_leaf(value->definition.instruction, value->definition.node);
    if (id >= 0 && id < ids && value->size > 0) times->kept_to[id] = max_i64(times->kept_to[id], value->live_to);
  }
}

/* --- what is alive --- */

static bool is_temporary(const BufferAssignment *assignment, const HloBuffer *buffer) {
  return assignment->allocations[buffer->allocation].kind == ALLOCATION_TEMP && buffer->size > 0;
}

/* A temporary in the memory of a result or of a donated argument. */
static bool is_guest(const BufferAssignment *assignment, const HloBuffer *buffer) {
  const BufferAllocation *home = &assignment->allocations[buffer->allocation];
  bool is_home = home->kind == ALLOCATION_RESULT || home->is_entry_parameter_donated;
  for (int32_t i = 0; i < buffer->value_count && is_home; i++) {
    const HloValue *value = &assignment->values[buffer->values[i]];
    if (value->live_out || value->definition.instruction->opcode == HLO_PARAMETER) return false;
  }
  return is_home;
}

/* Bytes alive at each position, of temporaries, wherever they live, and scratch. */
static int64_t *live_bytes(const BufferAssignment *assignment, Arena *arena) {
  int64_t length = assignment->schedule_length, *live = ARENA_NEW_ARRAY(arena, int64_t, length + 2);
  for (int32_t b = 0; b < assignment->buffer_count; b++) {
    const HloBuffer *buffer = &assignment->buffers[b];
    if (!is_temporary(assignment, buffer) && !is_guest(assignment, buffer)) continue;
    const BufferLiveRange *stretches;
    int32_t count = buffer_assignment_stretches(assignment, buffer, arena, &stretches);
    for (int32_t s = 0; s < count; s++) {
      live[max_i64(stretches[s].from, 0)] += buffer->size;
      live[min_i64(stretches[s].to, length - 1) + 1] -= buffer->size;
    }
  }
  for (int64_t p = 1; p <= length; p++) live[p] += live[p - 1];
  for (int32_t s = 0; s < assignment->scratch_count; s++)
    live[assignment->scratches[s].position] += assignment->scratches[s].size;
  return live;
}

static int compare_peak_values(const void *left, const void *right) {
  const PeakValue *a = left, *b = right;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return (a->origin->id > b->origin->id) - (a->origin->id < b->origin->id);
}

static void add_peak_value(PeakValueArray *values, const MemoryTrial *trial, HloInstruction *const *originals,
                           int64_t id, PeakValue value, Arena *arena) {
  if (id < 0 || id >= trial->times.count || originals[id] == NULL) return;
  value.origin = originals[id];
  array_push(values, arena, value);
}

static bool is_read_at(const BufferAssignment *assignment, const HloValue *value, int64_t position) {
  for (int32_t u = 0; u < value->use_count; u++) {
    if (value->uses[u].user == assignment->schedule[position]) return true;
  }
  return false;
}

static PeakValueArray find_peak_values(const MemoryTrial *trial, const BufferAssignment *assignment, int64_t peak,
                                       HloInstruction *const *originals, Arena *arena) {
  PeakValueArray values = {0};
  for (int32_t v = 0; v < assignment->value_count; v++) {
    const HloValue *value = &assignment->values[v];
    const HloBuffer *buffer = &assignment->buffers[value->buffer];
    if (value->size == 0 || (!is_temporary(assignment, buffer) && !is_guest(assignment, buffer))) continue;
    if (!hlo_value_is_live_at(value, peak)) continue;
    const HloInstruction *maker = value->definition.instruction;
    PeakValue entry = {.bytes = value->size, .is_read_there = is_read_at(assignment, value, peak)};
    add_peak_value(&values, trial, originals, origin_of_leaf(maker, value->definition.node), entry, arena);
  }
  const HloInstruction *at = assignment->schedule[peak];
  const BufferScratch *scratch = buffer_assignment_scratch(assignment, at);
  PeakValue entry = {.bytes = scratch != NULL ? scratch->size : 0, .is_scratch = true};
  add_peak_value(&values, trial, originals, origin_of_leaf(at, 0), entry, arena);
  if (values.count > 0) qsort(values.data, (size_t)values.count, sizeof(PeakValue), compare_peak_values);
  return values;
}

/* --- the trial --- */

static void measure(MemoryTrial *trial, const BufferAssignment *assignment, int64_t goal, Arena *scratch) {
  int64_t outside = buffer_assignment_outside_bytes(assignment);
  trial->workspace_bytes = assignment->workspace_bytes;
  trial->total_bytes = saturated_add(outside, assignment->workspace_bytes);
  trial->bound_bytes = saturated_add(outside, assignment->lower_bound_bytes);
  int64_t *live = live_bytes(assignment, scratch), most = -1;
  for (int64_t p = 0; p < assignment->schedule_length; p++) {
    double over = (double)max_i64(live[p] - max_i64(goal - outside, 0), 0);
    trial->over += over * over * over;
    if (live[p] > most) trial->peak = p;
    if (live[p] >= most) trial->last_peak = p;
    most = max_i64(most, live[p]);
  }
}

void memory_trial_run(const MemoryTrialOptions *options, MemoryCopy *copy, bool detail, Arena *arena,
                      MemoryTrial *out_trial) {
  const HloModule *original = options->original;
  Arena *scratch = arena_create();
  DiagSink ignored;
  bool changed;
  diag_sink_init(&ignored, scratch);
  HloPipelineOptions planning = {.pass_options = *options->context->options};
  planning.pass_options.memory_limit = 0;
  planning.pass_options.minimizes_memory = false;
  planning.pass_options.decisions = NULL;
  planning.pass_options.tuning = *options->tuning;
  tag(copy);
  HloPassPipeline *pipeline = hlo_planning_pipeline(scratch, &planning.pass_options);
  *out_trial = (MemoryTrial){.status = hlo_pass_pipeline_run(pipeline, copy->module, &planning, &ignored, &changed)};
  const BufferAssignment *assignment = hlo_pass_pipeline_assignment(pipeline);
  if (out_trial->status == STATUS_OK && assignment == NULL) out_trial->status = STATUS_INVALID;
  if (out_trial->status == STATUS_OK) {
    measure(out_trial, assignment, options->goal, scratch);
    out_trial->work = module_work(copy->module, &NOMINAL_CORE);
    if (detail && assignment->schedule_length > 0) {
      find_times(out_trial, assignment, original->next_instruction_id, arena);
      HloInstruction *const *originals = instructions_by_id(original, scratch);
      out_trial->values = find_peak_values(out_trial, assignment, out_trial->peak, originals, arena);
      out_trial->last_values = find_peak_values(out_trial, assignment, out_trial->last_peak, originals, arena);
    }
  }
  arena_destroy(scratch);
}
