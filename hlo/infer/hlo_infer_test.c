/* Tables of cases (cases/): HLO text of one instruction and the shape or message that comes of it.  The shapes are
 * XLA's. */
#include "hlo/infer/hlo_infer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "parser/hlo_parser.h"

#define ADD(type) "to_apply={ x = " type "[] parameter(0) y = " type "[] parameter(1) ROOT z = " type "[] add(x, y) }"
#define ADD_F32 ADD("f32")
#define ADD_BF16 ADD("bf16")
#define SELECT_GE_SCATTER_ADD                                                                              \
  "select={ x = f32[] parameter(0) y = f32[] parameter(1) ROOT g = pred[] compare(x, y), direction=GE }, " \
  "scatter={ x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }"
/* (f32[], f32[5]) → (s32[3,2], f32[5]) */
#define STACK_AND_CARRY                                                                                          \
  "to_apply={ x = f32[] parameter(0) c = f32[5] parameter(1) b = f32[5] broadcast(x), dimensions={} s = f32[5] " \
  "add(b, c) "                                                                                                   \
  "q = s32[3,2] iota(), iota_dimension=0 ROOT t = (s32[3,2], f32[5]) tuple(q, s) }"

typedef struct InferCase {
  const char *text, *expected; /* the shape with layouts, or "!" and a part of the message */
} InferCase;

/* The inferred shape of the text's root, or "!CODE: message". */
static const char *infer_root(Arena *arena, const char *text) {
  DiagSink diag;
  diag_sink_init(&diag, arena);
  SourceFile *file = ARENA_NEW(arena, SourceFile);
  *file = (SourceFile){SV("test"), sv_from_cstring(text)};
  ShapeTable *shapes = shape_table_create(arena);
  HloModule *module = NULL;
  const Shape *shape = NULL;
  Status status = hlo_parse_module(arena, shapes, file, &diag, &module);
  if (status == STATUS_OK) status = hlo_infer_shape(module->entry->root, shapes, arena, &diag, &shape);
  if (status != STATUS_OK) return arena_printf(arena, "!%s: %.*s", diag.first->code, SV_ARG(diag.first->message));
  StringView result = shape_text(arena, shape, true);
  return arena_copy_string(arena, result.data, result.size);
}

static void check_cases(const InferCase *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    Arena *arena = arena_create();
    const char *result = infer_root(arena, rows[i].text), *expected = rows[i].expected;
    bool is_error = expected[0] == '!';
    bool fits = is_error ? strncmp(result, "!infer-", 7) == 0 && strstr(result, expected + 1) != NULL
                         : strcmp(result, expected) == 0;
    if (!fits) fail_msg("%s\n  expected %s\n  got      %s", rows[i].text, expected, result);
    arena_destroy(arena);
  }
}

#define CASE(text, expected) {text, expected},
#define CHECK(rows) check_cases(rows, sizeof(rows) / sizeof((rows)[0]))

static void elementwise_shapes(void **state) {
  (void)state;
  static const InferCase rows[] = {
#include "hlo/infer/cases/elementwise.def"
  };
  CHECK(rows);
}

static void shape_operations_shapes(void **state) {
  (void)state;
  static const InferCase rows[] = {
#include "hlo/infer/cases/shape_ops.def"
  };
  CHECK(rows);
}

static void dynamic_shapes(void **state) {
  (void)state;
  static const InferCase rows[] = {
#include "hlo/infer/cases/dynamic.def"
  };
  CHECK(rows);
}

static void gather_scatter_shapes(void **state) {
  (void)state;
  static const InferCase rows[] = {
#include "hlo/infer/cases/gather_scatter.def"
  };
  CHECK(rows);
}

static void contraction_shapes(void **state) {
  (void)state;
  static const InferCase rows[] = {
#include "hlo/infer/cases/convolution.def"
#include "hlo/infer/cases/dot.def"
  };
  CHECK(rows);
}

static void region_shapes(void **state) {
  (void)state;
  static const InferCase rows[] = {
#include "hlo/infer/cases/reduce.def"
#include "hlo/infer/cases/sort.def"
  };
  CHECK(rows);
}

static void call_and_tuple_shapes(void **state) {
  (void)state;
  static const InferCase rows[] = {
#include "hlo/infer/cases/control_flow.def"
#include "hlo/infer/cases/tuple.def"
  };
  CHECK(rows);
}

static void linear_algebra_and_random_shapes(void **state) {
  (void)state;
  static const InferCase rows[] = {
#include "hlo/infer/cases/linear_algebra.def"
#include "hlo/infer/cases/random.def"
  };
  CHECK(rows);
}

static void communication_shapes(void **state) {
  (void)state;
  static const InferCase rows[] = {
#include "hlo/infer/cases/async.def"
#include "hlo/infer/cases/channel.def"
#include "hlo/infer/cases/collective.def"
  };
  CHECK(rows);
}

/* --- element types of elementwise operations --- */

enum { TYPE_COLUMNS = 6 };

typedef struct TypesCase {
  const char *opcode;
  int operands;
  const char *results[TYPE_COLUMNS];
} TypesCase;

static void elementwise_types(void **state) {
  (void)state;
  static const char *const types[TYPE_COLUMNS] = {"pred", "s32", "u32", "f32", "f8e8m0fnu", "c64"};
#define TYPES(opcode, operands, ...) {opcode, operands, {__VA_ARGS__}},
  static const TypesCase rows[] = {
#include "hlo/infer/cases/element_types.def"
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    for (int column = 0; column < TYPE_COLUMNS; column++) {
      Arena *arena = arena_create();
      const char *type = types[column], *result = rows[i].results[column];
      const char *second = rows[i].operands == 2 ? arena_printf(arena, ", %s[4] b", type) : "";
      InferCase row = {arena_printf(arena, "r = %s(%s[4] a%s)", rows[i].opcode, type, second),
                       result[0] == 'x' ? "!" : arena_printf(arena, "%s[4]{0}", result)};
      check_cases(&row, 1);
      arena_destroy(arena);
    }
  }
}

/* --- what no text can say: values the parser refuses, half-made instructions --- */

typedef struct Fixture {
  Arena *arena;
  DiagSink diag;
  HloModule *module;
  HloComputation *main;
} Fixture;

static int fixture_create(void **state) {
  Arena *arena = arena_create();
  Fixture *fixture = ARENA_NEW(arena, Fixture);
  fixture->arena = arena;
  diag_sink_init(&fixture->diag, arena);
  fixture->module = hlo_module_create(arena, shape_table_create(arena), SV("test"));
  fixture->main = hlo_module_add_computation(fixture->module, SV("main"));
  *state = fixture;
  return 0;
}

static int fixture_destroy(void **state) {
  arena_destroy(((Fixture *)*state)->arena);
  return 0;
}

static HloInstruction *add_array(Fixture *fixture, int64_t rows, int64_t columns) {
  int64_t dims[] = {rows, columns};
  const Shape *shape = shape_array(fixture->module->shapes, TYPE_F32, dims, 2);
  return hlo_computation_add_parameter(fixture->main, fixture->main->parameters.count, shape, SV("p"));
}

static void assert_refused(Fixture *fixture, const HloInstruction *instruction, const char *code) {
  const Shape *shape;
  fixture->diag.first = fixture->diag.last = NULL;
  assert_int_equal(hlo_infer_shape(instruction, fixture->module->shapes, fixture->arena, &fixture->diag, &shape),
                   STATUS_INVALID);
  assert_non_null(fixture->diag.first);
  assert_string_equal(fixture->diag.first->code, code);
}

static HloInstruction *add_op(Fixture *fixture, HloOpcode opcode, HloInstruction *operand) {
  return hlo_computation_add(fixture->main, opcode, operand->shape, &operand, 1, SV(""));
}

static void missing_parts_are_refused(void **state) {
  Fixture *fixture = *state;
  HloInstruction *array = add_array(fixture, 2, 3);
  assert_refused(fixture, add_op(fixture, HLO_ADD, array), "infer-add");             /* one operand */
  assert_refused(fixture, add_op(fixture, HLO_TRANSPOSE, array), "infer-transpose"); /* no 'dimensions' */
  assert_refused(fixture, add_op(fixture, HLO_GET_TUPLE_ELEMENT, array), "infer-get-tuple-element");
  HloInstruction *convert = add_op(fixture, HLO_CONVERT, array);
  convert->shape = NULL;
  assert_refused(fixture, convert, "infer-convert");
}

static void hostile_dimensions_are_refused(void **state) {
  Fixture *fixture = *state;
  static const int64_t lists[][2] = {{-1, 0}, {0, 2}, {INT64_MIN, 0}, {INT64_MAX, 1}, {1, 1}};
  HloInstruction *array = add_array(fixture, 2, 3);
  static const struct {
    HloOpcode opcode;
    const char *code;
  } opcodes[] = {
      {HLO_TRANSPOSE, "infer-transpose"}, {HLO_REVERSE, "infer-reverse"}, {HLO_BROADCAST, "infer-broadcast"}};
  for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
    for (size_t j = 0; j < sizeof(opcodes) / sizeof(opcodes[0]); j++) {
      HloInstruction *op = add_op(fixture, opcodes[j].opcode, array);
      hlo_instruction_set_ints(op, HLO_ATTR_DIMENSIONS, lists[i], 2);
      assert_refused(fixture, op, opcodes[j].code);
    }
  }
}

static void hostile_slices_are_refused(void **state) {
  Fixture *fixture = *state;
  static const SliceDimension ranges[] = {
      {-1, 1, 1},        {0, 3, 1}, {INT64_MIN, INT64_MAX, 1}, {INT64_MAX, INT64_MIN, 1}, {0, 2, 0},
      {0, 2, INT64_MIN}, {2, 1, 1}};
  HloInstruction *array = add_array(fixture, 2, 3);
  for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
    const SliceDimension dims[] = {ranges[i], {0, 3, 1}};
    const SliceRanges slice = {2, dims};
    HloInstruction *op = add_op(fixture, HLO_SLICE, array);
    hlo_instruction_set_attr(op, &(HloAttr){.id = HLO_ATTR_SLICE, .value.slice = &slice});
    assert_refused(fixture, op, "infer-slice");
  }
}

static void hostile_padding_is_refused(void **state) {
  Fixture *fixture = *state;
  static const PaddingDimension paddings[] = {{INT64_MAX, INT64_MAX, 0}, {INT64_MIN, INT64_MIN, 0},
                                              {0, 0, INT64_MAX},         {0, 0, -1},
                                              {0, 0, INT64_MIN},         {-4, 0, 0}};
  HloInstruction *array = add_array(fixture, 2, 3);
  HloInstruction *value = hlo_computation_add_parameter(fixture->main, fixture->main->parameters.count,
                                                        shape_scalar(fixture->module->shapes, TYPE_F32), SV("v"));
  for (size_t i = 0; i < sizeof(paddings) / sizeof(paddings[0]); i++) {
    const PaddingDimension dims[] = {{0, 0, 0}, paddings[i]};
    const PaddingConfig config = {2, dims};
    HloInstruction *op =
        hlo_computation_add(fixture->main, HLO_PAD, array->shape, (HloInstruction *[]){array, value}, 2, SV(""));
    hlo_instruction_set_attr(op, &(HloAttr){.id = HLO_ATTR_PADDING, .value.padding = &config});
    assert_refused(fixture, op, "infer-pad");
  }
}

static void sums_that_overflow_are_refused(void **state) {
  Fixture *fixture = *state;
  HloInstruction *wide = add_array(fixture, INT64_MAX, 0);
  HloInstruction *op =
      hlo_computation_add(fixture->main, HLO_CONCATENATE, wide->shape, (HloInstruction *[]){wide, wide}, 2, SV(""));
  hlo_instruction_set_ints(op, HLO_ATTR_DIMENSIONS, (int64_t[]){0}, 1);
  assert_refused(fixture, op, "infer-concatenate");
}

static void gaps_in_parameters_are_refused(void **state) {
  Fixture *fixture = *state;
  HloInstruction *array = add_array(fixture, 2, 3);
  HloComputation *callee = hlo_module_add_computation(fixture->module, SV("callee"));
  HloInstruction *op = add_op(fixture, HLO_CALL, array);
  hlo_instruction_set_computation(op, HLO_ATTR_TO_APPLY, callee);
  assert_refused(fixture, op, "infer-call"); /* no root */
  hlo_computation_set_root(callee, hlo_computation_add_parameter(callee, 1, array->shape, SV("q")));
  assert_refused(fixture, op, "infer-call"); /* parameter 1 without 0 */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elementwise_shapes),
      cmocka_unit_test(elementwise_types),
      cmocka_unit_test(shape_operations_shapes),
      cmocka_unit_test(dynamic_shapes),
      cmocka_unit_test(gather_scatter_shapes),
      cmocka_unit_test(contraction_shapes),
      cmocka_unit_test(region_shapes),
      cmocka_unit_test(call_and_tuple_shapes),
      cmocka_unit_test(linear_algebra_and_random_shapes),
      cmocka_unit_test(communication_shapes),
      cmocka_unit_test_setup_teardown(missing_parts_are_refused, fixture_create, fixture_destroy),
      cmocka_unit_test_setup_teardown(hostile_dimensions_are_refused, fixture_create, fixture_destroy),
      cmocka_unit_test_setup_teardown(hostile_slices_are_refused, fixture_create, fixture_destroy),
      cmocka_unit_test_setup_teardown(hostile_padding_is_refused, fixture_create, fixture_destroy),
      cmocka_unit_test_setup_teardown(sums_that_overflow_are_refused, fixture_create, fixture_destroy),
      cmocka_unit_test_setup_teardown(gaps_in_parameters_are_refused, fixture_create, fixture_destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
