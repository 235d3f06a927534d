//! Kernels of macros: one text for each call, where it is clear what the call gives.

use cudarc::nvrtc::{Ptx, compile_ptx};

/// A function for each type. The text is the macro's, its types are those of the calls.
macro_rules! reductions {
    ($($name:ident: $element:ty => $accumulator:literal),+ $(,)?) => {
        $(
            pub fn $name() -> Ptx {
                compile_ptx(concat!(
                    "extern \"C\" __global__ void ", stringify!($name), "(const int *in, ", $accumulator, " *out, int n) {\n",
                    "    ", $accumulator, " part[26];\n", //~ dynamic_index
                    "    #pragma unroll\n    for (int k = 0; k < 26; ++k) part[k] = 0;\n",
                    "    for (int k = 0; k < n; ++k) part[in[k * 32 + threadIdx.x] % 26] += sizeof(", stringify!($element), ");\n",
                    "    #pragma unroll\n    for (int k = 0; k < 26; ++k) out[k * 32 + threadIdx.x] = part[k];\n}",
                ))
                .unwrap()
            }
        )+
    };
}

reductions! {
    reduce_int: int => "float",
    reduce_char: char => "double",
}

/// The text is the caller's.
macro_rules! module {
    ($source:expr) => {{
        let source = format!("#define COUNT 28\n{}", $source);
        compile_ptx(&source).unwrap()
    }};
}

pub fn counted() -> Ptx {
    let source = r#"extern "C" __global__ void counted(const int *in, int *out, int n) {
    int count[COUNT]; //~ dynamic_index
#pragma unroll
    for (int k = 0; k < COUNT; ++k) count[k] = 0;
    for (int k = 0; k < n; ++k) count[in[k * 32 + threadIdx.x] % COUNT] += k;
#pragma unroll
    for (int k = 0; k < COUNT; ++k) out[k * 32 + threadIdx.x] = count[k];
}"#;
    module!(source)
}

/// Nothing that is followed says what the items are.
macro_rules! of_items {
    ($item:item) => {
        $item
        compile_ptx($item); //~ not_analysed
    };
}

of_items!(const TEXT: &str = "extern \"C\" __global__ void never(int *out) { out[0] = 1; }";);
