// Entropy coding and containers. (This file has the line ends of another system.)
#include <cstdint>
#include <cstring>

struct BitReader {
    const uint8_t *bytes;
    uint32_t window;
    int bits;

    __device__ uint32_t take(int count)
    {
        while (bits < count) {
            window |= static_cast<uint32_t>(*bytes++) << bits;
            bits += 8;
        }
        const uint32_t value = window & ((1u << count) - 1);
        window >>= count;
        bits -= count;
        return value;
    }
};

// Canonical Huffman code from lengths: counts, then first codes, then symbols.
__global__ void huffman_lengths(const uint8_t *lengths, uint16_t *first_code, int symbols, int tables)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= tables) return;
    uint16_t count[16]; //@ object count: dynamic_index
    for (int l = 0; l < 16; ++l) count[l] = 0;
    for (int s = 0; s < symbols; ++s) ++count[lengths[s * tables + t] & 15]; //@ access count
    uint16_t code = 0;
    for (int l = 1; l < 16; ++l) {
        code = static_cast<uint16_t>((code + count[l - 1]) << 1);
        first_code[l * tables + t] = code;
    }
}

// The order in which deflate stores the lengths of its code lengths.
__global__ void deflate_header(const uint8_t *streams, const int *offset, uint8_t *lengths, int count) //@ clean
{
    const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= count) return;
    BitReader reader = {streams + offset[s], 0, 0};
    const int used = 4 + reader.take(4);
    for (int k = 0; k < used; ++k) lengths[s * 19 + order[k]] = static_cast<uint8_t>(reader.take(3));
}

// Copies a record whose length is in its first byte.
__global__ void copy_records(const uint8_t *in, uint8_t *out, uint32_t *checksum, int records)
{
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= records) return;
    uint8_t record[32]; //@ object record: dynamic_index | rolled_loop
    const int length = in[r * 33] & 31;
    memcpy(record, in + r * 33 + 1, length); //@ access record
    uint32_t sum = 0;
#pragma unroll
    for (int b = 0; b < 32; ++b) sum = sum * 31 + (b < length ? record[b] : 0);
    checksum[r] = sum;
    memcpy(out + r * 32, record, length); //@ access record
}

// A record of constant length: the copy is a few registers.
__global__ void copy_fixed(const uint4 *in, uint4 *out, uint32_t *checksum, int records) //@ clean
{
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= records) return;
    uint32_t record[8];
    memcpy(record, in + 2 * r, 32);
    uint32_t sum = 0;
    for (int w = 0; w < 8; ++w) sum = sum * 31 + record[w];
    checksum[r] = sum;
    memcpy(out + 2 * r, record, 32);
}

// Move to front: the position of a symbol is searched, everything before it moves.
__global__ void move_to_front(const uint8_t *in, uint8_t *out, int length, int streams)
{
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= streams) return;
    uint8_t recent[16]; //@ object recent: rolled_loop | dynamic_index
    for (int k = 0; k < 16; ++k) recent[k] = static_cast<uint8_t>(k);
    for (int i = 0; i < length; ++i) {
        const uint8_t symbol = in[i * streams + s] & 15;
        int rank = 0;
        while (recent[rank] != symbol) ++rank; //@ access recent
        out[i * streams + s] = static_cast<uint8_t>(rank);
        for (; rank > 0; --rank) recent[rank] = recent[rank - 1]; //@ access recent
        recent[0] = symbol;
    }
}

union Word {
    uint64_t whole;
    uint8_t byte[8];
};

// Bytes of a word in an order that the stream gives.
__global__ void shuffle_bytes(const uint64_t *in, const uint8_t *order, uint64_t *out, int n, int rounds)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Word word; //@ object word|word.byte: dynamic_index
    word.whole = in[i];
    for (int r = 0; r < rounds; ++r) {
        const int from = order[r * n + i] & 7, to = order[r * n + i] >> 5;
        const uint8_t held = word.byte[to]; //@ access word
        word.byte[to] = word.byte[from]; //@ access word
        word.byte[from] = held; //@ access word
    }
    out[i] = word.whole;
}

// Zigzag of an 8 by 8 block of coefficients, at the pace of a run-length code.
__global__ void zigzag_decode(const int16_t *coded, int16_t *blocks, int count)
{
    const uint8_t zigzag[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48, //@ object zigzag: constant_table
                                41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
                                30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
    int16_t block[64]; //@ object block: dynamic_index
    const int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= count) return;
#pragma unroll
    for (int k = 0; k < 64; ++k) block[k] = 0;
    int at = 0;
    for (int c = 0; at < 64; ++c) {
        const int16_t pair = coded[c * count + b];
        at += pair & 15;
        block[zigzag[at++ & 63]] = pair >> 4; //@ access zigzag //@ access block
    }
#pragma unroll
    for (int k = 0; k < 64; ++k) blocks[k * count + b] = block[k];
}
