/* A program of its own: a plan that no module asked for (docs/plan-language.md).  It takes the road of models: its
 * arrays become the signature of a module whose entry is one Kernel without a computation of its own, and the plan is
 * that Kernel's.  Reports, placement, code, header and runners find what they find of models. */
#ifndef XLAC_COMPILER_PROGRAM_H
#define XLAC_COMPILER_PROGRAM_H

#include "compiler/compilation.h"

/* The plan's arrays need a schedule and places, and nothing else is there to be changed. */
#define PROGRAM_PASSES "copy-insertion,scheduler,buffer-assignment"

/* What a Compilation knows of its program. */
struct CompilationProgram {
  const HloInstruction *instruction; /* of the module's entry: what runs the plan */
  const Kernel *kernel;              /* arguments, then results */
  const Plan *plan;                  /* of |kernel|; with |is_priced_only| of none */
  bool is_priced_only;               /* commands say what they cost, not what they compute */
  SourceLoc priced_only;             /* the first of them */
  const SourceFile *source;
  StringView section; /* computations, as the text has them */
};

/* Text → module and plan: in place of compilation_load.  |source| and its text must live as long as the arena.
 * STATUS_INVALID with located diagnostics: those of program_text_split, hlo_parse_module, hlo_verify and
 * plan_parse_program. */
MUST_USE Status compilation_load_program(Compilation *compilation, const SourceFile *source);

/* Whether a text of this name is a program of its own: NAME.vplan. */
bool program_is_named(StringView name);

/* Its Kernel, in place of those that are made of instructions. */
void program_add_kernel(const CompilationProgram *program, KernelTable *kernels);

/* STATUS_INVALID ("plan-operation") for a program that is priced only: there is no code for it. */
MUST_USE Status program_check_runs(const CompilationProgram *program, DiagSink *diag);

#endif
