#include "hlo/ir/host_transfer.h"
#include "passes/cleanup/control_edges.h"
#include "passes/pipeline/hlo_pass.h"

/* Code generated here runs an operation when its turn comes: a start and its done are the operation itself, at the
 * start's operands.  The pair becomes one instruction in the done's place; the results of a start are only ever read by
 * its update and done. */

typedef struct AsyncPair {
  HloOpcode start, done, sync;
} AsyncPair;

static const AsyncPair pairs[] = {
    {HLO_ASYNC_START, HLO_ASYNC_DONE, HLO_CALL},
    {HLO_COPY_START, HLO_COPY_DONE, HLO_COPY},
    {HLO_ALL_GATHER_START, HLO_ALL_GATHER_DONE, HLO_ALL_GATHER},
    {HLO_ALL_REDUCE_START, HLO_ALL_REDUCE_DONE, HLO_ALL_REDUCE},
    {HLO_COLLECTIVE_PERMUTE_START, HLO_COLLECTIVE_PERMUTE_DONE, HLO_COLLECTIVE_PERMUTE},
};

enum { PAIR_COUNT = sizeof(pairs) / sizeof(pairs[0]) };

static const AsyncPair *pair_of_done(HloOpcode done) {
  for (int i = 0; i < PAIR_COUNT; i++) {
    if (pairs[i].done == done) return &pairs[i];
  }
  return NULL;
}

/* The start that |done| ends, through updates, each read by the next alone and none of them ordered by control; NULL
 * otherwise. */
static HloInstruction *start_of(const HloInstruction *done, const AsyncPair *pair, const ControlEdges *edges) {
  if (control_edges_touch(edges, done)) return NULL;
  HloInstruction *at = done->operand_count == 1 ? done->operands[0] : NULL;
  while (at != NULL && at->user_count == 1 && !hlo_instruction_is_root(at) && !control_edges_touch(edges, at)) {
    if (at->opcode == pair->start) return at;
    if (at->opcode != HLO_ASYNC_UPDATE || at->operand_count != 1) return NULL;
    at = at->operands[0];
  }
  return NULL;
}

static void copy_attributes(HloInstruction *to, const HloInstruction *from) {
  for (int i = 0; i < from->attr_count; i++) {
    HloAttr attr = from->attrs[i];
    if (to->opcode == HLO_CALL) {
      if (attr.id == HLO_ATTR_CALLS) attr.id = HLO_ATTR_TO_APPLY;
      if (attr.id == HLO_ATTR_ASYNC_EXECUTION_THREAD || attr.id == HLO_ATTR_OUTPUT_TO_OPERAND_ALIASING) continue;
    }
    if (attr.id == HLO_ATTR_CROSS_PROGRAM_PREFETCH_INDEX) continue;
    hlo_instruction_set_attr(to, &attr);
  }
}

static bool is_joinable(const HloInstruction *start, const HloInstruction *done, const AsyncPair *pair) {
  if (pair->sync == HLO_COPY) return shape_is_array(done->shape) && start->operand_count == 1;
  if (pair->sync != HLO_CALL) return true;
  const HloComputation *callee = hlo_instruction_computation(start, HLO_ATTR_CALLS);
  return callee != NULL && shape_compatible(callee->root->shape, done->shape);
}

static void join_pair(HloInstruction *start, HloInstruction *done, HloOpcode sync) {
  HloComputation *computation = done->parent;
  HloInstruction *joined =
      hlo_computation_add(computation, sync, done->shape, start->operands, start->operand_count, done->name);
  copy_attributes(joined, start);
  HloInstruction *at = done->operands[0];
  hlo_computation_replace_instruction(computation, done, joined);
  while (at != NULL && at->user_count == 0) {
    HloInstruction *next = at == start ? NULL : at->operands[0];
    hlo_computation_remove(computation, at, false);
    at = next;
  }
}

/* A send to the host, or a receive, is done when it has its turn, so that the end of one is a part of its result. */
static HloInstruction *end_of_transfer(HloInstruction *done) {
  HloInstruction *transfer = done->operands[0];
  int64_t count = shape_is_tuple(transfer->shape) ? transfer->shape->tuple_size : 0;
  if (count != 3) return NULL;
  HloInstruction *parts[2];
  for (int i = done->opcode == HLO_SEND_DONE; i < 2; i++) {
    int64_t index = 2 * i;
    parts[i] = hlo_computation_add(done->parent, HLO_GET_TUPLE_ELEMENT, transfer->shape->tuple[index], &transfer, 1,
                                   done->name);
    hlo_instruction_set_int(parts[i], HLO_ATTR_INDEX, index);
  }
  if (done->opcode == HLO_SEND_DONE) return parts[1];
  return hlo_computation_add(done->parent, HLO_TUPLE, done->shape, parts, 2, done->name);
}

static bool end_transfer(HloInstruction *done, const ControlEdges *edges) {
  bool is_end = done->opcode == HLO_SEND_DONE || done->opcode == HLO_RECV_DONE;
  if (!is_end || !hlo_instruction_bool(done, HLO_ATTR_IS_HOST_TRANSFER, false)) return false;
  if (done->operand_count != 1 || control_edges_touch(edges, done)) return false;
  HloInstruction *end = end_of_transfer(done);
  if (end != NULL) hlo_computation_replace_instruction(done->parent, done, end);
  return end != NULL;
}

static bool make_sync(HloInstruction *instruction) {
  if (!host_transfer_is(instruction) || host_transfer_is_sync(instruction)) return false;
  host_transfer_make_sync(instruction);
  return true;
}

/* What runs in its caller's turn is on its caller's thread.  So everything is on one, as code generated here has no
 * other: what is joined may call other computations, or be called by a pair that stays. */
static void leave_threads(HloModule *module) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    HloComputation *computation = module->computations.data[c];
    computation->execution_thread = (StringView){0};
    for (int64_t i = 0; i < computation->instructions.count; i++)
      hlo_instruction_remove_attr(computation->instructions.data[i], HLO_ATTR_ASYNC_EXECUTION_THREAD);
  }
}

static Status run_async_to_sync(HloPassContext *context, HloModule *module, bool *out_changed) {
  bool has_joined_call = false;
  for (int64_t c = 0; c < module->computations.count; c++) {
    HloComputation *computation = module->computations.data[c];
    ControlEdges edges;
    control_edges_init(&edges, computation, context->scratch);
    int64_t count;
    HloInstruction **candidates = hlo_computation_list(computation, context->scratch, &count);
    for (int64_t i = 0; i < count; i++) {
      *out_changed |= make_sync(candidates[i]);
      if (end_transfer(candidates[i], &edges)) {
        *out_changed = true;
        continue;
      }
      const AsyncPair *pair = pair_of_done(candidates[i]->opcode);
      HloInstruction *start = pair != NULL ? start_of(candidates[i], pair, &edges) : NULL;
      if (start == NULL || !is_joinable(start, candidates[i], pair)) continue;
      join_pair(start, candidates[i], pair->sync);
      has_joined_call |= pair->sync == HLO_CALL;
      *out_changed = true;
    }
  }
  if (has_joined_call) leave_threads(module);
  return STATUS_OK;
}

const HloPass hlo_async_to_sync_pass = {"async-to-sync", "join asynchronous starts and dones into the operation itself",
                                        run_async_to_sync, false};
