//! The key `arch`.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use lmem_base::gpu::Arch;

/// The value of the key `arch`: one name or a list of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArchList(pub Vec<Arch>);

impl<'de> Deserialize<'de> for ArchList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArchListVisitor)
    }
}

struct ArchListVisitor;

impl<'de> Visitor<'de> for ArchListVisitor {
    type Value = ArchList;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an architecture such as \"sm_90\", or a list of them")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ArchList, E> {
        Ok(ArchList(vec![text.parse().map_err(E::custom)?]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<ArchList, A::Error> {
        let mut list = Vec::new();
        while let Some(name) = names.next_element::<String>()? {
            let arch = name.parse().map_err(de::Error::custom)?;
            if !list.contains(&arch) {
                list.push(arch);
            }
        }
        if list.is_empty() {
            return Err(de::Error::invalid_length(0, &self));
        }
        Ok(ArchList(list))
    }
}
