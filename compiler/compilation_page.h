/* The sections of a compilation's report that a page shows as tables rather than as text. */
#ifndef XLAC_COMPILER_COMPILATION_PAGE_H
#define XLAC_COMPILER_COMPILATION_PAGE_H

#include "compiler/compilation.h"

/* The whole section of memory; the compilation has an assignment. */
void compilation_page_memory(StringBuilder *out, const Compilation *compilation);

/* Each appends the inside of its section; names of instructions lead to their buffers (base/page/tables.js). */
/* There are proved plans. */
void compilation_page_processor(StringBuilder *out, const Compilation *compilation);
void compilation_page_totals(StringBuilder *out, const Compilation *compilation);
void compilation_page_reduction(StringBuilder *out, const Compilation *compilation);
void compilation_page_passes(StringBuilder *out, const Compilation *compilation);
void compilation_page_rewrites(StringBuilder *out, const Compilation *compilation);
void compilation_page_fusions(StringBuilder *out, const Compilation *compilation);
void compilation_page_kernels(StringBuilder *out, const Compilation *compilation);
void compilation_page_seconds(StringBuilder *out, const Compilation *compilation);

#endif
