/* Whatever the division before and after, every device comes to its part of the whole array, and devices send nothing
 * exactly where that is what it was said to cost. */
#include "passes/spmd/reshard.h"

#include "passes/spmd/spmd_testing.h"

typedef struct ReshardCase {
  const SpmdMesh *mesh;
  const Shape *whole;
  const AxisSharding *from, *to;
  AxisMask partial;
  StringView words; /* for messages */
} ReshardCase;

/* Orders of their own have those whose values are whole: a form that the text gives. */
static ReshardCase draw_case(Arena *arena, ShapeTable *shapes, uint64_t *random) {
  ReshardCase drawn = {.mesh = random_mesh(arena, random)};
  int64_t dims[3];
  int rank = (int)draw(random, 4);
  for (int d = 0; d < rank; d++) dims[d] = 1 + draw(random, 9);
  drawn.whole = shape_array(shapes, TYPE_S32, dims, rank);
  if (draw(random, 3) == 0) drawn.partial = (AxisMask)draw(random, (int64_t)1 << drawn.mesh->axis_count);
  AxisSharding *from = random_sharding(arena, random, drawn.mesh, rank, drawn.partial),
               *to = random_sharding(arena, random, drawn.mesh, rank, 0);
  if (drawn.partial == 0 && draw(random, 4) == 0)
    (draw(random, 2) == 0 ? from : to)->order = random_order(arena, random, drawn.mesh->device_count);
  drawn.from = from;
  drawn.to = to;
  drawn.words = sv_printf(arena, "%.*s, %.*s%s to %.*s", SV_ARG(shape_text(arena, drawn.whole, false)),
                          SV_ARG(sharding_words(arena, drawn.mesh, from)), drawn.partial != 0 ? " (partial sums)" : "",
                          SV_ARG(sharding_words(arena, drawn.mesh, to)));
  return drawn;
}

/* What the device at |position| holds of element |number|, which is |number| summed up along the partial axes. */
static int64_t held(const ReshardCase *drawn, Arena *arena, int64_t position, int64_t number) {
  if (drawn->partial == 0) return number;
  AxisList axes = axis_mask_list(arena, drawn->partial);
  int64_t place = axis_list_index(drawn->mesh, axes, position), count = axis_mask_size(drawn->mesh, drawn->partial);
  return place > 0 ? place * 100 - number : number - 50 * count * (count - 1) + (count - 1) * number;
}

static Literal **parts_of(Arena *arena, const ReshardCase *drawn, const Shape *local) {
  Literal **parts = ARENA_NEW_ARRAY(arena, Literal *, drawn->mesh->device_count);
  for (int64_t position = 0; position < drawn->mesh->device_count; position++) {
    Literal *part = literal_create(arena, local);
    for (int64_t i = 0; i < shape_element_count(local); i++) {
      int64_t number = whole_element(drawn->mesh, drawn->from, drawn->whole, local, position, i);
      literal_set_int(part, i, number < 0 ? TEST_PADDING : held(drawn, arena, position, number));
    }
    parts[test_device(drawn->mesh, drawn->from->order, position)] = part;
  }
  return parts;
}

static bool sends(const DeviceProgram *program) {
  const HloInstructionArray *all = &program->builder.graph.computation->instructions;
  for (int64_t i = 0; i < all->count; i++) {
    if (hlo_opcode_is_collective(all->data[i]->opcode)) return true;
  }
  return false;
}

static void check_results(const ReshardCase *drawn, const Shape *local, const Literal **results) {
  for (int64_t position = 0; position < drawn->mesh->device_count; position++) {
    int64_t device = test_device(drawn->mesh, drawn->to->order, position);
    for (int64_t i = 0; i < shape_element_count(local); i++) {
      int64_t number = whole_element(drawn->mesh, drawn->to, drawn->whole, local, position, i);
      if (number >= 0 && literal_get_int(results[device], i) != number)
        fail_msg("%.*s: element %d of device %d is %d instead of %d", SV_ARG(drawn->words), (int)i, (int)device,
                 (int)literal_get_int(results[device], i), (int)number);
    }
  }
}

static void check_case(Arena *arena, uint64_t seed) {
  ShapeTable *shapes = shape_table_create(arena);
  uint64_t random = seed << 20;
  ReshardCase drawn = draw_case(arena, shapes, &random);
  DeviceProgram program;
  const Shape *before = axis_sharding_local(drawn.mesh, drawn.from, drawn.whole, shapes),
              *after = axis_sharding_local(drawn.mesh, drawn.to, drawn.whole, shapes);
  device_program_begin(&program, arena, shapes, drawn.mesh, before);
  PartialResult partial = {drawn.partial,
                           drawn.partial == 0 ? NULL : spmd_reducer(&program.builder, HLO_ADD, TYPE_S32)};
  HloInstruction *made = spmd_reshard(&program.builder, program.part, drawn.whole, drawn.from, partial, drawn.to);
  double bytes = spmd_reshard_bytes(arena, drawn.mesh, drawn.whole, drawn.from, drawn.partial, drawn.to);
  if (made->shape != after || sends(&program) != (bytes > 0))
    fail_msg("%.*s: of shape %.*s, %g bytes", SV_ARG(drawn.words), SV_ARG(shape_text(arena, made->shape, false)),
             bytes);
  check_results(&drawn, after, device_program_run(&program, made, parts_of(arena, &drawn, before)));
}

static void any_division_becomes_any_other(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 1000; seed++) {
    Arena *arena = arena_create();
    check_case(arena, seed);
    arena_destroy(arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_division_becomes_any_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
