//! What becomes of a message on its way: when it arrives, how often, or never.

use std::time::Duration;

use super::random::Random;

/// How the network treats messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Network {
    /// Usually a message takes less than this.
    pub(super) delay: Duration,
    /// One message in so many is lost, doubled, or held up. 0: none.
    pub(super) lost: u64,
    pub(super) doubled: u64,
    pub(super) late: u64,
    /// One that is held up takes less than this.
    pub(super) late_by: Duration,
}

impl Network {
    /// Delays only. Two messages may still overtake each other.
    pub(super) fn calm(delay: Duration) -> Self {
        Self { delay, lost: 0, doubled: 0, late: 0, late_by: delay }
    }

    /// After how long each copy of the next message arrives.
    pub(super) fn arrivals(&self, random: &mut Random) -> impl Iterator<Item = Duration> + use<> {
        let one = |random: &mut Random| {
            let most = if random.once_in(self.late) { self.late_by } else { self.delay };
            random.between(Duration::from_micros(50), most)
        };
        let first = (!random.once_in(self.lost)).then(|| one(random));
        let second = random.once_in(self.doubled).then(|| one(random));
        first.into_iter().chain(second)
    }
}
