//! The proposal's stories hold, and break where they are changed.

use std::collections::BTreeSet;

use assignor::trace::{Place, Story, TraceFault, replay};

const STORIES: [(&str, &str); 4] = [
    ("scale-up", include_str!("../traces/scale-up.trace")),
    ("scale-down", include_str!("../traces/scale-down.trace")),
    ("host-swap", include_str!("../traces/host-swap.trace")),
    ("leader-crash", include_str!("../traces/leader-crash.trace")),
];

fn differences(name: &str, text: &str) -> Vec<assignor::trace::Difference> {
    let story = Story::read(name, text).unwrap_or_else(|error| panic!("{error}"));
    replay(&story).unwrap_or_else(|error| panic!("{error}"))
}

fn fault(text: &str) -> (usize, TraceFault) {
    let error = Story::read("broken", text).expect_err("the file should not be readable");
    (error.line, *error.fault)
}

/// The three lists of every member's line, as (start, end) of what is between the brackets.
fn lists(text: &str) -> Vec<(usize, usize)> {
    let mut lists = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('S') {
            let starts = line.match_indices('[').take(3).map(|(at, _)| at + 1);
            lists.extend(
                starts.map(|at| (offset + at, offset + at + line[at..].find(']').expect("a closed list"))),
            );
        }
        offset += line.len();
    }
    lists
}

fn with_list(text: &str, (start, end): (usize, usize), tasks: &BTreeSet<&str>) -> String {
    let list: Vec<&str> = tasks.iter().copied().collect();
    format!("{}{}{}", &text[..start], list.join(", "), &text[end..])
}

fn tasks_in(text: &str, (start, end): (usize, usize)) -> BTreeSet<&str> {
    text[start..end].split(", ").filter(|task| !task.is_empty()).collect()
}

#[test]
fn every_story_holds() {
    for (name, text) in STORIES {
        let found = differences(name, text);
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{name}:\n{}", shown.join("\n"));
    }
}

/// Exit code semantics: whether a changed story holds, does not hold, or is unusable.
#[derive(Debug, PartialEq)]
enum Verdict {
    Holds,
    Differs,
    Unusable,
}

fn verdict(text: &str) -> Verdict {
    match Story::read("changed", text).and_then(|story| replay(&story)) {
        Ok(differences) if differences.is_empty() => Verdict::Holds,
        Ok(_) => Verdict::Differs,
        Err(_) => Verdict::Unusable,
    }
}

#[test]
fn a_story_without_one_of_its_tasks_differs() {
    for (name, text) in STORIES {
        for list in lists(text) {
            for task in tasks_in(text, list) {
                let mut fewer = tasks_in(text, list);
                fewer.remove(task);
                let changed = with_list(text, list, &fewer);
                assert_eq!(verdict(&changed), Verdict::Differs, "{name}: {task} left out\n{changed}");
            }
        }
    }
}

#[test]
fn a_story_with_a_task_in_another_list_differs() {
    let mut moved = 0;
    for (name, text) in STORIES {
        let all = lists(text);
        for (place, &from) in all.iter().enumerate() {
            // Any list of the same member, and of its neighbours, before and behind.
            for &to in &all[place.saturating_sub(7)..(place + 8).min(all.len())] {
                let between = &text[from.0.min(to.0)..from.0.max(to.0)];
                if from == to || between.contains("join:") || between.contains("assign:") {
                    continue;
                }
                for task in tasks_in(text, from) {
                    let (mut fewer, mut more) = (tasks_in(text, from), tasks_in(text, to));
                    if !more.insert(task) || !fewer.remove(task) {
                        continue;
                    }
                    // The later list first, so that the earlier one's place stays where it was.
                    let mut edits = [(from, fewer), (to, more)];
                    edits.sort_by_key(|edit| std::cmp::Reverse(edit.0));
                    let changed = edits
                        .iter()
                        .fold(text.to_owned(), |text, (list, tasks)| with_list(&text, *list, tasks));
                    let lines = text.lines().zip(changed.lines());
                    let edited: Vec<&str> = lines.filter(|(a, b)| a != b).map(|(_, line)| line).collect();
                    assert_eq!(verdict(&changed), Verdict::Differs, "{name}: {task} moved: {edited:?}");
                    moved += 1;
                }
            }
        }
    }
    assert!(moved > 500, "only {moved} changes were tried");
}

#[test]
fn a_task_that_is_doubled_or_unknown_makes_the_file_unusable() {
    let mut owned_twice = 0;
    for (name, text) in STORIES {
        let all = lists(text);
        for (place, &(start, end)) in all.iter().enumerate() {
            let inside = &text[start..end];
            let doubled = if inside.is_empty() { "T1, T1".to_owned() } else { format!("{inside}, {inside}") };
            for list in [doubled, "T99".to_owned()] {
                let changed = format!("{}{list}{}", &text[..start], &text[end..]);
                assert_eq!(verdict(&changed), Verdict::Unusable, "{name}: [{list}]");
            }
            // What a member runs, in another member's list as well.
            let next =
                all.get(place + 3).filter(|next| place % 3 == 0 && !text[end..next.0].contains("join:"));
            let next = next.filter(|next| !text[end..next.0].contains("assign:"));
            if let Some(&next) = next.filter(|_| !inside.is_empty()) {
                let both: BTreeSet<&str> =
                    tasks_in(text, next).union(&tasks_in(text, (start, end))).copied().collect();
                let changed = with_list(text, next, &both);
                assert_eq!(verdict(&changed), Verdict::Unusable, "{name}: owned twice\n{changed}");
                owned_twice += 1;
            }
        }
    }
    assert!(owned_twice > 20, "only {owned_twice} tasks were put twice");
}

#[test]
fn a_difference_names_round_member_and_both_sides() {
    let text =
        STORIES[0].1.replacen("learning: [T1])\n\nrebalance: S5", "learning: [T2])\n\nrebalance: S5", 1);
    let found = differences("scale-up", &text);
    assert_eq!(found[0].place, Place::Assign("S4".into()));
    assert_eq!(found[0].round, 1);
    assert_eq!(
        found[0].to_string(),
        "round 1 (S4 joins the group), line 20, answer to S4:\n  \
         expected S4(assigned: [], revoked: [], learning: [T2])\n  \
         actual   S4(assigned: [], revoked: [], learning: [T1])"
    );
}

#[test]
fn who_joins_is_a_member_or_a_mistake() {
    let story = Story::read(STORIES[0].0, STORIES[0].1).unwrap();
    for text in ["", "@I3", "S3@", "S 3", "S3,S4", "S3@I1@I2", "S3*0", "S3*many", "S3(", "S3*2*2"] {
        assert!(story.joining(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_story_without_rounds_does_not_hold_for_want_of_any() {
    let text = STORIES[0].1;
    let (group, _) = text.split_once("rebalance:").expect("a round");
    let story = Story::read("group", group).expect("a group that strategies can be asked about");
    assert_eq!(story.stable_view().members.len(), 3);
    let error = replay(&story).expect_err("nothing to replay");
    assert_eq!(error.to_string(), "group:8: the file has no `rebalance:` part");
}

#[test]
fn line_ends_and_encoding_marks_of_other_systems_change_nothing() {
    for (name, text) in STORIES {
        let foreign = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_eq!(differences(name, &foreign), [], "{name}");
    }
}

#[test]
fn balance_is_checked_in_both_directions() {
    let (name, text) = STORIES[3];
    for changed in
        [text.replace("balanced\n", ""), text.replacen("\nrebalance: S1", "\nbalanced\nrebalance: S1", 1)]
    {
        assert!(differences(name, &changed).iter().any(|found| found.place == Place::Balanced));
    }
}

#[test]
fn mistakes_are_told_with_their_line() {
    let head = "tasks: T1 T2\nstable:\n S1(assigned: [T1, T2], revoked: [], learning: [])\n";
    let line = "S1(assigned: [T1, T2], revoked: [], learning: [])";
    let cases = [
        ("", "the file has no `tasks:` part"),
        ("tasks: T1", "the file has no `stable:` part"),
        ("tasks: T1 T1", "task T1 is put twice"),
        ("tasks: T1 =5", "`=5` is not understood here: a task such as T1"),
        ("tasks: T1 ~", "`~` is not understood here: a task such as T1"),
        ("tasks: T1=many", "`many` is not a whole number in range"),
        ("members: S1*0", "`0` is not a whole number in range"),
        ("members: S1@", "a member such as S4"),
        ("members: S1@I1@I2", "a member such as S4"),
        ("members: S1 S1@I2", "member S1 is put twice"),
        ("option colour = red", "learner has no option `colour`"),
        ("option max_learner = 1", "did you mean `max_learners`?"),
        ("option standbys = -1", "standbys cannot be `-1`"),
        ("shutdown: S1", "this belongs below a `rebalance:` line"),
        ("tasks: T1\nstable:\nS1(assigned: [T1])", "is not understood here: a member's line"),
        (&format!("{head}{line}"), "member S1 is put twice"),
        (&format!("{head}rebalance: x\njoin:\n{line}"), "the file has no `assign:` part"),
        (
            &format!("{head}rebalance: x\njoin:\n{line}\nassign:\n{line}\nshutdown: S2"),
            "member S2 does not exist in this round",
        ),
        (&format!("{head}rebalance: x\njoin:\n{line}\nfollow-up: soon"), "none or immediate"),
    ];
    for (text, expected) in cases {
        let (line, fault) = fault(text);
        let message = fault.to_string();
        assert!(message.contains(expected), "{text:?}: {message}");
        assert!(line <= text.lines().count().max(1), "{text:?}: line {line}");
    }
}

/// Each rule of `learner` as a story of its own, in the same notation.
#[test]
fn every_rule_holds() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rules");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut broken = Vec::new();
    for file in &files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file).unwrap();
        broken.extend(differences(&name, &text).iter().map(|found| format!("{name}: {found}")));
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
    assert!(files.len() >= 15, "the folder holds only {} stories", files.len());
}
