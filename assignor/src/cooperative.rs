//! `cooperative`: only tasks that move stop; they are asked back, then handed over in an immediate second rebalance.

use std::sync::Arc;

use crate::options::{self, OptionDefinition, STANDBYS, Settings, Value};
use crate::plan::Plan;
use crate::registry::Definition;
use crate::restoring;
use crate::strategy::{Conduct, Leave, Promotion, Resume, Revocation, Strategy};
use crate::view::{GroupView, ViewError};

/// The strategy that asks moved tasks back and hands them over in an immediate second rebalance; the new owner
/// restores after the move.
///
/// ```
/// use assignor::{FollowUp, GroupView, MemberView, Strategy, Task, cooperative::Cooperative};
/// let task = |name: &str| Task { id: name.into(), stateful: true, state_size: 1 };
/// let mut owner = MemberView::new("S1", "I1");
/// owner.active = vec!["T1".into(), "T2".into()];
/// let view = GroupView {
///     tasks: vec![task("T1"), task("T2")],
///     members: vec![owner, MemberView::new("S2", "I2")],
///     stored: Vec::new(),
/// };
/// let plan = Cooperative::default().plan(&view)?;
/// assert_eq!(plan.members[&"S1".into()].give_up, ["T1".into()]);
/// assert_eq!(plan.follow_up, FollowUp::Immediate);
/// # Ok::<(), assignor::ViewError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cooperative {
    /// Standbys per stateful task.
    pub standbys: u32,
}

static OPTIONS: [OptionDefinition; 1] = [STANDBYS];

impl Cooperative {
    /// Its name and options.
    pub const DEFINITION: Definition = Definition {
        name: "cooperative",
        meaning: "only tasks that move stop: they are asked back, then handed over in an immediate second rebalance",
        options: &OPTIONS,
        build: |settings| Arc::new(Self::from_settings(settings)),
    };

    /// The strategy with these settings; what they lack has its default.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        Self { standbys: settings.small_number("standbys").unwrap_or(0) }
    }
}

impl Strategy for Cooperative {
    fn name(&self) -> String {
        let values = [("standbys", Value::Number(self.standbys.into()))];
        options::describe(Self::DEFINITION.name, &OPTIONS, &values)
    }

    fn conduct(&self) -> Conduct {
        Conduct {
            revocation: Revocation::OnRequest,
            promotion: Promotion::Each,
            leave: Leave::AtOnce,
            resume: Resume::EachTask,
            acceptable_lag: 0,
        }
    }

    fn plan(&self, view: &GroupView) -> Result<Plan, ViewError> {
        restoring::plan(view, self.standbys, restoring::sticky)
    }
}
