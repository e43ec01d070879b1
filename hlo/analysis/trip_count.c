#include "hlo/analysis/trip_count.h"

#include <string.h>

#include "base/checked_math.h"

/* Counters stay below this in magnitude, so that no sum of two overflows. */
#define MOST_COUNTER (INT64_MAX / 4)

int64_t trip_count_element(const HloInstruction *element, const HloInstruction *tuple) {
  if (element->opcode != HLO_GET_TUPLE_ELEMENT || element->operands[0] != tuple) return -1;
  return hlo_instruction_int(element, HLO_ATTR_INDEX, -1);
}

static bool constant_integer(const HloInstruction *value, int64_t *out) {
  const Literal *literal = value->opcode == HLO_CONSTANT ? hlo_instruction_literal(value) : NULL;
  if (literal == NULL || literal->elided || !shape_is_scalar(value->shape) || !type_is_integral(value->shape->type))
    return false;
  *out = literal_get_int(literal, 0);
  /* Large u64 read as negative: of no loop that ends in our time. */
  if (type_is_unsigned(value->shape->type) && *out < 0) return false;
  return *out <= MOST_COUNTER && *out >= -MOST_COUNTER;
}

/* The loop goes on while element |index| is |direction| than |limit|. */
typedef struct Bound {
  int64_t index, limit;
  ComparisonDirection direction;
} Bound;

static bool find_bound(const HloComputation *condition, Bound *out) {
  const HloInstruction *root = condition->root, *parameter = hlo_computation_parameter(condition, 0);
  if (root->opcode != HLO_COMPARE || parameter == NULL) return false;
  out->direction = (ComparisonDirection)hlo_instruction_int(root, HLO_ATTR_DIRECTION, -1);
  out->index = trip_count_element(root->operands[0], parameter);
  if (out->index >= 0) return constant_integer(root->operands[1], &out->limit);
  out->index = trip_count_element(root->operands[1], parameter);
  out->direction = comparison_direction_exchanged(out->direction);
  return out->index >= 0 && constant_integer(root->operands[0], &out->limit);
}

/* next = counter + step */
static bool find_step(const HloComputation *body, int64_t index, int64_t *out_step) {
  const HloInstruction *root = body->root, *parameter = hlo_computation_parameter(body, 0);
  if (root->opcode != HLO_TUPLE || parameter == NULL || index >= root->operand_count) return false;
  const HloInstruction *next = root->operands[index];
  if (next->opcode != HLO_ADD && next->opcode != HLO_SUBTRACT) return false;
  for (int i = 0; i < 2; i++) {
    if (trip_count_element(next->operands[i], parameter) != index) continue;
    if (next->opcode == HLO_SUBTRACT && i == 1) return false;
    if (!constant_integer(next->operands[1 - i], out_step)) return false;
    if (next->opcode == HLO_SUBTRACT) *out_step = -*out_step;
    return *out_step != 0;
  }
  return false;
}

/* Rounds until first + n·step leaves the bound; -1 where it never does. */
static int64_t count_rounds(int64_t first, int64_t step, const Bound *bound) {
  int64_t limit = bound->limit;
  switch (bound->direction) {
    case COMPARISON_DIRECTION_LE: limit++; __attribute__((fallthrough));
    case COMPARISON_DIRECTION_LT:
      if (first >= limit) return 0;
      return step > 0 ? ceil_div(limit - first, step) : -1;
    case COMPARISON_DIRECTION_GE: limit--; __attribute__((fallthrough));
    case COMPARISON_DIRECTION_GT:
      if (first <= limit) return 0;
      return step < 0 ? ceil_div(first - limit, -step) : -1;
    case COMPARISON_DIRECTION_NE:
      if ((limit - first) % step != 0) return -1;
      return (limit - first) / step >= 0 ? (limit - first) / step : -1;
    case COMPARISON_DIRECTION_EQ: return first == limit ? 1 : 0;
    default: return -1;
  }
}

/* The value after the last round is one that the type has; that of a narrow type has wrapped otherwise. */
static bool stays_in_range(PrimitiveType type, const TripCount *count) {
  int64_t distance, last;
  if (!checked_mul(count->trips, count->step, &distance) || !checked_add(count->first, distance, &last)) return false;
  if (type_is_unsigned(type)) return last >= 0 && (uint64_t)last <= type_int_max(type);
  return last >= type_int_min(type) && last <= (int64_t)type_int_max(type);
}

bool trip_count_find(const HloInstruction *loop, TripCount *out_count) {
  Bound bound;
  const HloInstruction *init = loop->opcode == HLO_WHILE ? loop->operands[0] : NULL;
  if (init == NULL || init->opcode != HLO_TUPLE) return false;
  const HloComputation *condition = hlo_instruction_computation(loop, HLO_ATTR_CONDITION),
                       *body = hlo_instruction_computation(loop, HLO_ATTR_BODY);
  if (!find_bound(condition, &bound) || bound.index >= init->operand_count) return false;
  const HloInstruction *start = init->operands[bound.index];
  while (start->opcode == HLO_COPY) start = start->operands[0]; /* a constant cannot be the place of the state */
  if (!constant_integer(start, &out_count->first) || !find_step(body, bound.index, &out_count->step)) return false;
  out_count->index = bound.index;
  out_count->trips = count_rounds(out_count->first, out_count->step, &bound);
  return out_count->trips >= 0 && stays_in_range(start->shape->type, out_count);
}

/* {"known_trip_count":{"n":"4"}}, blanks and quotes around the number or not, beside anything else. */
static bool trip_count_of_text(StringView text, int64_t *out_trips) {
  static const char key[] = "\"known_trip_count\"";
  size_t at = 0, size = sizeof key - 1;
  while (at + size <= text.size && memcmp(text.data + at, key, size) != 0) at++;
  if (at + size > text.size) return false;
  at += size;
  while (at < text.size && !char_is_digit(text.data[at]) && text.data[at] != '}') at++;
  size_t digits = 0;
  while (at + digits < text.size && char_is_digit(text.data[at + digits])) digits++;
  return sv_to_count(sv_sub(text, at, digits), out_trips);
}

bool trip_count_known(const HloInstruction *loop, int64_t *out_trips) {
  TripCount count;
  if (trip_count_find(loop, &count)) {
    *out_trips = count.trips;
    return true;
  }
  const HloAttr *config = hlo_instruction_attr(loop, HLO_ATTR_BACKEND_CONFIG);
  return config != NULL && trip_count_of_text(config->value.text, out_trips);
}
