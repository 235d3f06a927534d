// Hashes, ciphers and checksums.
#include <cstdint>

namespace digest {

struct Rc4State {
    uint8_t key[256];
    uint8_t i, j;
};

// The permutation of RC4 is a kilobyte short of fitting anywhere.
__global__ void rc4_stream(const uint8_t *keys, int key_length, uint8_t *stream, int bytes)
{
    Rc4State state; //@ object state|state.key|key: dynamic_index
    const int lane = blockIdx.x * blockDim.x + threadIdx.x;
    for (int n = 0; n < 256; ++n) state.key[n] = static_cast<uint8_t>(n);
    uint8_t j = 0;
    for (int n = 0; n < 256; ++n)
    {
        j += state.key[n] + keys[lane * key_length + n % key_length];
        const uint8_t swapped = state.key[n];
        state.key[n] = state.key[j]; //@ access state
        state.key[j] = swapped; //@ access state
    }
    state.i = state.j = 0;
    for (int n = 0; n < bytes; ++n)
    {
        state.i += 1;
        state.j += state.key[state.i]; //@ access state
        const uint8_t a = state.key[state.i], b = state.key[state.j]; //@ access state
        state.key[state.i] = b; //@ access state
        state.key[state.j] = a; //@ access state
        stream[n * gridDim.x * blockDim.x + lane] = state.key[static_cast<uint8_t>(a + b)]; //@ access state
    }
}

// SHA-256 message schedule as a ring of 16 words; the rounds are not unrolled.
__global__ void sha256_schedule(const uint32_t *message, uint32_t *digest, int blocks)
{
    uint32_t w[16]; //@ object w: rolled_loop
    const int lane = blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= blocks) return;
#pragma unroll
    for (int t = 0; t < 16; ++t) w[t] = message[t * blocks + lane];
    uint32_t a = 0x6a09e667, e = 0x510e527f;
#pragma unroll 1
    for (int t = 0; t < 64; ++t)
    {
        if (t >= 16)
        {
            const uint32_t w15 = w[(t - 15) & 15], w2 = w[(t - 2) & 15]; //@ access w
            const uint32_t s0 = __funnelshift_r(w15, w15, 7) ^ __funnelshift_r(w15, w15, 18) ^ (w15 >> 3);
            const uint32_t s1 = __funnelshift_r(w2, w2, 17) ^ __funnelshift_r(w2, w2, 19) ^ (w2 >> 10);
            w[t & 15] += s0 + w[(t - 7) & 15] + s1; //@ access w
        }
        const uint32_t sum = e + w[t & 15] + (__funnelshift_r(e, e, 6) ^ __funnelshift_r(e, e, 11)); //@ access w
        e = a + sum;
        a = sum + (__funnelshift_r(a, a, 2) ^ __funnelshift_r(a, a, 13));
    }
    digest[2 * lane] = a;
    digest[2 * lane + 1] = e;
}

// The same rounds unrolled by sixteen: every `& 15` is a constant.
__global__ void sha256_schedule_unrolled(const uint32_t *message, uint32_t *digest, int blocks) //@ clean
{
    uint32_t w[16];
    const int lane = blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= blocks) return;
#pragma unroll
    for (int t = 0; t < 16; ++t) w[t] = message[t * blocks + lane];
    uint32_t a = 0x6a09e667, e = 0x510e527f;
#pragma unroll 1
    for (int round = 0; round < 4; ++round)
    {
#pragma unroll
        for (int t = 0; t < 16; ++t)
        {
            const uint32_t sum = e + w[t & 15] + (__funnelshift_r(e, e, 6) ^ __funnelshift_r(e, e, 11));
            e = a + sum;
            a = sum + (__funnelshift_r(a, a, 2) ^ __funnelshift_r(a, a, 13));
        }
#pragma unroll
        for (int t = 0; t < 16; ++t)
        {
            const uint32_t w15 = w[(t + 1) & 15], w2 = w[(t + 14) & 15];
            w[t & 15] += (w15 >> 3) + w[(t + 9) & 15] + (w2 >> 10);
        }
    }
    digest[2 * lane] = a;
    digest[2 * lane + 1] = e;
}

// PRESENT: sixteen nibbles through a box that the function declares for itself.
__device__ __forceinline__ uint64_t substitute(uint64_t block)
{
    const uint8_t box[16] = {0xC, 5, 6, 0xB, 9, 0, 0xA, 0xD, 3, 0xE, 0xF, 8, 4, 7, 1, 2}; //@ object box: constant_table in present_rounds
    uint64_t result = 0;
    for (int nibble = 0; nibble < 16; ++nibble)
        result |= static_cast<uint64_t>(box[block >> (4 * nibble) & 15]) << (4 * nibble); //@ access box in present_rounds
    return result;
}

__global__ void present_rounds(const uint64_t *plain, const uint64_t *round_keys, uint64_t *cipher, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint64_t block = plain[i];
    for (int round = 0; round < 31; ++round)
    {
        block = substitute(block ^ round_keys[round]);
        block = block << 1 | block >> 63;
    }
    cipher[i] = block ^ round_keys[31];
}

// A 128-bit block whose bytes are picked by a key schedule.
__global__ void permute_bytes(const uint4 *in, const uint8_t *order, uint4 *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 source = in[i]; //@ object source: vector_reinterpret
    uint4 target; //@ object target: vector_reinterpret | rolled_loop
    const uint8_t *from = reinterpret_cast<const uint8_t *>(&source);
    uint8_t *to = reinterpret_cast<uint8_t *>(&target);
#pragma unroll 1
    for (int b = 0; b < 16; ++b) to[b] = from[order[b] & 15]; //@ access source //@ access target
    out[i] = target;
}

// CRC of four bytes with a half-table made on the fly: its contents are computed, not constant.
__global__ void crc_made_here(const uint32_t *words, uint32_t *crc, int n, uint32_t polynomial) //@ clean
{
    uint32_t table[16];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int v = 0; v < 16; ++v)
    {
        uint32_t r = v;
        for (int bit = 0; bit < 4; ++bit) r = r & 1 ? r >> 1 ^ polynomial : r >> 1;
        table[v] = r;
    }
    if (i >= n) return;
    uint32_t sum = ~words[i];
    for (int nibble = 0; nibble < 8; ++nibble) sum = table[sum & 15] ^ sum >> 4;
    crc[i] = ~sum;
}

} // namespace digest
