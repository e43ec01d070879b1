/* Communication, between the one device there is; and calls of functions known by name. */
#include <string.h>

#include "hlo/eval/eval_internal.h"
#include "hlo/ir/custom_call.h"
#include "hlo/ir/device_count.h"

static Status check_one_device(const EvalStep *step) {
  const HloModule *module = step->frame->computation->module;
  if (module->replica_count > 1 || module->num_partitions > 1 || hlo_instruction_device_count(step->instruction) > 1)
    return eval_error(step, "cannot be evaluated on more than one device");
  return STATUS_OK;
}

/* All operands to all results, which have the same shapes. */
Status eval_one_device(EvalStep *step) {
  const HloInstruction *instruction = step->instruction;
  RETURN_IF_ERROR(check_one_device(step));
  if (shape_is_tuple(instruction->shape) &&
      !(instruction->operand_count == 1 && shape_is_tuple(eval_operand_shape(step, 0))))
    return eval_tuple(step);
  if (instruction->operand_count != 1 || !shape_same_dims(instruction->shape, eval_operand_shape(step, 0)))
    return eval_error(step, "cannot be evaluated on more than one device");
  return eval_forward(step);
}

/* (operands, results, context…) */
Status eval_one_device_start(EvalStep *step) {
  const HloInstruction *instruction = step->instruction;
  const Shape *shape = instruction->shape;
  RETURN_IF_ERROR(check_one_device(step));
  if (!shape_is_tuple(shape) || shape->tuple_size < 2) return eval_error(step, "cannot be evaluated");
  Literal *out = eval_result(step);
  for (int part = 0; part < 2; part++) {
    bool is_tuple = shape_is_tuple(shape->tuple[part]);
    if ((is_tuple ? shape->tuple[part]->tuple_size : 1) != instruction->operand_count)
      return eval_error(step, "cannot be evaluated with these operands");
    for (int i = 0; i < instruction->operand_count; i++) {
      Literal *target = is_tuple ? &out->tuple[part].tuple[i] : &out->tuple[part];
      if (!shape_same_dims(target->shape, eval_operand_shape(step, i)))
        return eval_error(step, "cannot be evaluated on more than one device");
      eval_copy_leaves(target, eval_operand(step, i));
    }
  }
  return STATUS_OK;
}

static bool sends_to_itself(const HloInstruction *permute) {
  const HloAttr *pairs = hlo_instruction_attr(permute, HLO_ATTR_SOURCE_TARGET_PAIRS);
  for (int64_t i = 0; i < pairs->value.int_lists.count; i++) {
    Int64List pair = pairs->value.int_lists.data[i];
    if (pair.count == 2 && pair.data[0] == 0 && pair.data[1] == 0) return true;
  }
  return false;
}

/* A device that is sent nothing has zeroes. */
Status eval_collective_permute(EvalStep *step) {
  RETURN_IF_ERROR(check_one_device(step));
  if (sends_to_itself(step->instruction)) return eval_one_device(step);
  (void)eval_result(step); /* never written, so zero */
  return STATUS_OK;
}

static void clear_leaves(Literal *literal) {
  if (shape_is_array(literal->shape)) memset(literal->data, 0, (size_t)shape_byte_size(literal->shape));
  for (int i = 0; shape_is_tuple(literal->shape) && i < literal->shape->tuple_size; i++)
    clear_leaves(&literal->tuple[i]);
}

Status eval_collective_permute_start(EvalStep *step) {
  RETURN_IF_ERROR(eval_one_device_start(step));
  if (!sends_to_itself(step->instruction)) clear_leaves(&eval_result(step)->tuple[1]);
  return STATUS_OK;
}

/* Runs of rows from the input to places in the output; rows outside either are left out. */
Status eval_ragged_all_to_all(EvalStep *step) {
  RETURN_IF_ERROR(check_one_device(step));
  const Literal *input = eval_operand(step, 0), *from = eval_operand(step, 2), *sizes = eval_operand(step, 3),
                *to = eval_operand(step, 4);
  const Shape *shape = step->instruction->shape;
  Literal *out = eval_result(step);
  eval_copy_leaves(out, eval_operand(step, 1));
  int64_t rows = shape->dims[0], elements = shape_element_count(shape);
  if (elements == 0) return STATUS_OK;
  size_t bytes = (size_t)(elements / rows * type_storage_bytes(shape->type));
  for (int64_t i = 0; i < shape_element_count(from->shape); i++) {
    for (int64_t k = 0; k < literal_get_int(sizes, i); k++) {
      int64_t source = literal_get_int(from, i) + k, target = literal_get_int(to, i) + k;
      if (source < 0 || source >= input->shape->dims[0] || target < 0 || target >= rows) continue;
      memcpy((char *)out->data + (size_t)target * bytes, (const char *)input->data + (size_t)source * bytes, bytes);
    }
  }
  return STATUS_OK;
}

/* The number of the one replica or partition. */
Status eval_zero(EvalStep *step) {
  RETURN_IF_ERROR(check_one_device(step));
  literal_set_int(eval_result(step), 0, 0);
  return STATUS_OK;
}

static bool is_potrf(const EvalStep *step, StringView target) {
  const Shape *shape = step->instruction->shape;
  return custom_call_is_lapack(target, SV("potrf")) && step->instruction->operand_count == 1 &&
         eval_operand_shape(step, 0)->rank >= 2 && shape_is_tuple(shape) && shape->tuple_size == 2 &&
         shape_compatible(shape->tuple[0], eval_operand_shape(step, 0)) &&
         shape->tuple[1]->rank == eval_operand_shape(step, 0)->rank - 2;
}

/* What leads out of the module. */
Status eval_host(EvalStep *step) {
  const HloHost *host = step->frame->evaluation->host;
  const HloInstruction *instruction = step->instruction;
  if (host == NULL) return eval_error(step, "leads out of the module");
  if (step->state == NULL)
    step->state = ARENA_NEW_ARRAY(step->frame->evaluation->arena, const Literal *, instruction->operand_count + 1);
  const Literal **operands = step->state;
  for (int i = 0; i < instruction->operand_count; i++) operands[i] = eval_operand(step, i);
  return host->execute(host->self, instruction, operands, step->frame->evaluation->diag, eval_result(step));
}

Status eval_custom_call(EvalStep *step) {
  const HloAttr *target = hlo_instruction_attr(step->instruction, HLO_ATTR_CUSTOM_CALL_TARGET);
  MarkerValue marker = custom_call_marker_value(step->instruction);
  if (marker == MARKER_OPERAND) return eval_forward(step);
  if (marker == MARKER_TUPLE) return eval_tuple(step);
  if (custom_call_pads_to_static(step->instruction)) return eval_pad_to_static(step);
  if (custom_call_slices_to_dynamic(step->instruction)) return eval_slice_to_dynamic(step);
  if (is_potrf(step, target->value.text)) return eval_lapack_potrf(step);
  if (step->frame->evaluation->host != NULL) return eval_host(step);
  return eval_error(step, "of '%.*s' cannot be evaluated", SV_ARG(target->value.text));
}
