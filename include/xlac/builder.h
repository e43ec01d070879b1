/* Modules without text: computations, parameters and instructions made one by one, by the rules that HLO text obeys.
 *
 *   XlacBuilder *builder;
 *   XlacComputation *main;
 *   XlacOp *x, *y;
 *   xlac_builder_create(client, "doubled", &builder);
 *   xlac_builder_add_computation(builder, "main", &main);
 *   xlac_builder_add_parameter(builder, main, 0, "f32[4]", "x", &x);
 *   xlac_builder_apply(builder, main, "add", (XlacOp *[]){x, x}, 2, &y);
 *   status = xlac_builder_finish(builder, &module);
 *
 * Shapes and values of attributes are texts as HLO has them: "f32[2,3]{1,0}", "{0,1}".  What is an instruction or a
 * computation in HLO is one here.  All names are copied; where one is NULL, or is taken, the builder makes one.
 *
 * Errors.  A call that fails gives NULL, tells the client's listener why, and the builder's first failure is what
 * xlac_builder_finish returns; calls that are given such a NULL fail without a word.  So a program may check
 * xlac_builder_finish alone.  A place in a diagnostic names the computation as file, and as line how many instructions
 * it has with the one that is meant; in the value of an attribute it is the text's own.
 *
 * Computations and instructions live as long as their builder is not finished.  A builder is used by one thread at a
 * time. */
#ifndef XLAC_BUILDER_H
#define XLAC_BUILDER_H

#include <stddef.h>
#include <stdint.h>

#include "xlac/xlac.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef struct XlacBuilder XlacBuilder;
typedef struct XlacComputation XlacComputation;
typedef struct XlacOp XlacOp;

/* A module called |name|.  Ended by xlac_builder_destroy, whether it was finished or not. */
XlacStatus xlac_builder_create(XlacClient *client, const char *name, XlacBuilder **out_builder);
void xlac_builder_destroy(XlacBuilder *builder);

/* --- the module --- */

/* An attribute of the header: "input_output_alias", "{ {0}: (0, {}, may-alias) }".  A list gets longer each time. */
XlacStatus xlac_builder_set_header(XlacBuilder *builder, const char *name, const char *value);
/* The tables FileNames, FunctionNames, FileLocations and StackFrames, as a module's text has them. */
XlacStatus xlac_builder_set_stack_frames(XlacBuilder *builder, const char *text);
/* The computation that is the program; without this call it is the latest. */
XlacStatus xlac_builder_set_entry(XlacBuilder *builder, XlacComputation *entry);

/* --- computations --- */

/* After those that it calls. */
XlacStatus xlac_builder_add_computation(XlacBuilder *builder, const char *name, XlacComputation **out_computation);
/* The instruction whose value is the computation's; without this call it is the latest. */
XlacStatus xlac_builder_set_root(XlacBuilder *builder, XlacComputation *computation, XlacOp *root);
/* Where asynchronous instructions run it: "main" without this call. */
XlacStatus xlac_builder_set_thread(XlacBuilder *builder, XlacComputation *computation, const char *thread);

/* --- instructions --- */

/* An attribute: its name and one value. */
typedef struct XlacAttribute {
  const char *name;  /* "dimensions" */
  const char *value; /* its text; NULL where it is one of the following */
  XlacComputation *const *computations;
  XlacOp *const *operations; /* of control-predecessors */
  int64_t count;             /* of these */
} XlacAttribute;

typedef struct XlacInstruction {
  uint64_t struct_size;
  const char *opcode; /* "reduce" */
  const char *name;
  const char *shape; /* NULL: what operands and attributes determine */
  XlacOp *const *operands;
  int64_t operand_count;
  const XlacAttribute *attributes;
  int64_t attribute_count;
} XlacInstruction;

/* Any instruction but parameters and constants.  |out_op| may be NULL here and below. */
XlacStatus xlac_builder_add(XlacBuilder *builder, XlacComputation *computation, const XlacInstruction *instruction,
                            XlacOp **out_op);
/* One without attributes, whose shape the operands determine. */
XlacStatus xlac_builder_apply(XlacBuilder *builder, XlacComputation *computation, const char *opcode,
                              XlacOp *const *operands, int64_t operand_count, XlacOp **out_op);
XlacStatus xlac_builder_add_parameter(XlacBuilder *builder, XlacComputation *computation, int64_t number,
                                      const char *shape, const char *name, XlacOp **out_op);
/* An array, copied from |data|, |bytes| long: the elements in the order of the dimensions, the last one fastest,
 * whatever the layout; types narrower than a byte and pred take a byte an element. */
XlacStatus xlac_builder_add_constant(XlacBuilder *builder, XlacComputation *computation, const char *shape,
                                     const void *data, size_t bytes, const char *name, XlacOp **out_op);
/* Any constant, from its value's text: "{1, 2}". */
XlacStatus xlac_builder_add_constant_text(XlacBuilder *builder, XlacComputation *computation, const char *shape,
                                          const char *value, const char *name, XlacOp **out_op);
/* An attribute that every opcode takes (sharding, metadata, frontend_attributes, control-predecessors …), of an
 * instruction that is there; replaces an earlier one. */
XlacStatus xlac_builder_set_attribute(XlacBuilder *builder, XlacOp *op, const XlacAttribute *attribute);

/* --- the end --- */

/* The module, verified.  Afterwards the builder can only be destroyed, and what it gave is gone. */
XlacStatus xlac_builder_finish(XlacBuilder *builder, XlacModule **out_module);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
