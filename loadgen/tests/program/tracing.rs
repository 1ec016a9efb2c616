//! `understudy trace`: exit 0 on every trace as it is, 1 with a task left out or moved, 2 with one doubled or unknown.

use std::path::{Path, PathBuf};

use crate::common::{stderr, stdout, understudy};

fn traces() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assignor/traces");
    let mut traces: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "trace"))
        .collect();
    traces.sort();
    traces
}

#[test]
fn every_trace_holds() {
    let traces = traces();
    assert!(traces.len() >= 4);
    let mut args = vec!["trace"];
    args.extend(traces.iter().map(|path| path.to_str().unwrap()));
    let output = understudy(Path::new("."), &args);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
}

/// The three lists of a member's line, as (name, start, end) of what is between the brackets.
fn lists(line: &str) -> Vec<(&str, usize, usize)> {
    ["assigned", "revoked", "learning"]
        .into_iter()
        .filter_map(|name| {
            let start = line.find(&format!("{name}: ["))? + name.len() + 3;
            Some((name, start, start + line[start..].find(']')?))
        })
        .collect()
}

/// What happens to one line of a trace, and the exit code that must follow.
fn mutants(line: &str) -> Vec<(String, i32)> {
    let lists = lists(line);
    let with = |start: usize, end: usize, tasks: &[&str]| {
        format!("{}{}{}", &line[..start], tasks.join(", "), &line[end..])
    };
    let mut mutants = Vec::new();
    for &(_, start, end) in &lists {
        let tasks: Vec<&str> = line[start..end].split(", ").filter(|task| !task.is_empty()).collect();
        mutants.push((with(start, end, &[&tasks[..], &["T99"]].concat()), 2));
        let Some((first, rest)) = tasks.split_first() else { continue };
        mutants.push((with(start, end, rest), 1));
        mutants.push((with(start, end, &[&tasks[..], &[*first]].concat()), 2));
        for &(_, other, other_end) in lists.iter().filter(|list| list.1 != start) {
            // Later edit first, so that the earlier one's place still holds.
            let into: Vec<&str> =
                line[other..other_end].split(", ").filter(|task| !task.is_empty()).chain([*first]).collect();
            let mut edits = [(start, end, rest.to_vec()), (other, other_end, into)];
            edits.sort_by_key(|edit| std::cmp::Reverse(edit.0));
            let moved = edits.iter().fold(line.to_owned(), |text, (start, end, tasks)| {
                format!("{}{}{}", &text[..*start], tasks.join(", "), &text[*end..])
            });
            mutants.push((moved, 1));
        }
    }
    mutants
}

#[test]
fn a_task_left_out_moved_doubled_or_unknown_is_found() {
    let dir = tempfile::TempDir::new().unwrap();
    let mutant = dir.path().join("mutant.trace");
    let mut tried = 0;
    for path in traces() {
        let text = std::fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            if !line.contains("(assigned:") {
                continue;
            }
            for (changed, code) in mutants(line) {
                let lines: Vec<&str> = text
                    .lines()
                    .enumerate()
                    .map(|(at, old)| if at == number { &changed } else { old })
                    .collect();
                std::fs::write(&mutant, lines.join("\n")).unwrap();
                let output = understudy(dir.path(), &["trace", "mutant.trace"]);
                let said = stdout(&output) + &stderr(&output);
                let place = format!("{}:{}: {changed}", path.display(), number + 1);
                assert_eq!(output.status.code(), Some(code), "{place}\n{said}");
                if code == 2 {
                    assert!(said.contains(&format!("mutant.trace:{}", number + 1)), "{place}\n{said}");
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 200, "{tried}");
}
