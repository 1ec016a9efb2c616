//! Faults that the simulator plants in the machines to see whether its checkers find them. Nothing else uses them.

/// One planted fault. A machine without one is whole.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The coordinator takes any join for news, however old.
    StaleJoinAccepted,
    /// The coordinator completes a generation with a plan made for an older one.
    StalePlanAccepted,
    /// A member takes any assignment for its own, however old.
    StaleAssignmentAccepted,
    /// A member joins before its worker has stopped what it gave up.
    JoinBeforeStopped,
    /// A member calls a learner ready as soon as it has started.
    ReadyTooSoon,
    /// The coordinator tells the leader that members who are away are here.
    AwayUnseen,
    /// A follow-up is dropped when the leader that asked for it is gone.
    FollowUpLostWithLeader,
    /// The coordinator forgets to schedule immediate follow-ups.
    FollowUpForgotten,
    /// A member that was put out keeps running what it had and claims it when it joins again.
    KeepsWhatItLost,
    /// The coordinator forgets what an away member owns.
    AwayForgotten,
    /// The coordinator never finds that a session has ended.
    SessionsNeverEnd,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::StaleJoinAccepted,
        Self::StalePlanAccepted,
        Self::StaleAssignmentAccepted,
        Self::JoinBeforeStopped,
        Self::ReadyTooSoon,
        Self::AwayUnseen,
        Self::FollowUpLostWithLeader,
        Self::FollowUpForgotten,
        Self::KeepsWhatItLost,
        Self::AwayForgotten,
        Self::SessionsNeverEnd,
    ];
}
