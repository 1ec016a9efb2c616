//! The view as planners use it: names turned into places, claims settled, copies by task.
//!
//! Tasks, members and instances are numbered in natural order of their names, once. From here on a planner works on
//! places in vectors, so that "ties: lowest id" is "ties: lower place" and no planner hashes or compares a name.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use crate::ids::{InstanceId, TaskId};
use crate::meter;
use crate::view::{GroupView, MemberView, Task, ViewError};

/// Who had a task when its group joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Nobody in the group, present or away.
    Nobody,
    /// This member, and it keeps it.
    Kept(usize),
    /// This member gave it up at this join, and it is here to get it back.
    GivenUp(usize),
    /// Several members, in one generation: nobody has it for a round.
    Disputed,
}

/// A learner of a task, as its host reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LearnerAt {
    pub(crate) host: usize,
    pub(crate) lag: u64,
    pub(crate) ready: bool,
}

/// A copy of a task at a member (a standby) or an instance (a stored copy).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopyAt {
    pub(crate) at: usize,
    pub(crate) lag: u64,
}

/// The view in places. Per-task vectors are indexed by a task's place, per-member ones by a member's.
#[derive(Debug)]
pub(crate) struct Group<'v> {
    pub(crate) tasks: Vec<&'v Task>,
    pub(crate) members: Vec<&'v MemberView>,
    pub(crate) instances: Vec<&'v InstanceId>,
    /// The instance of each member.
    pub(crate) instance_of: Vec<usize>,
    /// The members of each instance, lowest first.
    pub(crate) workers: Vec<Vec<usize>>,
    /// Who had each task.
    pub(crate) claims: Vec<Claim>,
    /// Everything that claims to learn each task, lowest host first.
    pub(crate) learners: Vec<Vec<LearnerAt>>,
    /// The standbys of each task, lowest host first.
    pub(crate) standbys: Vec<Vec<CopyAt>>,
    /// The instances that have each task on disk, lowest first.
    pub(crate) stored: Vec<Vec<CopyAt>>,
    /// What each member gave up at this join, as places.
    pub(crate) revoked: Vec<Vec<usize>>,
}

impl<'v> Group<'v> {
    /// Reads a view.
    ///
    /// Copies of unknown tasks on disk are left-overs of an older application and are overlooked, like those of an
    /// instance without members; everything that a *member* says must make sense.
    pub(crate) fn read(view: &'v GroupView) -> Result<Self, ViewError> {
        let tasks = sorted(&view.tasks, |task| &task.id);
        if let Some(task) = repeated(&tasks, |task| &task.id) {
            return Err(ViewError::TaskTwice(task.id.clone()));
        }
        let members = sorted(&view.members, |member| &member.id);
        if let Some(member) = repeated(&members, |member| &member.id) {
            return Err(ViewError::MemberTwice(member.id.clone()));
        }
        if let Some(member) = members.iter().find(|member| member.capacity == 0) {
            return Err(ViewError::NoCapacity(member.id.clone()));
        }
        // Instances are few compared with the members that name them: each is found once before they are sorted.
        let named: Names<'_, InstanceId, ()> = members.iter().map(|member| (&member.instance, ())).collect();
        let mut instances: Vec<&InstanceId> = named.into_keys().collect();
        instances.sort();
        meter::count_sort(instances.len());
        meter::count(members.len());
        let instance_place = places(instances.iter().copied());
        let instance_of: Vec<usize> = members.iter().map(|member| instance_place[&member.instance]).collect();
        let mut workers = vec![Vec::new(); instances.len()];
        for (member, &instance) in instance_of.iter().enumerate() {
            workers[instance].push(member);
        }
        let count = tasks.len();
        let mut group = Self {
            claims: vec![Claim::Nobody; count],
            learners: vec![Vec::new(); count],
            standbys: vec![Vec::new(); count],
            stored: vec![Vec::new(); count],
            revoked: vec![Vec::new(); members.len()],
            tasks,
            members,
            instances,
            instance_of,
            workers,
        };
        let task_place = places(group.tasks.iter().map(|task| &task.id));
        group.read_members(&task_place)?;
        group.read_stored(view, &task_place, &instance_place);
        Ok(group)
    }

    fn read_members(&mut self, places: &Names<'_, TaskId, usize>) -> Result<(), ViewError> {
        let mut claims = vec![Strongest::default(); self.tasks.len()];
        let mut last_named_by = vec![usize::MAX; self.tasks.len()];
        for (place, member) in self.members.clone().into_iter().enumerate() {
            let mut named = 0;
            let mut find = |task: &TaskId| {
                let Some(&found) = places.get(task) else {
                    return Err(ViewError::UnknownTask { member: member.id.clone(), task: task.clone() });
                };
                if last_named_by[found] == place {
                    return Err(ViewError::TaskTwiceAtMember {
                        member: member.id.clone(),
                        task: task.clone(),
                    });
                }
                last_named_by[found] = place;
                named += 1;
                Ok(found)
            };
            for task in &member.active {
                claims[find(task)?].hear(place, member.generation, true);
            }
            for task in &member.revoked {
                let task = find(task)?;
                self.revoked[place].push(task);
                // An away member is not here to get back what it once gave up: nobody has that task.
                if !member.away {
                    claims[task].hear(place, member.generation, false);
                }
            }
            for learner in &member.learners {
                let task = find(&learner.task)?;
                if self.tasks[task].stateful {
                    self.learners[task].push(LearnerAt {
                        host: place,
                        lag: learner.lag,
                        ready: learner.ready,
                    });
                }
            }
            for standby in &member.standbys {
                let task = find(&standby.task)?;
                self.standbys[task].push(CopyAt { at: place, lag: standby.lag });
            }
            meter::count(1 + named);
        }
        self.claims = claims.into_iter().map(Strongest::settle).collect();
        Ok(())
    }

    fn read_stored(
        &mut self,
        view: &GroupView,
        tasks: &Names<'_, TaskId, usize>,
        instances: &Names<'_, InstanceId, usize>,
    ) {
        for stored in &view.stored {
            let Some(&at) = instances.get(&stored.instance) else { continue };
            for copy in &stored.copies {
                if let Some(&task) = tasks.get(&copy.task) {
                    self.stored[task].push(CopyAt { at, lag: copy.lag });
                }
            }
            meter::count(stored.copies.len());
        }
        for copies in self.stored.iter_mut().filter(|copies| copies.len() > 1) {
            copies.sort_by_key(|copy| (copy.at, copy.lag));
            copies.dedup_by_key(|copy| copy.at);
        }
    }

    /// Whether the member may be given anything new.
    pub(crate) fn receives(&self, member: usize) -> bool {
        self.members[member].receives()
    }

    /// Whether two members share a disk.
    pub(crate) fn together(&self, one: usize, other: usize) -> bool {
        self.instance_of[one] == self.instance_of[other]
    }

    /// The member that had the task at the join, whether it kept it or gave it up.
    pub(crate) fn owner(&self, task: usize) -> Option<usize> {
        match self.claims[task] {
            Claim::Kept(owner) | Claim::GivenUp(owner) => Some(owner),
            Claim::Nobody | Claim::Disputed => None,
        }
    }

    /// Whether somebody wants to stay in the group, present or away.
    pub(crate) fn somebody_stays(&self) -> bool {
        self.members.iter().any(|member| !member.leaving)
    }

    /// The places of stateful (or of stateless) tasks, in order.
    pub(crate) fn tasks_of_kind(&self, stateful: bool) -> impl Iterator<Item = usize> + '_ {
        self.tasks
            .iter()
            .enumerate()
            .filter(move |(_, task)| task.stateful == stateful)
            .map(|(place, _)| place)
    }

    /// The task's state size as a signed number; absurd sizes count as the largest.
    pub(crate) fn size(&self, task: usize) -> i64 {
        i64::try_from(self.tasks[task].state_size).unwrap_or(i64::MAX)
    }
}

/// The claims on one task heard so far: only those of the highest generation count.
#[derive(Clone, Copy, Default)]
struct Strongest {
    /// Who, in which generation, and whether it keeps the task.
    claim: Option<(usize, u64, bool)>,
    disputed: bool,
}

impl Strongest {
    fn hear(&mut self, member: usize, generation: u64, kept: bool) {
        match &mut self.claim {
            Some((_, heard, _)) if generation < *heard => {}
            Some((_, heard, kept_before)) if generation == *heard => {
                // Two that both gave it up do not contradict each other: neither runs it.
                self.disputed |= kept || *kept_before;
            }
            claim => {
                *claim = Some((member, generation, kept));
                self.disputed = false;
            }
        }
    }

    fn settle(self) -> Claim {
        match self.claim {
            _ if self.disputed => Claim::Disputed,
            Some((owner, _, true)) => Claim::Kept(owner),
            Some((owner, _, false)) => Claim::GivenUp(owner),
            None => Claim::Nobody,
        }
    }
}

fn sorted<T, K: Ord>(things: &[T], id: impl Fn(&T) -> &K) -> Vec<&T> {
    let mut sorted: Vec<&T> = things.iter().collect();
    sorted.sort_by(|a, b| id(a).cmp(id(b)));
    meter::count_sort(sorted.len());
    sorted
}

fn repeated<'v, T, K: PartialEq>(sorted: &[&'v T], id: impl Fn(&T) -> &K) -> Option<&'v T> {
    sorted.windows(2).find(|pair| id(pair[0]) == id(pair[1])).map(|pair| pair[0])
}

/// Look-ups by name. Nothing is ever taken from one of these in its own order.
type Names<'v, K, V> = HashMap<&'v K, V, BuildHasherDefault<NameHasher>>;

fn places<'v, K: Eq + Hash>(ids: impl Iterator<Item = &'v K>) -> Names<'v, K, usize> {
    ids.enumerate().map(|(place, id)| (id, place)).collect()
}

/// Fowler, Noll and Vo's hash (FNV-1a) with a final mix: names are short and come from the application itself, so
/// that speed counts for more than resistance to chosen names.
struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    }
}
