//! What happens to the group during a run, checked against who is there when it happens.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use assignor::{InstanceId, MemberId};
use engine::cluster::Farewell;

use super::condition::Condition;
use super::key::{AnyKey, Key};
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
    /// Whether their workers have stable ids.
    pub is_static: bool,
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
    /// An instance goes down and comes back on its directory.
    Restart {
        /// Which.
        instance: InstanceId,
        /// Whether its members say goodbye.
        farewell: Farewell,
        /// How long it stays down.
        down: Duration,
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
    /// Which; whether without a word, and where that was written; how long it is down.
    Restart(Named, Option<(bool, Option<Place>)>, Duration),
}

/// Reads `count` or `instances`, `workers` and `static`. The rules keep both far below `u32::MAX`.
pub(super) fn instances(reader: &mut Reader<'_>, count: &Key<super::rule::Count>) -> Instances {
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Instances {
        count: small(reader.get(count)),
        workers: small(reader.get(&keys::WORKERS)),
        is_static: reader.get(&keys::STATIC),
    }
}

/// Reads one `[[at]]`.
pub(super) fn read(reader: &mut Reader<'_>) -> RawEvent {
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
    acts.extend(reader.section_if_written(&keys::RESTART, restart).flatten());

    let written: [&dyn AnyKey; 5] = [&keys::START, &keys::LEAVE, &keys::CRASH, &keys::STALL, &keys::RESTART];
    if let (Some(at), true) = (reader.at().cloned(), written.iter().all(|key| reader.place(*key).is_none())) {
        reader.mistake(
            Mistake::at(&at, "[[at]] says when, but not what")
                .hint("give it one of start, leave, crash, stall, restart; for example: leave = [\"S2\"]"),
        );
    }
    RawEvent { when, after_at, acts }
}

fn restart(reader: &mut Reader<'_>) -> Option<RawAct> {
    let at = reader.place(&keys::RESTART_INSTANCE).cloned();
    let instance = reader.maybe(&keys::RESTART_INSTANCE);
    let static_at = reader.place(&keys::RESTART_STATIC).cloned();
    let is_static = reader.maybe(&keys::RESTART_STATIC).map(|is_static| (is_static, static_at));
    let down = reader.get(&keys::RESTART_DOWN);
    Some(RawAct::Restart((instance?, at), is_static, down))
}

/// Either a time, or a condition with its deadline.
fn when(reader: &mut Reader<'_>) -> Option<(When, Place)> {
    let time = reader.maybe(&keys::AT_TIME);
    let after = reader.maybe(&keys::AFTER).flatten();
    let deadline = reader.maybe(&keys::DEADLINE);
    let places = [&keys::AT_TIME as &dyn AnyKey, &keys::AFTER, &keys::DEADLINE];
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
    /// Every instance there ever was, with what it is started as.
    instances: BTreeMap<InstanceId, Instances>,
    /// Instances that were restarted at a known time: since when and until when they are down at least.
    down: BTreeMap<InstanceId, (Duration, Duration)>,
}

impl Roster {
    fn start(&mut self, instances: Instances) {
        for _ in 0..instances.count {
            let id = InstanceId::from(format!("I{}", self.instances.len() + 1));
            self.instances.insert(id.clone(), instances);
            self.add_members(&id, instances.workers);
        }
    }

    fn add_members(&mut self, instance: &InstanceId, workers: u32) {
        for _ in 0..workers {
            let member = MemberId::from(format!("S{}", self.members.len() + 1));
            self.members.insert(member, (instance.clone(), None));
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
                let (_, members) = self.find_up(&name, when)?;
                Ok(Act::Stall { members, lasting })
            }
            RawAct::Restart(name, is_static, down) => {
                let (instance, farewell) = self.restart(name, is_static, down, when)?;
                Ok(Act::Restart { instance, farewell, down })
            }
        }
    }

    /// Static members are back under their names, others under new ones.
    fn restart(
        &mut self,
        (name, at): Named,
        is_static: Option<(bool, Option<Place>)>,
        down: Duration,
        when: &When,
    ) -> Result<(InstanceId, Farewell), Mistake> {
        let id = InstanceId::from(name.as_str());
        let Some(instances) = self.instances.get(&id).copied() else {
            return Err(self.no_instance(&name, at.as_ref()));
        };
        if let Some(mistake) = self.is_down(&name, &id, at.as_ref(), when) {
            return Err(mistake);
        }
        let silent = match is_static {
            Some((true, at)) if !instances.is_static => {
                let title =
                    format!("the members of {id} are not static: none of them can come back as itself");
                let mistake =
                    at.map_or_else(|| Mistake::anywhere(title.clone()), |at| Mistake::at(&at, &title));
                return Err(mistake
                    .label("they have no stable ids")
                    .hint("start it with `static = true`, or leave `static` out here"));
            }
            Some((silent, _)) => silent,
            None => instances.is_static,
        };
        let farewell = if silent { Farewell::Silent } else { Farewell::Leave };
        for (member, (_, gone)) in self.members.iter_mut().filter(|(_, (of, _))| *of == id) {
            if instances.is_static {
                *gone = None;
            } else {
                gone.get_or_insert_with(|| format!("{member} has left at {when}, when {id} restarted"));
            }
        }
        if !instances.is_static {
            self.add_members(&id, instances.workers);
        }
        if let When::Time(since) = when {
            self.down.insert(id.clone(), (*since, *since + down));
        }
        Ok((id, farewell))
    }

    /// A mistake, if it is known that the instance is still down then. How long it takes to stop nobody knows beforehand.
    fn is_down(&self, name: &str, id: &InstanceId, at: Option<&Place>, when: &When) -> Option<Mistake> {
        let ((since, until), When::Time(time)) = (self.down.get(id)?, when) else { return None };
        if time > until {
            return None;
        }
        let title = format!("{name} is down at {when}: {id} restarts at {}", show_time(*since));
        let mistake = at.map_or_else(|| Mistake::anywhere(title.clone()), |at| Mistake::at(at, &title));
        let label = format!("not back before {}", show_time(*until));
        Some(mistake.label(label).hint("let it happen later: an instance also takes a moment to stop"))
    }

    /// Somebody to whom something can happen then.
    fn find_up(&self, named: &Named, when: &When) -> Result<(Target, Vec<MemberId>), Mistake> {
        let (target, members) = self.find(named)?;
        let instances = members.iter().filter_map(|member| Some(&self.members.get(member)?.0));
        let mut down = instances.filter_map(|id| self.is_down(&named.0, id, named.1.as_ref(), when));
        down.next().map_or(Ok((target, members)), Err)
    }

    fn no_instance(&self, name: &str, at: Option<&Place>) -> Mistake {
        let title = format!("there is no instance `{name}`");
        let mistake = at.map_or_else(|| Mistake::anywhere(title.clone()), |at| Mistake::at(at, &title));
        let names = || self.instances.keys().map(InstanceId::as_str);
        let label = match self.members.get(&MemberId::from(name)) {
            Some((instance, _)) => format!("it is a member: a restart takes its instance, {instance}"),
            None => did_you_mean(name, names()).unwrap_or_else(|| "nothing has this name then".to_owned()),
        };
        mistake
            .label(label)
            .hint(format!("the instances, at that time, are: {}", names().collect::<Vec<_>>().join(", ")))
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
            let (target, members) = self.find_up(name, when)?;
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
