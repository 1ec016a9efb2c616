//! What happens to the group during a run, checked against who is there when it happens.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use assignor::{InstanceId, MemberId};

use super::condition::Condition;
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

/// When an event happens. Times are from the end of the warm-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// At this time, or after the event before it if that waited for longer.
    Time(Duration),
    /// As soon as the condition holds, at the deadline if it does not by then.
    After {
        /// The condition.
        condition: Condition,
        /// The deadline.
        deadline: Duration,
    },
}

impl When {
    /// The latest moment at which it happens.
    #[must_use]
    pub fn latest(&self) -> Duration {
        match self {
            Self::Time(time) => *time,
            Self::After { deadline, .. } => *deadline,
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => f.write_str(&show_time(*time)),
            Self::After { condition, .. } => write!(f, "{condition}"),
        }
    }
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub when: When,
    /// What.
    pub act: Act,
}

/// An event as it was read: names are not looked up yet.
pub(super) struct RawEvent {
    /// With the place of its time or deadline.
    when: Option<(When, Place)>,
    after_at: Option<Place>,
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
    reader.maybe(&keys::RESTART);
    let when = when(reader);
    let after_at = reader.place(&keys::AFTER).cloned();

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

    let written: [&dyn keys::AnyKey; 5] =
        [&keys::START, &keys::LEAVE, &keys::CRASH, &keys::STALL, &keys::RESTART];
    if let (Some(at), true) = (reader.at().cloned(), written.iter().all(|key| reader.place(*key).is_none())) {
        reader.mistake(
            Mistake::at(&at, "[[at]] says when, but not what")
                .hint("give it one of start, leave, crash, stall; for example: leave = [\"S2\"]"),
        );
    }
    RawEvent { when, after_at, acts }
}

/// Either a time, or a condition with its deadline.
fn when(reader: &mut Reader<'_>) -> Option<(When, Place)> {
    let time = reader.maybe(&keys::AT_TIME);
    let after = reader.maybe(&keys::AFTER).flatten();
    let deadline = reader.maybe(&keys::DEADLINE);
    let places = [&keys::AT_TIME as &dyn keys::AnyKey, &keys::AFTER, &keys::DEADLINE];
    let [time_at, after_at, deadline_at] = places.map(|key| reader.place(key).cloned());
    let example = "for example: after = \"ready(S4)\" and deadline = \"10s\"";
    let mistake = match (&time_at, &after_at, &deadline_at) {
        (Some(at), None, None) => return Some((When::Time(time?), at.clone())),
        (None, Some(_), Some(at)) => {
            return Some((When::After { condition: after?, deadline: deadline? }, at.clone()));
        }
        (Some(_), Some(at), _) => {
            Mistake::at(at, "an event has a `time` or a condition, not both").hint(example)
        }
        (None, Some(at), None) => {
            Mistake::at(at, "a condition needs a `deadline`: it may never be met").hint(example)
        }
        (_, None, Some(at)) => Mistake::at(at, "a `deadline` needs its condition").hint(example),
        (None, None, None) => {
            let title = "[[at]] lacks `time`";
            let mistake = reader.at().map_or_else(|| Mistake::anywhere(title), |at| Mistake::at(at, title));
            mistake.hint("for example: time = \"2s\"")
        }
    };
    reader.mistake(mistake);
    None
}

/// Looks every name up among those who are there when the event happens, and puts the events in order: timed ones by
/// time, but none of them before a condition that is written above it.
pub(super) fn check(
    raw: Vec<RawEvent>,
    first: &[Instances],
    duration: Option<Duration>,
    mistakes: &mut Vec<Mistake>,
) -> Vec<Event> {
    let mut ordered = Vec::new();
    for event in raw {
        match (event.when, duration) {
            (Some((when, at)), Some(end)) if when.latest() >= end => mistakes.push(too_late(&when, &at, end)),
            (Some((when, _)), _) => ordered.push((when, event.after_at, event.acts)),
            (None, _) => {}
        }
    }
    let timed = |(when, ..): &(When, _, _)| matches!(when, When::Time(_));
    for stretch in ordered.chunk_by_mut(|a, b| timed(a) && timed(b)) {
        stretch.sort_by_key(|(when, ..)| when.latest());
    }

    let mut roster = Roster::default();
    first.iter().for_each(|instances| roster.start(*instances));
    let mut events = Vec::new();
    for (when, after_at, acts) in ordered {
        if let When::After { condition, .. } = &when
            && let Some(member) = condition.member()
            && let Err(mistake) = roster.find(&(member.to_string(), after_at))
        {
            mistakes.push(mistake);
        }
        for act in acts {
            match roster.act(&when, act) {
                Ok(act) => events.push(Event { when: when.clone(), act }),
                Err(mistake) => mistakes.push(mistake),
            }
        }
    }
    events
}

fn too_late(when: &When, at: &Place, end: Duration) -> Mistake {
    let end = show_time(end);
    let title = match when {
        When::Time(time) => format!("this happens at {}, after the end of the run", show_time(*time)),
        When::After { deadline, .. } => {
            format!("this may happen as late as {}, after the end of the run", show_time(*deadline))
        }
    };
    Mistake::at(at, title)
        .label(format!("the run ends at {end}"))
        .hint(format!("move it before {end}, or give the scenario a longer `duration`"))
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

    fn act(&mut self, when: &When, act: RawAct) -> Result<Act, Mistake> {
        match act {
            RawAct::Start(instances) => {
                self.start(instances);
                Ok(Act::Start(instances))
            }
            RawAct::Leave(names) => {
                let found = self.remove(&names, "leave", when, "has left")?;
                Ok(Act::Leave(found.into_iter().flat_map(|(_, members)| members).collect()))
            }
            RawAct::Crash(names) => {
                let found = self.remove(&names, "crash", when, "has crashed")?;
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
        when: &When,
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
                    *why = Some(format!("{member} {gone} at {when}"));
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
