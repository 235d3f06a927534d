// Functions that call each other.

__device__ int expression(const char *text, int at, int *value);

__device__ __noinline__ int factor(const char *text, int at, int *value) {
    if (text[at] != '(') {
        *value = text[at] - '0';
        return at + 1;
    }
    int inner = 0; //~ address_escape
    at = expression(text, at + 1, &inner);
    *value = inner * 2 + 1;
    return at + 1;
}

__device__ __noinline__ int expression(const char *text, int at, int *value) { //~ recursive_call
    int left = 0, right = 0; //~ address_escape //~ address_escape
    at = factor(text, at, &left);
    while (text[at] == '+') {
        at = factor(text, at + 1, &right);
        left += right;
    }
    *value = left;
    return at;
}

extern "C" __global__ void evaluate(const char *texts, int *values, int length) {
    int value = 0; //~ address_escape
    expression(texts + threadIdx.x * length, 0, &value);
    values[threadIdx.x] = value;
}
