//! From text to a story.

use std::collections::BTreeSet;

use super::error::{TraceError, TraceFault};
use super::lines::{check_members, member_line};
use super::story::{Line, Round, Story};
use crate::ids::{InstanceId, MemberId, TaskId};
use crate::learner::Learner;
use crate::options::Settings;
use crate::plan::FollowUp;
use crate::view::Task;

impl Story {
    /// Reads a trace. `file` only names it in errors.
    ///
    /// # Errors
    ///
    /// [`TraceError`] with the line, for text that the grammar does not have, for a task or member that does not
    /// exist, and for one that a list puts twice. Whether two lists together put a task twice depends on what the
    /// lists should be: [`replay`](super::replay) and [`Story::check_stable`] find that out.
    pub fn read(file: &str, text: &str) -> Result<Self, TraceError> {
        let mut reader = Reader::new(file);
        // Some editors begin a file with a mark of its encoding.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let content = line.split('#').next().unwrap_or_default().trim();
            if !content.is_empty() {
                reader.line(number, content).map_err(|fault| reader.error(number, fault))?;
            }
        }
        reader.finish(text.lines().count())
    }
}

/// Which list the member lines that follow belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    None,
    Stable,
    Join,
    Assign,
}

struct Reader {
    file: String,
    title: Option<String>,
    tasks: Option<Vec<Task>>,
    known: BTreeSet<TaskId>,
    members: Option<Vec<(MemberId, InstanceId, u32)>>,
    options: Vec<(String, String)>,
    stable: Option<Vec<Line>>,
    rounds: Vec<Round>,
    list: List,
}

/// The parts of the file, each with a keyword.
const PART: &str = "one of title:, tasks:, members:, option, stable:, rebalance:, join:, assign:, follow-up:, \
                    shutdown:, balanced, or a member's line";
const IN_ROUND: &str = "this belongs below a `rebalance:` line";

impl Reader {
    fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            title: None,
            tasks: None,
            known: BTreeSet::new(),
            members: None,
            options: Vec::new(),
            stable: None,
            rounds: Vec::new(),
            list: List::None,
        }
    }

    fn error(&self, line: usize, fault: TraceFault) -> TraceError {
        TraceError { file: self.file.clone(), line, fault: Box::new(fault) }
    }

    fn line(&mut self, number: usize, text: &str) -> Result<(), TraceFault> {
        // A member's line has its parenthesis before any colon.
        let keyword = text.split_once(':').filter(|(keyword, _)| !keyword.contains('('));
        if let Some((keyword, rest)) = keyword {
            return self.part(number, text, keyword.trim(), rest.trim());
        }
        if let Some(option) = text.strip_prefix("option ") {
            return self.option(option);
        }
        if text == "balanced" {
            self.round(text)?.balanced = true;
            return Ok(());
        }
        let parsed = member_line(number, text, &self.known)?;
        match self.list {
            List::Stable => self.stable.get_or_insert_default().push(parsed),
            List::Join => self.round(text)?.join.push(parsed),
            List::Assign => self.round(text)?.assign.push(parsed),
            List::None => {
                return Err(TraceFault::Syntax { found: text.to_owned(), expected: PART });
            }
        }
        Ok(())
    }

    fn part(&mut self, number: usize, text: &str, keyword: &str, rest: &str) -> Result<(), TraceFault> {
        let once = |there: bool, part: &'static str| {
            if there { Err(TraceFault::PartTwice(part)) } else { Ok(()) }
        };
        let empty = |rest: &str| match rest {
            "" => Ok(()),
            _ => Err(TraceFault::Syntax { found: rest.to_owned(), expected: "nothing after the colon" }),
        };
        match keyword {
            "title" => {
                once(self.title.is_some(), "title:")?;
                self.title = Some(rest.to_owned());
            }
            "tasks" => {
                once(self.tasks.is_some(), "tasks:")?;
                self.read_tasks(rest)?;
            }
            "members" => {
                once(self.members.is_some(), "members:")?;
                self.read_members(rest)?;
            }
            "stable" => {
                once(self.stable.is_some(), "stable:")?;
                empty(rest)?;
                self.stable = Some(Vec::new());
                self.list = List::Stable;
            }
            "rebalance" => {
                self.rounds.push(Round { line: number, why: rest.to_owned(), ..Round::default() });
                self.list = List::None;
            }
            "join" => {
                empty(rest)?;
                once(!self.round(text)?.join.is_empty(), "join:")?;
                self.list = List::Join;
            }
            "assign" => {
                empty(rest)?;
                once(!self.round(text)?.assign.is_empty(), "assign:")?;
                self.list = List::Assign;
            }
            "follow-up" => {
                let expected = "none or immediate";
                let follow_up = match rest {
                    "none" => FollowUp::None,
                    "immediate" => FollowUp::Immediate,
                    _ => return Err(TraceFault::Syntax { found: rest.to_owned(), expected }),
                };
                once(self.round(text)?.follow_up.replace(follow_up).is_some(), "follow-up:")?;
            }
            "shutdown" => {
                let names: Vec<MemberId> = names(rest).map(MemberId::from).collect();
                let round = self.round(text)?;
                once(!round.shutdown.is_empty(), "shutdown:")?;
                round.shutdown = sorted_once(names)?;
            }
            _ => return Err(TraceFault::Syntax { found: text.to_owned(), expected: PART }),
        }
        Ok(())
    }

    fn round(&mut self, found: &str) -> Result<&mut Round, TraceFault> {
        let fault = || TraceFault::Syntax { found: found.to_owned(), expected: IN_ROUND };
        self.rounds.last_mut().ok_or_else(fault)
    }

    fn read_tasks(&mut self, text: &str) -> Result<(), TraceFault> {
        let mut tasks = Vec::new();
        for word in names(text) {
            let (name, size) = match word.split_once('=') {
                Some((name, size)) => (name, size.parse().map_err(|_| TraceFault::Number(size.to_owned()))?),
                None => (word, 1),
            };
            let (name, stateful) = name.strip_suffix('~').map_or((name, true), |name| (name, false));
            if name.is_empty() {
                let expected = "a task such as T1, T1=20 or T1~";
                return Err(TraceFault::Syntax { found: word.to_owned(), expected });
            }
            let id = TaskId::from(name);
            if !self.known.insert(id.clone()) {
                return Err(TraceFault::TaskTwice(id));
            }
            tasks.push(Task { id, stateful, state_size: if stateful { size } else { 0 } });
        }
        self.tasks = Some(tasks);
        Ok(())
    }

    fn read_members(&mut self, text: &str) -> Result<(), TraceFault> {
        let mut members: Vec<(MemberId, InstanceId, u32)> = Vec::new();
        for word in names(text) {
            let Seat { member, instance, capacity } = Seat::read(word)?;
            let (instance, capacity) = (instance.unwrap_or(member), capacity.unwrap_or(1));
            if members.iter().any(|(known, _, _)| known.as_str() == member) {
                return Err(TraceFault::MemberTwice(member.into()));
            }
            members.push((member.into(), instance.into(), capacity));
        }
        self.members = Some(members);
        Ok(())
    }

    fn option(&mut self, text: &str) -> Result<(), TraceFault> {
        let Some((name, value)) = text.split_once('=') else {
            let expected = "option NAME = VALUE";
            return Err(TraceFault::Syntax { found: text.to_owned(), expected });
        };
        self.options.push((name.trim().to_owned(), value.trim().to_owned()));
        // The whole set is checked each time, so that a mistake is reported at its own line.
        Settings::read(Learner::DEFINITION.name, Learner::DEFINITION.options, &self.options)?;
        Ok(())
    }

    fn finish(mut self, last_line: usize) -> Result<Story, TraceError> {
        let at_end = last_line.max(1);
        let Some(tasks) = self.tasks.take() else {
            return Err(self.error(at_end, TraceFault::Missing("tasks:")));
        };
        let Some(stable) = self.stable.take() else {
            return Err(self.error(at_end, TraceFault::Missing("stable:")));
        };
        check_members(&stable).map_err(|(line, fault)| self.error(line, fault))?;
        for round in &self.rounds {
            self.check_round(round)?;
        }
        let definition = Learner::DEFINITION;
        let settings = Settings::read(definition.name, definition.options, &self.options)
            .map_err(|fault| self.error(1, fault.into()))?;
        let members = self.members.take().unwrap_or_default();
        Ok(Story {
            file: self.file,
            title: self.title.unwrap_or_default(),
            tasks,
            members: members.into_iter().map(|(member, at, capacity)| (member, (at, capacity))).collect(),
            strategy: Learner::from_settings(&settings),
            stable,
            rounds: self.rounds,
        })
    }

    fn check_round(&self, round: &Round) -> Result<(), TraceError> {
        let at = |(line, fault)| self.error(line, fault);
        for (part, lines) in [("join:", &round.join), ("assign:", &round.assign)] {
            if lines.is_empty() {
                return Err(at((round.line, TraceFault::Missing(part))));
            }
        }
        check_members(&round.join).map_err(at)?;
        check_members(&round.assign).map_err(at)?;
        let present: BTreeSet<&MemberId> = round.join.iter().map(|line| &line.member).collect();
        if let Some(line) = round.assign.iter().find(|line| !present.contains(&line.member)) {
            return Err(at((line.line, TraceFault::UnknownMember(line.member.clone()))));
        }
        if let Some(member) = round.shutdown.iter().find(|member| !present.contains(member)) {
            return Err(at((round.line, TraceFault::UnknownMember(member.clone()))));
        }
        Ok(())
    }
}

/// A member as text, such as `S4`, `S4@I2` or `S4@I2*3`: its name and, if they are told, its instance and capacity.
pub(super) struct Seat<'t> {
    pub(super) member: &'t str,
    pub(super) instance: Option<&'t str>,
    pub(super) capacity: Option<u32>,
}

impl<'t> Seat<'t> {
    pub(super) fn read(text: &'t str) -> Result<Self, TraceFault> {
        let (names, capacity) = match text.split_once('*') {
            Some((names, number)) => {
                let fits = number.parse().ok().filter(|&capacity| capacity > 0);
                (names, Some(fits.ok_or_else(|| TraceFault::Number(number.to_owned()))?))
            }
            None => (text, None),
        };
        let (member, instance) = match names.split_once('@') {
            Some((member, instance)) => (member, Some(instance)),
            None => (names, None),
        };
        let is_name = |name: &str| {
            !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || "()[]:,@*#".contains(c))
        };
        if is_name(member) && instance.is_none_or(is_name) {
            Ok(Self { member, instance, capacity })
        } else {
            let expected = "a member such as S4, S4@I2 or S4@I2*3";
            Err(TraceFault::Syntax { found: text.to_owned(), expected })
        }
    }
}

/// Words separated by spaces or commas.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '\t', ',']).filter(|word| !word.is_empty())
}

fn sorted_once(mut members: Vec<MemberId>) -> Result<Vec<MemberId>, TraceFault> {
    members.sort();
    match members.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(TraceFault::MemberTwice(pair[0].clone())),
        None => Ok(members),
    }
}
