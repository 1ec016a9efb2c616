//! Runs the real program in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// The program, to be started in `dir`.
pub(crate) fn program(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_understudy"));
    command.current_dir(dir).env("NO_COLOR", "1");
    command
}

/// Runs it in `dir` to its end.
pub(crate) fn understudy(dir: &Path, args: &[&str]) -> Output {
    program(dir).args(args).output().expect("the program starts")
}

/// A folder with `small.toml` in it.
pub(crate) fn small() -> TempDir {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("small.toml"), include_str!("small.toml")).unwrap();
    dir
}

/// What it wrote to standard error.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What it wrote to standard output.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Ends the test with everything the program said unless it ended with `code`.
#[track_caller]
pub(crate) fn assert_code(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "stderr:\n{}\nstdout:\n{}", stderr(output), stdout(output));
}

/// Every file and folder below `dir`, by path relative to it, sorted.
pub(crate) fn below(dir: &Path) -> Vec<PathBuf> {
    fn walk(root: &Path, dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            found.push(path.strip_prefix(root).unwrap().to_owned());
            if path.is_dir() {
                walk(root, &path, found);
            }
        }
    }
    let mut found = Vec::new();
    walk(dir, dir, &mut found);
    found.sort();
    found
}

/// The `result.json` in `dir`.
pub(crate) fn result(dir: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(dir.join("result.json")).unwrap()).unwrap()
}

/// Decodes standard base64, in which interval logs carry their histograms and browsers their pictures.
pub(crate) fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("{c} in base64"),
    };
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0_u32, 0);
    for c in text.bytes().filter(|&c| c != b'=') {
        bits = bits << 6 | u32::from(value(c));
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}
