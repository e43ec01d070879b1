/* The transforms, against sums over windows; constants all of them, which LLVM folds while it is told of operations. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codegen/blocks/winograd_internal.h"

typedef struct Fixture {
  VecTarget target; /* without fused operations, which are not folded */
  VecBuilder vec;
} Fixture;

static void fixture_create(Fixture *fixture) {
  LLVMContextRef context = LLVMContextCreate();
  *fixture = (Fixture){.target = {.vector_bits = 128, .register_count = 16}};
  fixture->vec = (VecBuilder){context, LLVMModuleCreateWithNameInContext("test", context),
                              LLVMCreateBuilderInContext(context), &fixture->target, false};
}

static void fixture_destroy(Fixture *fixture) {
  LLVMDisposeBuilder(fixture->vec.builder);
  LLVMDisposeModule(fixture->vec.module);
  LLVMContextDispose(fixture->vec.context);
}

static double number(LLVMValueRef value) {
  LLVMBool is_rounded;
  assert_non_null(LLVMIsAConstantFP(value));
  return LLVMConstRealGetDouble(value, &is_rounded);
}

static void fill(const Fixture *fixture, const double *numbers, int count, LLVMValueRef *out) {
  for (int i = 0; i < count; i++) out[i] = vec_constant_double(&fixture->vec, TYPE_F32, numbers[i], 1);
}

/* The sum over the window at |row|, |column| of |image|. */
static double sum_at(const double *image, const double *weights, int row, int column) {
  double sum = 0;
  for (int i = 0; i < WINOGRAD_TAPS; i++) {
    for (int j = 0; j < WINOGRAD_TAPS; j++)
      sum += image[(row + i) * WINOGRAD_PATCH + column + j] * weights[i * WINOGRAD_TAPS + j];
  }
  return sum;
}

static void check_tile(const Fixture *fixture, const double *image, const double *weights) {
  LLVMValueRef patch[WINOGRAD_PRODUCTS], taps[WINOGRAD_PRODUCTS], products[WINOGRAD_PRODUCTS];
  fill(fixture, image, WINOGRAD_PATCH * WINOGRAD_PATCH, patch);
  fill(fixture, weights, WINOGRAD_TAPS * WINOGRAD_TAPS, taps);
  winograd_transform_input(&fixture->vec, 1, patch);
  winograd_transform_weights(&fixture->vec, 1, taps);
  for (int p = 0; p < WINOGRAD_PRODUCTS; p++)
    products[p] = vec_constant_double(&fixture->vec, TYPE_F32, number(patch[p]) * number(taps[p]), 1);
  winograd_transform_sums(&fixture->vec, 1, products);
  for (int i = 0; i < WINOGRAD_TILE; i++) {
    for (int j = 0; j < WINOGRAD_TILE; j++)
      assert_true(fabs(number(products[i * WINOGRAD_TILE + j]) - sum_at(image, weights, i, j)) < 1e-4);
  }
}

/* Each element of the image with each tap: a bilinear form is known by these. */
static void transforms_of_units_are_windows(void **state) {
  (void)state;
  Fixture fixture;
  fixture_create(&fixture);
  for (int e = 0; e < WINOGRAD_PRODUCTS; e++) {
    for (int t = 0; t < WINOGRAD_TAPS * WINOGRAD_TAPS; t++) {
      double image[WINOGRAD_PRODUCTS] = {0}, weights[WINOGRAD_TAPS * WINOGRAD_TAPS] = {0};
      image[e] = weights[t] = 1;
      check_tile(&fixture, image, weights);
    }
  }
  fixture_destroy(&fixture);
}

static void transforms_of_numbers_are_windows(void **state) {
  (void)state;
  Fixture fixture;
  fixture_create(&fixture);
  double image[WINOGRAD_PRODUCTS], weights[WINOGRAD_TAPS * WINOGRAD_TAPS];
  for (int i = 0; i < WINOGRAD_PRODUCTS; i++) image[i] = (i * 7 % 11 - 5) / 4.0;
  for (int i = 0; i < WINOGRAD_TAPS * WINOGRAD_TAPS; i++) weights[i] = (i * 5 % 9 - 4) / 8.0;
  check_tile(&fixture, image, weights);
  fixture_destroy(&fixture);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(transforms_of_units_are_windows),
      cmocka_unit_test(transforms_of_numbers_are_windows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
