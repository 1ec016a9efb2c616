//! Which strategies there are, and how a text such as `learner(max_learners=4)` becomes one.

use std::sync::Arc;

use crate::cooperative::Cooperative;
use crate::eager::Eager;
use crate::high_availability::HighAvailability;
use crate::learner::Learner;
use crate::options::{OptionDefinition, OptionError, Settings};
use crate::strategy::Strategy;
use crate::suggest;

/// The definition of one strategy.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub meaning: &'static str,
    /// Its options.
    pub options: &'static [OptionDefinition],
    /// Makes it from validated settings.
    pub build: fn(&Settings) -> Arc<dyn Strategy>,
}

impl Definition {
    /// Makes the strategy with the options that are given as (name, text); the others have their defaults.
    ///
    /// # Errors
    ///
    /// [`OptionError`] for an unknown option, one given twice, or a value out of range.
    ///
    /// ```
    /// let learner = assignor::strategies().iter().find(|definition| definition.name == "learner").unwrap();
    /// let strategy = learner.configure(&[("standbys".to_owned(), "1".to_owned())])?;
    /// assert_eq!(strategy.name(), "learner(standbys=1)");
    /// # Ok::<(), assignor::OptionError>(())
    /// ```
    pub fn configure(&self, given: &[(String, String)]) -> Result<Arc<dyn Strategy>, OptionError> {
        Settings::read(self.name, self.options, given).map(|settings| (self.build)(&settings))
    }
}

static BUILT_IN: [Definition; 4] =
    [Eager::DEFINITION, Cooperative::DEFINITION, HighAvailability::DEFINITION, Learner::DEFINITION];

/// The built-in strategies.
#[must_use]
pub fn strategies() -> &'static [Definition] {
    &BUILT_IN
}

/// A built-in strategy from a text such as `eager` or `learner(revocation=two-phase,max_learners=4)`.
///
/// # Errors
///
/// [`OptionError`], with the nearest known name where one is near.
///
/// ```
/// let strategy = assignor::parse("learner(max_learners=4, revocation=when-ready)")?;
/// assert_eq!(strategy.name(), "learner(max_learners=4)", "defaults are not repeated");
///
/// let mistake = assignor::parse("lerner").unwrap_err();
/// assert!(mistake.to_string().contains("did you mean `learner`?"));
/// # Ok::<(), assignor::OptionError>(())
/// ```
pub fn parse(text: &str) -> Result<Arc<dyn Strategy>, OptionError> {
    Registry::built_in().parse(text)
}

/// Strategies by name: the built-in ones, and a program's own.
#[derive(Clone, Debug)]
pub struct Registry {
    definitions: Vec<Definition>,
}

impl Registry {
    /// The built-in strategies.
    #[must_use]
    pub fn built_in() -> Self {
        Self { definitions: BUILT_IN.to_vec() }
    }

    /// Adds a strategy, in place of one of the same name.
    pub fn add(&mut self, definition: Definition) {
        self.definitions.retain(|known| known.name != definition.name);
        self.definitions.push(definition);
    }

    /// All of them.
    #[must_use]
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// The strategy that `text`, `name` or `name(option=value,…)`, means.
    ///
    /// # Errors
    ///
    /// [`OptionError`], with the nearest known name where one is near.
    pub fn parse(&self, text: &str) -> Result<Arc<dyn Strategy>, OptionError> {
        let (name, given) = split(text)?;
        let Some(definition) = self.definitions.iter().find(|definition| definition.name == name) else {
            let known: Vec<String> =
                self.definitions.iter().map(|definition| definition.name.to_owned()).collect();
            return Err(OptionError::UnknownStrategy {
                suggestion: suggest::nearest(name, &known),
                name: name.to_owned(),
                known,
            });
        };
        definition.configure(&given)
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::built_in()
    }
}

type Given = Vec<(String, String)>;

fn split(text: &str) -> Result<(&str, Given), OptionError> {
    let mistake = || OptionError::Syntax { text: text.to_owned() };
    let trimmed = text.trim();
    let Some((name, rest)) = trimmed.split_once('(') else {
        return if trimmed.is_empty() || trimmed.contains([')', '=', ',']) {
            Err(mistake())
        } else {
            Ok((trimmed, Vec::new()))
        };
    };
    let inside = rest.strip_suffix(')').ok_or_else(mistake)?;
    let mut given = Vec::new();
    for pair in inside.split(',').filter(|pair| !pair.trim().is_empty()) {
        let (option, value) = pair.split_once('=').ok_or_else(mistake)?;
        given.push((option.trim().to_owned(), value.trim().to_owned()));
    }
    Ok((name.trim(), given))
}
