//! Who had which copy when: every role begins and ends where its events say.

use results::event::{Cause, Event, Stop, What};
use results::ownership::{Role, Span, spans};

fn at(at_us: i64, what: What) -> Event {
    Event { at_us, what }
}

fn span(member: &str, role: Role, from_us: i64, to_us: i64) -> Span {
    Span { task: "T1".into(), member: member.into(), role, from_us, to_us }
}

#[test]
fn a_standby_begins_ends_and_becomes_something_else() {
    let (task, member) = (|| "T1".to_owned(), |name: &str| name.to_owned());
    let events = [
        at(1, What::StandbyStarted { task: task(), member: member("S2") }),
        at(2, What::StandbyStarted { task: task(), member: member("S3") }),
        at(3, What::StandbyStarted { task: task(), member: member("S4") }),
        // S2's copy is closed, S3's begins to learn, S4 crashes.
        at(10, What::StandbyEnded { task: task(), member: member("S2") }),
        at(11, What::LearnerStarted { task: task(), member: member("S3"), lag: 5 }),
        at(12, What::MemberGone { member: member("S4"), cause: Cause::Crash }),
        at(20, What::TaskFenced { task: task(), member: member("S3"), epoch: 2, lag: 0 }),
        at(22, What::TaskPolled { task: task(), member: member("S3"), epoch: 2 }),
        at(30, What::TaskStopped { task: task(), member: member("S3"), why: Stop::GivenUp }),
        at(31, What::StandbyStarted { task: task(), member: member("S3") }),
    ];
    assert_eq!(
        spans(&events, 40),
        [
            span("S2", Role::Standby, 1, 10),
            span("S3", Role::Standby, 2, 11),
            span("S4", Role::Standby, 3, 12),
            span("S3", Role::Learning, 11, 20),
            span("S3", Role::Restoring, 20, 22),
            span("S3", Role::Active, 22, 30),
            span("S3", Role::Standby, 31, 40),
        ]
    );
}
