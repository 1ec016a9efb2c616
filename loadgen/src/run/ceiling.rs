//! What RocksDB itself reaches when it is given a state sorted and for nothing: the ceiling of every restore on this
//! machine, in this run.
//!
//! Sorted, distinct records of the scenario's size go into an empty, open store as two files written side by side, are
//! ingested, and everything is waited for. That is a bulk load as RocksDB recommends it, and as a replay does it once it
//! has read, decoded and sorted its changelog. The best of three counts, because a ceiling is what can be reached.

use std::path::Path;
use std::time::Duration;

use engine::clock::{Clock as _, RealClock};
use engine::error::StoreError;
use engine::source::{key_of, mix};
use engine::store::{Checkpoint, Part, PartWriter, RocksStores, StoreDirectory};
use results::metric::Ceiling;

use crate::error::Error;
use crate::scenario::Plan;
use crate::workload;

/// Bytes of keys and values that are loaded: some tenths of a second.
const LOADED_BYTES: usize = 32 << 20;
/// Fewer records than these say nothing, however large they are.
const FEWEST: usize = 100;
const ATTEMPTS: usize = 3;

/// Measures it in `dir`, which has to be empty.
pub(super) fn measure(plan: &Plan, dir: &Path) -> Result<Ceiling, Error> {
    let value_bytes = plan.state.value_bytes;
    let records = (LOADED_BYTES / (value_bytes + 16)).max(FEWEST);
    let mut keys: Vec<_> = (0..records as u64).map(key_of).collect();
    keys.sort_unstable();
    let bytes: usize = keys.iter().map(|key| key.len() + value_bytes).sum();
    let values: Vec<u8> = (0..value_bytes as u64 + 4_096).map(|at| mix(at).to_le_bytes()[0]).collect();

    let clock = RealClock::start();
    let options = workload::engine_config(plan).rocks;
    let mut best = Duration::MAX;
    for attempt in 0..ATTEMPTS {
        let stores = RocksStores::new(&dir.join(attempt.to_string()), &options)?;
        let mut store = stores.open(&"T1".into())?;
        let begun = clock.now();
        let writer = store.part_writer();
        let half = |part: &[_]| write(&*writer, part, &values, value_bytes);
        let (first, second) = keys.split_at(records / 2);
        let parts = std::thread::scope(|scope| {
            let second = scope.spawn(|| half(second));
            let first = half(first);
            // A panic goes on in the thread that waits for it.
            let second = second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok::<_, StoreError>(vec![first?, second?])
        })?;
        store.ingest(parts, Checkpoint::default())?;
        store.settle(false)?;
        best = best.min(clock.now().since(begun));
        store.close()?;
    }
    let seconds = best.as_secs_f64().max(1e-6);
    Ok(Ceiling { records_per_s: (records as f64 / seconds).round(), mb_per_s: bytes as f64 / 1e6 / seconds })
}

fn write<K: AsRef<[u8]>>(
    writer: &dyn PartWriter,
    keys: &[K],
    values: &[u8],
    value_bytes: usize,
) -> Result<Part, StoreError> {
    let mut entries = keys.iter().enumerate().map(|(at, key)| {
        // Values differ, and cost nothing to make.
        let start = at % 4_096;
        (key.as_ref(), Some(&values[start..start + value_bytes]))
    });
    writer.write(&mut entries)
}
