//! Mistakes in a scenario, shown in place: source, line, column, and what to do about it.

use std::fmt;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::tree::{Place, Source};

/// One mistake.
#[derive(Clone, Debug)]
pub(crate) struct Mistake {
    title: String,
    at: Option<Place>,
    label: Option<String>,
    hint: Option<String>,
}

impl Mistake {
    /// A mistake that was written somewhere.
    pub(crate) fn at(place: &Place, title: impl Into<String>) -> Self {
        Self { title: title.into(), at: Some(place.clone()), label: None, hint: None }
    }

    /// A mistake that is nowhere in particular, such as something that is missing.
    pub(crate) fn anywhere(title: impl Into<String>) -> Self {
        Self { title: title.into(), at: None, label: None, hint: None }
    }

    /// What to say under the marked text.
    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// What to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// What is wrong with a scenario: all of it at once, in the order of the text.
#[derive(Clone, Debug)]
pub struct Mistakes {
    sources: Vec<Source>,
    mistakes: Vec<Mistake>,
}

/// A slip on one line of a long file can raise many; past these nobody reads on.
const SHOWN: usize = 12;

impl Mistakes {
    pub(crate) fn new(sources: Vec<Source>, mut mistakes: Vec<Mistake>) -> Self {
        let place = |mistake: &Mistake| mistake.at.as_ref().map(|at| (at.source, at.span.start));
        mistakes.sort_by_key(place);
        Self { sources, mistakes }
    }

    /// A single mistake without a text to show.
    pub(crate) fn nowhere(mistake: Mistake) -> Self {
        Self { sources: Vec::new(), mistakes: vec![mistake] }
    }

    /// The mistakes as a terminal shows them, in colour if `styled`.
    #[must_use]
    pub fn render(&self, styled: bool) -> String {
        let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
        let shown: Vec<String> =
            self.mistakes.iter().take(SHOWN).map(|mistake| renderer.render(&[self.group(mistake)])).collect();
        let mut text = shown.join("\n\n");
        if let Some(more @ 1..) = self.mistakes.len().checked_sub(SHOWN) {
            text.push_str(&format!("\n\n… and {more} more"));
        }
        text
    }

    fn group<'a>(&'a self, mistake: &'a Mistake) -> Group<'a> {
        let title = Level::ERROR.primary_title(mistake.title.as_str());
        let place = mistake.at.as_ref().and_then(|at| Some((self.sources.get(at.source)?, at)));
        let mut group = match (place, self.sources.first()) {
            (Some((source, at)), _) => {
                let mark = AnnotationKind::Primary.span(at.span.clone()).label(mistake.label.as_deref());
                title.element(
                    Snippet::source(source.text.as_str()).path(source.name.as_str()).annotation(mark),
                )
            }
            (None, Some(source)) => title.element(annotate_snippets::Origin::path(source.name.as_str())),
            (None, None) => Group::with_title(title),
        };
        if let Some(hint) = &mistake.hint {
            group = group.element(Level::HELP.message(hint.as_str()));
        }
        group
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Mistakes {}

/// ``; did you mean `keys`?`` if one of the words is close to what was written.
pub(crate) fn did_you_mean<'a>(written: &str, words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    words
        .into_iter()
        .map(|word| (strsim::damerau_levenshtein(&written.to_lowercase(), word), word))
        .filter(|(distance, word)| *distance <= (word.chars().count() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| format!("did you mean `{word}`?"))
}
