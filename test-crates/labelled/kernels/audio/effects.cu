// Sound: a voice, or a channel, for each thread.

#define TAPS 24
#define FOR_EACH_TAP(k) _Pragma("unroll") for (int k = 0; k < TAPS; ++k)

struct Biquad {
	float b0, b1, b2, a1, a2;
	float z[2];
};

// A delay line whose reading place is moved by an oscillator.
extern "C" __global__ void chorus(const float *in, const int *depth, float *out, int frames, int voices)
{
	float line[TAPS]; //@ object line: dynamic_index
	int voice = blockIdx.x * blockDim.x + threadIdx.x;
	if (voice >= voices)
		return;
	FOR_EACH_TAP(k)
		line[k] = 0.0f;
	int head = 0;
	for (int t = 0; t < frames; ++t)
	{
		line[head] = in[t * voices + voice]; //@ access line
		int tap = head + depth[t];
		out[t * voices + voice] = 0.5f * (line[head] + line[tap % TAPS]); //@ access line
		head = (head + 1) % TAPS;
	}
}

// Sections in a row; how many there are is up to the preset.
extern "C" __global__ void equaliser(const float *in, const Biquad *preset, float *out, int frames, int voices, int sections)
{
	Biquad section[6]; //@ object section|section.z: rolled_loop
	int voice = blockIdx.x * blockDim.x + threadIdx.x;
	if (voice >= voices)
		return;
	for (int s = 0; s < sections; ++s)
		section[s] = preset[s]; //@ access section
	for (int t = 0; t < frames; ++t)
	{
		float x = in[t * voices + voice];
		for (int s = 0; s < sections; ++s)
		{
			Biquad &q = section[s];
			float y = q.b0 * x + q.z[0]; //@ access section
			q.z[0] = q.b1 * x - q.a1 * y + q.z[1]; //@ access section
			q.z[1] = q.b2 * x - q.a2 * y; //@ access section
			x = y;
		}
		out[t * voices + voice] = x;
	}
}

// The four sections of a fixed crossover.
extern "C" __global__ void crossover(const float *in, const Biquad *preset, float *out, int frames, int voices) //@ clean
{
	Biquad section[4];
	int voice = blockIdx.x * blockDim.x + threadIdx.x;
	if (voice >= voices)
		return;
	for (int s = 0; s < 4; ++s)
		section[s] = preset[s];
	for (int t = 0; t < frames; ++t)
	{
		float x = in[t * voices + voice];
		for (int s = 0; s < 4; ++s)
		{
			Biquad &q = section[s];
			float y = q.b0 * x + q.z[0];
			q.z[0] = q.b1 * x - q.a1 * y + q.z[1];
			q.z[1] = q.b2 * x - q.a2 * y;
			x = y;
		}
		out[t * voices + voice] = x;
	}
}

// An oscillator bank in single precision, each with a phase that grows without bound.
extern "C" __global__ void additive(const float *frequency, float *out, int frames, int partials, float rate) //@ object -: slow_path_math
{
	float phase[12]; //@ object phase: rolled_loop
	int note = blockIdx.x * blockDim.x + threadIdx.x;
	for (int p = 0; p < partials; ++p)
		phase[p] = frequency[note] * p; //@ access phase
	for (int t = 0; t < frames; ++t)
	{
		float sum = 0.0f;
		for (int p = 0; p < partials; ++p)
		{
			phase[p] += frequency[note] * (p + 1) / rate; //@ access phase
			sum += sinf(phase[p] * 6.2831853f) / (p + 1); //@ access phase //@ access -
		}
		out[t * gridDim.x * blockDim.x + note] = sum;
	}
}

// Sixteen-bit samples through a shaper whose curve is written here.
extern "C" __global__ void wave_shaper(const short *in, short *out, int frames)
{
	const short curve[33] = {0,     3210,  6392,  9511,  12539, 15446, 18204, 20787, 23169, 25329, 27244, //@ object curve: constant_table
				 28897, 30272, 31356, 32137, 32609, 32767, 32609, 32137, 31356, 30272, 28897,
				 27244, 25329, 23169, 20787, 18204, 15446, 12539, 9511,  6392,  3210,  0};
	for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < frames; t += gridDim.x * blockDim.x)
	{
		int x = in[t] < 0 ? -in[t] : in[t];
		int cell = x >> 10, share = x & 1023;
		int y = curve[cell] + ((curve[cell + 1] - curve[cell]) * share >> 10); //@ access curve
		out[t] = (short)(in[t] < 0 ? -y : y);
	}
}

// Pitch by autocorrelation: the peak that comes first is good enough.
extern "C" __global__ void first_peak(const float *in, int *period, int blocks, float threshold)
{
	float r[48]; //@ object r: rolled_loop
	int b = blockIdx.x * blockDim.x + threadIdx.x;
	if (b >= blocks)
		return;
#pragma unroll 1
	for (int lag = 0; lag < 48; ++lag)
	{
		float sum = 0.0f;
		for (int t = 0; t < 128; ++t)
			sum += in[t * blocks + b] * in[(t + lag) * blocks + b];
		r[lag] = sum; //@ access r
	}
	int lag = 1;
	for (; lag < 47; ++lag)
	{
		if (r[lag] > threshold * r[0] && r[lag] > r[lag - 1] && r[lag] >= r[lag + 1])
			break;
	}
	period[b] = lag;
}
