//! Who should run, learn and stand by: assignment strategies for stateful stream tasks.
//!
//! Everything here is pure: a [`GroupView`] goes in, a [`Plan`] comes out. There is no I/O, no clock, no thread and
//! no randomness, and a strategy keeps nothing between calls, so that a leader that has never seen the group gives
//! the same answer as one that has led it for days.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`ids`] | names of tasks, members and instances, in natural order |
//! | [`view`] | what the leader is told: tasks, members, copies |
//! | [`plan`] | what the leader answers: who runs, learns, stands by, gives up |
//! | [`strategy`] | the seam: a planner, how its members conduct themselves |
//! | [`options`], [`registry`] | a strategy's options, and how a text becomes a strategy |
//! | [`learner`], [`cooperative`], [`eager`], [`high_availability`] | the strategies |
//! | [`mod@validate`] | checks any plan against its view |
//! | [`settle`] | what a strategy would do with a group, round by round |
//! | [`balance`] | the fewest moves that a membership change needs |
//! | [`trace`] | scaling stories as text, read and replayed |
//! | [`meter`] | operations counted instead of time measured |
//!
//! Inside, a view is read into a `group` (names become places, claims are settled); `scales` weigh loads per
//! capacity, `levelling` evens them out, `answer` turns decisions into a plan and is the one place where a task
//! changes hands.

pub mod balance;
pub mod cooperative;
pub mod eager;
pub mod high_availability;
pub mod ids;
pub mod learner;
pub mod meter;
pub mod options;
pub mod plan;
pub mod registry;
pub mod settle;
pub mod strategy;
pub mod trace;
pub mod validate;
pub mod view;

mod actives;
mod answer;
mod dealing;
mod emptiest;
mod group;
mod levelling;
mod ratio;
mod restoring;
mod scales;
mod standby;
mod stateless;
mod sticky;
mod suggest;
mod tournament;

pub use ids::{InstanceId, MemberId, TaskId};
pub use options::{OptionDefinition, OptionError, Range, Settings};
pub use plan::{Assignment, Change, FollowUp, Move, Plan, Reason};
pub use registry::{Definition, Registry, parse, strategies};
pub use strategy::{Conduct, Leave, Promotion, Resume, Revocation, Strategy};
pub use validate::{PlanFault, validate};
pub use view::{Copy, GroupView, Learner, MemberView, StoredView, Task, ViewError};
