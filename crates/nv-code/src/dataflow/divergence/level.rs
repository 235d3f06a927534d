//! How much is known of a value in the threads of a warp.

/// Ordered so that the result of an operation has the highest level of its operands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The same in all threads.
    Same,
    #[default]
    Unknown,
    /// It may differ.
    Differs,
    /// Threads exchanged it (`shfl`). A value that differs and is combined with what the others have may be the same in
    /// all threads afterwards, as the sum of a warp is: so nothing is known of what is made of it.
    Exchanged,
}

impl Level {
    /// Whether the value is divergent; `None` if unknown.
    pub fn differs(self) -> Option<bool> {
        match self {
            Self::Same => Some(false),
            Self::Unknown | Self::Exchanged => None,
            Self::Differs => Some(true),
        }
    }
}

impl From<Option<bool>> for Level {
    fn from(differs: Option<bool>) -> Self {
        match differs {
            Some(false) => Self::Same,
            None => Self::Unknown,
            Some(true) => Self::Differs,
        }
    }
}
