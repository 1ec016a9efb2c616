//! Tasks that a list puts twice.
//!
//! A story that was changed by hand may have lost a task, have it in another list, or have it once too often. The
//! first two are differences; the last makes the file unusable. They can look alike: a task moved from a member's
//! `learning` to its `assigned` is then owned twice, too. So a task counts as put twice only if it is there more often
//! than in what the list should be.

use std::collections::BTreeMap;

use super::story::Line;
use crate::ids::TaskId;

/// Which list the lines form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `stable:` or `join:`: who gave a task up had it.
    Joins,
    /// `assign:`: who gave a task up does not get it back.
    Answer,
}

#[derive(Default)]
struct Seen<'t> {
    owners: usize,
    learners: usize,
    times: usize,
    /// Named twice by one member, in lists that exclude each other.
    at_one_member: bool,
    last_member: Option<&'t str>,
    /// The line that first made it too many.
    line: Option<usize>,
}

impl Seen<'_> {
    fn contradicts(&self) -> bool {
        self.owners > 1 || self.learners > 1 || self.at_one_member
    }
}

/// The first task that contradicts itself in `lines` and is there more often than in `expected` (if that is known),
/// with the line at which it does.
pub(super) fn put_twice(lines: &[Line], kind: Kind, expected: Option<&[Line]>) -> Option<(usize, TaskId)> {
    let seen = count(lines, kind);
    let expected = expected.map(|lines| count(lines, kind));
    let too_often = |task: &TaskId, times: usize| match &expected {
        Some(expected) => times > expected.get(task).map_or(0, |seen| seen.times),
        None => true,
    };
    let found = seen.iter().filter(|(task, seen)| seen.contradicts() && too_often(task, seen.times));
    found.filter_map(|(task, seen)| Some((seen.line?, (*task).clone()))).min()
}

/// Whether one member names a task twice in lists that exclude each other: no group can join like that.
pub(super) fn twice_at_one_member(lines: &[Line]) -> bool {
    count(lines, Kind::Joins).values().any(|seen| seen.at_one_member)
}

fn count(lines: &[Line], kind: Kind) -> BTreeMap<&TaskId, Seen<'_>> {
    let mut all: BTreeMap<&TaskId, Seen<'_>> = BTreeMap::new();
    for line in lines {
        let lists = [&line.assigned, &line.revoked, &line.learning, &line.standby];
        for (place, list) in lists.into_iter().enumerate() {
            // In an answer, `revoked` is history: the member may stand by for what it gave up.
            let history = place == 1 && kind == Kind::Answer;
            for task in list {
                let seen = all.entry(task).or_default();
                seen.times += 1;
                if history {
                    continue;
                }
                seen.owners += usize::from(place < 2);
                seen.learners += usize::from(place == 2);
                let member = line.member.as_str();
                seen.at_one_member |= seen.last_member.replace(member) == Some(member);
                if seen.contradicts() {
                    seen.line.get_or_insert(line.line);
                }
            }
        }
    }
    all
}
