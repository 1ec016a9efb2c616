//! The scenarios that come with the program.

/// A built-in scenario: its name and its text.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// What it is called on the command line.
    pub name: &'static str,
    /// A scenario file as a user would write it.
    pub text: &'static str,
}

macro_rules! builtins {
    ($($name:literal),* $(,)?) => {
        &[$(Builtin { name: $name, text: include_str!(concat!("../../scenarios/", $name, ".toml")) }),*]
    };
}

/// All of them, in the order in which `understudy list` shows them.
pub const BUILTINS: &[Builtin] = builtins![
    "scale-up",
    "scale-down",
    "host-swap",
    "burst",
    "autoscaler",
    "rolling-bounce",
    "static-bounce",
    "full-restart",
    "worker-crash",
    "leader-crash",
    "learner-crash",
    "standby-failover",
    "lost-standby",
    "zombie",
    "flapping",
    "scale-down-timeout",
    "stateless-mix",
    "hot-partition",
    "trickle",
    "many-tasks",
    "far-behind",
    "change-of-plan",
    "rejoin",
    "heavy-state",
    "long-changelog",
    "batched-start",
];

/// The built-in of that name.
#[must_use]
pub fn find(name: &str) -> Option<Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name).copied()
}
