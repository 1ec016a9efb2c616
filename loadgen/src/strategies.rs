//! Strategies as the command line names them: a list whose options have commas of their own.

use std::sync::Arc;

use assignor::{OptionError, Strategy};

/// Why a list of strategies can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StrategyError {
    /// A strategy or an option makes no sense.
    #[error("--strategy {text}: {source}; `understudy list` shows all")]
    Unusable {
        /// What was written.
        text: String,
        /// What is wrong with it.
        source: Box<OptionError>,
    },
    /// One strategy twice: their results would have one name.
    #[error("--strategy names {0} twice")]
    Twice(String),
    /// Nothing between two commas, or nothing at all.
    #[error("--strategy {0:?} has nothing between two commas; for example: --strategy eager,learner")]
    Empty(String),
    /// A parenthesis without its other half.
    #[error(
        "--strategy {0:?} has a parenthesis without its other half; in a shell, quote it: --strategy 'learner(max_learners=4)'"
    )]
    Parenthesis(String),
}

/// Reads lists such as `learner(revocation=two-phase,max_learners=4),eager`.
///
/// # Errors
///
/// [`StrategyError`], naming what was written and the remedy.
pub fn parse(lists: &[String]) -> Result<Vec<Arc<dyn Strategy>>, StrategyError> {
    let mut strategies: Vec<Arc<dyn Strategy>> = Vec::new();
    for text in lists.iter().map(|list| split(list)).collect::<Result<Vec<_>, _>>()?.concat() {
        let strategy = assignor::parse(text)
            .map_err(|source| StrategyError::Unusable { text: text.to_owned(), source: Box::new(source) })?;
        if strategies.iter().any(|other| other.name() == strategy.name()) {
            return Err(StrategyError::Twice(strategy.name()));
        }
        strategies.push(strategy);
    }
    Ok(strategies)
}

/// Splits at the commas outside of parentheses.
///
/// # Errors
///
/// [`StrategyError`], where nothing is between two commas or a parenthesis lacks its other half.
pub fn split(list: &str) -> Result<Vec<&str>, StrategyError> {
    let (mut depth, mut start) = (0_usize, 0);
    let mut parts = Vec::new();
    for (at, c) in list.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or_else(|| StrategyError::Parenthesis(list.to_owned()))?,
            ',' if depth == 0 => {
                parts.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(StrategyError::Parenthesis(list.to_owned()));
    }
    parts.push(list[start..].trim());
    if parts.contains(&"") { Err(StrategyError::Empty(list.to_owned())) } else { Ok(parts) }
}

/// A strategy's name as part of a file's: `learner(max_learners=4)` becomes `learner-max_learners-4`.
#[must_use]
pub fn file_name(strategy: &str) -> String {
    let plain: String =
        strategy.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
    plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_inside_parentheses_do_not_split() {
        let list = "learner(revocation=two-phase,max_learners=4), eager";
        assert_eq!(split(list).unwrap(), ["learner(revocation=two-phase,max_learners=4)", "eager"]);
        for wrong in ["", "eager,", ",eager", "learner(a=b", "learner)", "eager,,learner"] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_become_file_names() {
        assert_eq!(file_name("eager"), "eager");
        assert_eq!(
            file_name("learner(max_learners=4,revocation=two-phase)"),
            "learner-max_learners-4-revocation-two-phase"
        );
    }
}
