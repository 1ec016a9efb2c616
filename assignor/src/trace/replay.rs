//! Plays a story and lists where it does not hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::error::{TraceError, TraceFault};
use super::story::{Line, Round, Story};
use super::twice::{Kind, put_twice, twice_at_one_member};
use crate::ids::{MemberId, TaskId};
use crate::plan::{Assignment, FollowUp, Plan};
use crate::strategy::{Revocation, Strategy};
use crate::validate::validate;

/// What does not hold in one round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The round, counted from 1.
    pub round: usize,
    /// Why that round's group rebalances.
    pub why: String,
    /// The line of the file that does not hold.
    pub line: usize,
    /// Where in the round.
    pub place: Place,
    /// What should be there: in a join, what follows from the answer before; in an answer, what the story says.
    pub expected: String,
    /// What is there: in a join, what the story says; in an answer, what the leader says.
    pub actual: String,
}

/// Where in a round something differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// What a member says when it joins.
    Join(MemberId),
    /// What the leader tells a member.
    Assign(MemberId),
    /// The members that must stop.
    Shutdown,
    /// The follow-up.
    FollowUp,
    /// Whether the group is balanced and at rest.
    Balanced,
    /// The plan breaks a rule that holds under every strategy.
    Valid,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Join(member) => write!(f, "join of {member}"),
            Self::Assign(member) => write!(f, "answer to {member}"),
            Self::Shutdown => f.write_str("shutdown"),
            Self::FollowUp => f.write_str("follow-up"),
            Self::Balanced => f.write_str("balance"),
            Self::Valid => f.write_str("validity"),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "round {} ({}), line {}, {}:", self.round, self.why, self.line, self.place)?;
        writeln!(f, "  expected {}", self.expected)?;
        write!(f, "  actual   {}", self.actual)
    }
}

/// Plays every round and returns what does not hold; an empty list means that the story holds.
///
/// In every round the leader is asked for its answer to the story's joins, and the joins are checked against the
/// story's own previous answer (the first round's against `stable:`), so one mistake does not hide another.
///
/// # Errors
///
/// [`TraceError`] if a list puts a task twice, or if there is no round to replay.
pub fn replay(story: &Story) -> Result<Vec<Difference>, TraceError> {
    let mut differences = Vec::new();
    if story.rounds.is_empty() {
        return Err(story.error(story.last_line(), TraceFault::Missing("rebalance:")));
    }
    let first = story.rounds.first().map(|round| round.join.as_slice());
    not_twice(story, &story.stable, Kind::Joins, first)?;
    let mut before = &story.stable;
    for (index, round) in story.rounds.iter().enumerate() {
        let mut report = Report { number: index + 1, round, differences: &mut differences };
        let expected = following(before, round, story.strategy.revocation);
        not_twice(story, &round.join, Kind::Joins, Some(&expected))?;
        report.joins(&expected);
        before = &round.assign;
        if twice_at_one_member(&round.join) {
            continue; // It differs already, and no leader could be asked.
        }
        let view = story.view(&round.join);
        let answer = story.strategy.plan(&view).map_err(|fault| story.error(round.line, fault.into()))?;
        if let Err(fault) = validate(&view, &answer) {
            report.push(round.line, Place::Valid, "a valid plan".to_owned(), fault.to_string());
        }
        let lines: Vec<Line> = answer.members.iter().map(|(member, told)| told_line(member, told)).collect();
        not_twice(story, &round.assign, Kind::Answer, Some(&lines))?;
        report.answer(&lines, &answer);
    }
    Ok(differences)
}

fn not_twice(story: &Story, lines: &[Line], kind: Kind, expected: Option<&[Line]>) -> Result<(), TraceError> {
    match put_twice(lines, kind, expected) {
        Some((line, task)) => Err(story.error(line, TraceFault::TaskTwice(task))),
        None => Ok(()),
    }
}

/// What each member of a round must say, from what it was told and the file's `revocation`.
fn following(before: &[Line], round: &Round, revocation: Revocation) -> Vec<Line> {
    let told: BTreeMap<&MemberId, &Line> = before.iter().map(|line| (&line.member, line)).collect();
    let learned: BTreeSet<&TaskId> = before.iter().flat_map(|line| &line.learning).collect();
    let present = round.join.iter().filter(|line| !line.away);
    let ready: BTreeSet<&TaskId> = present.flat_map(|line| &line.ready).collect();
    let follow = |join: &Line| {
        let mut expected = Line::new(join.line, join.member.clone());
        let Some(line) = told.get(&join.member) else { return expected };
        let gives_up = |task: &TaskId| {
            let by_itself = match revocation {
                Revocation::Everything => true,
                Revocation::BeingLearned => learned.contains(task),
                Revocation::WhenReady => ready.contains(task),
                Revocation::OnRequest => false,
            };
            !join.away && (by_itself || line.give_up.contains(task))
        };
        (expected.revoked, expected.assigned) =
            line.assigned.iter().cloned().partition(|task| gives_up(task));
        expected.learning.clone_from(&line.learning);
        expected.standby.clone_from(&line.standby);
        expected
    };
    round.join.iter().map(follow).collect()
}

struct Report<'a> {
    number: usize,
    round: &'a Round,
    differences: &'a mut Vec<Difference>,
}

impl Report<'_> {
    fn push(&mut self, line: usize, place: Place, expected: String, actual: String) {
        let why = self.round.why.clone();
        self.differences.push(Difference { round: self.number, why, line, place, expected, actual });
    }

    fn compare(&mut self, line: usize, place: Place, expected: String, actual: String) {
        if expected != actual {
            self.push(line, place, expected, actual);
        }
    }

    /// What each member says must follow from what it was told.
    fn joins(&mut self, expected: &[Line]) {
        let round = self.round;
        for (join, expected) in round.join.iter().zip(expected) {
            let place = || Place::Join(join.member.clone());
            self.compare(join.line, place(), lists(expected), lists(join));
            let copies = [&join.learning, &join.standby];
            let has = |task: &&TaskId| !copies.into_iter().any(|list| list.contains(task));
            if let Some(task) = join.ready.iter().chain(join.lag.keys()).find(has) {
                let said = format!("ready or lag for {task}, of which it has no copy");
                self.push(join.line, place(), "ready and lag for its own copies only".to_owned(), said);
            }
        }
    }

    /// The leader's answer must be the story's, exactly.
    fn answer(&mut self, answer: &[Line], plan: &Plan) {
        let round = self.round;
        let story: BTreeMap<&MemberId, &Line> =
            round.assign.iter().map(|line| (&line.member, line)).collect();
        for actual in answer {
            let (line, expected) = match story.get(&actual.member) {
                Some(line) => (line.line, lists(line)),
                None => (round.line, "(no line)".to_owned()),
            };
            self.compare(line, Place::Assign(actual.member.clone()), expected, lists(actual));
        }
        let mut stop: Vec<MemberId> = round
            .join
            .iter()
            .filter(|line| line.leaving && !line.away)
            .filter(|line| plan.members.get(&line.member).is_none_or(|told| told.active.is_empty()))
            .map(|line| line.member.clone())
            .collect();
        stop.sort();
        let nobody_or = |members: &[MemberId]| match members {
            [] => "nobody stops".to_owned(),
            some => join(some),
        };
        self.compare(round.line, Place::Shutdown, nobody_or(&round.shutdown), nobody_or(&stop));
        if let Some(follow_up) = round.follow_up {
            self.compare(round.line, Place::FollowUp, when(follow_up), when(plan.follow_up));
        }
        let rest = |balanced: bool| {
            let text = if balanced { "balanced and at rest" } else { "not balanced, or not at rest" };
            text.to_owned()
        };
        self.compare(round.line, Place::Balanced, rest(round.balanced), rest(plan.balanced));
    }
}

fn told_line(member: &MemberId, assignment: &Assignment) -> Line {
    let mut line = Line::new(0, member.clone());
    line.assigned.clone_from(&assignment.active);
    line.revoked.clone_from(&assignment.revoked);
    line.learning.clone_from(&assignment.learning);
    line.standby.clone_from(&assignment.standby);
    line.give_up.clone_from(&assignment.give_up);
    line
}

/// A line in the story's own notation.
fn lists(line: &Line) -> String {
    let mut text = format!(
        "{}(assigned: [{}], revoked: [{}], learning: [{}])",
        line.member,
        join(&line.assigned),
        join(&line.revoked),
        join(&line.learning)
    );
    for (name, list) in [("standby", &line.standby), ("give-up", &line.give_up)] {
        if !list.is_empty() {
            text.push_str(&format!(" {name}: [{}]", join(list)));
        }
    }
    text
}

fn join<T: fmt::Display>(names: &[T]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn when(follow_up: FollowUp) -> String {
    match follow_up {
        FollowUp::None => "none".to_owned(),
        FollowUp::Immediate => "immediate".to_owned(),
        FollowUp::After(time) => format!("after {time:?}"),
    }
}
