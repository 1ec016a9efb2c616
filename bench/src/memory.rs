//! The most memory the process had of its own, as Linux counts it: without the pages of files, which are the system's.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, park_timeout, spawn};
use std::time::Duration;

/// How often it is looked at.
const INTERVAL: Duration = Duration::from_micros(500);

/// A stretch of the process's life, looked at from another thread.
#[derive(Debug)]
pub struct Peak {
    start: u64,
    most: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Peak {
    /// Begins now; `None` where the system doesn't tell.
    #[must_use]
    pub fn start() -> Option<Self> {
        let start = anonymous()?;
        let (most, over) = (Arc::new(AtomicU64::new(start)), Arc::new(AtomicBool::new(false)));
        let (seen, ended) = (Arc::clone(&most), Arc::clone(&over));
        let thread = spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                seen.fetch_max(anonymous().unwrap_or_default(), Ordering::Relaxed);
                park_timeout(INTERVAL);
            }
        });
        Some(Self { start, most, over, thread })
    }

    /// Ends it; how much more memory there was at most than at the start, in bytes.
    ///
    /// # Panics
    ///
    /// If the thread that looked has.
    #[must_use]
    pub fn beyond_start(self) -> u64 {
        self.over.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        self.thread.join().expect("it only looks");
        self.most.load(Ordering::Relaxed) - self.start
    }
}

/// Resident memory that is backed by no file, in bytes.
fn anonymous() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_held_for_a_while_is_seen_afterwards() {
        let Some(peak) = Peak::start() else { return };
        let held = vec![1_u8; 64 << 20];
        assert_eq!(std::hint::black_box(&held)[12_345], 1);
        park_timeout(20 * INTERVAL);
        drop(held);
        let seen = peak.beyond_start();
        assert!(seen >= 60 << 20, "{seen}");
    }
}
