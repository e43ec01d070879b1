/* Large arrays in large pages of the system, where it gives them to those who ask: what a loop reads then needs one
 * translation of an address for 2 MiB, not 512.  Of each array the whole large pages are asked for, so it takes no more
 * memory than without. */
#ifndef XLAC_BASE_LARGE_PAGES_H
#define XLAC_BASE_LARGE_PAGES_H

#include <stddef.h>

#define LARGE_PAGE_BYTES ((size_t)2 << 20)

/* Where an array of |bytes| should begin, so that it has as many large pages as fit: LARGE_PAGE_BYTES, or 1 of arrays
 * without such. */
size_t large_page_alignment(size_t bytes);

/* The same of a workspace, which begins at a small page, of 4 KiB, where it has no large one.  Arguments and results
 * mostly begin at pages, too, so where a row of the workspace lies in a page, next to what a loop reads meanwhile, does
 * not depend on the caller's heap: a load waits for stores that have not reached the caches where the low 12 bits of
 * both addresses are the same. */
size_t workspace_page_alignment(size_t bytes);

/* Asks for them, before |data| is written for the first time.  Nothing fails where there are none. */
void large_pages_ask(void *data, size_t bytes);

#endif
