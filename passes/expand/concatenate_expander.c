#include "base/checked_math.h"
#include "passes/expand/graph_builder.h"

/* Concatenations of many operands: groups of them are written one after the other into one array, in place.
 *
 * A concatenation is one loop, in which each operand has a guarded load (or, where all are equal, a part of the
 * unrolled body): the time that it takes grows with the square of their number, and so does LLVM's for its one block.
 * Groups cost one more write of the result, which the first group's kernel fills with zeros after itself, and the
 * memory of two groups for a while: at most half of the result, less the more operands there are. */

typedef struct GroupSizes {
  int most_operands, group;
} GroupSizes;

/* A plan for a Buffer moves operands by commands: there only LLVM's time counts. */
static const GroupSizes host_sizes = {32, 8}, buffer_sizes = {64, 16};
enum { LARGEST_GROUP = 16 };

static HloInstruction *concatenate_group(GraphBuilder *builder, int first, int size, int64_t dimension) {
  const HloInstruction *whole = builder->origin;
  int count = (int)min_i64(size, whole->operand_count - first);
  HloInstruction *operands[LARGEST_GROUP];
  for (int i = 0; i < count; i++) operands[i] = graph_operand(builder, first + i);
  return count == 1 ? operands[0] : graph_concatenate(builder, operands, count, dimension);
}

static HloInstruction *expand_concatenate(GraphBuilder *builder, const GroupSizes *sizes) {
  const HloInstruction *whole = builder->origin;
  if (whole->operand_count <= sizes->most_operands || whole->shape->dynamic != NULL) return NULL;
  int64_t dimension = hlo_instruction_attr(whole, HLO_ATTR_DIMENSIONS)->value.ints.data[0];
  int64_t size = whole->shape->dims[dimension];
  PrimitiveType index_type = size > INT32_MAX ? TYPE_S64 : TYPE_S32;
  HloInstruction *result = concatenate_group(builder, 0, sizes->group, dimension);
  int64_t offset = result->shape->dims[dimension];
  HloInstruction *zero = graph_zero(builder, whole->shape->type, NULL);
  result = graph_pad(builder, result, zero, (int)dimension, size - offset);
  for (int i = sizes->group; i < whole->operand_count; i += sizes->group) {
    HloInstruction *group = concatenate_group(builder, i, sizes->group, dimension);
    result = graph_put(builder, result, group, (int)dimension, graph_integer(builder, index_type, offset, NULL));
    offset += group->shape->dims[dimension];
  }
  return result;
}

static HloInstruction *expand_on_host(GraphBuilder *builder) {
  return expand_concatenate(builder, &host_sizes);
}

static HloInstruction *expand_for_buffer(GraphBuilder *builder) {
  return expand_concatenate(builder, &buffer_sizes);
}

static const GraphRuleRow host_rules[] = {{HLO_CONCATENATE, expand_on_host}};
static const GraphRuleRow buffer_rules[] = {{HLO_CONCATENATE, expand_for_buffer}};

static Status run_concatenate_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  bool has_buffer = machine_has_buffer(context->options->machine);
  return graph_apply_rules(context, module, has_buffer ? buffer_rules : host_rules, 1, out_changed);
}

const HloPass hlo_concatenate_expander_pass = {"concatenate-expander",
                                               "write concatenations of many operands by groups, in place",
                                               run_concatenate_expander, false};
