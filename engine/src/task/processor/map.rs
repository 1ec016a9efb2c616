//! The processor `map`: makes one output record of each record and keeps no state, so that its tasks' changelogs hold
//! nothing but where to resume.

use super::Processor;
use crate::error::StoreError;
use crate::log::BatchBuilder;
use crate::source::Records;
use crate::store::ReadState;

/// Maps each record to one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Map;

impl Processor for Map {
    fn process(
        &mut self,
        records: &Records,
        _: &dyn ReadState,
        out: &mut BatchBuilder,
    ) -> Result<(), StoreError> {
        out.count_outputs(records.len() as u32);
        Ok(())
    }
}
