//! Member lines: `S1(assigned: [T1], revoked: [], learning: []) ready: [T2] leaving`.

use std::collections::{BTreeMap, BTreeSet};

use super::cursor::Cursor;
use super::error::TraceFault;
use super::story::Line;
use crate::ids::{MemberId, TaskId};

const MEMBER: &str = "a member's line such as S1(assigned: [T1], revoked: [], learning: [])";
const ATTRIBUTE: &str =
    "one of assigned, revoked, learning, standby, ready, lag, stored, give-up, leaving, away";

/// Reads one member's line.
pub(super) fn member_line(number: usize, text: &str, known: &BTreeSet<TaskId>) -> Result<Line, TraceFault> {
    let mut cursor = Cursor::new(text);
    let mut line = Line::new(number, cursor.word(MEMBER)?.into());
    let mut seen = BTreeSet::new();
    cursor.need('(', MEMBER)?;
    while !cursor.eat(')') {
        attribute(&mut cursor, &mut line, &mut seen, known)?;
        cursor.eat(',');
    }
    for needed in ["assigned", "revoked", "learning"] {
        if !seen.contains(needed) {
            return Err(TraceFault::Syntax { found: text.trim().to_owned(), expected: MEMBER });
        }
    }
    while !cursor.is_done() {
        attribute(&mut cursor, &mut line, &mut seen, known)?;
        cursor.eat(',');
    }
    Ok(line)
}

fn attribute<'t>(
    cursor: &mut Cursor<'t>,
    line: &mut Line,
    seen: &mut BTreeSet<&'t str>,
    known: &BTreeSet<TaskId>,
) -> Result<(), TraceFault> {
    let name = cursor.word(ATTRIBUTE)?;
    if !seen.insert(name) {
        return Err(TraceFault::Syntax { found: name.to_owned(), expected: "each list once a line" });
    }
    match name {
        "leaving" => line.leaving = true,
        "away" => line.away = true,
        _ => {
            let unknown = TraceFault::Syntax { found: name.to_owned(), expected: ATTRIBUTE };
            cursor.need(':', "a colon and a list")?;
            let words = cursor.list()?;
            match name {
                "assigned" => line.assigned = tasks(&words, known)?,
                "revoked" => line.revoked = tasks(&words, known)?,
                "learning" => line.learning = tasks(&words, known)?,
                "standby" => line.standby = tasks(&words, known)?,
                "ready" => line.ready = tasks(&words, known)?,
                "give-up" => line.give_up = tasks(&words, known)?,
                "lag" => line.lag = lags(&words, known)?,
                "stored" => line.stored = lags(&words, known)?,
                _ => return Err(unknown),
            }
        }
    }
    Ok(())
}

fn task(word: &str, known: &BTreeSet<TaskId>) -> Result<TaskId, TraceFault> {
    let task = TaskId::from(word);
    if known.contains(&task) { Ok(task) } else { Err(TraceFault::UnknownTask(task)) }
}

fn tasks(words: &[&str], known: &BTreeSet<TaskId>) -> Result<Vec<TaskId>, TraceFault> {
    let mut tasks = words.iter().map(|word| task(word, known)).collect::<Result<Vec<_>, _>>()?;
    tasks.sort();
    match tasks.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(TraceFault::TaskTwice(pair[0].clone())),
        None => Ok(tasks),
    }
}

fn lags(words: &[&str], known: &BTreeSet<TaskId>) -> Result<BTreeMap<TaskId, u64>, TraceFault> {
    let mut lags = BTreeMap::new();
    for word in words {
        let Some((name, lag)) = word.split_once('=') else {
            return Err(TraceFault::Syntax {
                found: (*word).to_owned(),
                expected: "a task and its lag, such as T1=500",
            });
        };
        let task = task(name, known)?;
        let lag = lag.parse().map_err(|_| TraceFault::Number(lag.to_owned()))?;
        if lags.insert(task.clone(), lag).is_some() {
            return Err(TraceFault::TaskTwice(task));
        }
    }
    Ok(lags)
}

/// No list has two lines for one member.
pub(super) fn check_members(lines: &[Line]) -> Result<(), (usize, TraceFault)> {
    let mut members: BTreeSet<&MemberId> = BTreeSet::new();
    match lines.iter().find(|line| !members.insert(&line.member)) {
        Some(line) => Err((line.line, TraceFault::MemberTwice(line.member.clone()))),
        None => Ok(()),
    }
}
