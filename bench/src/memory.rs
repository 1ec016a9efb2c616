//! The most memory the process had, as Linux counts it.

use std::fs;

/// A stretch of the process's life.
#[derive(Debug)]
pub struct Peak {
    start: u64,
}

impl Peak {
    /// Begins now; `None` where the system doesn't tell.
    #[must_use]
    pub fn start() -> Option<Self> {
        // Sets the mark of the highest resident memory back to the present: see proc(5).
        fs::write("/proc/self/clear_refs", "5").ok()?;
        Some(Self { start: status("VmRSS:")? })
    }

    /// How much more memory was resident at most than at the start, in bytes.
    #[must_use]
    pub fn beyond_start(&self) -> u64 {
        status("VmHWM:").unwrap_or_default().saturating_sub(self.start)
    }
}

/// A line of `/proc/self/status`, in bytes.
fn status(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
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
        drop(held);
        assert!(peak.beyond_start() >= 60 << 20, "{peak:?}");
    }
}
