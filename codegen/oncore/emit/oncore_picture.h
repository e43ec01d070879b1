/* The plans of a module as data of the page's picture of a vector processor (base/page/processor.js). */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_ONCORE_PICTURE_H
#define XLAC_CODEGEN_ONCORE_EMIT_ONCORE_PICTURE_H

#include "codegen/oncore/emit/module_plans.h"

/* An object with all of |plans|, proved ones, those of the scheduled |module|.
 *
 * Its size is bounded whatever the number of commands: some 24 000 are told one by one, of a long kernel those at its
 * beginning, in its middle and at its end; what is between is told in columns of time.  Kernels beyond the 400 that
 * take the most cycles have no picture, only their numbers. */
void module_plans_picture(JsonWriter *json, const ModulePlans *plans, const HloModule *module);

#endif
