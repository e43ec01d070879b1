/* HloAttr: an attribute of an instruction, a value tagged by its id.
 *
 * The id says the kind (hlo_attribute.def); everything that is done with attributes (parse, print, equal, hash, clone)
 * is written once per kind.  All pointees live in the module's arena and are immutable once attached. */
#ifndef XLAC_HLO_IR_HLO_ATTRIBUTE_H
#define XLAC_HLO_IR_HLO_ATTRIBUTE_H

#include "base/diagnostic.h"
#include "hlo/ir/int64_list.h"
#include "hlo/type/literal.h"
#include "hlo/type/shape.h"

typedef struct HloInstruction HloInstruction;
typedef struct HloComputation HloComputation;
typedef struct HloSharding HloSharding;

typedef enum HloAttrId {
  HLO_ATTR_NONE = 0,
#define HLO_ATTR(id, text, kind, enumeration) HLO_ATTR_##id,
#include "hlo/ir/hlo_attribute.def"
#undef HLO_ATTR
  HLO_ATTR_COUNT
} HloAttrId;

#define HLO_ATTR_FIRST_COMMON HLO_ATTR_PARAMETER_REPLICATION

typedef enum HloAttrKind {
  HLO_ATTR_KIND_BOOL,
  HLO_ATTR_KIND_INT32, /* integer, range-checked on reading */
  HLO_ATTR_KIND_INT64,
  HLO_ATTR_KIND_FLOAT, /* of single precision, kept as a double */
  HLO_ATTR_KIND_STRING,
  HLO_ATTR_KIND_ENUM,        /* integer: the enumerator */
  HLO_ATTR_KIND_INT64_LIST,  /* {1,0} */
  HLO_ATTR_KIND_INT64_LISTS, /* {{0,1},{1,0}} */
  HLO_ATTR_KIND_BOOL_LIST,
  HLO_ATTR_KIND_PRECISION_LIST, /* ints of OperandPrecision */
  HLO_ATTR_KIND_COMPUTATION,
  HLO_ATTR_KIND_COMPUTATION_LIST,
  HLO_ATTR_KIND_INSTRUCTION_LIST,
  HLO_ATTR_KIND_SHAPE,
  HLO_ATTR_KIND_SHAPE_LIST,
  HLO_ATTR_KIND_LITERAL,        /* constant's value; its shape is the instruction's */
  HLO_ATTR_KIND_SHAPED_LITERAL, /* shape and value */
  HLO_ATTR_KIND_WINDOW,
  HLO_ATTR_KIND_DIM_LABELS,
  HLO_ATTR_KIND_PADDING,
  HLO_ATTR_KIND_SLICE,
  HLO_ATTR_KIND_REPLICA_GROUPS,
  HLO_ATTR_KIND_SHARDING,
  HLO_ATTR_KIND_DOMAIN,
  HLO_ATTR_KIND_ALIASING,
  HLO_ATTR_KIND_SPARSITY_CONFIG,
  HLO_ATTR_KIND_RESULT_ACCURACY,
  HLO_ATTR_KIND_FRONTEND_ATTRIBUTES,
  HLO_ATTR_KIND_STATISTICS,
  HLO_ATTR_KIND_ORIGIN,
  HLO_ATTR_KIND_METADATA,
  HLO_ATTR_KIND_BACKEND_CONFIG, /* text: a string, or a brace dictionary kept byte for byte with its braces */
  HLO_ATTR_KIND_COUNT
} HloAttrKind;

typedef enum HloEnumId {
  HLO_ENUM_NONE = 0,
#define HLO_ENUM(type, id, ignores_case, values) HLO_ENUM_##id,
#include "hlo/ir/hlo_enum.def"
#undef HLO_ENUM
  HLO_ENUM_COUNT
} HloEnumId;

/* One C enumeration per table: ComparisonDirection with COMPARISON_DIRECTION_EQ and so on. */
#define V(id, text) id,
#define HLO_ENUM(type, id, ignores_case, values) typedef enum type { values } type;
#include "hlo/ir/hlo_enum.def"
#undef HLO_ENUM
#undef V

/* That of the same comparison with its operands exchanged: LT becomes GT. */
ComparisonDirection comparison_direction_exchanged(ComparisonDirection direction);

/* --- structured values --- */

typedef struct WindowDimension {
  int64_t size, stride, pad_low, pad_high, base_dilation, window_dilation; /* base: lhs_dilate; window: rhs_dilate */
  bool reversal;
} WindowDimension;

/* Windows of one element each, one after the other over the whole operand. */
bool window_dimension_is_trivial(const WindowDimension *dimension);

typedef struct Window {
  int rank;
  const WindowDimension *dims;
} Window;

/* Which dimension of an array that a convolution reads or makes plays which role; -1 where the text has no such label.
 * Input and kernel are factors alike: an output feature is to the kernel what a batch is to the input. */
typedef struct ConvolutionRoles {
  int rank; /* with dimensions that have no role ("?") */
  union {
    int64_t batch;          /* of input and output */
    int64_t output_feature; /* of the kernel */
  };
  union {
    int64_t feature;       /* of input and output */
    int64_t input_feature; /* of the kernel */
  };
  const int64_t *spatial; /* by number, as many as windows have dimensions */
} ConvolutionRoles;

typedef struct ConvolutionDimensionNumbers {
  int spatial_rank; /* of all three */
  ConvolutionRoles input, kernel, output;
} ConvolutionDimensionNumbers;

typedef struct PaddingDimension {
  int64_t low, high, interior;
} PaddingDimension;

typedef struct PaddingConfig {
  int rank;
  const PaddingDimension *dims;
} PaddingConfig;

typedef struct SliceDimension {
  int64_t start, limit, stride;
} SliceDimension;

typedef struct SliceRanges {
  int rank;
  const SliceDimension *dims;
} SliceRanges;

/* An arrangement of 0…n-1: reshaped to |reshape_dims|, transposed by |transpose_perm| (as many; identity allowed). */
typedef struct IotaTile {
  int rank;
  const int64_t *reshape_dims, *transpose_perm;
} IotaTile;

typedef struct MeshAxis {
  StringView name;
  int64_t size;
} MeshAxis;

typedef struct Mesh {
  int axis_count;
  const MeshAxis *axes;
  bool is_maximal; /* maximal_mesh[device_id=…] */
  int64_t maximal_device;
  int64_t device_count; /* explicit device_ids; 0: none given */
  const int64_t *device_ids;
  const IotaTile *device_iota; /* device_ids=([..]T(..)); NULL otherwise */
} Mesh;

/* "x", or the sub-axis "x":(pre)size when size > 0. */
typedef struct MeshAxisRef {
  StringView name; /* as written: a name or a number in quotes */
  int64_t pre_size, size;
} MeshAxisRef;

typedef struct MeshAxisRefs {
  int count;
  const MeshAxisRef *refs;
  bool open; /* '?' at the end: open for propagation */
} MeshAxisRefs;

typedef enum ReplicaGroupsForm { REPLICA_GROUPS_LISTS, REPLICA_GROUPS_IOTA, REPLICA_GROUPS_MESH } ReplicaGroupsForm;

typedef struct ReplicaGroups {
  ReplicaGroupsForm form;
  int64_t group_count; /* LISTS; 0 means one group of everything */
  const Int64List *groups;
  int64_t iota_groups, iota_size; /* IOTA: [groups,size]<=iota */
  IotaTile iota;
  const Mesh *mesh; /* MESH */
  MeshAxisRefs axes;
} ReplicaGroups;

typedef enum ShardingKind {
  SHARDING_REPLICATED,
  SHARDING_MAXIMAL,
  SHARDING_MANUAL,
  SHARDING_UNKNOWN,
  SHARDING_UNREDUCED,
  SHARDING_TILED,
  SHARDING_TUPLE,
  SHARDING_MESH
} ShardingKind;

typedef struct HloMetadata HloMetadata;

struct HloSharding {
  ShardingKind kind;
  int64_t device;      /* MAXIMAL */
  Int64List tile_dims; /* TILED */
  Int64List devices;   /* TILED, explicit form; else iota */
  const IotaTile *iota;
  Int64List last_tile_dims; /* ShardingKind of each subgroup dimension; one REPLICATED for last_tile_dim_replicate */
  int64_t shard_as, shard_like; /* group, -1: absent */
  int64_t metadata_count;
  const HloMetadata *metadata;
  int64_t tuple_count; /* TUPLE */
  const HloSharding *tuple;
  const Mesh *mesh;        /* MESH */
  ShardingKind mesh_short; /* REPLICATED, MANUAL, UNREDUCED, MAXIMAL for the short forms, TILED otherwise */
  int64_t mesh_dim_count;
  const MeshAxisRefs *mesh_dims;
  MeshAxisRefs mesh_replicated, mesh_unreduced, mesh_manual;
};

typedef struct HloDomain {
  const HloSharding *entry, *exit;
} HloDomain;

typedef struct OperandAlias {
  ShapeIndex output;
  int64_t operand;
  ShapeIndex operand_index;
} OperandAlias;

typedef struct SparsityOperand {
  bool present;
  int64_t n, m, dimension, stride;
} SparsityOperand;

typedef struct SparsityConfig {
  SparsityOperand lhs, rhs;
} SparsityConfig;

typedef struct ResultAccuracy {
  bool has_tolerance;
  int64_t mode; /* ResultAccuracyMode, without tolerance */
  double atol, rtol;
  int64_t ulps;
} ResultAccuracy;

typedef struct FrontendAttribute {
  StringView key, value;
  bool is_dictionary; /* written as a brace dictionary; value then includes the braces */
} FrontendAttribute;

typedef struct StatisticsEntry {
  StringView name;
  double value;
} StatisticsEntry;

typedef struct OriginNode {
  bool is_tuple;
  bool has_name; /* a leaf {"name" {index}}; false: {} */
  StringView name;
  Int64List index;
  int64_t tuple_count;
  const struct OriginNode *tuple;
} OriginNode;

typedef struct HloOrigin {
  bool synthetic_call; /* {[synthetic_call]} */
  OriginNode root;
} HloOrigin;

/* What the front end says of where an instruction came from; empty or 0 when absent. */
struct HloMetadata {
  StringView op_type, op_name, source_file, deduplicated_name, scheduling_name, payload;
  int64_t source_line, source_end_line, source_column, source_end_column, stack_frame_id;
  Int64List profile_type;
};

typedef struct HloAttr {
  HloAttrId id;
  SourceLoc loc;
  union {
    bool boolean;
    int64_t integer; /* INT32, INT64, ENUM */
    double real;
    StringView text; /* STRING, BACKEND_CONFIG */
    Int64List ints;  /* INT64_LIST, PRECISION_LIST */
    struct {
      int64_t count;
      const Int64List *data;
    } int_lists;
    struct {
      int64_t count;
      const bool *data;
    } bools;
    HloComputation *computation;
    struct {
      int64_t count;
      HloComputation **data;
    } computations;
    struct {
      int64_t count;
      HloInstruction **data;
    } instructions;
    const Shape *shape;
    struct {
      int64_t count;
      const Shape *const *data;
    } shapes;
    const Literal *literal; /* LITERAL, SHAPED_LITERAL */
    const Window *window;
    const ConvolutionDimensionNumbers *dim_labels;
    const PaddingConfig *padding;
    const SliceRanges *slice;
    const ReplicaGroups *replica_groups;
    const HloSharding *sharding;
    const HloDomain *domain;
    struct {
      int64_t count;
      const OperandAlias *data;
    } aliasing;
    const SparsityConfig *sparsity;
    const ResultAccuracy *accuracy;
    struct {
      int64_t count;
      const FrontendAttribute *data;
    } frontend; /* sorted by key */
    struct {
      int64_t count;
      const StatisticsEntry *data;
    } statistics;
    const HloOrigin *origin;
    const HloMetadata *metadata;
  } value;
} HloAttr;

typedef struct HloAttrInfo {
  const char *text;
  HloAttrKind kind;
  HloEnumId enumeration;
} HloAttrInfo;

/* The row of |id| in hlo_attribute.def. */
const HloAttrInfo *hlo_attr_info(HloAttrId id);

/* Words of an enumeration.  From text: -1 when unknown. */
const char *hlo_enum_text(HloEnumId id, int64_t value);
int64_t hlo_enum_from_text(HloEnumId id, StringView text);
int64_t hlo_enum_count(HloEnumId id);

/* Deep equality and hash of the value.  Computations and instructions compare through |same_computation|,
 * |same_instruction| of the caller's context (NULL: by pointer). */
typedef struct HloAttrEquality {
  bool (*same_computation)(void *context, const HloComputation *a, const HloComputation *b);
  bool (*same_instruction)(void *context, const HloInstruction *a, const HloInstruction *b);
  void *context;
} HloAttrEquality;

bool hlo_attr_equal(const HloAttr *a, const HloAttr *b, const HloAttrEquality *equality);
/* Ignores computations and instructions but for their number. */
uint64_t hlo_attr_hash(const HloAttr *attr);

/* "name=value" as XLA prints it; names of computations and instructions with '%' if |percent|.  A literal
 * (HLO_ATTR_KIND_LITERAL) and a parameter's number print as the bare value. */
void hlo_attr_print(StringBuilder *out, const HloAttr *attr, bool percent);
void hlo_sharding_print(StringBuilder *out, const HloSharding *sharding);
void hlo_metadata_print(StringBuilder *out, const HloMetadata *metadata); /* with braces */
void hlo_origin_print(StringBuilder *out, const OriginNode *node);
/* "{1,0}" */
void hlo_shape_index_print(StringBuilder *out, ShapeIndex index);
/* The inside of quotes: XLA's escapes, \n \r \t \" \' \\ and three octal digits. */
void hlo_string_escape(StringBuilder *out, StringView text);
/* The whole text is one balanced brace dictionary: it may stand without quotes. */
bool hlo_text_is_dictionary(StringView text);
/* With braces; keys in the order given. */
void hlo_frontend_attributes_print(StringBuilder *out, const FrontendAttribute *attributes, int64_t count);

#endif
