/* The one who follows a plan in program order: what the files of plan_content share. */
#ifndef XLAC_CODEGEN_ONCORE_LANGUAGE_PLAN_CONTENT_INTERNAL_H
#define XLAC_CODEGEN_ONCORE_LANGUAGE_PLAN_CONTENT_INTERNAL_H

#include "codegen/oncore/language/content_map.h"
#include "codegen/oncore/language/place_form.h"
#include "codegen/oncore/plan/tile_access.h"

/* Elements of one array that stores have reached at places of one form: a bit for each, from the form's least place
 * on. */
typedef struct StoredPlaces {
  int32_t form;
  int64_t lower, upper; /* constants of the places so far, inclusive */
  uint8_t *is_stored;
} StoredPlaces;

typedef struct StoredArray {
  ARRAY(StoredPlaces) forms;
  int64_t count; /* elements */
} StoredArray;

typedef struct Follower {
  Arena *arena;
  const Plan *plan;
  const Kernel *kernel;
  DiagSink *diag;
  Status status;
  int64_t visited; /* runs of elements */
  int32_t last;    /* command */
  int64_t *iterations;
  int64_t *point; /* of the Kernel's dims */
  PlaceForms forms;
  int32_t *array_of; /* by buffer of the Kernel: itself, or the first of those that are found in the same bytes */
  bool *is_updated;  /* by such a first one: a part of it is updated where it is in the Buffer */
  StoredArray *held; /* by such a first one: what has been updated there */
  ContentMap buffer;
  ContentMap *temporaries;
  StoredArray *stored;    /* by buffer of the Kernel */
  TileAccesses *accesses; /* by command; made when it is first met */
  bool *has_accesses;     /* by command */
  int64_t *updates;       /* by place among PARALLEL outer dims: points of the SEQUENTIAL ones that have updated */
  int64_t unfinished;     /* places that have not seen all */
  int64_t slice;          /* first element of the slice that they update; -1: none so far, or all elements */
  bool *is_told;          /* by command: one mistake is enough */
} Follower;

/* --- what is said (content_text.c); texts in the Follower's arena --- */

/* An element in the words of the plan: "x[60, 0]" where a view of it is all of the array, else "element 2880 of x". */
const char *content_text(const Follower *f, const Content *content);
/* The array of the Kernel's |buffer|: the name of a view of it, or of the Tensor that is its stand-in, in quotes, else
 * as views say it, "arg 0". */
const char *content_array_text(const Follower *f, int32_t buffer);
/* Where it is declared; the plan's place where it is not. */
SourceLoc content_array_loc(const Follower *f, int32_t buffer);
/* Of the Tensor or view that |ref| is a part of. */
StringView content_ref_name(const Follower *f, const PlanRef *ref);

/* An error at |command|, unless there was one. */
void content_tell(Follower *f, int32_t command, const char *text);
/* It finds other elements than it needs. */
void content_tell_found(Follower *f, int32_t command, const PlanRef *ref, const Content *found, const Content *wanted);

/* --- elements --- */

bool content_is_same(const Content *a, const Content *b);
/* |n| elements from each on are the same; at least the first are. */
int64_t content_same_count(const ContentRun *found, const ContentRun *wanted, int64_t n);

/* --- numbers --- */

/* The value of |expr| of the plan; an error of |command| where run-time values change it. */
int64_t content_number(Follower *f, int32_t command, IndexExpr expr);
int64_t content_extent(Follower *f, int32_t command, const PlanRange *range);

/* --- walks over elements --- */

/* The elements of a part of a Tensor or of an array in row-major order: bytes of Tensors and temporaries, elements of
 * arrays, and of those in the Buffer that commands see as arrays. */
typedef struct CellWalk {
  int32_t axis_count;
  int64_t extents[KERNEL_MAX_DIMS], strides[KERNEL_MAX_DIMS], index[KERNEL_MAX_DIMS];
  int64_t at;    /* the next one; with |form| a place */
  int64_t step;  /* from one to the next … */
  int64_t left;  /* … for so many */
  int64_t total; /* left in all */
  int32_t form;
} CellWalk;

CellWalk cell_walk(Follower *f, int32_t command, const PlanRef *ref);
/* The same; |held|, unless NULL, is the array in the Buffer of which elements are counted. */
CellWalk cell_walk_over(Follower *f, int32_t command, const PlanRef *ref, const PlanTensor *held);
/* So many of those that are |left| are next to one another, of |bytes| each. */
int64_t cell_walk_dense_count(const CellWalk *walk, int64_t bytes);

bool content_is_array(const Follower *f, const PlanRef *ref);
int64_t content_element_bytes(const Follower *f, const PlanRef *ref);
/* The Tensor whose array |ref| is a part of as memory would be: at a place that run-time numbers tell, or of an array
 * that is updated there.  NULL: it is none. */
const PlanTensor *content_held(const Follower *f, const PlanRef *ref);
/* |n| of those that are |left|. */
void cell_walk_advance(CellWalk *walk, int64_t n);

/* The points of |axes| within a command's ranges in row-major order; f->point is the next one. */
typedef struct PointWalk {
  int32_t axis_count, axes[KERNEL_MAX_DIMS];
  int64_t begins[KERNEL_MAX_DIMS], extents[KERNEL_MAX_DIMS], index[KERNEL_MAX_DIMS];
  int64_t steps[KERNEL_MAX_DIMS]; /* 1; -1: from the last point to the first */
  int64_t left;                   /* along the last axis */
  int64_t total;                  /* in all */
} PointWalk;

PointWalk point_walk(Follower *f, int32_t command, const int32_t *axes, int32_t count);
/* Of a walk that has not begun: along |axis| from the last point to the first. */
void point_walk_descend(Follower *f, PointWalk *walk, int32_t axis);
/* The points that stand for the elements of a tile that holds windows once: other axes than those of |windows|'s
 * positions at 0. */
PointWalk window_walk(Follower *f, int32_t command, const TileWindows *windows);
/* Whether |access|, with operand |ref|, is such a tile. */
bool content_is_window(const Follower *f, int32_t command, const TileAccess *access, const PlanRef *ref,
                       TileWindows *out_windows);
void point_walk_advance(Follower *f, PointWalk *walk, int64_t n);
int64_t content_point_count(Follower *f, int32_t command, const int32_t *axes, int32_t count);

/* Which of all points of |axes| the point is. */
int64_t content_place_of_point(const Follower *f, const int32_t *axes, int32_t count);

/* --- what the Kernel asks for, from the point on along the last of |axes|: at most |n| elements --- */

/* What load |value| has there. */
ContentRun content_of_load(Follower *f, int32_t value, const int32_t *axes, int32_t count, int64_t n);
/* Whether a read of |access| asks for nothing there, which a guard of taps says (tile_guard_is_of_taps), for at most
 * |*n| points. */
bool content_is_away(Follower *f, const TileAccess *access, const int32_t *axes, int32_t count, int64_t *n);
/* What a read, or a write, of |access| has to find there, or leaves; |axes|: those that are walked. */
ContentRun content_wanted(Follower *f, const TileAccess *access, const int32_t *axes, int32_t count, int64_t n);
ContentRun content_written(Follower *f, const TileAccess *access, int64_t n);

/* The sum of a number for each point that |command| folds (-1: for all of the stage's): equal sums are of equal points.
 * A polynomial in a number that no plan knows, modulo 2^61 - 1: its geometric sums have closed forms. */
uint64_t content_fold_progress(Follower *f, int32_t stage, int32_t command);
uint64_t content_fold_add(uint64_t a, uint64_t b);

int32_t content_stage_axes(const Kernel *kernel, int32_t stage, int32_t *out_axes);

/* --- scatters --- */

/* Points that update in |command|: once each, in order. */
void content_count_updates(Follower *f, int32_t command);
void content_follow_updated(Follower *f, int32_t command, const TileAccess *access, const PlanRef *ref);
/* Before the first command. */
void content_begin_updates(Follower *f);

#endif
