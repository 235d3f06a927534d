//! A kernel that does not compile beside one that does.

#[cfg(test)]
mod tests {
    #[test]
    fn errors_are_told() {
        let broken = "extern \"C\" __global__ void misspelt(float* out) { out[0] = nowhere; }"; //~ compile
        assert!(cudarc::nvrtc::compile_ptx(broken).is_err());
    }
}
