//! What an event of a script can wait for instead of a time.

use std::fmt;

use assignor::MemberId;

/// A condition on the group, true from some moment on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A learner of this member has caught up, since the event before this one.
    Ready(MemberId),
    /// This member has begun to learn a task, since the event before this one.
    Learning(MemberId),
    /// A generation since the event before this one is balanced and quiet, and every task runs.
    Balanced,
    /// So many generations have been completed since the end of the warm-up.
    Generation(u64),
}

impl Condition {
    /// What [`parse`](Self::parse) reads, as a regular expression.
    pub(super) const PATTERN: &'static str = r"^(balanced|(ready|learning)\(.+\)|generation\([1-9][0-9]*\))$";

    /// Reads `ready(S4)`, `learning(S4)`, `balanced`, `generation(3)`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text == "balanced" {
            return Some(Self::Balanced);
        }
        let (word, rest) = text.split_once('(')?;
        let inner = rest.strip_suffix(')')?.trim();
        match word.trim() {
            "ready" if !inner.is_empty() => Some(Self::Ready(inner.into())),
            "learning" if !inner.is_empty() => Some(Self::Learning(inner.into())),
            "generation" => inner.parse().ok().filter(|&number| number > 0).map(Self::Generation),
            _ => None,
        }
    }

    /// The member it names.
    #[must_use]
    pub fn member(&self) -> Option<&MemberId> {
        match self {
            Self::Ready(member) | Self::Learning(member) => Some(member),
            Self::Balanced | Self::Generation(_) => None,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(member) => write!(f, "ready({member})"),
            Self::Learning(member) => write!(f, "learning({member})"),
            Self::Balanced => f.write_str("balanced"),
            Self::Generation(number) => write!(f, "generation({number})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_shown() {
        for text in ["ready(S4)", "learning(S4)", "balanced", "generation(3)"] {
            assert_eq!(Condition::parse(text).map(|condition| condition.to_string()).as_deref(), Some(text));
        }
        for wrong in
            ["", "ready", "ready()", "ready(S4", "generation(0)", "generation(x)", "Balanced", "after(S1)"]
        {
            assert_eq!(Condition::parse(wrong), None, "{wrong}");
        }
    }
}
