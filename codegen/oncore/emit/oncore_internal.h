/* The state of emitting one plan. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_ONCORE_INTERNAL_H
#define XLAC_CODEGEN_ONCORE_EMIT_ONCORE_INTERNAL_H

#include "base/hash_map.h"
#include "codegen/oncore/emit/oncore_emitter.h"
#include "codegen/oncore/plan/command_variants.h"

/* The code of a tile Kernel. */
typedef struct TileCode {
  KernelCode code;
  LLVMValueRef thunk; /* void (ptr pointers, ptr scratch) */
} TileCode;

/* Functions of a plan that are the same for all processors, those that call nothing that computes; NULL: not made yet,
 * or each processor has its own. */
typedef struct SharedFunctions {
  LLVMValueRef trace;
  LLVMValueRef *commands; /* by command: transfers */
  LLVMValueRef *queues;   /* by queue of the machine: with transfers alone */
} SharedFunctions;

struct OncoreEmitter {
  Arena *arena;
  const MachineDescription *machine;
  const ModulePlans *plans;
  const TileTable *table;
  bool has_no_tiles; /* as for oncore_emitter_create */
  int target;        /* the processor that code is being made for: a number in PlanSpace.strategies */
  TileCode **tiles;  /* by number in |table|, of this processor; NULL: not made yet */
  /* What all processors share, made for the first one. */
  TileCode **transfers; /* as |tiles|: what loads and stores do */
  IntMap functions;     /* PlanSpace, of one plan each → SharedFunctions */
  LLVMValueRef begin;   /* run.begin: tells an engine that a run of launches begins; NULL: not needed yet */
  LLVMValueRef idle;    /* queue.idle: a queue of a plan that has no command for it; NULL: not needed yet */
  IntMap constants;     /* an initializer, which LLVM has once → LLVMValueRef, the private constant that has it */
};

typedef struct CommandCode {
  CommandVariants variants;
  TileCode **tiles;      /* by variant */
  int32_t loop_count;    /* around it */
  int32_t *loops;        /* the outermost first */
  LLVMValueRef function; /* void (ptr context, i64 iteration of each loop) */
} CommandCode;

typedef struct PlanEmitter {
  OncoreEmitter *emitter;
  Arena *arena;
  VecBuilder vec;
  const Plan *plan;
  const PlanSpace *space;
  const char *name;
  CommandCode *commands;
  SharedFunctions *shared;
  LLVMTypeRef pointer, word, none; /* ptr, i64, void */
} PlanEmitter;

/* Fields of XlacOncoreContext and XlacOncoreSync by place. */
enum { CONTEXT_BUFFER, CONTEXT_OBJECTS, CONTEXT_SCALARS, CONTEXT_SCRATCH, CONTEXT_FIELD_COUNT };
enum { SYNC_DATA, SYNC_WAIT, SYNC_PUBLISH };

/* --- small pieces (oncore_emitter.c) --- */

LLVMValueRef oncore_word(const PlanEmitter *emitter, int64_t value);
/* Element |index| of an array of pointers or words. */
LLVMValueRef oncore_load_element(const PlanEmitter *emitter, LLVMTypeRef type, LLVMValueRef array, int64_t index);
void oncore_store_element(const PlanEmitter *emitter, LLVMValueRef value, LLVMValueRef array, int64_t index);
LLVMValueRef oncore_byte_pointer(const PlanEmitter *emitter, LLVMValueRef base, LLVMValueRef offset);
/* What a function that computes nothing itself is for. */
typedef enum OncoreDriver {
  ONCORE_DRIVES_RUNS,   /* takes part in every run */
  ONCORE_DRIVES_ENGINES /* is called by engines that watch a run, or bring queues of their own */
} OncoreDriver;

/* An internal function with its first block, where the builder then stands.  LLVM leaves the code of those for engines
 * as it is, and of all where the host stands for a vector processor, whose control costs nothing then: two thirds of
 * the functions of a module are such, and optimising them took a third of its compile time. */
LLVMValueRef oncore_add_function(PlanEmitter *emitter, const char *name, OncoreDriver driver, LLVMTypeRef result,
                                 const LLVMTypeRef *parameters, unsigned count);

/* All of a tile Kernel's work; |pointers| by buffer. */
void oncore_call_tile(PlanEmitter *emitter, const Kernel *kernel, const TileCode *code, LLVMValueRef *pointers,
                      LLVMValueRef scratch);

/* --- one instance of a command (oncore_command.c) --- */

/* Where an instance is: loops' iterations (by loop of the plan) and the context's parts. */
typedef struct PlanPoint {
  LLVMValueRef function;
  LLVMValueRef *iterations;
  LLVMValueRef context[CONTEXT_FIELD_COUNT];
} PlanPoint;

PlanPoint plan_point(const PlanEmitter *emitter, LLVMValueRef function, LLVMValueRef context);

/* Called once for each variant, at the place where it has been chosen: |pointers| by buffer of the tile Kernel, NULL
 * for that of parameters; |parameters| stand in memory, NULL if there are none. */
typedef struct VariantAction {
  void *data;
  void (*emit)(void *data, const PlanPoint *point, int32_t command, int32_t variant, LLVMValueRef *pointers,
               LLVMValueRef parameters);
} VariantAction;

/* Picks the variant of |command| and does |action|; |room| is memory for parameters (plan_emit_room). */
void plan_emit_instance(PlanEmitter *emitter, const PlanPoint *point, int32_t command, LLVMValueRef room,
                        const VariantAction *action);
/* At a function's beginning: room on the stack for |words| numbers or pointers; NULL for none. */
LLVMValueRef plan_emit_room(const PlanEmitter *emitter, int64_t words);
int64_t plan_parameter_count(const CommandCode *command);
/* The function of |command| by itself. */
LLVMValueRef plan_emit_command(PlanEmitter *emitter, int32_t command);

/* --- loops over commands (oncore_walk.c) --- */

LLVMValueRef plan_emit_run(PlanEmitter *emitter);
LLVMValueRef plan_emit_queue(PlanEmitter *emitter, int32_t queue);
LLVMValueRef plan_emit_trace(PlanEmitter *emitter);

/* --- the description (oncore_record.c) --- */

typedef struct PlanFunctions {
  LLVMValueRef run, trace;
  LLVMValueRef *queues; /* by queue of the machine */
} PlanFunctions;

/* A constant XlacOncoreKernel. */
LLVMValueRef plan_emit_record(PlanEmitter *emitter, const PlanFunctions *functions);
/* A constant XlacOncoreRun; of no plan.  |launches|: all of the run, the first one first. */
LLVMValueRef plan_emit_launches(PlanEmitter *emitter, const RunLaunch *launches);

#endif
