/* What is wrong with a plan, in the words of its text. */
#include <inttypes.h>

#include "codegen/oncore/language/plan_content_internal.h"

/* --- arrays --- */

/* The first view of the array of |buffer|; NULL: none. */
static const PlanMemory *view_of(const Follower *f, int32_t buffer) {
  for (int32_t m = 0; m < f->plan->memory_count; m++) {
    const PlanMemory *memory = &f->plan->memories[m];
    if (memory->kind != PLAN_TEMPORARY && memory->number == buffer) return memory;
  }
  return NULL;
}

static const PlanTensor *stand_in_of(const Follower *f, int32_t buffer) {
  for (int32_t t = 0; t < f->plan->tensor_count; t++) {
    const PlanTensor *tensor = &f->plan->tensors[t];
    if (tensor->hold != PLAN_HOLDS_NOTHING && tensor->held == buffer) return tensor;
  }
  return NULL;
}

SourceLoc content_array_loc(const Follower *f, int32_t buffer) {
  const PlanMemory *view = view_of(f, buffer);
  const PlanTensor *tensor = stand_in_of(f, buffer);
  return view != NULL ? view->loc : tensor != NULL ? tensor->loc : f->plan->loc;
}

const char *content_array_text(const Follower *f, int32_t buffer) {
  const PlanMemory *view = view_of(f, buffer);
  const PlanTensor *tensor = stand_in_of(f, buffer);
  if (view != NULL) return arena_printf(f->arena, "'%.*s'", SV_ARG(view->name));
  if (tensor != NULL) return arena_printf(f->arena, "'%.*s'", SV_ARG(tensor->name));
  bool is_read = f->kernel->buffers[buffer].role == KERNEL_OPERAND;
  return arena_printf(f->arena, "%s %d", is_read ? "arg" : "result", buffer);
}

/* Whether indices of |view| tell each element of the array: it is row major, and all of it. */
static bool is_all(const Follower *f, const PlanMemory *view) {
  int64_t elements = 1, offset;
  for (int32_t a = view->rank - 1; a >= 0; a--) {
    if (view->strides[a] != elements) return false;
    elements *= view->extents[a]; /* no more than the array has: views lie inside */
  }
  return index_is_constant(view->offset, &offset) && offset == 0 &&
         elements == f->kernel->buffers[view->number].element_count;
}

/* "x[60, 0]". */
static const char *indexed_text(const Follower *f, const PlanMemory *view, int64_t element) {
  int64_t index[KERNEL_MAX_DIMS];
  for (int32_t a = view->rank - 1; a >= 0; a--) {
    index[a] = element % view->extents[a];
    element /= view->extents[a];
  }
  StringBuilder out;
  sb_init(&out, f->arena);
  sb_append(&out, view->name);
  for (int32_t a = 0; a < view->rank; a++) sb_printf(&out, "%s%" PRId64, a == 0 ? "[" : ", ", index[a]);
  if (view->rank > 0) sb_append_char(&out, ']');
  return sb_view(&out).data;
}

StringView content_ref_name(const Follower *f, const PlanRef *ref) {
  return ref->is_memory ? f->plan->memories[ref->number].name : f->plan->tensors[ref->number].name;
}

/* --- elements --- */

static const char *place_text(const Follower *f, Place place) {
  StringBuilder out;
  sb_init(&out, f->arena);
  place_print(&out, &f->forms, place);
  return sb_view(&out).data;
}

/* Element |place| of the array of |buffer|. */
static const char *element_text(const Follower *f, int32_t buffer, Place place) {
  const PlanMemory *view = view_of(f, buffer);
  if (view != NULL && place.form == 0 && is_all(f, view)) return indexed_text(f, view, place.constant);
  return arena_printf(f->arena, "element %s of %s", place_text(f, place), content_array_text(f, buffer));
}

const char *content_text(const Follower *f, const Content *content) {
  bool has_form = content->kind == CONTENT_ELEMENT || content->kind == CONTENT_RESULT;
  Place place = {content->place, has_form ? (int32_t)content->detail : 0};
  switch (content->kind) {
    case CONTENT_NOTHING: return "nothing";
    case CONTENT_ZERO:
      if (content->number == 0) return "the zero of a load whose guard is false";
      return arena_printf(f->arena, "the padding v%d of a load whose guard is false", content->number - 1);
    case CONTENT_ELEMENT: return element_text(f, content->number, place);
    case CONTENT_UPDATED: return arena_printf(f->arena, "the updated %s", element_text(f, content->number, place));
    case CONTENT_RESULT: return arena_printf(f->arena, "what becomes %s", element_text(f, content->number, place));
    case CONTENT_LOADED:
      return arena_printf(f->arena, "what is loaded for point %s from %s", place_text(f, place),
                          content_array_text(f, content->number));
    case CONTENT_INDEX:
      return arena_printf(f->arena, "the index of point %s into %s", place_text(f, place),
                          content_array_text(f, content->number));
    case CONTENT_ROW:
      return arena_printf(f->arena, "element %s of row buffer %d", place_text(f, place), content->number);
    case CONTENT_FOLD:
      return arena_printf(f->arena, "the fold of point %s, fold %d", place_text(f, place), content->number);
  }
  XLAC_BUG("no kind of content");
}

/* --- errors --- */

void content_tell(Follower *f, int32_t command, const char *text) {
  if (f->is_told[command]) return;
  f->is_told[command] = true;
  f->status = diag_error(f->diag, STATUS_INVALID, f->plan->commands[command].loc, "plan-meaning",
                         "in the plan of '%.*s': '%.*s' %s", SV_ARG(f->plan->name),
                         SV_ARG(f->plan->commands[command].label), text);
}

void content_tell_found(Follower *f, int32_t command, const PlanRef *ref, const Content *found, const Content *wanted) {
  if (f->is_told[command]) return;
  StringView name = content_ref_name(f, ref);
  content_tell(f, command,
               arena_printf(f->arena, "finds %s in '%.*s', and needs %s", content_text(f, found), SV_ARG(name),
                            content_text(f, wanted)));
}
