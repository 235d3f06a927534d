//! Kernels for cudarc as it was up to 0.13: a device loads modules by name and hands out their functions.

use std::error::Error;
use std::sync::{Arc, LazyLock};

use cudarc::driver::{CudaDevice, LaunchAsync, LaunchConfig};
use cudarc::nvrtc::{CompileOptions, Ptx, compile_ptx, compile_ptx_with_opts};

const HISTOGRAM: &str = "
extern \"C\" __global__ void histogram(const float* in, const int* index, float* out, int n) {
    float count[52] = {};
    for (int i = 0; i < n; ++i) {
        count[index[i] % 52] += in[i];
    }
    for (int i = 0; i < 52; ++i) {
        out[threadIdx.x * 52 + i] = count[i];
    }
}
";

static MEDIANS: LazyLock<Ptx> = LazyLock::new(|| compile_ptx(include_str!("../kernels/medians.cu")).unwrap());

pub struct Device(Arc<CudaDevice>);

impl Device {
    pub fn new() -> Result<Self, Box<dyn Error>> {
        let device = CudaDevice::new(0)?;
        device.load_ptx(compile_ptx(HISTOGRAM)?, "statistics", &["histogram"])?;
        device.load_ptx(MEDIANS.clone(), "medians", &["medians"])?;
        let options = CompileOptions { maxrregcount: Some(40), ..Default::default() };
        let ptx = compile_ptx_with_opts(format!("#define LENGTH {}\n{}", 60, LENGTHS), options)?;
        device.load_ptx(ptx, "lengths", &["lengths"])?;
        Ok(Self(device))
    }

    pub fn histogram(&self, values: Vec<f32>, index: Vec<i32>) -> Result<Vec<f32>, Box<dyn Error>> {
        let function = self.0.get_func("statistics", "histogram").ok_or("there is no such function")?;
        let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (128, 1, 1), shared_mem_bytes: 0 };
        let count = values.len() as i32;
        let (values, index) = (self.0.htod_copy(values)?, self.0.htod_copy(index)?);
        let mut out = self.0.alloc_zeros::<f32>(128 * 52)?;
        unsafe { function.launch(config, (&values, &index, &mut out, count)) }?;
        Ok(self.0.dtoh_sync_copy(&out)?)
    }
}

const LENGTHS: &str = r#"
extern "C" __global__ void lengths(const float* in, const int* index, float* out, int n) {
    float length[LENGTH] = {};
    for (int i = 0; i < n; ++i) {
        length[index[i] % LENGTH] += in[i];
    }
    for (int i = 0; i < LENGTH; ++i) {
        out[threadIdx.x * LENGTH + i] = length[i];
    }
}
"#;
