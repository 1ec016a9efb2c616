//! Strategies without learners: whoever is given a task restores it.

use crate::answer::{Answer, Seat};
use crate::group::Group;
use crate::plan::{FollowUp, Plan};
use crate::view::{GroupView, ViewError};
use crate::{standby, stateless, sticky};

/// The answer to a view: `place` seats every task and says whether that is even, unless the whole group goes; standbys
/// follow.
pub(crate) fn plan(
    view: &GroupView,
    wanted_standbys: u32,
    place: fn(&Group<'_>, &mut [Seat]) -> bool,
) -> Result<Plan, ViewError> {
    let group = Group::read(view)?;
    let mut seats = vec![Seat::NOBODY; group.tasks.len()];
    let (mut standbys, mut even) = (Vec::new(), true);
    if group.somebody_stays() {
        even = place(&group, &mut seats);
        standbys = standby::place(&group, wanted_standbys, &seats);
    }
    Ok(Answer { group: &group, seats, standbys, even, otherwise: FollowUp::None }.into_plan())
}

/// Each task stays where it was, except for the moves that balance needs.
pub(crate) fn sticky(group: &Group<'_>, seats: &mut [Seat]) -> bool {
    let stateful = sticky::place(group, seats);
    stateless::place(group, 1, &stateful.load, seats) && stateful.even
}
