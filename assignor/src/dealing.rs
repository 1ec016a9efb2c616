//! Round-robin placement: sorted tasks are dealt over sorted members, whatever they had.

use crate::answer::Seat;
use crate::group::{Claim, Group};
use crate::plan::Reason;
use crate::scales::{Copies, Scales, Tie};

/// Seats every task, the stateful ones first, each to the member that is then emptiest per capacity; says whether
/// nobody is left without a home that could have one.
///
/// With equal capacities this is round robin; a member of capacity 2 is dealt twice as many.
pub(crate) fn place(group: &Group<'_>, seats: &mut [Seat]) -> bool {
    let mut even = true;
    for stateful in [true, false] {
        let mut scales = Scales::new(group, 1, Tie::NameOnly, &[]);
        scales.open_receivers();
        for task in group.tasks_of_kind(stateful) {
            if group.owner(task).is_some_and(|owner| group.members[owner].away) {
                // An away member keeps its tasks: nobody else starts them.
                seats[task] = Seat::hand_over(group, task, group.owner(task), Reason::Dealt);
                continue;
            }
            if group.claims[task] == Claim::Disputed {
                seats[task] = Seat::hand_over(group, task, None, Reason::ConflictingClaims);
                continue;
            }
            let receiver = scales.receiver(group, &Copies::default());
            even &= receiver.is_some();
            if let Some(receiver) = receiver {
                scales.add(receiver, 1, 0);
            }
            seats[task] = Seat::hand_over(group, task, receiver.or(group.owner(task)), Reason::Dealt);
        }
    }
    even
}
