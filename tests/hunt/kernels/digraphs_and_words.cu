// launch: n = 0, 1, 5, 12; m = 0, 3
// <: :> <% %> and, not, or_eq
extern "C" __global__ void digraphs_and_words(const float* in, const int* order, float* out, int n, unsigned m)
<%
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a<:12:> = <%%>;
    unsigned seen = 0;
    for (int i = 0; i < n and not (seen bitand 0x80u); ++i) <% a<:i:> = in<:t * 12 + i:>; seen or_eq 1u << (order<:t + i:> & 7); %>
    float s = 0.0f;
    for (int i = 0; i < n; ++i) <% if (i not_eq 3 or m) s = s * 0.5f + a<:n - 1 - i:>; %>
    out<:t:> = s + seen;
%>
