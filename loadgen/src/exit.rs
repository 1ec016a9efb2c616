//! How the program ends: exit codes, and the one place that prints an error.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// A command that did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is well.
    Fine,
    /// A gate, an audit, a claim or a trace failed; it has been said.
    Failed,
    /// The user stopped it.
    Interrupted,
}

/// A command that could not.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Unusable input; nothing has been started.
    Unusable(anyhow::Error),
    /// The run itself failed.
    Run(anyhow::Error),
}

impl Failure {
    /// Unusable input, from any error.
    pub(crate) fn unusable(error: impl Into<anyhow::Error>) -> Self {
        Self::Unusable(error.into())
    }

    /// A failed run, from any error.
    pub(crate) fn run(error: impl Into<anyhow::Error>) -> Self {
        Self::Run(error.into())
    }
}

/// The exit code, after an error has been shown.
pub(crate) fn code(result: Result<Outcome, Failure>) -> ExitCode {
    ExitCode::from(match result {
        Ok(Outcome::Fine) => 0,
        Ok(Outcome::Failed) => 1,
        Ok(Outcome::Interrupted) => 130,
        Err(Failure::Unusable(error)) => {
            show(&error);
            2
        }
        Err(Failure::Run(error)) => {
            show(&error);
            3
        }
    })
}

fn show(error: &anyhow::Error) {
    match error.downcast_ref::<loadgen::scenario::Mistakes>() {
        // Already a whole diagnostic.
        Some(mistakes) => complain(&mistakes.render(styled(&io::stderr()))),
        None => complain(&format!("error: {}", told(error))),
    }
}

/// An error with its causes, each once: some say their cause themselves.
fn told(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |told, cause| {
        let cause = cause.to_string();
        match (told.is_empty(), told.contains(&cause)) {
            (true, _) => cause,
            (false, true) => told,
            (false, false) => format!("{told}: {cause}"),
        }
    })
}

/// Whether escape sequences belong on this stream.
pub(crate) fn styled(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Prints to standard output. Whoever reads it may have stopped reading (`understudy list | head -1`).
pub(crate) fn say(text: &str) {
    let mut out = io::stdout().lock();
    drop(writeln!(out, "{text}").and_then(|()| out.flush()));
}

/// Prints to standard error.
pub(crate) fn complain(text: &str) {
    drop(writeln!(io::stderr().lock(), "{text}"));
}
