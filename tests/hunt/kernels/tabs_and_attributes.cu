// launch: n = 0, 1, 5, 12; m = 0, 3
// control: tabs, attributes, alignas, restrict between the tokens
extern "C" __global__ void tabs_and_attributes(const float* in, const int* order, float* out, int n, unsigned m)
{
	const	float	*	__restrict__	src	=	in + (blockIdx.x * blockDim.x + threadIdx.x) * 12;
	[[maybe_unused]] alignas ( 16 )	float	a	[	12	]	;
	for	(	int	i	=	0	;	i	<	n	;	++	i	)	a	[	i	]	=	src	[	i	]	;
	float	s	=	0.0f	;
	for	(	int	i	=	0	;	i	<	n	;	i	++	)	{	if	(	n > 3	)	[[likely]]	s	=	s	*	0.5f	+	a	[	n - 1 - i	]	;	}
	out[blockIdx.x * blockDim.x + threadIdx.x]	=	s	;
}
