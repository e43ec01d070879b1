/* ContentDigest: a name of 32 bytes for any content; no two contents with one name are known (BLAKE3, as LLVM has it).
 *
 *   ContentHash hash;
 *   content_hash_begin(&hash);
 *   content_hash_add(&hash, text);
 *   ContentDigest digest = content_hash_end(&hash); */
#ifndef XLAC_BASE_CONTENT_DIGEST_H
#define XLAC_BASE_CONTENT_DIGEST_H

#include "base/string_view.h"

typedef struct ContentDigest {
  uint8_t bytes[32];
} ContentDigest;

enum { CONTENT_DIGEST_HEX_SIZE = 64, CONTENT_HASH_STATE_BYTES = 1912 };

/* Holds LLVM's own state. */
typedef struct ContentHash {
  _Alignas(8) unsigned char state[CONTENT_HASH_STATE_BYTES];
} ContentHash;

void content_hash_begin(ContentHash *hash);
void content_hash_add(ContentHash *hash, StringView bytes);
/* Nothing is added afterwards. */
ContentDigest content_hash_end(ContentHash *hash);

/* |digest| in CONTENT_DIGEST_HEX_SIZE small hexadecimal digits, and a zero after them. */
void content_digest_hex(const ContentDigest *digest, char out_hex[CONTENT_DIGEST_HEX_SIZE + 1]);

#endif
