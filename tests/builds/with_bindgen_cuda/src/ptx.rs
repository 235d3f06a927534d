pub const WITH_BINDGEN_CUDA: &str = include_str!(concat!(env!("OUT_DIR"), "/with_bindgen_cuda.ptx"));
