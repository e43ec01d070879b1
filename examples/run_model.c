/* How a C program uses compiled modules: runs a convolutional network and a transformer and checks their results.
 *
 * For each MODEL.hlo, xlac made MODEL.o and MODEL.h; this file includes the headers and is linked with the objects and
 * nothing else but libc and libm. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bert_1layer.h"
#include "examples/case_data.h"
#include "lenet_forward.h"

extern const CaseData bert_1layer_case, lenet_forward_case;

typedef struct Model {
  const char *name;
  XlacFunction function;
  const XlacDescriptor *descriptor;
  const CaseData *data;
} Model;

static const Model models[] = {
    {"lenet_forward", lenet_forward, &lenet_forward_descriptor, &lenet_forward_case},
    {"bert_1layer", bert_1layer, &bert_1layer_descriptor, &bert_1layer_case},
};

/* --- inputs: the same numbers on every machine --- */

static uint64_t mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static double generate_value(const CaseInput *input, uint64_t h) {
  if (input->kind == INPUT_INTEGER) return input->lo + (double)(h % (uint64_t)(input->hi - input->lo));
  if (input->kind == INPUT_UNIFORM) {
    double scaled = (double)(h >> 11) * 0x1p-53 * (input->hi - input->lo);
    return input->lo + scaled;
  }
  int64_t sum = (int64_t)((h & 0xFFFF) + (h >> 16 & 0xFFFF) + (h >> 32 & 0xFFFF) + (h >> 48));
  double scaled = (double)(sum - 131070) * 2.6428997918226276e-05 * input->scale;
  return scaled + input->offset;
}

static void *make_argument(const Model *model, int64_t leaf) {
  const XlacTensor *tensor = &model->descriptor->parameters[leaf];
  const CaseInput *input = &model->data->inputs[leaf];
  int64_t count = tensor->bytes / 4; /* f32 and s32 only */
  float *floats = malloc((size_t)tensor->bytes);
  int32_t *integers = (int32_t *)floats;
  if (!floats) abort();
  if (input->kind == INPUT_STORED) return memcpy(floats, input->data, (size_t)tensor->bytes);
  uint64_t base = mix(model->data->seed * 0x9E3779B97F4A7C15u + (uint64_t)leaf + 1);
  for (int64_t i = 0; i < count; i++) {
    double value = generate_value(input, mix(base + (uint64_t)(i + 1) * 0x9E3779B97F4A7C15u));
    if (tensor->type == XLAC_S32)
      integers[i] = (int32_t)value;
    else
      floats[i] = (float)value;
  }
  return floats;
}

/* --- results --- */

static int check_result(const Model *model, int64_t leaf, const float *got) {
  const CaseResult *want = &model->data->results[leaf];
  int64_t wrong = 0;
  double worst = 0;
  for (int64_t i = 0; i < want->count; i++) {
    double error = fabs((double)got[i * want->stride] - (double)want->values[i]);
    if (!(error <= want->atol + want->rtol * fabs((double)want->values[i]))) wrong++;
    if (error > worst) worst = error;
  }
  printf("  result %lld: %g %g %g ...  %lld of %lld values checked differ, largest error %.2g: %s\n", (long long)leaf,
         (double)got[0], (double)got[1], (double)got[2], (long long)wrong, (long long)want->count, worst,
         wrong ? "WRONG" : "OK");
  return wrong == 0;
}

static int run_model(const Model *model) {
  const XlacDescriptor *descriptor = model->descriptor;
  const void **arguments = calloc((size_t)descriptor->parameter_count, sizeof *arguments);
  void **results = calloc((size_t)descriptor->result_count, sizeof *results);
  size_t alignment = (size_t)(descriptor->workspace_alignment > 16 ? descriptor->workspace_alignment : 16);
  size_t workspace_bytes = ((size_t)descriptor->workspace_bytes / alignment + 1) * alignment;
  void *workspace = aligned_alloc(alignment, workspace_bytes);
  if (!arguments || !results || !workspace) abort();
  for (int64_t i = 0; i < descriptor->parameter_count; i++) arguments[i] = make_argument(model, i);
  for (int64_t i = 0; i < descriptor->result_count; i++) results[i] = malloc((size_t)descriptor->results[i].bytes);

  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  int status = model->function(arguments, results, workspace, NULL);
  clock_gettime(CLOCK_MONOTONIC, &end);
  double milliseconds = (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) * 1e-6;
  printf("%s: %lld arguments, %lld bytes of workspace, %.2f ms\n", model->name, (long long)descriptor->parameter_count,
         (long long)descriptor->workspace_bytes, milliseconds);

  int good = status == 0;
  for (int64_t i = 0; i < descriptor->result_count && status == 0; i++) good &= check_result(model, i, results[i]);
  for (int64_t i = 0; i < descriptor->parameter_count; i++) free((void *)(uintptr_t)arguments[i]);
  for (int64_t i = 0; i < descriptor->result_count; i++) free(results[i]);
  free(workspace);
  free(results);
  free(arguments);
  return good;
}

int main(void) {
  int good = 1;
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) good &= run_model(&models[i]);
  printf(good ? "OK\n" : "FAILED\n");
  return good ? 0 : 1;
}
