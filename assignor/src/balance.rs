//! The fewest moves that reach balance, from a formula: the yardstick for every strategy.

/// One member before the change, as far as balance is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// How many tasks it has. A member that has just joined has none.
    pub load: u64,
    /// Its capacity; at least 1.
    pub capacity: u32,
    /// Whether it stays. One that leaves or has crashed gives up all that it has.
    pub stays: bool,
}

/// The fewest tasks that must change owner until the staying members are balanced.
///
/// Loads x are balanced (learner rule 3) if no move improves them: for any two members,
/// `(x_r + 1) / C_r > (x_d − f) / C_d`. That is so exactly if there is a level λ > 0 with
/// `⌈λC⌉ − 1 ≤ x ≤ ⌈λC⌉ + f − 1` for every member. For a given λ the most tasks that can stay where they are is
/// counted in one pass: each member keeps its load up to the lower bound, and what is left over goes first to members
/// that have it already, up to their upper bounds. The levels worth trying are the multiples of 1/C at which a bound
/// changes, so nothing is searched: with n members, m of them staying, O(n + m log m) for equal capacities.
///
/// Without staying members there is nothing to balance, and every task moves.
///
/// ```
/// use assignor::balance::{Seat, minimum_moves};
/// let seat = |load| Seat { load, capacity: 1, stays: true };
/// let mut group = vec![seat(45); 10];
/// group.push(seat(0));
/// assert_eq!(minimum_moves(&group, 1), 40, "450 tasks, 10 → 11 members");
///
/// let mut group = vec![seat(45); 10];
/// group[3].stays = false;
/// assert_eq!(minimum_moves(&group, 1), 45, "450 tasks, 10 → 9 members");
/// ```
#[must_use]
pub fn minimum_moves(members: &[Seat], balance_factor: u32) -> u64 {
    let total: u64 = members.iter().map(|member| member.load).sum();
    let staying: Vec<Seat> = members.iter().copied().filter(|member| member.stays).collect();
    let factor = u64::from(balance_factor.max(1));
    let kept = levels(&staying, total, factor)
        .into_iter()
        .filter_map(|level| kept_at(&staying, total, factor, level))
        .max();
    total - kept.unwrap_or(0)
}

/// A level λ as a fraction.
#[derive(Clone, Copy)]
struct Level {
    parts: u128,
    of: u128,
}

impl Level {
    /// ⌈λC⌉.
    fn ceiling(self, capacity: u32) -> u64 {
        let exact = (self.parts * u128::from(capacity)).div_ceil(self.of);
        u64::try_from(exact).unwrap_or(u64::MAX)
    }
}

/// The levels at which the bounds of some member change, around those that fit the total.
///
/// The bounds of all members add up to the total only if `(total − mf) / C < λ ≤ (total + m) / C`, with C the summed
/// capacity of the m members; inside that window every multiple of one member's 1/C is a candidate.
fn levels(staying: &[Seat], total: u64, factor: u64) -> Vec<Level> {
    let capacity: u128 = staying.iter().map(|member| u128::from(member.capacity.max(1))).sum();
    let count = staying.len() as u128;
    if capacity == 0 {
        return Vec::new();
    }
    let lowest = u128::from(total).saturating_sub(count * u128::from(factor));
    let highest = u128::from(total) + count;
    let mut capacities: Vec<u32> = staying.iter().map(|member| member.capacity.max(1)).collect();
    capacities.sort_unstable();
    capacities.dedup();
    let mut levels = Vec::new();
    for of in capacities.into_iter().map(u128::from) {
        let first = (lowest * of / capacity).max(1);
        let last = (highest * of).div_ceil(capacity).max(first);
        levels.extend((first..=last).map(|parts| Level { parts, of }));
    }
    levels
}

/// How many tasks can stay with their owners if the members end up around `level`; `None` if the total does not fit.
fn kept_at(staying: &[Seat], total: u64, factor: u64, level: Level) -> Option<u64> {
    let (mut least, mut room, mut kept, mut keepable) = (0, 0, 0, 0);
    for member in staying {
        let top = level.ceiling(member.capacity.max(1));
        let bottom = top - 1;
        least += bottom;
        room += factor;
        kept += member.load.min(bottom);
        keepable += member.load.saturating_sub(bottom).min(factor);
    }
    let spare = total.checked_sub(least)?;
    (spare <= room).then(|| kept + spare.min(keepable))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every distribution of `total` over the staying members, tried.
    fn searched(members: &[Seat], factor: u64) -> u64 {
        let total: u64 = members.iter().map(|member| member.load).sum();
        let staying: Vec<Seat> = members.iter().copied().filter(|member| member.stays).collect();
        let mut best = u64::MAX;
        let mut loads = vec![0; staying.len()];
        try_all(&staying, factor, total, 0, &mut loads, &mut |loads| {
            let kept: u64 = loads.iter().zip(&staying).map(|(&now, before)| now.min(before.load)).sum();
            best = best.min(total - kept);
        });
        best
    }

    fn try_all(
        staying: &[Seat],
        factor: u64,
        left: u64,
        place: usize,
        loads: &mut Vec<u64>,
        found: &mut impl FnMut(&[u64]),
    ) {
        if place + 1 == staying.len() {
            loads[place] = left;
            if balanced(staying, factor, loads) {
                found(loads);
            }
            return;
        }
        for load in 0..=left {
            loads[place] = load;
            try_all(staying, factor, left - load, place + 1, loads, found);
        }
    }

    fn balanced(staying: &[Seat], factor: u64, loads: &[u64]) -> bool {
        (0..loads.len()).all(|donor| {
            (0..loads.len()).all(|receiver| {
                let room = (loads[receiver] + 1) * u64::from(staying[donor].capacity);
                let surplus = (loads[donor] as i64 - factor as i64) * i64::from(staying[receiver].capacity);
                donor == receiver || room as i64 > surplus
            })
        })
    }

    #[test]
    fn the_formula_agrees_with_a_search_of_all_distributions() {
        let mut checked = 0;
        for loads in 0..5_u64.pow(3) {
            for capacities in 0..3_u32.pow(3) {
                let seat = |place: u32| Seat {
                    load: loads / 5_u64.pow(place) % 5,
                    capacity: 1 + capacities / 3_u32.pow(place) % 3,
                    stays: true,
                };
                let members = [seat(0), seat(1), seat(2)];
                for factor in [1, 2] {
                    assert_eq!(
                        minimum_moves(&members, factor),
                        searched(&members, factor.into()),
                        "{members:?}, factor {factor}"
                    );
                    checked += 1;
                }
            }
        }
        assert_eq!(checked, 2 * 125 * 27);
    }

    #[test]
    fn nobody_stays() {
        let gone = Seat { load: 3, capacity: 1, stays: false };
        assert_eq!(minimum_moves(&[gone, gone], 1), 6);
        assert_eq!(minimum_moves(&[], 1), 0);
    }
}
