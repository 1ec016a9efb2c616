//! Ctrl-C: what was measured is kept and marked incomplete, exit code 130, no folder of state is left.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::common::{below, program, result, small};

/// Starts a run and waits until it has said a line with `part` in it.
fn start_until(dir: &Path, args: &[&str], part: &str) -> Child {
    let mut child = program(dir)
        .args(["run", "small.toml", "--out", "out"])
        .args(args)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let said = lines.by_ref().map(Result::unwrap).find(|line| line.contains(part));
    assert!(said.is_some(), "it ended before it said {part}");
    // What it says from now on must not block it.
    std::thread::spawn(move || lines.for_each(drop));
    child
}

fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

fn end(mut child: Child) -> ExitStatus {
    child.wait().unwrap()
}

fn no_state_left(dir: &Path) {
    let left: Vec<_> =
        below(dir).into_iter().filter(|path| path.to_string_lossy().contains(".understudy-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let dir = small();
    let child = start_until(dir.path(), &["--strategy", "eager", "--set", "duration=60s"], "S3 starts");
    interrupt(&child);
    assert_eq!(end(child).code(), Some(130));
    let result = result(&dir.path().join("out"));
    assert_eq!(result["incomplete"], true);
    let run = &result["runs"][0];
    assert_eq!(run["incomplete"], true);
    assert_eq!(run["membership"][0]["members"][0], "S3");
    assert_eq!(run["audit"]["passed"], true, "{run}");
    assert!(dir.path().join("out/latency-eager-1.hlog").exists());
    no_state_left(dir.path());
}

#[test]
fn an_interrupt_before_anything_was_measured_leaves_nothing() {
    let dir = small();
    let child = start_until(dir.path(), &["--set", "warm_up=60s"], "warming up");
    interrupt(&child);
    assert_eq!(end(child).code(), Some(130));
    assert!(!dir.path().join("out").exists(), "{:?}", below(dir.path()));
}
