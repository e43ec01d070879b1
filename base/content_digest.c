#include "base/content_digest.h"

#include <llvm-c/blake3.h>

_Static_assert(sizeof(llvm_blake3_hasher) <= CONTENT_HASH_STATE_BYTES, "a ContentHash holds LLVM's state");

static llvm_blake3_hasher *state_of(ContentHash *hash) {
  return (llvm_blake3_hasher *)(void *)hash->state;
}

void content_hash_begin(ContentHash *hash) {
  llvm_blake3_hasher_init(state_of(hash));
}

void content_hash_add(ContentHash *hash, StringView bytes) {
  llvm_blake3_hasher_update(state_of(hash), bytes.data, bytes.size);
}

ContentDigest content_hash_end(ContentHash *hash) {
  ContentDigest digest;
  llvm_blake3_hasher_finalize(state_of(hash), digest.bytes, sizeof digest.bytes);
  return digest;
}

void content_digest_hex(const ContentDigest *digest, char out_hex[CONTENT_DIGEST_HEX_SIZE + 1]) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < sizeof digest->bytes; i++) {
    *out_hex++ = digits[digest->bytes[i] >> 4];
    *out_hex++ = digits[digest->bytes[i] & 15];
  }
  *out_hex = '\0';
}
