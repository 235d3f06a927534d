template<int N> struct F { static constexpr long v = F<N-1>::v + F<N-2>::v; char a[sizeof(F<N-1>)+1]; };
template<> struct F<0>{static constexpr long v=0; char a[1];}; template<> struct F<1>{static constexpr long v=1; char a[1];};
constexpr int f(int n){ return n < 2 ? n : f(n-1)+f(n-2); }
__global__ void k(int*p){ constexpr int x = f(60); p[0]=x; }
