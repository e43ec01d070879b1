/* Page: one HTML file that needs nothing but itself, for reports.
 *
 * Its style and scripts are the files of this folder, which are part of the program (page.c); it fetches nothing, and a
 * browser is told not to let it.  Without scripts its tables can be read all the same. */
#ifndef XLAC_BASE_PAGE_PAGE_H
#define XLAC_BASE_PAGE_PAGE_H

#include "base/page/memory_chart.h"

/* Begins a page.  |title| is its title and first heading; |sections|, up to NULL, are what the links at its top lead to
 * (page_begin_section); NULL: no links. */
void page_begin(StringBuilder *out, StringView title, const char *const *sections);
void page_end(StringBuilder *out);

/* A section with its heading; |name| is a word in lower case. */
void page_begin_section(StringBuilder *out, const char *name);
void page_end_section(StringBuilder *out);

/* The section "memory", at most one of a page: a picture of |chart|. */
void page_add_memory(StringBuilder *out, const MemoryChart *chart);

/* A whole page of that alone. */
void page_print_memory(StringBuilder *out, StringView title, const MemoryChart *chart);

/* The inside of the section "processor", at most one of a page: pictures of the Buffer and the queues of a vector
 * processor.  |json|: an object as processor.js describes it. */
void page_add_processor(StringBuilder *out, StringView json);

#endif
