#include <inttypes.h>

#include "base/hash_map.h"
#include "codegen/kernel/kernel.h"

/* A Kernel as text, as --print=kernels shows it: buffers, then dims, values, folds and stores by stage. */

static const char *const dim_kind_text[] = {"parallel", "apart", "reduction", "sequential", "sorted"};
static const char *const role_text[] = {"operand", "result", "in-place", "scratch", "parameters", "overlapped"};

static void print_buffers(StringBuilder *out, const Kernel *kernel) {
  sb_append_cstring(out, "kernel");
  for (int b = 0; b < kernel->buffer_count; b++) {
    const KernelBuffer *buffer = &kernel->buffers[b];
    sb_printf(out, "%s b%d %s[%" PRId64 "] %s", b == 0 ? "" : ",", b, type_text(buffer->type), buffer->element_count,
              role_text[buffer->role]);
  }
  sb_append_cstring(out, "\n");
}

static void print_dims(StringBuilder *out, const Kernel *kernel, int stage) {
  bool first = true;
  for (int d = 0; d < kernel->dim_count; d++) {
    const KernelDim *dim = &kernel->dims[d];
    if (dim->stage != stage) continue;
    sb_printf(out, "%s d%d %" PRId64 " %s", first ? "" : ",", d, dim->extent, dim_kind_text[dim->kind]);
    first = false;
  }
}

static void print_guard(StringBuilder *out, int32_t predicate) {
  if (predicate >= 0) sb_printf(out, " if v%d", predicate);
}

static void print_value(StringBuilder *out, const Kernel *kernel, int32_t number) {
  const KernelValue *value = &kernel->values[number];
  sb_printf(out, "  v%d = %s ", number, type_text(value->type));
  switch (value->kind) {
    case KERNEL_LOAD:
      sb_printf(out, "load b%d[", value->buffer);
      index_print(out, &kernel->space, value->address);
      sb_append_cstring(out, "]");
      print_guard(out, value->predicate);
      break;
    case KERNEL_CONSTANT:
      sb_append_cstring(out, "constant ");
      literal_print_element(out, value->type, value->bits);
      sb_printf(out, " (0x%" PRIx64 ")", value->bits[0]);
      break;
    case KERNEL_INDEX:
      sb_append_cstring(out, "index ");
      index_print(out, &kernel->space, value->address);
      break;
    case KERNEL_IN_RANGE:
      sb_printf(out, "in-range %" PRId64 " <= ", value->lower);
      index_print(out, &kernel->space, value->address);
      sb_printf(out, " < %" PRId64, value->upper);
      break;
    case KERNEL_DIVISIBLE:
      sb_append_cstring(out, "divisible ");
      index_print(out, &kernel->space, value->address);
      sb_printf(out, " by %" PRId64, value->upper);
      break;
    case KERNEL_APPLY:
      sb_append_cstring(out, hlo_opcode_text(value->opcode));
      for (int i = 0; i < value->operand_count; i++) sb_printf(out, " v%d", value->operands[i]);
      if (value->params[0] != 0 || value->params[1] != 0) {
        sb_printf(out, " {%" PRId64 ", %" PRId64 "}", value->params[0], value->params[1]);
      }
      break;
    case KERNEL_ACCUMULATOR:
      sb_printf(out, "accumulator a%d%s", value->fold, value->params[0] != 0 ? " final" : "");
      break;
  }
  sb_append_cstring(out, "\n");
}

static void print_values(StringBuilder *out, const Kernel *kernel, int stage) {
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if (kernel->values[v].stage == stage) print_value(out, kernel, v);
  }
}

static void print_part(StringBuilder *out, const KernelPart *part, int number) {
  sb_printf(out, "part %d:", number);
  for (int b = 0; b < part->kernel->buffer_count; b++) {
    sb_printf(out, "%s b%d = ", b == 0 ? "" : ",", b);
    if (part->buffers[b] != KERNEL_TILE_INDEX) {
      sb_printf(out, "b%d", part->buffers[b]);
      continue;
    }
    sb_append_cstring(out, "{");
    for (int i = 0; i < part->index_count; i++) {
      const KernelCoordinate *at = &part->coordinates[i];
      sb_printf(out, "%sd0 / %" PRId64 " %% %" PRId64, i == 0 ? "" : ", ", at->divisor, at->extent);
      if (at->period == 0) continue;
      sb_printf(out, " / %" PRId64 " * %" PRId64 " + min(%% %" PRId64 " * %" PRId64 ", %" PRId64 ")", at->period,
                at->stride, at->period, at->step, at->last);
    }
    sb_append_cstring(out, "}");
  }
  sb_append_cstring(out, "\n");
  kernel_print(out, part->kernel);
}

/* What is compared, and the comparator's text, indented. */
static void print_comparator(StringBuilder *out, const KernelStage *stage) {
  const Kernel *comparator = stage->comparator;
  Arena *scratch = arena_create();
  StringBuilder text;
  sb_init(&text, scratch);
  kernel_print(&text, comparator);
  sb_append_cstring(out, "  in the order of");
  for (int32_t i = 0; i < stage->compared_count; i++) {
    const KernelCompared *compared = &stage->compared[i];
    sb_printf(out, "%s %d: v%d", i == 0 ? "" : ",", compared->operand, compared->parts[0]);
    if (compared->parts[1] >= 0) sb_printf(out, " v%d", compared->parts[1]);
  }
  sb_append_cstring(out, "\n    ");
  for (size_t i = 0; i < text.size; i++) {
    sb_append_char(out, text.data[i]);
    if (text.data[i] == '\n' && i + 1 < text.size) sb_append_cstring(out, "    ");
  }
  arena_destroy(scratch);
}

static void print_transform(StringBuilder *out, const KernelTransform *transform) {
  sb_printf(out, "  transform b%d b%d, b%d b%d of [%" PRId64 ",", transform->buffers[0][0], transform->buffers[0][1],
            transform->buffers[1][0], transform->buffers[1][1], transform->outer);
  for (int32_t i = 0; i < transform->factor_count; i++)
    sb_printf(out, "%s%" PRId64, i == 0 ? " " : "*", transform->factors[i]);
  static const char *const reals[] = {
      [KERNEL_NO_REALS] = "", [KERNEL_OF_REALS] = " of reals", [KERNEL_TO_REALS] = " to reals"};
  sb_printf(out, ", %" PRId64 "]%s\n", transform->inner, reals[transform->reals]);
}

void kernel_print(StringBuilder *out, const Kernel *kernel) {
  print_buffers(out, kernel);
  sb_append_cstring(out, "outer");
  print_dims(out, kernel, KERNEL_OUTER);
  sb_append_cstring(out, ":\n");
  print_values(out, kernel, KERNEL_OUTER);
  for (int s = 0; s < kernel->stage_count; s++) {
    sb_printf(out, "stage %d", s);
    print_dims(out, kernel, s);
    sb_append_cstring(out, ":\n");
    print_values(out, kernel, s);
    for (int f = 0; f < kernel->fold_count; f++) {
      const KernelFold *fold = &kernel->folds[f];
      if (fold->stage != s) continue;
      sb_printf(out, "  fold a%d %s from v%d by v%d%s\n", f, type_text(fold->type), fold->seed, fold->next,
                fold->reassociable ? " reassociable"
                : fold->is_scan    ? " scan"
                                   : "");
    }
    for (int i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      sb_printf(out, "  store b%d[", store->buffer);
      index_print(out, &kernel->space, store->address);
      sb_printf(out, "] = v%d", store->value);
      print_guard(out, store->predicate);
      sb_append_cstring(out, "\n");
    }
    if (kernel->stages[s].comparator != NULL) print_comparator(out, &kernel->stages[s]);
    if (kernel->stages[s].transform != NULL) print_transform(out, kernel->stages[s].transform);
  }
  for (int p = 0; p < kernel->part_count; p++) print_part(out, &kernel->parts[p], p);
}

StringView kernel_text(Arena *arena, const Kernel *kernel) {
  StringBuilder text;
  sb_init(&text, arena);
  kernel_print(&text, kernel);
  return sb_view(&text);
}
