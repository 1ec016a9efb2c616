//! Words and lists of one line.

use super::error::TraceFault;

/// What is left of a line.
pub(super) struct Cursor<'t> {
    rest: &'t str,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { rest: text.trim() }
    }

    pub(super) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// Whether the line goes on with `symbol`, which is consumed.
    pub(super) fn eat(&mut self, symbol: char) -> bool {
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    /// Consumes `symbol` or says that it was expected.
    pub(super) fn need(&mut self, symbol: char, expected: &'static str) -> Result<(), TraceFault> {
        if self.eat(symbol) { Ok(()) } else { Err(self.fault(expected)) }
    }

    /// The next word: everything up to a space or one of `()[]:,`.
    pub(super) fn word(&mut self, expected: &'static str) -> Result<&'t str, TraceFault> {
        let stops = |c: char| c.is_whitespace() || "()[]:,".contains(c);
        let (word, rest) = self.rest.split_at(self.rest.find(stops).unwrap_or(self.rest.len()));
        if word.is_empty() {
            return Err(self.fault(expected));
        }
        self.rest = rest.trim_start();
        Ok(word)
    }

    /// A list of words in brackets, separated by commas.
    pub(super) fn list(&mut self) -> Result<Vec<&'t str>, TraceFault> {
        const EXPECTED: &str = "a list such as [T1, T2]";
        self.need('[', EXPECTED)?;
        let mut words = Vec::new();
        while !self.eat(']') {
            if !words.is_empty() {
                self.need(',', EXPECTED)?;
            }
            words.push(self.word(EXPECTED)?);
        }
        Ok(words)
    }

    pub(super) fn fault(&self, expected: &'static str) -> TraceFault {
        let found = if self.rest.is_empty() { "end of line" } else { self.rest };
        TraceFault::Syntax { found: found.to_owned(), expected }
    }
}
