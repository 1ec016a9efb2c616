//! Checks a plan against the view that it answers: what must hold under every strategy.

use std::collections::BTreeMap;

use crate::group::{Claim, Group};
use crate::ids::{MemberId, TaskId};
use crate::plan::{Assignment, FollowUp, Plan};
use crate::view::{GroupView, ViewError};

/// What is wrong with a plan. The names say where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanFault {
    /// The view itself makes no sense.
    #[error(transparent)]
    View(#[from] ViewError),
    /// A member of the view is not answered.
    #[error("member {0} gets no answer")]
    MemberMissing(MemberId),
    /// The plan answers a member that the view does not have.
    #[error("the plan answers {0}, which is not in the group")]
    MemberUnknown(MemberId),
    /// A list is not sorted, or has a task twice, or one that the group does not have.
    #[error("{member}: {list} is not a sorted list of known tasks without repeats")]
    List {
        /// Whose list.
        member: MemberId,
        /// Which list.
        list: &'static str,
    },
    /// Two members would run the task.
    #[error("task {task} would run at {first} and at {second}")]
    TwoActives {
        /// The task.
        task: TaskId,
        /// One of them.
        first: MemberId,
        /// The other.
        second: MemberId,
    },
    /// Nobody would run the task although somebody who is here and stays could.
    #[error("task {0} would run nowhere")]
    NoActive(TaskId),
    /// The task would change owner although its owner has not given it up.
    #[error("task {task} would move from {owner} to {to}, but {owner} has not given it up")]
    Unsafe {
        /// The task.
        task: TaskId,
        /// Who has it.
        owner: MemberId,
        /// Who would get it.
        to: MemberId,
    },
    /// `revoked` is not what the member gave up and does not get back.
    #[error("{0}: revoked is not what it gave up and does not get back")]
    Revoked(MemberId),
    /// `give_up` names a task that the member does not run, or the member is away.
    #[error("{member} is asked to give up {task}, which it cannot")]
    GiveUp {
        /// Who is asked.
        member: MemberId,
        /// The task.
        task: TaskId,
    },
    /// A task is asked back, or given to nobody because of conflicting claims, without an immediate follow-up.
    #[error("something is left for the next round, but the follow-up is not immediate")]
    NoFollowUp,
    /// A second learner of a task, one on its owner's instance, one of a stateless task, or one at a leaver.
    #[error("{member} must not learn {task}: {why}")]
    Learner {
        /// Who would learn.
        member: MemberId,
        /// The task.
        task: TaskId,
        /// The rule that this breaks.
        why: &'static str,
    },
    /// `being_learned` is not the list of the member's tasks that others learn.
    #[error("{0}: being_learned is not what others learn of its tasks")]
    BeingLearned(MemberId),
    /// A standby of a stateless task, beside another copy of it, or at a leaver.
    #[error("{member} must not stand by for {task}: {why}")]
    Standby {
        /// Who would stand by.
        member: MemberId,
        /// The task.
        task: TaskId,
        /// The rule that this breaks.
        why: &'static str,
    },
    /// The plan says that the group is balanced while something is learned or asked back.
    #[error("the plan calls the group balanced while something is still on its way")]
    NotQuiet,
}

/// Checks `plan` against `view`.
///
/// # Errors
///
/// The first [`PlanFault`] found, in order of member and task.
///
/// ```
/// use assignor::{GroupView, MemberView, Strategy, Task, validate};
/// let view = GroupView {
///     tasks: vec![Task { id: "T1".into(), stateful: true, state_size: 1 }],
///     members: vec![MemberView::new("S1", "I1")],
///     stored: Vec::new(),
/// };
/// let mut plan = assignor::parse("learner")?.plan(&view)?;
/// assert_eq!(validate(&view, &plan), Ok(()));
///
/// plan.members.entry("S1".into()).or_default().active.clear();
/// assert_eq!(validate(&view, &plan).unwrap_err().to_string(), "task T1 would run nowhere");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn validate(view: &GroupView, plan: &Plan) -> Result<(), PlanFault> {
    let group = Group::read(view)?;
    let check = Check::read(&group, plan)?;
    check.actives()?;
    check.hand_over()?;
    check.learners()?;
    check.standbys()?;
    check.follow_up()
}

/// The lists of one member as places.
#[derive(Default)]
struct Told {
    active: Vec<usize>,
    revoked: Vec<usize>,
    give_up: Vec<usize>,
    learning: Vec<usize>,
    standby: Vec<usize>,
    being_learned: Vec<usize>,
}

struct Check<'a, 'v> {
    group: &'a Group<'v>,
    plan: &'a Plan,
    told: Vec<Told>,
    active: Vec<Option<usize>>,
}

impl<'a, 'v> Check<'a, 'v> {
    fn read(group: &'a Group<'v>, plan: &'a Plan) -> Result<Self, PlanFault> {
        let members: BTreeMap<&MemberId, usize> =
            group.members.iter().enumerate().map(|(place, member)| (&member.id, place)).collect();
        if let Some(unknown) = plan.members.keys().find(|id| !members.contains_key(id)) {
            return Err(PlanFault::MemberUnknown(unknown.clone()));
        }
        let tasks: BTreeMap<&TaskId, usize> =
            group.tasks.iter().enumerate().map(|(place, task)| (&task.id, place)).collect();
        let mut told = Vec::with_capacity(group.members.len());
        for member in &group.members {
            let Some(assignment) = plan.members.get(&member.id) else {
                return Err(PlanFault::MemberMissing(member.id.clone()));
            };
            told.push(Told::read(&member.id, assignment, &tasks)?);
        }
        let mut active = vec![None; group.tasks.len()];
        for (member, lists) in told.iter().enumerate() {
            for &task in &lists.active {
                if let Some(first) = active[task].replace(member) {
                    return Err(PlanFault::TwoActives {
                        task: group.tasks[task].id.clone(),
                        first: group.members[first].id.clone(),
                        second: group.members[member].id.clone(),
                    });
                }
            }
        }
        Ok(Self { group, plan, told, active })
    }

    fn task(&self, task: usize) -> TaskId {
        self.group.tasks[task].id.clone()
    }

    fn member(&self, member: usize) -> MemberId {
        self.group.members[member].id.clone()
    }

    /// One active per task, but for what is disputed, and for a group in which nobody could run it.
    fn actives(&self) -> Result<(), PlanFault> {
        let somebody_could = (0..self.group.members.len()).any(|member| self.group.receives(member));
        for task in 0..self.group.tasks.len() {
            let excused = !somebody_could || self.group.claims[task] == Claim::Disputed;
            if self.active[task].is_none() && !excused {
                return Err(PlanFault::NoActive(self.task(task)));
            }
        }
        Ok(())
    }

    /// Ownership moves safely or not at all.
    fn hand_over(&self) -> Result<(), PlanFault> {
        for (task, claim) in self.group.claims.iter().enumerate() {
            let owner = match claim {
                Claim::Kept(owner) => *owner,
                Claim::Disputed if self.active[task].is_some() => {
                    return Err(PlanFault::NoFollowUp);
                }
                _ => continue,
            };
            if let Some(to) = self.active[task].filter(|&to| to != owner) {
                let (task, owner, to) = (self.task(task), self.member(owner), self.member(to));
                return Err(PlanFault::Unsafe { task, owner, to });
            }
        }
        for (member, told) in self.told.iter().enumerate() {
            let mut expected: Vec<usize> = self.group.revoked[member]
                .iter()
                .copied()
                .filter(|&task| self.active[task] != Some(member))
                .collect();
            expected.sort_unstable();
            if told.revoked != expected {
                return Err(PlanFault::Revoked(self.member(member)));
            }
            let away = self.group.members[member].away;
            if let Some(&task) = told.give_up.iter().find(|&&task| away || self.active[task] != Some(member))
            {
                return Err(PlanFault::GiveUp { member: self.member(member), task: self.task(task) });
            }
        }
        Ok(())
    }

    fn learners(&self) -> Result<(), PlanFault> {
        let mut learner = vec![None; self.group.tasks.len()];
        for (member, told) in self.told.iter().enumerate() {
            for &task in &told.learning {
                let why = if !self.group.tasks[task].stateful {
                    "it is stateless"
                } else if learner[task].replace(member).is_some() {
                    "it has another learner"
                } else if self.group.members[member].leaving {
                    "the member is leaving"
                } else if self.active[task].is_some_and(|active| self.group.together(active, member)) {
                    "its owner is on the same instance"
                } else {
                    continue;
                };
                return Err(PlanFault::Learner { member: self.member(member), task: self.task(task), why });
            }
        }
        for (member, told) in self.told.iter().enumerate() {
            let learned = |task: &usize| learner[*task].is_some();
            let expected: Vec<usize> = told.active.iter().copied().filter(learned).collect();
            if told.being_learned != expected {
                return Err(PlanFault::BeingLearned(self.member(member)));
            }
        }
        Ok(())
    }

    fn standbys(&self) -> Result<(), PlanFault> {
        let mut taken = BTreeMap::new();
        let place = |member: usize, task: usize| (task, self.group.instance_of[member]);
        for (member, told) in self.told.iter().enumerate() {
            for &task in told.active.iter().chain(&told.learning) {
                taken.insert(place(member, task), ());
            }
        }
        for (member, told) in self.told.iter().enumerate() {
            for &task in &told.standby {
                let why = if !self.group.tasks[task].stateful {
                    "it is stateless"
                } else if self.group.members[member].leaving {
                    "the member is leaving"
                } else if taken.insert(place(member, task), ()).is_some() {
                    "its instance has another copy"
                } else {
                    continue;
                };
                return Err(PlanFault::Standby { member: self.member(member), task: self.task(task), why });
            }
        }
        Ok(())
    }

    fn follow_up(&self) -> Result<(), PlanFault> {
        if !self.group.somebody_stays() {
            return Ok(());
        }
        let asked = self.told.iter().any(|told| !told.give_up.is_empty());
        let disputed = self.group.claims.contains(&Claim::Disputed);
        if (asked || disputed) && self.plan.follow_up != FollowUp::Immediate {
            return Err(PlanFault::NoFollowUp);
        }
        let learning = self.told.iter().any(|told| !told.learning.is_empty());
        if self.plan.balanced && (asked || learning || disputed) {
            return Err(PlanFault::NotQuiet);
        }
        Ok(())
    }
}

impl Told {
    fn read(
        member: &MemberId,
        assignment: &Assignment,
        tasks: &BTreeMap<&TaskId, usize>,
    ) -> Result<Self, PlanFault> {
        let places = |list: &'static str, ids: &[TaskId]| {
            let places: Option<Vec<usize>> = ids.iter().map(|id| tasks.get(id).copied()).collect();
            match places {
                Some(places) if places.windows(2).all(|pair| pair[0] < pair[1]) => Ok(places),
                _ => Err(PlanFault::List { member: member.clone(), list }),
            }
        };
        Ok(Self {
            active: places("active", &assignment.active)?,
            revoked: places("revoked", &assignment.revoked)?,
            give_up: places("give_up", &assignment.give_up)?,
            learning: places("learning", &assignment.learning)?,
            standby: places("standby", &assignment.standby)?,
            being_learned: places("being_learned", &assignment.being_learned)?,
        })
    }
}
