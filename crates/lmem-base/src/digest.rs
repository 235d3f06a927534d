//! Names for contents: equal for equal contents, and for no others.

/// A hash of texts; where their order or lengths differ, so does it.
#[derive(Default)]
pub struct Digest(blake3::Hasher);

impl Digest {
    pub fn add(&mut self, text: &str) {
        self.0.update(&(text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    /// Hexadecimal.
    pub fn finish(self) -> String {
        self.0.finalize().to_hex().to_string()
    }
}

/// The digest of some texts.
pub fn name_of<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut digest = Digest::default();
    texts.into_iter().for_each(|text| digest.add(text));
    digest.finish()
}
