//! What a task does with its records.

use std::fmt;

use crate::error::StoreError;
use crate::log::BatchBuilder;
use crate::source::Records;
use crate::store::ReadState;

pub mod count;
mod distinct;
pub mod join;
pub mod keyed;
mod map;
pub mod window;

pub use count::Count;
pub use join::Join;
pub use keyed::{Keyed, PerKey};
pub use map::Map;
pub use window::{Window, WindowOptions};

/// Turns records and the state they meet into state updates.
///
/// Deterministic: the same records on the same state give the same updates, whoever processes them. It keeps nothing
/// between turns that the store doesn't hold too, since its successor starts from the store.
pub trait Processor: fmt::Debug + Send {
    /// Processes one turn's records: reads `state`, leaves updates (at most one a key) and the count of output
    /// records in `out`.
    ///
    /// # Errors
    ///
    /// What the store says, and [`StoreError::Damaged`] for a value that no processor of this kind has written.
    fn process(
        &mut self,
        records: &Records,
        state: &dyn ReadState,
        out: &mut BatchBuilder,
    ) -> Result<(), StoreError>;
}
