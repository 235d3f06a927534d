//! Which braces open blocks.

/// The braces around a place, read word by word without directives.
#[derive(Debug, Default)]
pub struct Blocks<'t> {
    /// Whether each opens a block: not the list of values behind `=`, the members of a class, or a namespace.
    open: Vec<bool>,
    before: &'t str,
}

impl<'t> Blocks<'t> {
    /// Goes on behind the next word.
    pub fn step(&mut self, word: &'t str) {
        match word {
            "{" => self.open.push(match self.before {
                ")" | "else" | "do" | "try" | "const" | "noexcept" | "mutable" => true,
                ";" | "{" | "}" | ":" => self.is_within(),
                _ => false,
            }),
            "}" => drop(self.open.pop()),
            _ => {}
        }
        self.before = word;
    }

    /// Whether the innermost brace opens a block.
    pub fn is_within(&self) -> bool {
        self.open.last() == Some(&true)
    }

    /// Whether that is the only brace.
    pub fn is_within_one(&self) -> bool {
        self.open == [true]
    }
}
