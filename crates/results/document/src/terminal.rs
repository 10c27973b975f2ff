//! Width and colours of the terminal.

/// Width of text output in columns.
pub const WIDTH: usize = 80;

/// Whether text is coloured with ANSI sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// No: a pipe, a file, or NO_COLOR.
    Plain,
    /// Yes.
    Colour,
}

impl Paint {
    fn wrapped(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }

    /// A heading.
    pub fn bold(self, text: &str) -> String {
        self.wrapped("1", text)
    }

    /// Less important text.
    pub fn dim(self, text: &str) -> String {
        self.wrapped("2", text)
    }

    /// A warning.
    pub fn warn(self, text: &str) -> String {
        self.wrapped("33", text)
    }
}
