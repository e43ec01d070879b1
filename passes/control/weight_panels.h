/* Weights of products as the micro-kernel reads them (codegen/blocks): panels of neighbouring columns, one after the
 * other, in each a row of the columns for each step of the depth.  [depth, columns], or [columns, depth], become
 * [panels, depth, columns of a panel].
 *
 * A product of few rows takes as long to pack its right factor as to multiply for a good part, and more rows than a
 * tile has pack it at all: between the two it is read where it lies.  Sums have the same order, so bits are the same.
 */
#ifndef XLAC_PASSES_CONTROL_WEIGHT_PANELS_H
#define XLAC_PASSES_CONTROL_WEIGHT_PANELS_H

#include "hlo/ir/hlo_module.h"

/* |dot| is a product that gains from a right factor in panels. */
bool weight_panels_are_wanted(const HloInstruction *dot);
/* Its right factor in panels: a constant of a constant, else views and a transpose of it. */
HloInstruction *weight_panels_of(const HloInstruction *dot);
/* All that reads |dot|, which wants them, reads the product of its left factor and |panels| instead. */
void weight_panels_use(HloInstruction *dot, HloInstruction *panels);

#endif
