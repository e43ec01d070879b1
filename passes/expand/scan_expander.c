#include "passes/cleanup/shape_coercion.h"
#include "passes/expand/graph_builder.h"

/* scan as a loop: its values are the inputs, of which each step takes a slice, the carries, and the outputs, into which
 * each step puts one. */

typedef struct Scan {
  const HloInstruction *scan;
  const HloComputation *body;
  int inputs, carries, outputs, dimension;
  int64_t length;
} Scan;

/* Values of the loop in this order: inputs, carries, outputs. */
static void scan_step(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                      HloInstruction **out_values) {
  const Scan *scan = context;
  HloInstruction *position = step;
  if (hlo_instruction_bool(scan->scan, HLO_ATTR_IS_REVERSE, false))
    position = graph_binary(inside, HLO_SUBTRACT, graph_integer(inside, TYPE_S32, scan->length - 1, NULL), step);
  HloInstruction **arguments = ARENA_NEW_ARRAY(inside->scratch, HloInstruction *, scan->inputs + scan->carries + 1);
  for (int i = 0; i < scan->inputs + scan->carries; i++) {
    const Shape *shape = scan->body->parameters.data[i]->shape;
    HloInstruction *argument = out_values[i] = values[i];
    if (i < scan->inputs) {
      argument = graph_take(inside, argument, scan->dimension, position);
      argument = graph_reshape(inside, argument, shape->dims, shape->rank);
    }
    arguments[i] = shape_coerce(argument, shape);
  }
  HloInstruction *result = hlo_computation_inline(inside->computation, scan->body, arguments);
  bool is_tuple = shape_is_tuple(result->shape);
  for (int i = 0; i < scan->outputs; i++) {
    HloInstruction *slice = graph_plain(inside, is_tuple ? graph_element(inside, result, i) : result);
    HloInstruction *output = values[scan->inputs + scan->carries + i];
    int64_t *dims = ARENA_COPY_ARRAY(inside->scratch, int64_t, output->shape->dims, output->shape->rank);
    dims[scan->dimension] = 1;
    slice = graph_reshape(inside, slice, dims, output->shape->rank);
    out_values[scan->inputs + scan->carries + i] = graph_put(inside, output, slice, scan->dimension, position);
  }
  for (int i = 0; i < scan->carries; i++) {
    HloInstruction *carry = is_tuple ? graph_element(inside, result, scan->outputs + i) : result;
    out_values[scan->inputs + i] = graph_plain(inside, carry);
  }
}

/* Arrays of known size only. */
static bool is_expandable(const HloInstruction *scan) {
  for (int i = 0; i < scan->operand_count; i++) {
    if (!shape_is_array(scan->operands[i]->shape) || shape_is_dynamic(scan->operands[i]->shape)) return false;
  }
  return !shape_is_dynamic(scan->shape);
}

static HloInstruction *expand_scan(GraphBuilder *builder) {
  const HloInstruction *origin = builder->origin;
  Scan scan = {.scan = origin,
               .body = hlo_instruction_computation(origin, HLO_ATTR_TO_APPLY),
               .carries = (int)hlo_instruction_int(origin, HLO_ATTR_NUM_CARRIES, 0),
               .dimension = (int)hlo_instruction_ints(origin, HLO_ATTR_DIMENSIONS).data[0]};
  int results = shape_is_tuple(origin->shape) ? origin->shape->tuple_size : 1;
  scan.inputs = origin->operand_count - scan.carries;
  scan.outputs = results - scan.carries;
  if (scan.inputs == 0 || !is_expandable(origin)) return NULL;
  scan.length = origin->operands[0]->shape->dims[scan.dimension];
  int count = origin->operand_count + scan.outputs;
  HloInstruction **values = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, count);
  for (int i = 0; i < origin->operand_count; i++) values[i] = graph_operand(builder, i);
  for (int i = 0; i < scan.outputs; i++) {
    const Shape *shape = shape_result(origin->shape, i);
    values[origin->operand_count + i] = graph_zero(builder, shape->type, shape);
  }
  graph_loop(builder, &(GraphLoop){.trips = scan.length, .count = count, .body = scan_step, .context = &scan}, values,
             values);
  if (!shape_is_tuple(origin->shape)) return values[scan.outputs > 0 ? origin->operand_count : scan.inputs];
  HloInstruction **elements = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, results + 1);
  for (int i = 0; i < scan.outputs; i++) elements[i] = values[origin->operand_count + i];
  for (int i = 0; i < scan.carries; i++) elements[scan.outputs + i] = values[scan.inputs + i];
  return graph_tuple(builder, elements, results);
}

static const GraphRuleRow rules[] = {{HLO_SCAN, expand_scan}};

static Status run_scan_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  return graph_apply_rules(context, module, rules, 1, out_changed);
}

const HloPass hlo_scan_expander_pass = {"scan-expander", "spell scan as a loop over slices", run_scan_expander, false};
