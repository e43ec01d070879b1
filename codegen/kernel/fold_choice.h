/* FoldChoice: two folds of a stage that find the largest (or smallest) value and the first place where it is: argmax
 * and argmin as they are written for reduce.  Such pairs may be found for parts of a row by themselves and then be
 * compared, although their combiner is no operation of HLO that is known to be associative. */
#ifndef XLAC_CODEGEN_KERNEL_FOLD_CHOICE_H
#define XLAC_CODEGEN_KERNEL_FOLD_CHOICE_H

#include "codegen/kernel/kernel.h"

typedef struct FoldChoice {
  int32_t value_fold, place_fold;
  int32_t value, place; /* what a step offers; |place|, a KERNEL_INDEX, ascends from step to step */
  bool is_largest;      /* else the smallest */
  bool nan_is_first;    /* what is not a number comes before all numbers; else it is never chosen */
} FoldChoice;

/* Whether |stage| consists of such a pair.  What its combiner does is found by evaluating it for each way in which two
 * values and two places can be ordered, so the form that it is written in does not matter.  Where +0 and -0 are the
 * largest, the value may be either of them. */
bool fold_choice_find(const Kernel *kernel, int stage, FoldChoice *out_choice);

#endif
