// Sequences: alignment, k-mers, hidden states.

typedef unsigned char base_t;

#define BAND 16
#define MATCH(a, b) ((a) == (b) ? 2 : -1)
/* One cell of the recurrence; the row is an array of the caller's. */
#define CELL(row, j, diagonal, score) max(0, max((diagonal) + (score), max((row)[j], (row)[(j) + 1]) - 2))

// Smith-Waterman in a band: the row of the band slides.
__global__ void banded_scores(const base_t* query, const base_t* target, int* best, int query_length, int target_length, int pairs) //@ clean
{
    int row[BAND + 1];
    const int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= pairs) return;
    #pragma unroll
    for (int j = 0; j <= BAND; ++j) row[j] = 0;
    int highest = 0;
    for (int i = 0; i < query_length; ++i)
    {
        int diagonal = row[0];
        #pragma unroll
        for (int j = 0; j < BAND; ++j)
        {
            const int above = row[j + 1];
            row[j] = CELL(row, j, diagonal, MATCH(query[i * pairs + pair], target[min(i + j, target_length - 1) * pairs + pair]));
            diagonal = above;
            highest = max(highest, row[j]);
        }
    }
    best[pair] = highest;
}

// The same with a band as wide as the host likes.
__global__ void banded_scores_any(const base_t* query, const base_t* target, int* best, int query_length, int target_length, int band, int pairs)
{
    int row[64]; //@ object row: rolled_loop
    const int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= pairs) return;
    for (int j = 0; j <= band; ++j) row[j] = 0; //@ access row
    int highest = 0;
    for (int i = 0; i < query_length; ++i)
    {
        int diagonal = row[0];
        for (int j = 0; j < band; ++j)
        {
            const int above = row[j + 1]; //@ access row
            row[j] = CELL(row, j, diagonal, MATCH(query[i * pairs + pair], target[min(i + j, target_length - 1) * pairs + pair])); //@ access row
            diagonal = above;
            highest = max(highest, row[j]); //@ access row
        }
    }
    best[pair] = highest;
}

// Edit distance of reads of up to 150 bases: a row is more than a thread has registers for its own use.
__global__ void edit_distance(const base_t* reads, const base_t* reference, int* distance, int length, int count) //@ spills sm_120
{
    unsigned short previous[151]; //@ object previous: rolled_loop sm_80 sm_90
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= count) return;
    for (int j = 0; j <= 150; ++j) previous[j] = j; //@ access previous
    for (int i = 1; i <= length; ++i)
    {
        unsigned short diagonal = previous[0];
        previous[0] = i;
        for (int j = 1; j <= 150; ++j)
        {
            const unsigned short above = previous[j]; //@ access previous
            const int substituted = diagonal + (reads[(i - 1) * count + r] != reference[j - 1]);
            previous[j] = min(substituted, min(above, previous[j - 1]) + 1); //@ access previous
            diagonal = above;
        }
    }
    distance[r] = previous[150];
}

// Two-letter counts: 4 by 4, both indices from the sequence.
__global__ void dinucleotides(const base_t* sequence, unsigned* counts, int length)
{
    unsigned pair[4][4]; //@ object pair: dynamic_index
    const int stride = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int a = 0; a < 4; ++a)
        for (int b = 0; b < 4; ++b) pair[a][b] = 0;
    base_t last = sequence[first] & 3;
    for (int i = first + stride; i < length; i += stride)
    {
        const base_t next = sequence[i] & 3;
        ++pair[last][next]; //@ access pair
        last = next;
    }
    for (int a = 0; a < 4; ++a)
        for (int b = 0; b < 4; ++b) atomicAdd(&counts[a * 4 + b], pair[a][b]);
}

// Forward algorithm with five states; the emission is a column of a table, the states are unrolled.
__global__ void forward_hmm(const base_t* observed, const float* transition, const float* emission, float* likelihood, int length, int count) //@ clean
{
    float alpha[5], next[5];
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= count) return;
    for (int k = 0; k < 5; ++k) alpha[k] = 0.2f;
    for (int t = 0; t < length; ++t)
    {
        const int symbol = observed[t * count + s];
        for (int k = 0; k < 5; ++k)
        {
            float sum = 0;
            for (int j = 0; j < 5; ++j) sum += alpha[j] * transition[j * 5 + k];
            next[k] = sum * emission[symbol * 5 + k];
        }
        for (int k = 0; k < 5; ++k) alpha[k] = next[k];
    }
    likelihood[s] = alpha[0] + alpha[1] + alpha[2] + alpha[3] + alpha[4];
}

// Viterbi: backpointers of 32 steps are kept, then followed from the end.
__global__ void viterbi_window(const float* emission, base_t* path, int count)
{
    base_t from[32][3]; //@ object from: dynamic_index
    float score[3] = {0, 0, 0}; //@ object score: dynamic_index sm_80 sm_90
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= count) return;
    #pragma unroll
    for (int t = 0; t < 32; ++t)
    {
        float next[3];
        #pragma unroll
        for (int k = 0; k < 3; ++k)
        {
            const float stay = score[k], move = score[(k + 1) % 3] - 1.5f;
            from[t][k] = stay >= move ? k : (k + 1) % 3;
            next[k] = fmaxf(stay, move) + emission[(t * 3 + k) * count + s];
        }
        score[0] = next[0], score[1] = next[1], score[2] = next[2];
    }
    int state = score[1] > score[0];
    if (score[2] > score[state]) state = 2; //@ access score
    #pragma unroll
    for (int t = 31; t >= 0; --t)
    {
        path[t * count + s] = state;
        state = from[t][state]; //@ access from
    }
}

// Codons to amino acids, the table where it is used.
__global__ void translate_codons(const base_t* sequence, char* protein, int codons)
{
    const char acid[64] = {'K','N','K','N','T','T','T','T','R','S','R','S','I','I','M','I', //@ object acid: constant_table
                           'Q','H','Q','H','P','P','P','P','R','R','R','R','L','L','L','L',
                           'E','D','E','D','A','A','A','A','G','G','G','G','V','V','V','V',
                           '*','Y','*','Y','S','S','S','S','*','C','W','C','L','F','L','F'};
    for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < codons; c += gridDim.x * blockDim.x)
    {
        const int codon = (sequence[3 * c] & 3) << 4 | (sequence[3 * c + 1] & 3) << 2 | (sequence[3 * c + 2] & 3);
        protein[c] = acid[codon]; //@ access acid
    }
}
