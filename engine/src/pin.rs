//! Which cores the threads of workers and restorers run on: anywhere, or pinned.
//!
//! What goes where is a pure function of the cores that the process may use; the adapter to the operating system is at the
//! end of the file. Threads that RocksDB starts inherit the cores of the thread that starts them, so they have to be there
//! before anybody is pinned (`store::start_background_threads`).

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Error;

/// How threads are pinned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pinning {
    /// The operating system puts threads where it likes.
    #[default]
    Free,
    /// Each worker has one core, by turns; all other threads run anywhere.
    Workers,
    /// Restorers share the last core, and workers have one of the others each, by turns: what a restore costs those who
    /// serve is then the disk and the caches alone, and a restore is as fast as one core.
    Apart,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Duty {
    /// The nth worker of the cluster that was started, from 0.
    Worker(usize),
    Restorer,
}

impl Pinning {
    /// Whether this operating system can pin threads.
    pub const SUPPORTED: bool = cfg!(target_os = "linux");

    /// The core of a thread, among those that the process may use; `None` where it runs anywhere.
    fn core(self, duty: Duty, cores: &[usize]) -> Option<usize> {
        let (last, others) = cores.split_last()?;
        match (self, duty) {
            (Self::Free, _) | (Self::Workers, Duty::Restorer) => None,
            (Self::Workers, Duty::Worker(nth)) => Some(cores[nth % cores.len()]),
            // On a single core nobody can be kept apart.
            (Self::Apart, _) if others.is_empty() => None,
            (Self::Apart, Duty::Worker(nth)) => Some(others[nth % others.len()]),
            (Self::Apart, Duty::Restorer) => Some(*last),
        }
    }
}

/// The pins of one cluster's threads.
#[derive(Debug)]
pub(crate) struct Pins {
    pinning: Pinning,
    cores: Vec<usize>,
    workers: AtomicUsize,
}

impl Pins {
    /// Pins on the cores that the calling thread may use.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub(crate) fn new(pinning: Pinning) -> Result<Self, Error> {
        let cores = if pinning == Pinning::Free { Vec::new() } else { system::cores()? };
        Ok(Self { pinning, cores, workers: AtomicUsize::new(0) })
    }

    /// Pins the calling thread, a worker.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub(crate) fn worker(&self) -> Result<(), Error> {
        self.pin(Duty::Worker(self.workers.fetch_add(1, Ordering::Relaxed)))
    }

    /// Pins the calling thread, a restorer.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub(crate) fn restorer(&self) -> Result<(), Error> {
        self.pin(Duty::Restorer)
    }

    fn pin(&self, duty: Duty) -> Result<(), Error> {
        self.pinning.core(duty, &self.cores).map_or(Ok(()), system::pin)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use crate::error::Error;

    fn failed(source: rustix::io::Errno) -> Error {
        Error::Pin { source: source.into() }
    }

    /// The cores that the calling thread may use.
    pub(super) fn cores() -> Result<Vec<usize>, Error> {
        let set = sched_getaffinity(None).map_err(failed)?;
        Ok((0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect())
    }

    /// Keeps the calling thread on this core.
    pub(super) fn pin(core: usize) -> Result<(), Error> {
        let mut set = CpuSet::new();
        set.set(core);
        sched_setaffinity(None, &set).map_err(failed)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io::ErrorKind;

    use crate::error::Error;

    pub(super) fn cores() -> Result<Vec<usize>, Error> {
        Err(Error::Pin { source: ErrorKind::Unsupported.into() })
    }

    pub(super) fn pin(_: usize) -> Result<(), Error> {
        Err(Error::Pin { source: ErrorKind::Unsupported.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_runs_where() {
        let cores = [2, 3, 5];
        let all = |pinning: Pinning, cores: &[usize]| {
            let workers = (0..4).map(|nth| pinning.core(Duty::Worker(nth), cores)).collect::<Vec<_>>();
            (workers, pinning.core(Duty::Restorer, cores))
        };
        assert_eq!(all(Pinning::Free, &cores), (vec![None; 4], None));
        assert_eq!(all(Pinning::Workers, &cores), (vec![Some(2), Some(3), Some(5), Some(2)], None));
        assert_eq!(all(Pinning::Apart, &cores), (vec![Some(2), Some(3), Some(2), Some(3)], Some(5)));
        assert_eq!(all(Pinning::Workers, &[7]), (vec![Some(7); 4], None));
        assert_eq!(all(Pinning::Apart, &[7]), (vec![None; 4], None), "a single core is everybody's");
        assert_eq!(all(Pinning::Apart, &[]), (vec![None; 4], None));
    }
}
