// Rank filters and distance transforms.

#define WINDOW 9
#define CLAMP(v, lo, hi) ((v) < (lo) ? (lo) : (v) > (hi) ? (hi) : (v))

typedef unsigned char byte;

// Neighbours in the order in which a contour is followed.
__global__ void follow_contour(const byte* mask, int* length, int width, int height, int max_steps)
{
	const int dx[8] = {1, 1, 0, -1, -1, -1, 0, 1}; //@ object dx: constant_table
	const int dy[8] = {0, 1, 1, 1, 0, -1, -1, -1}; //@ object dy: constant_table
	int start = blockIdx.x * blockDim.x + threadIdx.x;
	if (start >= width * height || !mask[start])
		return;
	int x = start % width, y = start / width, heading = 0, steps = 0;
	do
	{
		int turn = (heading + 6) & 7;
		int tries = 0;
		for (; tries < 8; ++tries, turn = (turn + 1) & 7)
		{
			int nx = x + dx[turn]; //@ access dx
			int ny = y + dy[turn]; //@ access dy
			if (nx >= 0 && ny >= 0 && nx < width && ny < height && mask[ny * width + nx])
			{
				x = nx;
				y = ny;
				break;
			}
		}
		if (tries == 8)
			break;
		heading = turn;
	} while (++steps < max_steps && y * width + x != start);
	length[start] = steps;
}

// 3x3 median with a plain insertion sort.
__global__ void median_insertion(const byte* in, byte* out, int width, int height)
{
	byte window[WINDOW]; //@ object window: rolled_loop | dynamic_index
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y;
	if (x >= width)
		return;
	int count = 0;
#pragma unroll 1
	for (int n = 0; n < WINDOW; ++n)
	{
		int sx = CLAMP(x + n % 3 - 1, 0, width - 1);
		int sy = CLAMP(y + n / 3 - 1, 0, height - 1);
		byte value = in[sy * width + sx];
		int at = count++;
		while (at > 0 && window[at - 1] > value) //@ access window
		{
			window[at] = window[at - 1]; //@ access window
			--at;
		}
		window[at] = value; //@ access window
	}
	out[y * width + x] = window[WINDOW / 2];
}

#define SWAP_IF_GREATER(a, b) { byte low = min(a, b); b = max(a, b); a = low; }

// The same with exchanges at constant places.
__global__ void median_network(const byte* in, byte* out, int width, int height) //@ clean
{
	byte window[WINDOW];
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y;
	if (x >= width)
		return;
#pragma unroll
	for (int n = 0; n < WINDOW; ++n)
		window[n] = in[CLAMP(y + n / 3 - 1, 0, height - 1) * width + CLAMP(x + n % 3 - 1, 0, width - 1)];
#pragma unroll
	for (int pass = 0; pass < WINDOW; ++pass)
#pragma unroll
		for (int n = pass & 1; n + 1 < WINDOW; n += 2)
			SWAP_IF_GREATER(window[n], window[n + 1])
	out[y * width + x] = window[WINDOW / 2];
}

// Lower envelope of parabolas (a distance transform of one column of up to 64 rows).
__global__ void distance_columns(const float* cost, float* distance, int width, int rows)
{
	short apex[64]; //@ object apex: dynamic_index | rolled_loop
	float bound[65]; //@ object bound: dynamic_index | rolled_loop
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	if (x >= width)
		return;
	int k = 0;
	apex[0] = 0;
	bound[0] = -1e20f;
	bound[1] = 1e20f;
	for (int q = 1; q < rows; ++q)
	{
		float s;
		for (;;)
		{
			int v = apex[k]; //@ access apex
			s = ((cost[q * width + x] + q * q) - (cost[v * width + x] + v * v)) / (2 * q - 2 * v);
			if (s > bound[k]) //@ access bound
				break;
			--k;
		}
		++k;
		apex[k] = (short)q; //@ access apex
		bound[k] = s; //@ access bound
		bound[k + 1] = 1e20f; //@ access bound
	}
	k = 0;
	for (int q = 0; q < rows; ++q)
	{
		while (bound[k + 1] < q) //@ access bound
			++k;
		int v = apex[k]; //@ access apex
		distance[q * width + x] = (q - v) * (q - v) + cost[v * width + x];
	}
}

// Colour of the majority of the neighbourhood: votes are nibbles of a word, no array at all.
__global__ void majority_label(const byte* labels, byte* out, int width, int height) //@ clean
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y;
	if (x == 0 || x >= width - 1 || y == 0 || y >= height - 1)
		return;
	unsigned long long votes = 0;
	for (int n = 0; n < 9; ++n)
		votes += 1ull << (4 * (labels[(y + n / 3 - 1) * width + x + n % 3 - 1] & 15));
	int best = 0;
	for (int label = 1; label < 16; ++label)
		if (((votes >> (4 * label)) & 15) > ((votes >> (4 * best)) & 15))
			best = label;
	out[y * width + x] = (byte)best;
}
