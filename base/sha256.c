#include "base/sha256.h"

#include <string.h>

/* The first 32 bits after the point of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2). */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t value, int count) {
  return (value >> count) | (value << (32 - count));
}

static void extend_schedule(uint32_t words[64], const uint8_t block[SHA256_BLOCK_BYTES]) {
  for (int t = 0; t < 16; t++) {
    const uint8_t *at = block + 4 * t;
    words[t] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
  }
  for (int t = 16; t < 64; t++) {
    uint32_t a = words[t - 15], b = words[t - 2];
    uint32_t small0 = rotate(a, 7) ^ rotate(a, 18) ^ (a >> 3), small1 = rotate(b, 17) ^ rotate(b, 19) ^ (b >> 10);
    words[t] = small1 + words[t - 7] + small0 + words[t - 16];
  }
}

/* FIPS 180-4, 6.2.2, whose names the variables have. */
static void take_block(uint32_t state[8], const uint8_t block[SHA256_BLOCK_BYTES]) {
  uint32_t words[64];
  extend_schedule(words, block);
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
#pragma GCC unroll 8
  for (int t = 0; t < 64; t++) {
    uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
    uint32_t first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + round_constants[t] + words[t];
    uint32_t second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = first + second;
  }
  const uint32_t last[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; i++) state[i] += last[i];
}

/* The square roots of the first 8 primes (5.3.3). */
void sha256_begin(Sha256 *hash) {
  *hash = (Sha256){
      .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(Sha256 *hash, StringView bytes) {
  const uint8_t *data = (const uint8_t *)bytes.data;
  size_t left = bytes.size, filled = hash->size % SHA256_BLOCK_BYTES;
  hash->size += left;
  while (left > 0) {
    if (filled == 0 && left >= SHA256_BLOCK_BYTES) {
      take_block(hash->state, data);
      data += SHA256_BLOCK_BYTES, left -= SHA256_BLOCK_BYTES;
      continue;
    }
    size_t part = left < SHA256_BLOCK_BYTES - filled ? left : SHA256_BLOCK_BYTES - filled;
    memcpy(hash->block + filled, data, part);
    data += part, left -= part, filled += part;
    if (filled == SHA256_BLOCK_BYTES) {
      take_block(hash->state, hash->block);
      filled = 0;
    }
  }
}

/* A bit 1, zeros, and the number of bits in the last 8 bytes of a block (5.1.1). */
Sha256Digest sha256_end(Sha256 *hash) {
  static const char padding[SHA256_BLOCK_BYTES] = {(char)0x80};
  uint64_t bits = hash->size * 8;
  size_t filled = hash->size % SHA256_BLOCK_BYTES, wanted = SHA256_BLOCK_BYTES - 8;
  sha256_add(hash, (StringView){padding, filled < wanted ? wanted - filled : SHA256_BLOCK_BYTES + wanted - filled});
  char length[8];
  for (int i = 0; i < 8; i++) length[i] = (char)(bits >> (56 - 8 * i));
  sha256_add(hash, (StringView){length, sizeof length});
  Sha256Digest digest;
  for (int i = 0; i < 32; i++) digest.bytes[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

void sha256_hex(const Sha256Digest *digest, char out_hex[SHA256_HEX_SIZE + 1]) {
  static const char digits[] = "0123456789abcdef";
  for (int i = 0; i < 32; i++) {
    out_hex[2 * i] = digits[digest->bytes[i] >> 4];
    out_hex[2 * i + 1] = digits[digest->bytes[i] & 15];
  }
  out_hex[SHA256_HEX_SIZE] = '\0';
}
