//! What the operating system says of this process: CPU time and memory.

use std::time::Duration;

use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// Looks at this process.
#[derive(Debug)]
pub struct ProcessMeter {
    /// Absent on a system that says nothing: then nothing is measured.
    system: Option<System>,
    pid: Pid,
}

/// One look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time since the process was started, of all its threads.
    pub cpu: Duration,
    /// Resident memory.
    pub rss_bytes: u64,
}

impl ProcessMeter {
    /// A meter of this process.
    #[must_use]
    pub fn new() -> Self {
        Self { system: System::new().ok(), pid: Pid::from_u32(std::process::id()) }
    }

    /// Looks now.
    pub fn look(&mut self) -> Usage {
        let what = ProcessRefreshKind::nothing().with_cpu().with_memory().without_tasks();
        let Some(system) = &mut self.system else { return Usage::default() };
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[self.pid]), false, what);
        system.process(self.pid).map_or_else(Usage::default, |process| Usage {
            cpu: Duration::from_millis(process.accumulated_cpu_time()),
            rss_bytes: process.memory(),
        })
    }
}

impl Default for ProcessMeter {
    fn default() -> Self {
        Self::new()
    }
}

/// Cores that the process may use.
#[must_use]
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX))
}
