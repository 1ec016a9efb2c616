//! Tells the program what it was built from: commit, whether its sources were changed since, compiler, RocksDB.
//!
//! Whatever can't be found out (no git, no repository, no lock file) is left unsaid; the build goes on without it.

use std::path::Path;
use std::process::Command;

/// What the program is built from, below the workspace's root.
const SOURCES: [&str; 9] = [
    "Cargo.toml",
    "Cargo.lock",
    "assignor/src",
    "engine/src",
    "results/src",
    "loadgen/src",
    "loadgen/scenarios",
    "loadgen/build.rs",
    "loadgen/Cargo.toml",
];

fn main() {
    let root = Path::new("..");
    for source in SOURCES.iter().map(|source| root.join(source)).filter(|source| source.exists()) {
        println!("cargo:rerun-if-changed={}", source.display());
    }
    // It grows with every commit and checkout.
    if let Some(log) = said(git().args(["rev-parse", "--git-path", "logs/HEAD"]))
        && Path::new(&log).exists()
    {
        println!("cargo:rerun-if-changed={log}");
    }
    tell("COMMIT", said(git().args(["rev-parse", "HEAD"])));
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    let changed = said(git().args(status).args(SOURCES.map(|source| format!("../{source}"))));
    tell("DIRTY", changed.map(|changed| (!changed.is_empty()).to_string()));
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    tell("RUSTC", said(Command::new(compiler).arg("--version")));
    tell("ROCKSDB", rocksdb(&root.join("Cargo.lock")));
}

fn tell(name: &str, value: Option<String>) {
    if let Some(value) = value {
        println!("cargo:rustc-env=UNDERSTUDY_{name}={value}");
    }
}

/// Git that leaves the repository as it is.
fn git() -> Command {
    let mut git = Command::new("git");
    git.arg("--no-optional-locks");
    git
}

/// What a command prints, if it succeeds.
fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// The version of RocksDB that is compiled in: the bindings carry it behind a plus sign, as in `0.17.3+10.4.2`.
fn rocksdb(lock: &Path) -> Option<String> {
    let lock = std::fs::read_to_string(lock).ok()?;
    let package = lock.split("[[package]]").find(|package| package.contains("\"librocksdb-sys\""))?;
    let version = package.lines().find_map(|line| line.strip_prefix("version = "))?;
    Some(version.trim_matches('"').split_once('+')?.1.to_owned())
}
