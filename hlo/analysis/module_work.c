#include "hlo/analysis/module_work.h"

#include <math.h>

#include "hlo/analysis/execution_counts.h"

/* Operations for an element of the result. */
static const double op_flops[OP_COST_COUNT] = {
    [OP_COST_MOVE] = 1,   [OP_COST_PIECES] = 1,   [OP_COST_ADD] = 1,     [OP_COST_LOGIC] = 1,  [OP_COST_COMPARE] = 1,
    [OP_COST_SELECT] = 1, [OP_COST_MULTIPLY] = 1, [OP_COST_CONVERT] = 1, [OP_COST_ROUND] = 1,  [OP_COST_DIVIDE] = 4,
    [OP_COST_SQRT] = 4,   [OP_COST_EXP] = 12,     [OP_COST_LOG] = 14,    [OP_COST_SIN] = 16,   [OP_COST_TANH] = 18,
    [OP_COST_ATANH] = 30, [OP_COST_POWER] = 50,   [OP_COST_STRIDES] = 2, [OP_COST_LOOKUP] = 3, [OP_COST_FOLD] = 1};

static double element_count(const Shape *shape) {
  double count = 0;
  for (int n = 0; n < shape_node_count(shape); n++) {
    const Shape *leaf = shape_node(shape, n);
    if (shape_is_array(leaf)) count += (double)shape_element_count(leaf);
  }
  return count;
}

static double byte_count(const Shape *shape) {
  return (double)shape_leaf_byte_size(shape);
}

double instruction_folded_elements(const HloInstruction *instruction) {
  const Shape *result = instruction->shape, *operand = instruction->operands[0]->shape;
  double elements = fmax(element_count(result), 1);
  if (instruction->opcode == HLO_DOT || hlo_instruction_attr(instruction, HLO_ATTR_LHS_CONTRACTING_DIMS) != NULL) {
    Int64List contracted = hlo_instruction_ints(instruction, HLO_ATTR_LHS_CONTRACTING_DIMS);
    double depth = 1;
    for (int64_t i = 0; i < contracted.count; i++) depth *= (double)operand->dims[contracted.data[i]];
    return 2 * depth;
  }
  const ConvolutionDimensionNumbers *labels = hlo_instruction_dim_labels(instruction);
  if (instruction->opcode == HLO_CONVOLUTION && labels != NULL) {
    const Shape *kernel = instruction->operands[1]->shape;
    double features = (double)kernel->dims[labels->kernel.output_feature];
    return 2 * element_count(kernel) / fmax(features, 1);
  }
  const Window *window = hlo_instruction_window(instruction);
  if (window == NULL) return fmax(element_count(operand) / elements, 1);
  double size = 1;
  for (int i = 0; i < window->rank; i++) size *= (double)window->dims[i].size;
  return size;
}

double instruction_flops(const HloInstruction *instruction) {
  if (instruction->opcode == HLO_FUSION) {
    const HloComputation *fused = hlo_instruction_computation(instruction, HLO_ATTR_CALLS);
    double flops = 0;
    for (int64_t i = 0; i < fused->instructions.count; i++) flops += instruction_flops(fused->instructions.data[i]);
    return flops;
  }
  OpCost cost = hlo_opcode_info(instruction->opcode)->cost;
  double flops = element_count(instruction->shape) * op_flops[cost];
  if (instruction->opcode == HLO_SORT && instruction->operands[0]->shape->rank > 0)
    return flops * 4 * log2(fmax(element_count(instruction->operands[0]->shape), 2));
  return cost == OP_COST_FOLD && instruction->operand_count > 0 ? flops * instruction_folded_elements(instruction)
                                                                : flops;
}

/* --- bytes --- */

/* Of an operand of so many bytes: where each element of the result is one of the operand's, no more than there are. */
static double bytes_read_by(const HloInstruction *user, double bytes) {
  OpAccess access = hlo_opcode_info(user->opcode)->access;
  bool picks = access == ACCESS_AFFINE || access == ACCESS_INDIRECT;
  return picks ? fmin(bytes, byte_count(user->shape)) : bytes;
}

/* What the users of |value| in a fused computation read of it. */
static double bytes_read(const HloInstruction *value) {
  double bytes = byte_count(value->shape), read = 0;
  for (int u = 0; u < value->user_count; u++) {
    const HloInstruction *user = value->users[u];
    if (user->opcode == HLO_DYNAMIC_UPDATE_SLICE && user->operands[0] == value) continue;
    read += bytes_read_by(user, bytes);
  }
  return fmin(read, bytes);
}

static double bytes_written(const HloInstruction *root) {
  double bytes = 0;
  if (root->opcode == HLO_DYNAMIC_UPDATE_SLICE) return byte_count(root->operands[1]->shape);
  if (root->opcode != HLO_TUPLE) return byte_count(root->shape);
  for (int k = 0; k < root->operand_count; k++) bytes += bytes_written(root->operands[k]);
  return bytes;
}

static bool contracts(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_FUSION) return hlo_opcode_has(instruction->opcode, OP_CONTRACTION);
  const HloComputation *fused = hlo_instruction_computation(instruction, HLO_ATTR_CALLS);
  for (int64_t i = 0; i < fused->instructions.count; i++) {
    if (contracts(fused->instructions.data[i])) return true;
  }
  return false;
}

static double operand_bytes(const HloInstruction *instruction) {
  double bytes = 0;
  if (instruction->opcode == HLO_FUSION) {
    const HloComputation *fused = hlo_instruction_computation(instruction, HLO_ATTR_CALLS);
    for (int64_t i = 0; i < fused->parameters.count; i++) bytes += bytes_read(fused->parameters.data[i]);
    return bytes;
  }
  for (int k = 0; k < instruction->operand_count; k++)
    bytes += bytes_read_by(instruction, byte_count(instruction->operands[k]->shape));
  return bytes;
}

#define CONTRACTION_READS 3

static double bytes_moved(const HloInstruction *instruction, double reads_of_contraction) {
  if (instruction->opcode == HLO_DYNAMIC_UPDATE_SLICE) return 2 * bytes_written(instruction);
  bool is_fusion = instruction->opcode == HLO_FUSION;
  const HloInstruction *root = is_fusion ? hlo_instruction_computation(instruction, HLO_ATTR_CALLS)->root : instruction;
  return operand_bytes(instruction) * (contracts(instruction) ? reads_of_contraction : 1) + bytes_written(root);
}

/* --- sums --- */

static bool makes_something(const HloInstruction *instruction) {
  OpFlow flow = hlo_opcode_info(instruction->opcode)->flow;
  return (flow == OP_FLOW_MAKES || flow == OP_FLOW_COPY) && !hlo_opcode_has(instruction->opcode, OP_GIVEN) &&
         !hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW);
}

double instruction_bytes(const HloInstruction *instruction) {
  return makes_something(instruction) ? bytes_moved(instruction, 1) : 0;
}

double instruction_seconds(const HloInstruction *instruction, const CoreRates *core) {
  if (!makes_something(instruction)) return 0;
  return instruction_flops(instruction) / core->flops + bytes_moved(instruction, CONTRACTION_READS) / core->bytes +
         core->call_seconds;
}

static void add_computation(ModuleWork *work, const HloComputation *computation, const CoreRates *core, double times) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    if (!makes_something(instruction)) continue;
    work->flops += times * instruction_flops(instruction);
    work->seconds += times * instruction_seconds(instruction, core);
  }
}

ModuleWork module_work(const HloModule *module, const CoreRates *core) {
  ModuleWork work = {0};
  Arena *scratch = arena_create();
  const double *times = hlo_execution_counts(scratch, module, 1);
  const bool *fused = hlo_module_applied(scratch, module, true); /* part of what their fusions cost */
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    if (!fused[computation->id]) add_computation(&work, computation, core, times[computation->id]);
  }
  arena_destroy(scratch);
  return work;
}
