//! Content hashes: equal for equal contents only.

/// A hash of a sequence of texts. It also depends on their order and lengths.
#[derive(Default)]
pub struct Digest(blake3::Hasher);

impl Digest {
    pub fn add(&mut self, text: &str) {
        self.0.update(&(text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    /// The hash in hexadecimal.
    pub fn finish(self) -> String {
        self.0.finalize().to_hex().to_string()
    }
}

/// The digest of a sequence of texts.
pub fn name_of<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut digest = Digest::default();
    texts.into_iter().for_each(|text| digest.add(text));
    digest.finish()
}
