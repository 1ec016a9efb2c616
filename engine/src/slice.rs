//! How long a thread may keep its core while others wait for it.
//!
//! A hand-over is a few threads telling one another, and on busy cores each of them waits until somebody else's time is
//! up. Linux lets a thread ask for shorter slices (since 6.12, whose scheduler is EEVDF): it has no more of the cores than
//! before, but it has it sooner, since one that wakes may take the core from one with longer slices. Threads that pass
//! word on ask for the shortest, workers for short ones, and those that have hours of work to do, restorers and RocksDB's,
//! keep the system's.
//!
//! It is advice: where the system knows no slices, or grants none, everything works as without.

use std::time::Duration;

/// What a thread does, as far as it matters to how soon it needs a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Passes word on: the coordinator, an instance's own thread.
    Telling,
    /// Serves records: a worker.
    Serving,
}

impl Work {
    /// The slice it asks for. Linux grants 0.1 ms to 100 ms.
    fn slice(self) -> Duration {
        match self {
            Self::Telling => Duration::from_micros(100),
            Self::Serving => Duration::from_micros(300),
        }
    }
}

/// Asks for slices of the calling thread, if `short` slices are wanted at all.
pub(crate) fn ask(short: bool, work: Work) {
    if short {
        system::ask(work.slice());
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::time::Duration;

    use libc::{SYS_sched_getattr, SYS_sched_setattr, sched_attr, syscall};

    /// Changes the slice alone, and only of a thread that shares cores fairly: one that was given a real-time policy, or
    /// niceness, keeps it.
    #[expect(unsafe_code, reason = "no library wraps these two calls")]
    pub(super) fn ask(slice: Duration) {
        const CALLING_THREAD: libc::pid_t = 0;
        const NO_FLAGS: libc::c_uint = 0;
        let mut attributes = sched_attr {
            size: size_of::<sched_attr>() as u32,
            sched_policy: 0,
            sched_flags: 0,
            sched_nice: 0,
            sched_priority: 0,
            sched_runtime: 0,
            sched_deadline: 0,
            sched_period: 0,
        };
        // SAFETY: the kernel writes at most the given size into attributes that are ours for the whole call.
        let got = unsafe {
            syscall(SYS_sched_getattr, CALLING_THREAD, &raw mut attributes, attributes.size, NO_FLAGS)
        };
        if got != 0 || attributes.sched_policy != libc::SCHED_OTHER as u32 {
            return;
        }
        attributes.sched_runtime = slice.as_nanos() as u64;
        // SAFETY: the kernel only reads, and no more than the size that the attributes say.
        let _refused = unsafe { syscall(SYS_sched_setattr, CALLING_THREAD, &raw const attributes, NO_FLAGS) };
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn ask(_: std::time::Duration) {}
}
