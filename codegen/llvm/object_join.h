/* Parts of one object, compiled apart, put together as `ld -r` would.  Includes nothing of LLVM. */
#ifndef XLAC_CODEGEN_LLVM_OBJECT_JOIN_H
#define XLAC_CODEGEN_LLVM_OBJECT_JOIN_H

#include "base/arena.h"
#include "base/string_view.h"

/* The relocatable ELF64 object, in |arena|, that holds what the |count| >= 1 relocatable |objects| hold, all of one
 * machine and little-endian: sections of one name and kind one after the other, symbols that one part defines and
 * another reads found by name.  Hidden symbols were for the parts to find one another: they are local afterwards.  It
 * depends on the bytes of |objects| and their order alone.  For what LLVM writes of our modules: no groups of sections,
 * no order among sections.  An object that is none, or a hidden symbol that no part or more than one defines, is a bug.
 *
 * Source: System V ABI, chapter 4 (object files), and its supplement for AMD64. */
StringView object_join(Arena *arena, const StringView *objects, int count);

#endif
