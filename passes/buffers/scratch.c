/* What code generation needs beside the values while it runs an instruction: memory of the workspace that is taken for
 * that moment alone, placed with the temporaries. */
#include "base/checked_math.h"
#include "hlo/analysis/buffer_assignment_index.h"
#include "passes/buffers/assigner_internal.h"

/* The allocation of temporaries in ordinary memory; there may have been none. */
static int32_t temp_allocation(Assigner *assigner) {
  BufferAssignment *assignment = assigner->assignment;
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    const BufferAllocation *allocation = &assignment->allocations[i];
    if (allocation->kind == ALLOCATION_TEMP && allocation->colour == 0) return i;
  }
  int32_t number = assignment->allocation_count++;
  BufferAllocation *grown = ARENA_NEW_ARRAY(assigner->arena, BufferAllocation, assignment->allocation_count);
  if (number > 0) memcpy(grown, assignment->allocations, (size_t)number * sizeof *grown);
  grown[number] = (BufferAllocation){.index = number,
                                     .kind = ALLOCATION_TEMP,
                                     .alignment = TEMP_ALIGNMENT,
                                     .parameter = -1,
                                     .result = -1,
                                     .prepared = -1};
  assignment->allocations = grown;
  return number;
}

static void index_scratches(Assigner *assigner) {
  BufferAssignment *assignment = assigner->assignment;
  BufferAssignmentIndex *index = assignment->index;
  int32_t *scratch_of = ARENA_NEW_ARRAY(assigner->arena, int32_t, index->instruction_limit);
  for (int32_t i = 0; i < assignment->scratch_count; i++) scratch_of[assignment->scratches[i].instruction->id] = i + 1;
  index->scratch_of = scratch_of;
}

/* By position: bytes of temporaries, those too that will be guests in the caller's memory. */
static int64_t *live_bytes(const Assigner *assigner) {
  const BufferAssignment *assignment = assigner->assignment;
  int64_t length = assignment->schedule_length;
  int64_t *live = ARENA_NEW_ARRAY(assigner->scratch, int64_t, length + 2);
  for (int32_t b = 0; b < assignment->buffer_count; b++) {
    const HloBuffer *buffer = &assignment->buffers[b];
    if (assignment->allocations[buffer->allocation].kind != ALLOCATION_TEMP) continue;
    const BufferLiveRange *stretches;
    int32_t count = buffer_assignment_stretches(assignment, buffer, assigner->scratch, &stretches);
    for (int32_t s = 0; s < count; s++) {
      live[max_i64(stretches[s].from, 0)] += align_up(buffer->size, TEMP_ALIGNMENT);
      live[min_i64(stretches[s].to, length - 1) + 1] -= align_up(buffer->size, TEMP_ALIGNMENT);
    }
  }
  for (int64_t t = 1; t < length; t++) live[t] += live[t - 1];
  return live;
}

/* By id of an instruction: what is left of |total| bytes beside the |live| ones while it runs. */
static const int64_t *room_beside(const Assigner *assigner, const int64_t *live, int64_t total) {
  const BufferAssignment *assignment = assigner->assignment;
  int64_t *room = ARENA_NEW_ARRAY(assigner->scratch, int64_t, assigner->module->next_instruction_id + 1);
  for (int64_t t = 0; t < assignment->schedule_length; t++) room[assignment->schedule[t]->id] = total - live[t];
  return room;
}

static HloScratchLimit limit_of_scratch(const Assigner *assigner, const HloMemoryTuning *tuning) {
  const BufferAssignment *assignment = assigner->assignment;
  HloScratchLimit limit = {.bytes = tuning->scratch_limit};
  const int64_t *live = live_bytes(assigner);
  int64_t most = 0;
  for (int64_t t = 0; t < assignment->schedule_length; t++) most = max_i64(most, live[t]);
  limit.free = room_beside(assigner, live, most);
  if (tuning->scratch_total == 0) return limit;
  int64_t outside = buffer_assignment_outside_bytes(assignment);
  limit.room = room_beside(assigner, live, tuning->scratch_total - outside);
  return limit;
}

Status assigner_measure_scratch(Assigner *assigner, const HloScratchModel *model, const HloMemoryTuning *tuning) {
  BufferAssignment *assignment = assigner->assignment;
  if (model == NULL) return STATUS_OK;
  HloScratchLimit limit = limit_of_scratch(assigner, tuning);
  RETURN_IF_ERROR(model->begin(model->self, assigner->module, &limit, assigner->diag));
  ARRAY(BufferScratch) scratches = {0};
  for (int64_t t = 0; t < assignment->schedule_length; t++) {
    HloScratch needed = model->of(model->self, assignment->schedule[t]);
    assignment->scratch_bytes_per_worker = max_i64(assignment->scratch_bytes_per_worker, needed.bytes_per_worker);
    if (needed.bytes == 0) continue;
    BufferScratch scratch = {.instruction = assignment->schedule[t], .position = t, .size = needed.bytes};
    array_push(&scratches, assigner->arena, scratch);
  }
  assignment->scratch_count = (int32_t)scratches.count;
  assignment->scratches = scratches.data;
  if (scratches.count == 0) return STATUS_OK;
  int32_t allocation = temp_allocation(assigner);
  for (int64_t i = 0; i < scratches.count; i++) scratches.data[i].allocation = allocation;
  index_scratches(assigner);
  return STATUS_OK;
}
