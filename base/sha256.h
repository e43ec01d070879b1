/* SHA-256: a name of 32 bytes for any content; no two contents with one name are known (FIPS 180-4).
 *
 *   Sha256 hash;
 *   sha256_begin(&hash);
 *   sha256_add(&hash, text);
 *   Sha256Digest digest = sha256_end(&hash); */
#ifndef XLAC_BASE_SHA256_H
#define XLAC_BASE_SHA256_H

#include "base/string_view.h"

typedef struct Sha256Digest {
  uint8_t bytes[32];
} Sha256Digest;

enum { SHA256_BLOCK_BYTES = 64, SHA256_HEX_SIZE = 64 };

typedef struct Sha256 {
  uint32_t state[8];
  uint64_t size; /* bytes added */
  uint8_t block[SHA256_BLOCK_BYTES];
} Sha256;

void sha256_begin(Sha256 *hash);
void sha256_add(Sha256 *hash, StringView bytes);
/* Nothing is added afterwards. */
Sha256Digest sha256_end(Sha256 *hash);

/* |digest| in SHA256_HEX_SIZE small hexadecimal digits, and a zero after them. */
void sha256_hex(const Sha256Digest *digest, char out_hex[SHA256_HEX_SIZE + 1]);

#endif
