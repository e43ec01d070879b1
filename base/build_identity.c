#include "base/build_identity.h"

#include <link.h>
#include <string.h>

typedef struct Search {
  uintptr_t address;
  StringView identity;
} Search;

static uintptr_t round_to_word(uintptr_t size) {
  return (size + 3) & ~(uintptr_t)3;
}

/* Notes: a head, a name and a text, each padded to words. */
static StringView identity_in(const char *notes, size_t size) {
  ElfW(Nhdr) head;
  for (size_t at = 0; at + sizeof head <= size;) {
    memcpy(&head, notes + at, sizeof head);
    size_t name = at + sizeof head, text = name + round_to_word(head.n_namesz);
    at = text + round_to_word(head.n_descsz);
    bool is_gnu = head.n_namesz == sizeof "GNU" && at <= size && memcmp(notes + name, "GNU", sizeof "GNU") == 0;
    if (is_gnu && head.n_type == NT_GNU_BUILD_ID) return (StringView){notes + text, head.n_descsz};
  }
  return (StringView){0};
}

static bool has_address(const struct dl_phdr_info *object, uintptr_t address) {
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    uintptr_t begin = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && address >= begin && address - begin < part->p_memsz) return true;
  }
  return false;
}

static int look_at(struct dl_phdr_info *object, size_t size, void *self) {
  (void)size;
  Search *search = self;
  if (!has_address(object, search->address)) return 0;
  for (int i = 0; i < object->dlpi_phnum && search->identity.size == 0; i++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    if (part->p_type == PT_NOTE)
      search->identity = identity_in((const char *)(object->dlpi_addr + part->p_vaddr), part->p_memsz);
  }
  return 1;
}

StringView build_identity_of(const void *address) {
  Search search = {.address = (uintptr_t)address};
  dl_iterate_phdr(look_at, &search);
  return search.identity;
}
