/* Expected texts are what XLA prints for the same value. */
#include "hlo/ir/hlo_attribute.h"

#include <math.h>

#include "hlo/ir/hlo_testing.h"

static void check_text(const HloAttr *attr, const char *expected) {
  Arena *arena = arena_create();
  StringBuilder out;
  sb_init(&out, arena);
  hlo_attr_print(&out, attr, true);
  assert_string_equal(out.data, expected);
  arena_destroy(arena);
}

static void check_float(double value, const char *expected) {
  check_text(&(HloAttr){.id = HLO_ATTR_EPSILON, .value.real = value}, expected);
}

static void attr_print_scalars(void **state) {
  (void)state;
  check_text(&(HloAttr){.id = HLO_ATTR_IS_STABLE, .value.boolean = true}, "is_stable=true");
  check_text(&(HloAttr){.id = HLO_ATTR_CHANNEL_ID, .value.integer = INT64_MIN}, "channel_id=-9223372036854775808");
  check_text(&(HloAttr){.id = HLO_ATTR_DIRECTION, .value.integer = COMPARISON_DIRECTION_GE}, "direction=GE");
  check_text(&(HloAttr){.id = HLO_ATTR_PARAMETER_NUMBER, .value.integer = 3}, "3");
  check_float(1e-5, "epsilon=1e-05");
  check_float(0.1, "epsilon=0.1");
  check_float((double)1.23456789e-05f, "epsilon=1.2345679e-05");
  check_float((double)1e-5f, "epsilon=1e-05");
  check_float((double)(1.0f / 3), "epsilon=0.33333334");
  check_float(-0.0, "epsilon=-0.0");
}

static void attr_print_lists(void **state) {
  (void)state;
  int64_t values[] = {1, -2, 0};
  Int64List lists[] = {{2, values}, {0, NULL}, {1, values + 2}};
  bool flags[] = {true, false};
  int64_t precisions[] = {OPERAND_PRECISION_DEFAULT, OPERAND_PRECISION_HIGHEST};
  check_text(&(HloAttr){.id = HLO_ATTR_DIMENSIONS, .value.ints = {3, values}}, "dimensions={1,-2,0}");
  check_text(&(HloAttr){.id = HLO_ATTR_DIMENSIONS}, "dimensions={}");
  check_text(&(HloAttr){.id = HLO_ATTR_SOURCE_TARGET_PAIRS, .value.int_lists = {3, lists}},
             "source_target_pairs={{1,-2},{},{0}}");
  check_text(&(HloAttr){.id = HLO_ATTR_PARAMETER_REPLICATION, .value.bools = {2, flags}},
             "parameter_replication={true,false}");
  check_text(&(HloAttr){.id = HLO_ATTR_OPERAND_PRECISION, .value.ints = {2, precisions}},
             "operand_precision={default,highest}");
}

static void attr_print_strings(void **state) {
  (void)state;
  check_text(&(HloAttr){.id = HLO_ATTR_CUSTOM_CALL_TARGET, .value.text = SV("a\"b'\\\n\t\r\xc3\xa9\x01")},
             "custom_call_target=\"a\\\"b\\'\\\\\\n\\t\\r\\303\\251\\001\"");
  check_text(&(HloAttr){.id = HLO_ATTR_BACKEND_CONFIG, .value.text = SV("{\"k\":\"}\"}")},
             "backend_config={\"k\":\"}\"}");
  check_text(&(HloAttr){.id = HLO_ATTR_BACKEND_CONFIG, .value.text = SV("{a}{b}")}, "backend_config=\"{a}{b}\"");
  check_text(&(HloAttr){.id = HLO_ATTR_BACKEND_CONFIG, .value.text = SV("{a")}, "backend_config=\"{a\"");
  const FrontendAttribute attributes[] = {
      {SV("b.c"), SV("{x}"), true}, {SV("e"), SV("q\""), false}, {SV("z"), SV("{a}"), false}};
  check_text(&(HloAttr){.id = HLO_ATTR_FRONTEND_ATTRIBUTES, .value.frontend = {3, attributes}},
             "frontend_attributes={b.c={x},e=\"q\\\"\",z={a}}");
}

static void attr_print_window(void **state) {
  (void)state;
  WindowDimension plain[] = {{3, 1, 0, 0, 1, 1, false}, {5, 1, 0, 0, 1, 1, false}};
  WindowDimension full[] = {{3, 2, -1, 1, 1, 2, true}, {3, 2, 1, 1, 2, 1, false}};
  check_text(&(HloAttr){.id = HLO_ATTR_WINDOW, .value.window = &(Window){2, plain}}, "window={size=3x5}");
  check_text(&(HloAttr){.id = HLO_ATTR_WINDOW, .value.window = &(Window){2, full}},
             "window={size=3x3 stride=2x2 pad=-1_1x1_1 lhs_dilate=1x2 rhs_dilate=2x1 rhs_reversal=1x0}");
  check_text(&(HloAttr){.id = HLO_ATTR_WINDOW, .value.window = &(Window){0, NULL}}, "window={}");
}

static void attr_print_dim_labels(void **state) {
  (void)state;
  int64_t input[] = {1, 2}, kernel[] = {0, 1}, output[] = {2, 1};
  ConvolutionDimensionNumbers labels = {
      .spatial_rank = 2,
      .input = {.rank = 4, .batch = 0, .feature = 3, .spatial = input},
      .kernel = {.rank = 5, .input_feature = 2, .output_feature = 3, .spatial = kernel},
      .output = {.rank = 4, .batch = 0, .feature = 3, .spatial = output},
  };
  check_text(&(HloAttr){.id = HLO_ATTR_DIM_LABELS, .value.dim_labels = &labels}, "dim_labels=b01f_01io?->b10f");
}

static void attr_print_ranges(void **state) {
  (void)state;
  PaddingDimension edges[] = {{1, 3, 0}, {-1, 0, 0}}, inner[] = {{1, 3, 0}, {0, 0, 2}};
  SliceDimension dense[] = {{0, 2, 1}, {1, 5, 1}}, strided[] = {{0, 2, 1}, {0, 10, 2}};
  check_text(&(HloAttr){.id = HLO_ATTR_PADDING, .value.padding = &(PaddingConfig){2, edges}}, "padding=1_3x-1_0");
  check_text(&(HloAttr){.id = HLO_ATTR_PADDING, .value.padding = &(PaddingConfig){2, inner}}, "padding=1_3_0x0_0_2");
  check_text(&(HloAttr){.id = HLO_ATTR_SLICE, .value.slice = &(SliceRanges){2, dense}}, "slice={[0:2], [1:5]}");
  check_text(&(HloAttr){.id = HLO_ATTR_SLICE, .value.slice = &(SliceRanges){2, strided}}, "slice={[0:2:1], [0:10:2]}");
}

static void attr_print_aliasing_accuracy_sparsity(void **state) {
  (void)state;
  int64_t path[] = {2, 3};
  OperandAlias aliases[] = {{SHAPE_INDEX_ROOT, 0, SHAPE_INDEX_ROOT}, {{1, path}, 1, {2, path}}};
  check_text(&(HloAttr){.id = HLO_ATTR_OUTPUT_TO_OPERAND_ALIASING, .value.aliasing = {2, aliases}},
             "output_to_operand_aliasing={{}: (0, {}), {2}: (1, {2,3})}");
  check_text(&(HloAttr){.id = HLO_ATTR_RESULT_ACCURACY, .value.accuracy = &(ResultAccuracy){true, 0, 0, 1e-6, 2}},
             "result_accuracy={tolerance={atol=0,rtol=1e-06,ulps=2}}");
  check_text(&(HloAttr){.id = HLO_ATTR_RESULT_ACCURACY,
                        .value.accuracy = &(ResultAccuracy){.mode = RESULT_ACCURACY_MODE_HIGHEST}},
             "result_accuracy={mode=highest}");
  SparsityConfig sparsity = {{true, 1, 4, 0, 1}, {true, 2, 4, 1, 2}};
  check_text(&(HloAttr){.id = HLO_ATTR_SPARSITY_CONFIG, .value.sparsity = &sparsity},
             "sparsity_config={lhs={sparsity=1x4 dimension=0 stride=1} rhs={sparsity=2x4 dimension=1 stride=2}}");
  sparsity.lhs.present = false;
  check_text(&(HloAttr){.id = HLO_ATTR_SPARSITY_CONFIG, .value.sparsity = &sparsity},
             "sparsity_config={rhs={sparsity=2x4 dimension=1 stride=2}}");
}

static void attr_print_metadata_origin_statistics(void **state) {
  (void)state;
  int64_t profile[] = {1, 2}, index[] = {1, 0};
  HloMetadata metadata = {.op_name = SV("a\n\xe9'"), .source_line = 3, .profile_type = {2, profile}};
  check_text(&(HloAttr){.id = HLO_ATTR_METADATA, .value.metadata = &metadata},
             "metadata={op_name=\"a\\n\\351\\'\" source_line=3 profile_type={1,2}}");
  StatisticsEntry third = {SV("mean"), 1.0 / 3};
  check_text(&(HloAttr){.id = HLO_ATTR_STATISTICS, .value.statistics = {1, &third}},
             "statistics={mean=0.3333333333333333}");
  OriginNode leaves[] = {
      {.has_name = true, .name = SV("a")}, {.has_name = true, .name = SV("b"), .index = {2, index}}, {0}};
  HloOrigin origin = {.root = {.is_tuple = true, .tuple_count = 3, .tuple = leaves}};
  check_text(&(HloAttr){.id = HLO_ATTR_ORIGIN, .value.origin = &origin}, "origin={({\"a\"}, {\"b\" {1,0}}, {})}");
  origin.root = leaves[0];
  check_text(&(HloAttr){.id = HLO_ATTR_ORIGIN, .value.origin = &origin}, "origin={{\"a\"}}");
  origin.synthetic_call = true;
  check_text(&(HloAttr){.id = HLO_ATTR_ORIGIN, .value.origin = &origin}, "origin={[synthetic_call]}");
  StatisticsEntry entries[] = {{SV("visualizing_index"), 1}, {SV("nan"), 0.5}, {SV("inf"), 3}};
  check_text(&(HloAttr){.id = HLO_ATTR_STATISTICS, .value.statistics = {3, entries}},
             "statistics={visualizing_index=1,nan=0.5,inf=3}");
}

static const int64_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
static const MeshAxis axes[] = {{{"x", 1}, 2}, {{"y", 1}, 4}};

static void attr_print_replica_groups(void **state) {
  (void)state;
  Int64List lists[] = {{2, numbers}, {2, numbers + 2}};
  int64_t dims[] = {2, 4}, perm[] = {1, 0};
  ReplicaGroups groups = {.form = REPLICA_GROUPS_LISTS, .group_count = 2, .groups = lists};
  HloAttr attr = {.id = HLO_ATTR_REPLICA_GROUPS, .value.replica_groups = &groups};
  check_text(&attr, "replica_groups={{0,1},{2,3}}");
  groups.group_count = 0;
  check_text(&attr, "replica_groups={}");
  groups = (ReplicaGroups){.form = REPLICA_GROUPS_IOTA, .iota_groups = 4, .iota_size = 2, .iota = {2, dims, perm}};
  check_text(&attr, "replica_groups=[4,2]<=[2,4]T(1,0)");
  groups.iota.rank = 1;
  check_text(&attr, "replica_groups=[4,2]<=[2]");
  Mesh mesh = {.axis_count = 2, .axes = axes, .device_count = 2, .device_ids = numbers + 6};
  MeshAxisRef ref = {SV("y"), 1, 2};
  groups = (ReplicaGroups){.form = REPLICA_GROUPS_MESH, .mesh = &mesh, .axes = {1, &ref, false}};
  check_text(&attr, "replica_groups=mesh['x'=2,'y'=4], device_ids=(6,7) {'y':(1)2}");
}

static void check_sharding(const HloSharding *sharding, const char *expected) {
  check_text(&(HloAttr){.id = HLO_ATTR_SHARDING, .value.sharding = sharding}, expected);
}

#define PLAIN .shard_as = -1, .shard_like = -1

static void sharding_print_tiles(void **state) {
  (void)state;
  int64_t dims[] = {1, 1, 2, 2}, perm[] = {1, 0}, types[] = {SHARDING_MANUAL, SHARDING_REPLICATED};
  IotaTile iota = {2, dims + 2, perm};
  HloMetadata metadata[] = {{.op_name = SV("q")}, {.op_name = SV("r")}};
  check_sharding(&(HloSharding){.kind = SHARDING_REPLICATED, PLAIN}, "sharding={replicated}");
  check_sharding(
      &(HloSharding){.kind = SHARDING_MAXIMAL, .device = 3, .metadata_count = 1, .metadata = metadata, PLAIN},
      "sharding={maximal device=3 metadata={op_name=\"q\"}}");
  check_sharding(
      &(HloSharding){
          .kind = SHARDING_TILED, .tile_dims = {4, dims}, .iota = &iota, .last_tile_dims = {2, types}, PLAIN},
      "sharding={devices=[1,1,2,2]<=[2,2]T(1,0) last_tile_dims={manual, replicated}}");
  check_sharding(&(HloSharding){.kind = SHARDING_TILED,
                                .tile_dims = {2, dims + 1},
                                .devices = {2, numbers},
                                .shard_as = 3,
                                .shard_like = -1,
                                .metadata_count = 2,
                                .metadata = metadata},
                 "sharding={devices=[1,2]0,1 shard_as 3 metadata={{op_name=\"q\"}, {op_name=\"r\"}}}");
  check_sharding(&(HloSharding){.kind = SHARDING_TILED,
                                .tile_dims = {2, dims + 2},
                                .devices = {4, numbers},
                                .last_tile_dims = {1, types + 1},
                                PLAIN},
                 "sharding={devices=[2,2]0,1,2,3 last_tile_dim_replicate}");
  HloSharding parts[] = {{.kind = SHARDING_REPLICATED, PLAIN}, {.kind = SHARDING_MANUAL, PLAIN}};
  check_sharding(&(HloSharding){.kind = SHARDING_TUPLE, .tuple_count = 2, .tuple = parts},
                 "sharding={{replicated}, {manual}}");
  check_sharding(&(HloSharding){.kind = SHARDING_TUPLE}, "sharding={}");
}

static void sharding_print_mesh(void **state) {
  (void)state;
  Mesh mesh = {.axis_count = 2, .axes = axes};
  MeshAxisRef x = {SV("x"), 0, 0}, y = {SV("y"), 0, 0};
  MeshAxisRefs dims[] = {{1, &x, false}, {0, NULL, true}};
  HloMetadata metadata = {.op_name = SV("z")};
  HloSharding sharding = {.kind = SHARDING_MESH,
                          .mesh = &mesh,
                          .mesh_short = SHARDING_TILED,
                          .mesh_dim_count = 2,
                          .mesh_dims = dims,
                          PLAIN};
  check_sharding(&sharding, "sharding={mesh['x'=2,'y'=4], [{'x'}, {?}]}");
  sharding.mesh_unreduced = (MeshAxisRefs){1, &y, false};
  sharding.metadata_count = 1;
  sharding.metadata = &metadata;
  check_sharding(&sharding, "sharding={mesh['x'=2,'y'=4], [{'x'}, {?}], unreduced={'y'}, metadata={{op_name=\"z\"}}}");
  sharding = (HloSharding){.kind = SHARDING_MESH, .mesh = &mesh, .mesh_short = SHARDING_MANUAL, PLAIN};
  check_sharding(&sharding, "sharding={mesh['x'=2,'y'=4], manual}");
  mesh.axis_count = 0;
  sharding.mesh_short = SHARDING_REPLICATED;
  check_sharding(&sharding, "sharding={mesh[], replicated}");
  mesh = (Mesh){.is_maximal = true, .maximal_device = 1};
  check_sharding(&sharding, "sharding={maximal_mesh[device_id=1]}");
}

static void check_differ(const HloAttr *a, const HloAttr *b) {
  assert_false(hlo_attr_equal(a, b, NULL));
  assert_false(hlo_attr_equal(b, a, NULL));
  assert_true(hlo_attr_equal(a, a, NULL));
  assert_int_not_equal(hlo_attr_hash(a), hlo_attr_hash(b));
}

static void check_same(const HloAttr *a, const HloAttr *b) {
  assert_true(hlo_attr_equal(a, b, NULL));
  assert_true(hlo_attr_equal(b, a, NULL));
  assert_int_equal(hlo_attr_hash(a), hlo_attr_hash(b));
}

static void attr_equal_by_value(void **state) {
  (void)state;
  int64_t list[] = {1, 2}, copy[] = {1, 2}, other[] = {1, 3};
  HloAttr a = {.id = HLO_ATTR_DIMENSIONS, .value.ints = {2, list}};
  check_same(&a, &(HloAttr){.id = HLO_ATTR_DIMENSIONS, .value.ints = {2, copy}});
  check_differ(&a, &(HloAttr){.id = HLO_ATTR_DIMENSIONS, .value.ints = {2, other}});
  check_differ(&a, &(HloAttr){.id = HLO_ATTR_DIMENSIONS, .value.ints = {1, list}});
  check_differ(&a, &(HloAttr){.id = HLO_ATTR_SLICE_SIZES, .value.ints = {2, list}});
  HloAttr nan = {.id = HLO_ATTR_EPSILON, .value.real = (double)NAN};
  check_same(&nan, &(HloAttr){.id = HLO_ATTR_EPSILON, .value.real = (double)NAN});
  check_differ(&(HloAttr){.id = HLO_ATTR_EPSILON, .value.real = 0.0},
               &(HloAttr){.id = HLO_ATTR_EPSILON, .value.real = -0.0});
  WindowDimension dim = {3, 1, 0, 0, 1, 1, false}, changed = {3, 1, 0, 0, 1, 1, true};
  check_differ(&(HloAttr){.id = HLO_ATTR_WINDOW, .value.window = &(Window){1, &dim}},
               &(HloAttr){.id = HLO_ATTR_WINDOW, .value.window = &(Window){1, &changed}});
  SliceDimension range = {0, 2, 1}, shifted = {1, 2, 1};
  check_differ(&(HloAttr){.id = HLO_ATTR_SLICE, .value.slice = &(SliceRanges){1, &range}},
               &(HloAttr){.id = HLO_ATTR_SLICE, .value.slice = &(SliceRanges){1, &shifted}});
  HloSharding manual = {.kind = SHARDING_MANUAL, PLAIN}, one = {.kind = SHARDING_MAXIMAL, .device = 1, PLAIN},
              two = one;
  two.device = 2;
  check_differ(&(HloAttr){.id = HLO_ATTR_SHARDING, .value.sharding = &one},
               &(HloAttr){.id = HLO_ATTR_SHARDING, .value.sharding = &two});
  HloDomain domain = {&manual, &one}, twin = {&manual, &two};
  check_differ(&(HloAttr){.id = HLO_ATTR_DOMAIN, .value.domain = &domain},
               &(HloAttr){.id = HLO_ATTR_DOMAIN, .value.domain = &twin});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attr_print_scalars),
      cmocka_unit_test(attr_print_lists),
      cmocka_unit_test(attr_print_strings),
      cmocka_unit_test(attr_print_window),
      cmocka_unit_test(attr_print_dim_labels),
      cmocka_unit_test(attr_print_ranges),
      cmocka_unit_test(attr_print_aliasing_accuracy_sparsity),
      cmocka_unit_test(attr_print_metadata_origin_statistics),
      cmocka_unit_test(attr_print_replica_groups),
      cmocka_unit_test(sharding_print_tiles),
      cmocka_unit_test(sharding_print_mesh),
      cmocka_unit_test(attr_equal_by_value),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
