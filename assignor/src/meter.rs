//! Counts the elementary operations of a planner, so that its growth can be tested without a clock.
//!
//! Counted are: a comparison in a winner tree, a push to or pop from a heap (as ⌈log₂ n⌉), a sort (as n·⌈log₂ n⌉), a
//! copy looked at while a receiver is chosen, and one for every task, member and claim read and every line of the
//! answer written. The count lives in the thread, so that planners need no extra argument.

use std::cell::Cell;

thread_local! {
    static OPERATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Runs `work` and returns what it returned together with the operations that it took in this thread.
///
/// ```
/// use assignor::{GroupView, Strategy, meter};
/// let strategy = assignor::parse("eager")?;
/// let (plan, operations) = meter::counted(|| strategy.plan(&GroupView::default()));
/// assert!(plan.is_ok());
/// assert!(operations < 10);
/// # Ok::<(), assignor::OptionError>(())
/// ```
pub fn counted<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = OPERATIONS.get();
    let result = work();
    (result, OPERATIONS.get().wrapping_sub(before))
}

/// Adds `operations`.
pub(crate) fn count(operations: usize) {
    OPERATIONS.set(OPERATIONS.get().wrapping_add(operations as u64));
}

/// Adds what sorting `n` things is counted as.
pub(crate) fn count_sort(n: usize) {
    count(n * log2(n));
}

/// Adds one push or pop on a heap of `n` things.
pub(crate) fn count_heap(n: usize) {
    count(log2(n));
}

/// ⌈log₂ n⌉, and 1 for the smallest.
fn log2(n: usize) -> usize {
    n.max(2).next_power_of_two().trailing_zeros() as usize
}
