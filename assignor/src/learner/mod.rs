//! `learner`: a task moves only after an understudy has learned its state.
//!
//! The order of steps is the order of the rules: [`learners`] settles which learners under way count, `actives` gives
//! every task an owner (rules 1 to 4), `learning` decides what should be learned where (rules 1 to 5 of learners);
//! stateless tasks and standbys follow.

mod actives;
mod learners;
mod learning;
mod options;

pub use options::Learner;

use crate::answer::{Answer, Seat};
use crate::group::Group;
use crate::plan::{FollowUp, Plan};
use crate::strategy::{Conduct, Leave, Resume, Strategy};
use crate::view::{GroupView, ViewError};
use crate::{standby, stateless};

impl Strategy for Learner {
    fn name(&self) -> String {
        self.describe()
    }

    fn conduct(&self) -> Conduct {
        Conduct {
            revocation: self.revocation,
            promotion: self.promotion,
            leave: Leave::AfterHandOver { timeout: self.scale_down_timeout },
            resume: Resume::EachTask,
            acceptable_lag: self.acceptable_lag,
        }
    }

    fn plan(&self, view: &GroupView) -> Result<Plan, ViewError> {
        let group = Group::read(view)?;
        let mut seats = vec![Seat::NOBODY; group.tasks.len()];
        if !group.somebody_stays() {
            // All give up and stop at once.
            let (standbys, otherwise) = (Vec::new(), FollowUp::None);
            return Ok(Answer { group: &group, seats, standbys, even: true, otherwise }.into_plan());
        }
        let outcome = learning::decide(self, &group, &mut seats);
        let stateless_even = stateless::place(&group, self.balance_factor, &outcome.load, &mut seats);
        let standbys = standby::place(&group, self.standbys, &seats);
        let even = outcome.even && stateless_even;
        Ok(Answer { group: &group, seats, standbys, even, otherwise: FollowUp::None }.into_plan())
    }
}
