#include "xlac/weights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/scratch_folder.h"
#include "hlo/ir/leaf_names.h"
#include "runtime/arrays/array_file.h"

typedef struct Files {
  Arena *arena;
  DiagSink diag;
  ScratchFolder folder;
} Files;

static int files_create(void **state) {
  Arena *arena = arena_create();
  Files *files = ARENA_NEW(arena, Files);
  files->arena = arena;
  diag_sink_init(&files->diag, arena);
  *state = files;
  return scratch_folder_create(arena, &files->diag, &files->folder) != STATUS_OK;
}

static int files_remove(void **state) {
  Files *files = *state;
  scratch_folder_remove(&files->folder);
  arena_destroy(files->arena);
  return 0;
}

static const char *write_file(Files *files, const char *name, StringView content) {
  assert_int_equal(scratch_folder_write(&files->folder, name, content, &files->diag), STATUS_OK);
  return scratch_folder_path(&files->folder, name);
}

static const float w[2][3] = {{1, 2, 3}, {4, 5, 6}};
static const int8_t b[3] = {-1, 0, 1};
static const double scale = 0.5;
static const int64_t w_dims[] = {2, 3}, b_dims[] = {3};

/* All three of |members|, as xlac itself writes them. */
static const char *write_members(Files *files, const char *name) {
  const ArrayMember members[] = {
      {SV("layer_1.w"), {npy_type_of(TYPE_F32), 2, w_dims, 6, w}},
      {SV("layer_1.b"), {npy_type_of(TYPE_S8), 1, b_dims, 3, b}},
      {SV("scale"), {npy_type_of(TYPE_F64), 0, NULL, 1, &scale}},
  };
  StringView bytes;
  assert_int_equal(array_file_write(files->arena, name, members, 3, &files->diag, &bytes), STATUS_OK);
  return write_file(files, name, bytes);
}

static XlacWeights *open_weights(const char *path) {
  char message[200] = "";
  XlacWeights *weights = xlac_weights_open(path, message, sizeof message);
  if (weights == NULL) fail_msg("%s", message);
  return weights;
}

static void check_refused(const char *path, const char *why) {
  char message[200] = "";
  assert_null(xlac_weights_open(path, message, sizeof message));
  if (strstr(message, why) == NULL) fail_msg("'%s' instead of '%s'", message, why);
  assert_null(xlac_weights_open(path, NULL, 0));
}

static void weights_have_the_arrays_of_both_formats(void **state) {
  static const char *const names[] = {"a.npz", "a.safetensors"};
  for (int i = 0; i < 2; i++) {
    XlacWeights *weights = open_weights(write_members(*state, names[i]));
    assert_int_equal(xlac_weights_count(weights), 3);
    const XlacWeight *matrix = xlac_weights_find(weights, "layer_1.w"), *bias = xlac_weights_find(weights, "layer_1_b");
    assert_int_equal(matrix->type, XLAC_F32);
    assert_int_equal(matrix->rank, 2);
    assert_int_equal(matrix->dims[1], 3);
    assert_int_equal(matrix->bytes, sizeof w);
    assert_memory_equal(matrix->data, w, sizeof w);
    assert_int_equal((uintptr_t)matrix->data % sizeof(float), 0);
    assert_int_equal(bias->type, XLAC_S8);
    assert_memory_equal(bias->data, b, sizeof b);
    const XlacWeight *number = xlac_weights_find(weights, "scale");
    assert_int_equal(number->rank, 0);
    assert_int_equal((uintptr_t)number->data % sizeof(double), 0);
    assert_true(*(const double *)number->data == 0.5);
    assert_null(xlac_weights_find(weights, "layer_1"));
    xlac_weights_close(weights);
  }
}

static void weights_written_on_leave_the_file(void **state) {
  const char *path = write_members(*state, "a.safetensors");
  XlacWeights *weights = open_weights(path);
  *(float *)xlac_weights_find(weights, "layer_1.w")->data = 100;
  xlac_weights_close(weights);
  weights = open_weights(path);
  assert_true(*(const float *)xlac_weights_find(weights, "layer_1.w")->data == 1);
  xlac_weights_close(weights);
}

/* However a file is cut off or changed, there is an answer and no access beyond it (sanitizers see that). */
static void weights_damaged_are_refused(void **state) {
  Files *files = *state;
  static const char *const names[] = {"a.npz", "a.safetensors"};
  for (int i = 0; i < 2; i++) {
    const char *path = write_members(files, names[i]);
    StringView bytes;
    FILE *file = fopen(path, "rb");
    char *content = arena_alloc(files->arena, 4096);
    bytes = (StringView){content, fread(content, 1, 4096, file)};
    fclose(file);
    for (size_t size = 0; size < bytes.size; size++)
      assert_null(xlac_weights_open(write_file(files, "cut", (StringView){bytes.data, size}), NULL, 0));
    for (size_t at = 0; at < bytes.size; at++) {
      char before = content[at];
      content[at] = (char)(before ^ 0x81);
      xlac_weights_close(xlac_weights_open(write_file(files, "changed", bytes), NULL, 0));
      content[at] = before;
    }
  }
}

static const char *write_header(Files *files, const char *header, size_t data_size) {
  StringBuilder content;
  sb_init(&content, files->arena);
  size_t size = strlen(header);
  for (int i = 0; i < 8; i++) sb_append_char(&content, (char)((uint64_t)size >> (8 * i)));
  sb_append_cstring(&content, header);
  sb_append_repeated(&content, 'x', (int64_t)data_size);
  return write_file(files, "h.safetensors", sb_view(&content));
}

static void weights_say_what_is_wrong(void **state) {
  Files *files = *state;
  check_refused("/nonexistent/a.npz", "'/nonexistent/a.npz': No such file");
  check_refused(write_file(files, "empty", SV("")), "neither .safetensors nor .npz");
  check_refused(write_file(files, "text", SV("some text that is no archive")), "neither .safetensors nor .npz");
#define ENTRY(shape, end) "{\"a\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[0," end "]}}"
  check_refused(write_header(files, ENTRY("[2]", "7"), 8), "array 'a': its bytes are not those of its shape");
  check_refused(write_header(files, ENTRY("[2]", "8"), 7), "array 'a': its bytes are not those of its shape");
  check_refused(write_header(files, ENTRY("[4611686018427387905,4]", "4"), 8), "not those of its shape");
  check_refused(write_header(files, ENTRY("[-2]", "8"), 8), "no JSON");
}

static void weights_headers_are_json(void **state) {
  Files *files = *state;
  static const char header[] =
      "{\"__metadata__\" : {\"deep\": [[{\"x\": [1e5, null, \"\\\\\\\"}\"]}]]} ,\n"
      "\"\\u00e9\\ud83d\\ude00\\n\" : {\"data_offsets\":[ 4 , 8 ], \"shape\" : [ 1 , 1 ], \"more\":{}, "
      "\"dtype\":\"F32\"},"
      "\"odd\":{\"dtype\":\"F4\",\"shape\":[2,3],\"data_offsets\":[8,11]}, \"none\":{\"dtype\":\"F32\",\"shape\":[0],"
      "\"data_offsets\":[0,0]}}  ";
  XlacWeights *weights = open_weights(write_header(files, header, 11));
  assert_int_equal(xlac_weights_count(weights), 3);
  assert_string_equal(xlac_weights_at(weights, 0)->name, "\xc3\xa9\xf0\x9f\x98\x80\n");
  assert_int_equal(xlac_weights_at(weights, 1)->type, 0);
  assert_int_equal(xlac_weights_at(weights, 1)->bytes, 3);
  assert_int_equal(xlac_weights_at(weights, 2)->bytes, 0);
  xlac_weights_close(weights);
}

/* --- arguments --- */

static const int64_t row_major[] = {1, 0}, column_major[] = {0, 1};

static int64_t bind(const char *path, const char *prefix, const XlacTensor *tensors, const char *const *names,
                    int64_t count, const void **arguments, char *message) {
  XlacDescriptor descriptor = {.struct_size = sizeof descriptor,
                               .abi_version = XLAC_ABI_VERSION,
                               .parameter_count = count,
                               .parameters = tensors,
                               .parameter_names = names};
  XlacWeights *weights = open_weights(path);
  int64_t bound = xlac_weights_bind(weights, prefix, &descriptor, arguments, message, 200);
  xlac_weights_close(weights);
  return bound;
}

static void weights_are_bound_by_name(void **state) {
  const char *path = write_members(*state, "a.npz");
  const XlacTensor tensors[] = {
      {.type = XLAC_F64},
      {.type = XLAC_F32, .rank = 2, .dims = w_dims, .minor_to_major = row_major},
      {.type = XLAC_S4, .rank = 1, .dims = b_dims, .minor_to_major = column_major},
      {.type = XLAC_F32},
  };
  static const char *const names[] = {"scale", "params_layer_1_w", "params_layer_1_b", "x"};
  const void *arguments[4] = {NULL, NULL, NULL, names};
  char message[200];
  assert_int_equal(bind(path, "params", tensors, names, 4, arguments, message), 3);
  assert_non_null(arguments[0]);
  assert_non_null(arguments[1]);
  assert_non_null(arguments[2]);
  assert_ptr_equal(arguments[3], names);
  const void *without[4] = {NULL};
  assert_int_equal(bind(path, NULL, tensors, names, 4, without, message), 1);
  assert_null(without[1]);
}

static void weights_that_do_not_fit_are_not_bound(void **state) {
  const char *path = write_members(*state, "a.npz");
  static const int64_t other_dims[] = {3, 2};
  static const struct {
    XlacTensor tensor;
    const char *message;
  } rows[] = {
      {{.type = XLAC_F64, .rank = 2, .dims = w_dims, .minor_to_major = row_major}, "another element type"},
      {{.type = XLAC_F32, .rank = 2, .dims = other_dims, .minor_to_major = row_major}, "another shape"},
      {{.type = XLAC_F32, .rank = 1, .dims = w_dims, .minor_to_major = column_major}, "another shape"},
      {{.type = XLAC_F32, .rank = 2, .dims = w_dims, .minor_to_major = column_major}, "another layout"},
  };
  static const char *const names[] = {"scale", "layer_1_w"};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const XlacTensor tensors[] = {{.type = XLAC_F64}, rows[i].tensor};
    const void *arguments[2] = {NULL, NULL};
    char message[200] = "";
    assert_int_equal(bind(path, "", tensors, names, 2, arguments, message), -1);
    assert_non_null(strstr(message, "'layer_1_w'"));
    assert_non_null(strstr(message, rows[i].message));
    assert_null(arguments[0]);
  }
}

static void weights_of_one_name_are_not_bound(void **state) {
  static const char header[] =
      "{\"a.b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},\"a/b\":{\"dtype\":\"F32\",\"shape\":[],"
      "\"data_offsets\":[4,8]}}";
  const char *path = write_header(*state, header, 8);
  const XlacTensor tensor = {.type = XLAC_F32};
  const char *name = "a_b";
  const void *argument = NULL;
  char message[200] = "";
  assert_int_equal(bind(path, "", &tensor, &name, 1, &argument, message), -1);
  assert_non_null(strstr(message, "two arrays"));
}

/* The loader has its own way from a name to an identifier: both are the same. */
static void weights_have_names_as_modules_do(void **state) {
  Files *files = *state;
  static const char *const names[] = {
      "params['layer_1']['w']", "s__b__", "0.weight", "...", "ws[1][0]", "a-b/c d", "_x_"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const char *header =
        arena_printf(files->arena, "{\"%s\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", names[i]);
    const XlacTensor tensor = {.type = XLAC_F32};
    const char *name = identifier_of_text(files->arena, sv_from_cstring(names[i])).data;
    const void *argument = NULL;
    char message[200];
    assert_int_equal(bind(write_header(files, header, 4), "", &tensor, &name, 1, &argument, message), 1);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, files_create, files_remove)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(weights_have_the_arrays_of_both_formats),
      TEST(weights_written_on_leave_the_file),
      TEST(weights_damaged_are_refused),
      TEST(weights_say_what_is_wrong),
      TEST(weights_headers_are_json),
      TEST(weights_are_bound_by_name),
      TEST(weights_that_do_not_fit_are_not_bound),
      TEST(weights_of_one_name_are_not_bound),
      TEST(weights_have_names_as_modules_do),
  };
  return cmocka_run_group_tests_name("weights", tests, NULL, NULL);
}
