//! What happens to the group during a run, checked against who is there when it happens.

use std::collections::BTreeMap;
use std::time::Duration;

use assignor::{InstanceId, MemberId};

use super::keys;
use super::mistake::{Mistake, did_you_mean};
use super::quantity::show_time;
use super::reader::Reader;
use super::tree::Place;

/// Instances that start together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instances {
    /// How many.
    pub count: u32,
    /// Workers of each.
    pub workers: u32,
}

/// Somebody that an event happens to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// One worker.
    Member(MemberId),
    /// An instance with all its workers.
    Instance(InstanceId),
}

/// What an event does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Instances start.
    Start(Instances),
    /// Members are asked to leave.
    Leave(Vec<MemberId>),
    /// Members or instances stop at once, saying nothing.
    Crash(Vec<Target>),
    /// Members stand still.
    Stall {
        /// Who.
        members: Vec<MemberId>,
        /// For how long.
        lasting: Duration,
    },
}

/// One timed event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, from the end of the warm-up.
    pub time: Duration,
    /// What.
    pub act: Act,
}

/// An event as it was read: names are not looked up yet.
pub(super) struct RawEvent {
    time: Option<Duration>,
    time_at: Option<Place>,
    acts: Vec<RawAct>,
}

type Named = (String, Option<Place>);

enum RawAct {
    Start(Instances),
    Leave(Vec<Named>),
    Crash(Vec<Named>),
    Stall(Named, Duration),
}

/// Reads `count` or `instances`, and `workers`. The rules keep both far below `u32::MAX`.
pub(super) fn instances(reader: &mut Reader<'_>, count: &keys::Key<super::rule::Count>) -> Instances {
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Instances { count: small(reader.get(count)), workers: small(reader.get(&keys::WORKERS)) }
}

/// Reads one `[[at]]`.
pub(super) fn read(reader: &mut Reader<'_>) -> RawEvent {
    let conditional = reader.place(&keys::AFTER).is_some();
    reader.maybe(&keys::AFTER);
    reader.maybe(&keys::DEADLINE);
    reader.maybe(&keys::RESTART);
    // What lacks a time because it waits for a condition has been told so already.
    let time = if conditional { None } else { reader.maybe(&keys::AT_TIME) };
    let time_at = reader.place(&keys::AT_TIME).cloned();

    let mut acts = Vec::new();
    if let Some(start) =
        reader.section_if_written(&keys::START, |start| instances(start, &keys::START_INSTANCES))
    {
        acts.push(RawAct::Start(start));
    }
    acts.extend(reader.maybe(&keys::LEAVE).map(RawAct::Leave));
    acts.extend(reader.maybe(&keys::CRASH).map(RawAct::Crash));
    let stall = reader.section_if_written(&keys::STALL, |stall| {
        let at = stall.place(&keys::STALL_MEMBER).cloned();
        Some(((stall.maybe(&keys::STALL_MEMBER)?, at), stall.maybe(&keys::STALL_LASTING)?))
    });
    acts.extend(stall.flatten().map(|(who, lasting)| RawAct::Stall(who, lasting)));

    let written: [&dyn keys::AnyKey; 6] =
        [&keys::START, &keys::LEAVE, &keys::CRASH, &keys::STALL, &keys::RESTART, &keys::AFTER];
    if let (Some(at), true) = (reader.at().cloned(), written.iter().all(|key| reader.place(*key).is_none())) {
        reader.mistake(
            Mistake::at(&at, "[[at]] says when, but not what")
                .hint("give it one of start, leave, crash, stall; for example: leave = [\"S2\"]"),
        );
    }
    RawEvent { time, time_at, acts }
}

/// Looks every name up among those who are there at the event's time, and sorts the events by time.
pub(super) fn check(
    raw: Vec<RawEvent>,
    first: &[Instances],
    duration: Option<Duration>,
    mistakes: &mut Vec<Mistake>,
) -> Vec<Event> {
    let mut timed = Vec::new();
    for event in raw {
        match (event.time, event.time_at, duration) {
            (Some(time), Some(at), Some(end)) if time >= end => {
                let end = show_time(end);
                mistakes.push(
                    Mistake::at(
                        &at,
                        format!("this happens at {}, after the end of the run", show_time(time)),
                    )
                    .label(format!("the run ends at {end}"))
                    .hint(format!("move it before {end}, or give the scenario a longer `duration`")),
                );
            }
            (Some(time), ..) => timed.push((time, event.acts)),
            (None, ..) => {}
        }
    }
    timed.sort_by_key(|(time, _)| *time);

    let mut roster = Roster::default();
    first.iter().for_each(|instances| roster.start(*instances));
    let mut events = Vec::new();
    for (time, acts) in timed {
        for act in acts {
            match roster.act(time, act) {
                Ok(act) => events.push(Event { time, act }),
                Err(mistake) => mistakes.push(mistake),
            }
        }
    }
    events
}

/// Who is in the group, by the names that the engine will give.
#[derive(Default)]
struct Roster {
    /// Everybody there ever was, with instance, and since when and why they are gone.
    members: BTreeMap<MemberId, (InstanceId, Option<String>)>,
    instances: usize,
}

impl Roster {
    fn start(&mut self, instances: Instances) {
        for _ in 0..instances.count {
            self.instances += 1;
            for _ in 0..instances.workers {
                let member = MemberId::from(format!("S{}", self.members.len() + 1));
                self.members.insert(member, (format!("I{}", self.instances).into(), None));
            }
        }
    }

    fn present(&self) -> impl Iterator<Item = (&MemberId, &InstanceId)> {
        self.members
            .iter()
            .filter(|(_, (_, gone))| gone.is_none())
            .map(|(member, (instance, _))| (member, instance))
    }

    fn act(&mut self, time: Duration, act: RawAct) -> Result<Act, Mistake> {
        match act {
            RawAct::Start(instances) => {
                self.start(instances);
                Ok(Act::Start(instances))
            }
            RawAct::Leave(names) => {
                let found = self.remove(&names, "leave", time, "has left")?;
                Ok(Act::Leave(found.into_iter().flat_map(|(_, members)| members).collect()))
            }
            RawAct::Crash(names) => {
                let found = self.remove(&names, "crash", time, "has crashed")?;
                Ok(Act::Crash(found.into_iter().map(|(target, _)| target).collect()))
            }
            RawAct::Stall(name, lasting) => {
                let (_, members) = self.find(&name)?;
                Ok(Act::Stall { members, lasting })
            }
        }
    }

    /// Takes the named out of the group; somebody must be left.
    fn remove(
        &mut self,
        names: &[Named],
        verb: &str,
        time: Duration,
        gone: &str,
    ) -> Result<Vec<(Target, Vec<MemberId>)>, Mistake> {
        let place = names.first().and_then(|(_, at)| at.clone());
        let before = self.present().count();
        let too_many = |what: String| {
            let mistake = match &place {
                Some(at) => Mistake::at(at, what),
                None => Mistake::anywhere(what),
            };
            mistake
                .hint("name fewer, or start more instances before it: somebody must be left to run the tasks")
        };
        if names.len() > before {
            return Err(too_many(format!(
                "{} are to {verb}, but the group has {before} members then",
                names.len()
            )));
        }
        let mut found = Vec::new();
        for name in names {
            let (target, members) = self.find(name)?;
            for member in &members {
                if let Some((_, why)) = self.members.get_mut(member) {
                    *why = Some(format!("{member} {gone} at {}", show_time(time)));
                }
            }
            found.push((target, members));
        }
        if self.present().next().is_none() {
            return Err(too_many(format!("all {before} members are to {verb}: nobody would be left")));
        }
        Ok(found)
    }

    fn find(&self, (name, at): &Named) -> Result<(Target, Vec<MemberId>), Mistake> {
        let member = MemberId::from(name.as_str());
        let mistake = |title: String| match at {
            Some(at) => Mistake::at(at, title),
            None => Mistake::anywhere(title),
        };
        if let Some((_, gone)) = self.members.get(&member) {
            return match gone {
                None => Ok((Target::Member(member.clone()), vec![member])),
                Some(why) => {
                    Err(mistake(why.clone()).label("not in the group any more").hint(self.who_is_there()))
                }
            };
        }
        let instance = InstanceId::from(name.as_str());
        let workers: Vec<MemberId> =
            self.present().filter(|(_, of)| **of == instance).map(|(member, _)| member.clone()).collect();
        if !workers.is_empty() {
            return Ok((Target::Instance(instance), workers));
        }
        let names = self.members.keys().map(MemberId::as_str);
        let label = did_you_mean(name, names).unwrap_or_else(|| "nobody has this name then".to_owned());
        Err(mistake(format!("`{name}` is not in the group")).label(label).hint(self.who_is_there()))
    }

    fn who_is_there(&self) -> String {
        let mut instances: BTreeMap<&InstanceId, Vec<&str>> = BTreeMap::new();
        for (member, instance) in self.present() {
            instances.entry(instance).or_default().push(member.as_str());
        }
        let list: Vec<String> = instances
            .iter()
            .map(|(instance, members)| format!("{} on {instance}", members.join(", ")))
            .collect();
        format!("there are, at that time: {}", list.join("; "))
    }
}
