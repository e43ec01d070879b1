/* TupleEdit: the same elements leave a tuple, and others join it, wherever it is made and read. */
#ifndef XLAC_PASSES_CONTROL_TUPLE_EDIT_H
#define XLAC_PASSES_CONTROL_TUPLE_EDIT_H

#include "hlo/ir/hlo_module.h"

typedef struct TupleEdit {
  const Shape *shape; /* of the tuple afterwards: what is kept, in order, then what is added */
  int *places;        /* where each old element goes; -1: away */
  int kept, added;
} TupleEdit;

/* |kept|: a flag for each element of |shape|. */
TupleEdit tuple_edit_make(ShapeTable *shapes, const Shape *shape, const bool *kept, HloInstruction *const *added,
                          int added_count, Arena *scratch);

/* get-tuple-element(|tuple|, |index|), a new one. */
HloInstruction *tuple_element(HloInstruction *tuple, int index);
/* Live readers of element |index| of |tuple|. */
bool tuple_element_is_read(const HloInstruction *tuple, int index);
/* Marks the elements that have; returns how many. */
int tuple_elements_read(const HloInstruction *tuple, bool *read);
/* Something reads |tuple| by other than get-tuple-element, or it is its computation's root. */
bool tuple_is_read_whole(const HloInstruction *tuple);
/* All readers of element |index| of |tuple| read |value|, an instruction of the same computation and shape, instead;
 * true when there was one. */
bool tuple_redirect_element(HloInstruction *tuple, int index, HloInstruction *value);

/* A new tuple of what the tuple instruction |old| keeps, and of |added|. */
HloInstruction *tuple_edit_operands(const TupleEdit *edit, const HloInstruction *old, HloInstruction *const *added,
                                    Arena *scratch);
/* The readers of |from| find their elements in |to|, which stands in its place.  Readers of removed elements are left
 * as they are: they have to be dead. */
void tuple_edit_readers(const TupleEdit *edit, HloInstruction *from, HloInstruction *to, Arena *scratch);
/* The same for a parameter, which gets the new shape. */
void tuple_edit_parameter(const TupleEdit *edit, HloInstruction *parameter, Arena *scratch);

/* Removes |old|, all of whose readers have something else: with side effects no other pass would, and they would happen
 * twice. */
void tuple_edit_retire(HloInstruction *old, Arena *scratch);
/* Removes attributes that describe the old tuple. */
void tuple_edit_attributes(HloInstruction *instruction);

#endif
