/* Declarations of plans: the Buffer, memory, scalars, Tensors. */
#include <inttypes.h>

#include "base/checked_math.h"
#include "codegen/oncore/language/plan_parser_internal.h"

int64_t reader_unit_bytes(const PlanReader *reader) {
  return reader->unit == TYPE_INVALID ? 1 : type_storage_bytes(reader->unit);
}

static bool parse_type(PlanReader *reader, PrimitiveType *out_type) {
  StringView name;
  SourceLoc loc;
  if (!plan_need_name(reader, "a type", &name, &loc)) return false;
  *out_type = type_from_text(name);
  if (type_is_array(*out_type)) return true;
  return plan_fail(reader, loc, "plan-syntax", "there is no element type '%.*s'", SV_ARG(name));
}

/* n, (n, m), (n,), (): at most KERNEL_MAX_DIMS numbers. */
static bool parse_numbers(PlanReader *reader, int64_t *numbers, int32_t *out_count) {
  *out_count = 0;
  if (!plan_take_mark(reader, "(")) {
    *out_count = 1;
    return plan_parse_constant(reader, &numbers[0]);
  }
  while (!plan_take_mark(reader, ")")) {
    if (*out_count == KERNEL_MAX_DIMS) return plan_expected(reader, "')'");
    if (!plan_parse_constant(reader, &numbers[(*out_count)++])) return false;
    if (!plan_at_mark(reader, ")") && !plan_need_mark(reader, ",")) return false;
  }
  return true;
}

/* The bytes of |count| extents of |type|; false when it is too much. */
static bool shape_bytes(const int64_t *extents, int32_t count, PrimitiveType type, int64_t *out_bytes) {
  *out_bytes = type_storage_bytes(type);
  for (int32_t i = 0; i < count; i++) {
    if (!checked_mul(*out_bytes, extents[i], out_bytes) || *out_bytes > PLAN_LARGEST_NUMBER) return false;
  }
  return true;
}

/* --- what stands in the parentheses --- */

typedef struct Properties {
  SourceLoc loc, shape_loc;
  bool has_shape, has_type, has_strides, has_stride;
  int32_t rank, stride_count;
  int64_t extents[KERNEL_MAX_DIMS], strides[KERNEL_MAX_DIMS];
  PrimitiveType type;
  int64_t slot_stride;
  PlanTensorKind kind;
  IndexExpr offset;
} Properties;

static bool parse_kind(PlanReader *reader, PlanTensorKind *out_kind) {
  static const char *const words[] = {"tensor", "ring", "resident", "accumulator", "rows"};
  for (int k = 0; k < (int)(sizeof words / sizeof words[0]); k++) {
    if (!plan_take_word(reader, words[k])) continue;
    *out_kind = (PlanTensorKind)k;
    return true;
  }
  return plan_expected(reader, "'ring', 'resident', 'accumulator' or 'rows'");
}

static bool parse_shape(PlanReader *reader, Properties *out) {
  out->has_shape = true;
  out->shape_loc = plan_peek(reader)->loc;
  if (!parse_numbers(reader, out->extents, &out->rank)) return false;
  for (int32_t i = 0; i < out->rank; i++) {
    if (out->extents[i] < 1) return plan_fail(reader, out->shape_loc, "plan-range", "an extent is at least 1");
  }
  return true;
}

static bool parse_dtype(PlanReader *reader, Properties *out) {
  out->has_type = true;
  return parse_type(reader, &out->type);
}

static bool parse_strides(PlanReader *reader, Properties *out) {
  out->has_strides = true;
  return parse_numbers(reader, out->strides, &out->stride_count);
}

static bool parse_offset(PlanReader *reader, Properties *out) {
  return plan_parse_expression(reader, &out->offset);
}

static bool parse_tensor_kind(PlanReader *reader, Properties *out) {
  return parse_kind(reader, &out->kind);
}

static bool parse_slot_stride(PlanReader *reader, Properties *out) {
  out->has_stride = true;
  return plan_parse_constant(reader, &out->slot_stride);
}

static const struct {
  const char *word;
  bool of_memory, of_tensor;
  bool (*parse)(PlanReader *reader, Properties *out);
} property_rules[] = {
    {"shape", true, true, parse_shape},       {"dtype", true, true, parse_dtype},
    {"strides", true, false, parse_strides},  {"offset", true, false, parse_offset},
    {"kind", false, true, parse_tensor_kind}, {"stride", false, true, parse_slot_stride},
};

static bool parse_property(PlanReader *reader, StringView name, SourceLoc loc, bool of_memory, Properties *out) {
  PlanNames names = {0};
  for (size_t i = 0; i < sizeof property_rules / sizeof property_rules[0]; i++) {
    if (!(of_memory ? property_rules[i].of_memory : property_rules[i].of_tensor)) continue;
    if (sv_equal_cstring(name, property_rules[i].word)) return property_rules[i].parse(reader, out);
    array_push(&names, reader->arena, sv_from_cstring(property_rules[i].word));
  }
  plan_fail(reader, loc, "plan-syntax", "there is no '%.*s' here", SV_ARG(name));
  plan_note_names(reader, &names);
  return false;
}

/* (name=value, …) */
static bool parse_properties(PlanReader *reader, bool of_memory, Properties *out) {
  *out = (Properties){.loc = plan_peek(reader)->loc, .offset = index_constant(0)};
  if (!plan_need_mark(reader, "(")) return false;
  while (!plan_take_mark(reader, ")")) {
    StringView name;
    SourceLoc loc;
    if (!plan_need_name(reader, "'shape' or 'dtype'", &name, &loc) || !plan_need_mark(reader, "=")) return false;
    if (!parse_property(reader, name, loc, of_memory, out)) return false;
    if (!plan_at_mark(reader, ")") && !plan_need_mark(reader, ",")) return false;
  }
  if (!out->has_shape) return plan_fail(reader, out->loc, "plan-syntax", "a shape is missing");
  return true;
}

/* --- memory --- */

static bool parse_memory_kind(PlanReader *reader, PlanMemory *memory) {
  static const char *const words[] = {"arg", "result", "temp"};
  memory->number = -1;
  for (int k = 0; k < (int)(sizeof words / sizeof words[0]); k++) {
    if (!plan_take_word(reader, words[k])) continue;
    SourceLoc loc = plan_peek(reader)->loc;
    int64_t number;
    memory->kind = (PlanMemoryKind)k;
    if (!plan_need_integer(reader, "a number", &number)) return false;
    if (number >= (1 << 20)) return plan_fail(reader, loc, "plan-range", "a number beyond 2^20");
    memory->number = (int32_t)number;
    return true;
  }
  if (plan_peek(reader)->kind == PLAN_TOKEN_NEWLINE) return true;
  return plan_expected(reader, "'arg', 'result' or 'temp'");
}

/* A view of a Kernel's buffer is what it says. */
static bool check_buffer(PlanReader *reader, const PlanMemory *memory) {
  const Kernel *kernel = reader->plan->kernel;
  if (kernel == NULL || memory->kind == PLAN_TEMPORARY) return true;
  if (memory->number < 0 || memory->number >= kernel->buffer_count)
    return plan_fail(reader, memory->loc, "plan-kernel", "the kernel has %d buffers, from 0", kernel->buffer_count);
  const KernelBuffer *buffer = &kernel->buffers[memory->number];
  bool is_operand = buffer->role == KERNEL_OPERAND;
  if (buffer->role == KERNEL_SCRATCH || is_operand != (memory->kind == PLAN_ARGUMENT))
    return plan_fail(reader, memory->loc, "plan-kernel", "buffer %d of the kernel is %s", memory->number,
                     buffer->role == KERNEL_SCRATCH ? "its own"
                     : is_operand                   ? "an argument"
                                                    : "a result");
  if (buffer->type != memory->type)
    return plan_fail(reader, memory->loc, "plan-kernel", "buffer %d of the kernel is of type %s", memory->number,
                     type_text(buffer->type));
  return true;
}

static bool check_strides(PlanReader *reader, const Properties *properties) {
  if (properties->has_strides && properties->stride_count != properties->rank)
    return plan_fail(reader, properties->loc, "plan-syntax", "%d strides for %d axes", properties->stride_count,
                     properties->rank);
  return true;
}

static void set_memory_shape(PlanReader *reader, const Properties *properties, PlanMemory *memory) {
  int64_t *strides = ARENA_NEW_ARRAY(reader->arena, int64_t, properties->rank), stride = 1;
  for (int32_t i = properties->rank - 1; i >= 0; i--) {
    strides[i] = properties->has_strides ? properties->strides[i] : stride;
    stride *= properties->extents[i];
  }
  memory->rank = properties->rank;
  memory->extents = ARENA_COPY_ARRAY(reader->arena, int64_t, properties->extents, properties->rank);
  memory->strides = strides;
  memory->offset = properties->offset;
  memory->type = properties->type;
}

static bool parse_memory(PlanReader *reader, PlanMemory *memory) {
  Properties properties;
  int64_t bytes;
  if (!parse_properties(reader, true, &properties)) return false;
  if (!properties.has_type) return plan_fail(reader, properties.loc, "plan-syntax", "a dtype is missing");
  if (!shape_bytes(properties.extents, properties.rank, properties.type, &bytes))
    return plan_fail(reader, properties.shape_loc, "plan-range", "more than 2^50 bytes");
  if (!check_strides(reader, &properties)) return false;
  set_memory_shape(reader, &properties, memory);
  return parse_memory_kind(reader, memory) && check_buffer(reader, memory);
}

bool plan_parse_memory(PlanReader *reader) {
  PlanMemory memory = {0};
  if (!plan_need_name(reader, "a name", &memory.name, &memory.loc)) return false;
  bool ok = parse_memory(reader, &memory);
  NameBinding binding = {.name = memory.name, .loc = memory.loc, .kind = ok ? NAME_MEMORY : NAME_BAD};
  binding.number = (int32_t)reader->memories.count;
  if (!plan_bind(reader, binding) || !ok) return false;
  array_push(&reader->memories, reader->arena, memory);
  return true;
}

/* --- scalars --- */

/* The Kernel's value and what it can be: narrower bounds would prove what is not so. */
static bool check_scalar(PlanReader *reader, const PlanScalar *scalar, SourceLoc loc) {
  const Kernel *kernel = reader->plan->kernel;
  if (kernel == NULL) return true;
  for (int64_t a = 0; a < kernel->space.atoms.count; a++) {
    const IndexAtom *atom = &kernel->space.atoms.data[a];
    if (atom->kind != INDEX_ATOM_VALUE || atom->number != scalar->value) continue;
    if (kernel->values[scalar->value].dims != 0) break;
    if (scalar->lower == atom->lower && scalar->upper == atom->upper) return true;
    return plan_fail(reader, loc, "plan-kernel", "value v%d of the kernel lies between %" PRId64 " to %" PRId64,
                     scalar->value, atom->lower, atom->upper);
  }
  return plan_fail(reader, loc, "plan-kernel", "value v%d is not a start in the kernel", scalar->value);
}

/* value vN in [lower, upper], of the Scalar at |name_loc| */
static bool parse_scalar_value(PlanReader *reader, SourceLoc name_loc, PlanScalar *scalar) {
  StringView value;
  SourceLoc loc;
  int64_t number, upper;
  if (!plan_need_kernel(reader, name_loc, SV("Scalar"))) return false;
  if (!plan_take_word(reader, "value")) return plan_expected(reader, "'value'");
  if (!plan_need_name(reader, "a value such as v3", &value, &loc)) return false;
  if (value.data[0] != 'v' || !sv_to_count(sv_sub(value, 1, value.size), &number) || number > INT32_MAX)
    return plan_fail(reader, loc, "plan-syntax", "expected a value such as v3, not '%.*s'", SV_ARG(value));
  if (!plan_take_word(reader, "in")) return plan_expected(reader, "'in'");
  if (!plan_need_mark(reader, "[") || !plan_parse_constant(reader, &scalar->lower) || !plan_need_mark(reader, ",") ||
      !plan_parse_constant(reader, &upper) || !plan_need_mark(reader, "]"))
    return false;
  scalar->value = (int32_t)number;
  scalar->upper = upper - 1;
  if (scalar->upper < scalar->lower)
    return plan_fail(reader, loc, "plan-range", "the scalar has no values: its range is empty");
  return check_scalar(reader, scalar, loc);
}

bool plan_parse_scalar(PlanReader *reader) {
  PlanScalar scalar = {0};
  NameBinding binding = {.number = (int32_t)reader->scalars.count};
  if (!plan_need_name(reader, "a name", &binding.name, &binding.loc)) return false;
  bool ok = parse_scalar_value(reader, binding.loc, &scalar);
  scalar.name = binding.name;
  binding.kind = ok ? NAME_SCALAR : NAME_BAD;
  if (!plan_bind(reader, binding) || !ok) return false;
  array_push(&reader->scalars, reader->arena, scalar);
  return true;
}

/* --- the Buffer --- */

static bool parse_unit(PlanReader *reader) {
  int64_t one;
  if (plan_peek(reader)->kind != PLAN_TOKEN_INTEGER) return parse_type(reader, &reader->unit);
  if (!plan_need_integer(reader, "1 or a type", &one)) return false;
  reader->unit = TYPE_INVALID;
  return one == 1 || plan_expected(reader, "1 or a type");
}

bool plan_parse_buffer(PlanReader *reader) {
  SourceLoc loc = plan_peek(reader)->loc, size_loc = loc;
  int64_t size = -1, align = -1, usable = machine_buffer_usable(reader->machine);
  if (reader->tensors.count > 0)
    return plan_fail(reader, loc, "plan-syntax", "the Buffer has to be declared before its Tensors");
  if (!plan_take_word(reader, "ROOT_TENSOR")) return plan_expected(reader, "'ROOT_TENSOR'");
  if (!plan_need_mark(reader, "(")) return false;
  while (!plan_take_mark(reader, ")")) {
    bool ok;
    if (plan_take_word(reader, "size")) {
      ok = plan_need_mark(reader, "=");
      size_loc = plan_peek(reader)->loc;
      ok = ok && plan_parse_constant(reader, &size);
    } else if (plan_take_word(reader, "unit")) {
      ok = plan_need_mark(reader, "=") && parse_unit(reader);
    } else if (plan_take_word(reader, "align")) {
      ok = plan_need_mark(reader, "=") && plan_parse_constant(reader, &align);
    } else {
      ok = plan_expected(reader, "'size', 'unit' or 'align'");
    }
    if (!ok || (!plan_at_mark(reader, ")") && !plan_need_mark(reader, ","))) return false;
  }
  if (size < 0) return plan_fail(reader, loc, "plan-syntax", "'size' is missing");
  if (size > usable / reader_unit_bytes(reader))
    return plan_fail(reader, size_loc, "plan-interval", "'%.*s' has %" PRId64 " bytes for plans, and this is %" PRId64,
                     SV_ARG(reader->machine->name), usable, size * reader_unit_bytes(reader));
  if (align >= 0 && align < 1) return plan_fail(reader, loc, "plan-alignment", "an alignment is at least 1");
  int64_t least = reader->unit == TYPE_INVALID ? max_i64(reader->machine->buffer.align, 1) : 1;
  if (align > 0 && align % least != 0)
    return plan_fail(reader, loc, "plan-alignment", "the machine aligns Tensors to %" PRId64 " bytes", least);
  reader->plan->buffer_bytes = size * reader_unit_bytes(reader);
  reader->plan->alignment = align;
  return true;
}

/* Of every Tensor's base, in bytes; a typed unit counts elements, which need no more than their own. */
static int64_t alignment(PlanReader *reader) {
  if (reader->plan->alignment <= 0) {
    bool typed = reader->unit != TYPE_INVALID;
    reader->plan->alignment = typed ? reader_unit_bytes(reader) : max_i64(reader->machine->buffer.align, 1);
  }
  return reader->plan->alignment;
}

/* --- Tensors --- */

/* Bytes, and of one element, of Tensor |parent| or of ROOT_TENSOR (-1). */
/* An interval that is given counts with its slack. */
static int64_t parent_bytes(const PlanReader *reader, int32_t parent) {
  if (parent < 0) return reader->plan->buffer_bytes;
  const TensorDraft *draft = &reader->tensors.data[parent];
  return draft->origin == ORIGIN_FIXED ? draft->tensor.end - draft->tensor.begin : plan_tensor_bytes(&draft->tensor);
}

static int64_t parent_element(const PlanReader *reader, int32_t parent) {
  return parent < 0 ? reader_unit_bytes(reader) : type_storage_bytes(reader->tensors.data[parent].tensor.type);
}

/* A Tensor or ROOT_TENSOR; |out_slot|, unless NULL: or a slot, which is its name's number then, else -1. */
static bool parse_parent(PlanReader *reader, int32_t *out_parent, int64_t *out_slot) {
  StringView name;
  SourceLoc loc;
  *out_parent = -1;
  if (plan_take_word(reader, "ROOT_TENSOR")) return true;
  if (!plan_need_name(reader, "a Tensor", &name, &loc)) return false;
  const NameBinding *found = plan_find_name(reader, name, loc);
  if (found == NULL || found->kind == NAME_BAD) return false;
  bool is_slot = found->kind == NAME_SLOT;
  if (is_slot && out_slot == NULL)
    return plan_fail(reader, loc, "plan-name",
                     "'%.*s' is another part of a ring in each iteration: 'alias' names parts of it", SV_ARG(name));
  if (found->kind != NAME_TENSOR && !is_slot)
    return plan_fail(reader, loc, "plan-name", "'%.*s' is not a Tensor", SV_ARG(name));
  if (is_slot) *out_slot = found - reader->names.data;
  *out_parent = found->number;
  return true;
}

/* from P[a:b] or from P[auto] */
static bool parse_from(PlanReader *reader, TensorDraft *draft, SourceLoc *out_loc) {
  int64_t begin, end;
  if (!parse_parent(reader, &draft->parent, NULL) || !plan_need_mark(reader, "[")) return false;
  *out_loc = plan_peek(reader)->loc;
  if (plan_take_word(reader, "auto")) {
    draft->origin = ORIGIN_AUTO;
    return plan_need_mark(reader, "]");
  }
  draft->origin = ORIGIN_FIXED;
  if (!plan_parse_constant(reader, &begin) || !plan_need_mark(reader, ":") || !plan_parse_constant(reader, &end) ||
      !plan_need_mark(reader, "]"))
    return false;
  int64_t element = parent_element(reader, draft->parent), most = parent_bytes(reader, draft->parent) / element;
  if (begin < 0 || end <= begin)
    return plan_fail(reader, *out_loc, "plan-interval", "no interval begins at %" PRId64 " and ends at %" PRId64, begin,
                     end);
  if (end > most)
    return plan_fail(reader, *out_loc, "plan-interval", "the interval ends at %" PRId64 ", its parent at %" PRId64, end,
                     most);
  draft->tensor.begin = begin * element;
  draft->tensor.end = end * element;
  return true;
}

/* The ranges of alias P[…], one per axis from |axis| on; axes that are not named are whole. */
static bool parse_part(PlanReader *reader, const PlanTensor *parent, int32_t axis, int64_t *firsts, int64_t *extents) {
  for (int32_t i = 0; i < parent->rank; i++) {
    firsts[i] = 0;
    extents[i] = i < axis ? 1 : parent->extents[i];
  }
  if (!plan_take_mark(reader, "[")) return true;
  for (int32_t i = axis; i < parent->rank; i++) {
    SourceLoc loc = plan_peek(reader)->loc;
    PlanRange range;
    if (!plan_parse_range(reader, parent->extents[i], &range)) return false;
    if (range.is_ragged || !index_is_constant(range.begin, &firsts[i]))
      return plan_fail(reader, loc, "plan-range", "an alias needs a part that does not change");
    extents[i] = range.extent;
    if (!plan_take_mark(reader, ",")) break;
  }
  return plan_need_mark(reader, "]");
}

/* alias P[…] or alias P: the bytes of a part that lies in one piece; of a slot, those in the ring's first one. */
static bool parse_alias(PlanReader *reader, TensorDraft *draft, SourceLoc *out_loc) {
  int64_t firsts[KERNEL_MAX_DIMS + 1], extents[KERNEL_MAX_DIMS + 1];
  *out_loc = plan_peek(reader)->loc;
  draft->origin = ORIGIN_ALIAS;
  if (!parse_parent(reader, &draft->parent, &draft->slot)) return false;
  if (draft->parent < 0) return plan_fail(reader, *out_loc, "plan-name", "only a Tensor can have an alias");
  const PlanTensor *parent = &reader->tensors.data[draft->parent].tensor;
  if (!parse_part(reader, parent, draft->slot >= 0, firsts, extents)) return false;
  int64_t stride = type_storage_bytes(parent->type), begin = 0, size = stride;
  for (int32_t i = parent->rank - 1; i >= 0; i--) {
    if (i == 0 && parent->kind == PLAN_RING) stride = parent->slot_stride;
    if (extents[i] != 1 && size != stride)
      return plan_fail(reader, *out_loc, "plan-interval", "the part of '%.*s' does not lie in one piece",
                       SV_ARG(parent->name));
    if (extents[i] != 1) size = extents[i] * stride;
    begin += firsts[i] * stride;
    stride *= parent->extents[i];
  }
  draft->tensor.begin = begin;
  draft->tensor.end = begin + size;
  draft->tensor.is_alias = true;
  draft->tensor.parent = draft->parent;
  return true;
}

/* The type that is not given is the parent's, or the Buffer's unit. */
static bool set_type(PlanReader *reader, const Properties *properties, TensorDraft *draft) {
  draft->tensor.type = properties->type;
  if (properties->has_type) return true;
  draft->tensor.type = draft->parent >= 0 ? reader->tensors.data[draft->parent].tensor.type : reader->unit;
  if (draft->tensor.type != TYPE_INVALID) return true;
  return plan_fail(reader, properties->loc, "plan-syntax", "a dtype is missing");
}

static bool set_shape(PlanReader *reader, const Properties *properties, TensorDraft *draft) {
  PlanTensor *tensor = &draft->tensor;
  int64_t bytes;
  tensor->kind = properties->kind;
  tensor->rank = properties->rank;
  tensor->extents = ARENA_COPY_ARRAY(reader->arena, int64_t, properties->extents, properties->rank);
  if (!shape_bytes(tensor->extents, tensor->rank, tensor->type, &bytes))
    return plan_fail(reader, properties->shape_loc, "plan-range", "more than 2^50 bytes");
  bool is_ring = tensor->kind == PLAN_RING;
  if (is_ring && tensor->rank == 0)
    return plan_fail(reader, properties->shape_loc, "plan-range", "a ring needs an axis for its slots");
  if (!is_ring && properties->has_stride)
    return plan_fail(reader, properties->loc, "plan-syntax", "'stride' is for rings: the bytes from slot to slot");
  if (!is_ring) return true;
  int64_t tile = bytes / tensor->extents[0];
  tensor->slot_stride = properties->has_stride ? properties->slot_stride : tile;
  if (tensor->slot_stride < tile || tensor->slot_stride % type_storage_bytes(tensor->type) != 0)
    return plan_fail(reader, properties->loc, "plan-interval", "a slot needs %" PRId64 " bytes, the stride is %" PRId64,
                     tile, tensor->slot_stride);
  if (tensor->slot_stride > PLAN_LARGEST_NUMBER / tensor->extents[0])
    return plan_fail(reader, properties->loc, "plan-range", "more than 2^50 bytes");
  return true;
}

/* |tensor| becomes a ring. */
static void add_slots(PlanReader *reader, PlanTensor *tensor, int64_t slots, int64_t stride) {
  int64_t *extents = ARENA_NEW_ARRAY(reader->arena, int64_t, tensor->rank + 1);
  for (int32_t i = 0; i < tensor->rank; i++) extents[i + 1] = tensor->extents[i];
  extents[0] = slots;
  tensor->slot_stride = stride;
  tensor->kind = PLAN_RING;
  tensor->extents = extents;
  tensor->rank++;
}

/* Rings that lie in others have their parts in all slots, as far from one another as the others' are. */
static bool spread_alias(PlanReader *reader, TensorDraft *draft, SourceLoc loc) {
  PlanTensor *tensor = &draft->tensor;
  if (draft->origin != ORIGIN_ALIAS || (draft->slot < 0 && tensor->kind != PLAN_RING)) return true;
  const PlanTensor *parent = &reader->tensors.data[draft->parent].tensor;
  int64_t needed = plan_tensor_bytes(tensor), slots = parent->extents[0];
  if (draft->slot >= 0) {
    if (tensor->kind == PLAN_RING)
      return plan_fail(reader, loc, "plan-syntax", "a part of a slot is no ring of its own");
    if (needed > tensor->end - tensor->begin)
      return plan_fail(reader, loc, "plan-interval", "'%.*s' needs %" PRId64 " bytes, the interval has %" PRId64,
                       SV_ARG(tensor->name), needed, tensor->end - tensor->begin);
    add_slots(reader, tensor, slots,
              parent->kind == PLAN_RING ? parent->slot_stride : plan_tensor_bytes(parent) / slots);
    needed = plan_tensor_bytes(tensor);
  }
  tensor->end = min_i64(tensor->begin + needed, plan_tensor_bytes(parent));
  return true;
}

static bool check_interval(PlanReader *reader, const TensorDraft *draft, SourceLoc loc) {
  const PlanTensor *tensor = &draft->tensor;
  int64_t needed = plan_tensor_bytes(tensor), given = tensor->end - tensor->begin;
  int64_t element = type_storage_bytes(tensor->type), align = alignment(reader);
  if (draft->origin != ORIGIN_FIXED && draft->origin != ORIGIN_ALIAS) return true;
  if (needed > given)
    return plan_fail(reader, loc, "plan-interval", "'%.*s' needs %" PRId64 " bytes, the interval has %" PRId64,
                     SV_ARG(tensor->name), needed, given);
  if (tensor->begin % element != 0)
    return plan_fail(reader, loc, "plan-alignment", "'%.*s' begins inside an element: at byte %" PRId64,
                     SV_ARG(tensor->name), tensor->begin);
  if (draft->origin == ORIGIN_FIXED && tensor->begin % align != 0)
    return plan_fail(reader, loc, "plan-alignment",
                     "'%.*s' begins at byte %" PRId64 " of its parent, no multiple of %" PRId64, SV_ARG(tensor->name),
                     tensor->begin, align);
  return true;
}

/* An explicit interval of a parent ends its automatic mode (the mark is looked at when uses are known). */
static bool parse_origin(PlanReader *reader, TensorDraft *draft, SourceLoc *out_loc) {
  *out_loc = draft->tensor.loc;
  if (plan_take_word(reader, "from")) return parse_from(reader, draft, out_loc);
  if (plan_take_word(reader, "alias")) return parse_alias(reader, draft, out_loc);
  return true;
}

/* What it may hold: an array of the Kernel, all of it, or the first elements of an argument. */
static bool check_held(PlanReader *reader, const TensorDraft *draft, bool is_argument, SourceLoc loc) {
  const PlanTensor *tensor = &draft->tensor;
  const Kernel *kernel = reader->plan->kernel;
  if (kernel == NULL || plan_is_program(reader->plan))
    return plan_fail(reader, loc, "plan-resident", "only a plan of a kernel finds and leaves arrays in the Buffer");
  if (tensor->held < 0 || tensor->held >= kernel->buffer_count)
    return plan_fail(reader, loc, "plan-kernel", "the kernel has %d buffers, from 0", kernel->buffer_count);
  const KernelBuffer *buffer = &kernel->buffers[tensor->held];
  bool is_updated = buffer->role == KERNEL_IN_PLACE;
  if (is_argument != (buffer->role == KERNEL_OPERAND))
    return plan_fail(reader, loc, "plan-kernel", "buffer %d of the kernel is no %s", tensor->held,
                     is_argument ? "argument" : "result");
  if (tensor->hold == PLAN_FINDS && !is_argument && !is_updated)
    return plan_fail(reader, loc, "plan-resident", "a result is there at the end: 'leaves result %d'", tensor->held);
  if (draft->origin != ORIGIN_FIXED || draft->parent >= 0 || tensor->kind == PLAN_RING)
    return plan_fail(reader, loc, "plan-resident", "'%.*s' outlives the plan: it needs an interval of ROOT_TENSOR",
                     SV_ARG(tensor->name));
  int64_t held = plan_tensor_bytes(tensor), whole = buffer->element_count * type_storage_bytes(buffer->type);
  bool is_size = held == whole || (is_argument && held < whole);
  if (tensor->type != buffer->type || !is_size)
    return plan_fail(reader, loc, "plan-resident", "'%.*s' is %s %d, which is %s[%" PRId64 "]", SV_ARG(tensor->name),
                     is_argument ? "no part of arg" : "not as large as result", tensor->held, type_text(buffer->type),
                     buffer->element_count);
  return true;
}

/* finds arg N, leaves arg N, leaves result N */
static bool parse_hold(PlanReader *reader, TensorDraft *draft) {
  SourceLoc loc = plan_peek(reader)->loc;
  bool finds = plan_take_word(reader, "finds");
  int64_t number;
  if (!finds && !plan_take_word(reader, "leaves")) return true;
  bool is_argument = plan_take_word(reader, "arg");
  if (!is_argument && !plan_take_word(reader, "result"))
    return plan_fail(reader, plan_peek(reader)->loc, "plan-syntax", "'arg N' or 'result N' says which array it is");
  if (!plan_parse_constant(reader, &number)) return false;
  draft->tensor.hold = finds ? PLAN_FINDS : PLAN_LEAVES;
  draft->tensor.held = number >= 0 && number < INT32_MAX ? (int32_t)number : -1;
  return check_held(reader, draft, is_argument, loc);
}

static int32_t find_draft(const PlanReader *reader, SourceLoc loc) {
  for (int32_t t = 0; t < reader->tensors.count; t++) {
    SourceLoc other = reader->tensors.data[t].tensor.loc;
    if (other.line == loc.line && other.column == loc.column) return t;
  }
  return -1;
}

static bool add_tensor(PlanReader *reader, TensorDraft *draft, bool ok) {
  int32_t number = find_draft(reader, draft->tensor.loc);
  bool is_placed = draft->origin == ORIGIN_FIXED || draft->origin == ORIGIN_ALIAS;
  bool is_ring = ok && !is_placed && reader->pipeline_slots > 0;
  NameBinding binding = {.name = draft->tensor.name, .loc = draft->tensor.loc, .kind = ok ? NAME_TENSOR : NAME_BAD};
  draft->declared = (int32_t)reader->commands.count;
  draft->loop = reader->loop;
  if (ok && draft->slot >= 0) {
    const NameBinding *slot = &reader->names.data[draft->slot];
    binding = (NameBinding){.name = binding.name,
                            .loc = binding.loc,
                            .kind = NAME_SLOT,
                            .first_slot = slot->first_slot,
                            .slots = slot->slots,
                            .first_loop = slot->first_loop,
                            .last_loop = slot->last_loop};
  }
  if (is_ring) {
    PlanTensor *tensor = &draft->tensor;
    add_slots(reader, tensor, reader->pipeline_slots, align_up(plan_tensor_bytes(tensor), alignment(reader)));
    binding.kind = NAME_SLOT;
    binding.slots = reader->pipeline_slots;
    binding.first_loop = reader->pipeline_first;
    binding.last_loop = reader->loop;
    /* its slots are those of several iterations */
    draft->loop = reader->loops.data[reader->pipeline_first].loop.parent;
  }
  if (ok && number < 0) {
    number = (int32_t)reader->tensors.count;
    array_push(&reader->tensors, reader->arena, *draft);
  } else if (ok) {
    reader->tensors.data[number].loop = draft->loop;
  }
  binding.number = number;
  return plan_bind(reader, binding) && ok;
}

bool plan_parse_tensor(PlanReader *reader) {
  TensorDraft draft = {.origin = ORIGIN_SCOPED, .parent = -1, .slot = -1};
  draft.tensor.parent = -1;
  Properties properties;
  SourceLoc origin;
  if (!plan_need_name(reader, "a name", &draft.tensor.name, &draft.tensor.loc)) return false;
  bool ok = parse_properties(reader, false, &properties) && parse_origin(reader, &draft, &origin) &&
            set_type(reader, &properties, &draft) && set_shape(reader, &properties, &draft) &&
            spread_alias(reader, &draft, origin) && check_interval(reader, &draft, origin) &&
            parse_hold(reader, &draft);
  return add_tensor(reader, &draft, ok);
}

/* alloc NAME(shape…): until it is freed. */
bool plan_parse_alloc(PlanReader *reader) {
  TensorDraft draft = {.origin = ORIGIN_ALLOC, .parent = -1, .slot = -1};
  draft.tensor.parent = -1;
  Properties properties;
  if (!plan_need_name(reader, "a name", &draft.tensor.name, &draft.tensor.loc)) return false;
  bool ok = parse_properties(reader, false, &properties) && set_type(reader, &properties, &draft) &&
            set_shape(reader, &properties, &draft) && check_interval(reader, &draft, properties.loc);
  return add_tensor(reader, &draft, ok);
}

bool plan_parse_free(PlanReader *reader) {
  StringView name;
  SourceLoc loc;
  if (!plan_need_name(reader, "a Tensor", &name, &loc)) return false;
  NameBinding *found = plan_find_name(reader, name, loc);
  if (found == NULL || found->kind == NAME_BAD) return false;
  bool is_slot = found->kind == NAME_SLOT, is_tensor = found->kind == NAME_TENSOR || is_slot;
  TensorDraft *tensor = is_tensor ? &reader->tensors.data[found->number] : NULL;
  if (tensor == NULL || tensor->origin != ORIGIN_ALLOC)
    return plan_fail(reader, loc, "plan-name", "'%.*s' was not made by 'alloc'", SV_ARG(name));
  if (is_slot ? found->last_loop != reader->loop : tensor->loop != reader->loop)
    return plan_fail(reader, loc, "plan-name", "'%.*s' was made in another loop", SV_ARG(name));
  tensor->ended = (int32_t)reader->commands.count;
  found->is_freed = true;
  return true;
}
