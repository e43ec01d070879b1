#include "codegen/abi_text.h"

/* The assembler reads the file while this one is compiled, from the root. */
__asm__(
    ".pushsection .rodata\n"
    "xlac_abi_text_begin:\n.incbin \"include/xlac/abi.h\"\n"
    "xlac_abi_text_end:\n.byte 0\n"
    ".popsection\n");

extern const char xlac_abi_text_begin[], xlac_abi_text_end[];

StringView abi_text(void) {
  return (StringView){xlac_abi_text_begin, (size_t)(xlac_abi_text_end - xlac_abi_text_begin)};
}
