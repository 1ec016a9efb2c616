//! Keeps what has just been written in the page cache.
//!
//! RocksDB's `SstFileWriter` has the system drop a file from the cache as it finishes it, and there is no option against
//! that here. But these files are about to be read: a task that was replayed runs on them, and every page that is not in
//! memory has its worker wait for a disk which is busy with the next replay. Pages that are mapped are not dropped, so a
//! file is mapped while it is finished.
//!
//! All of this is advice: where it can't be had, reads are slower at first.

#[cfg(target_os = "linux")]
mod system {
    use std::fs::File;
    use std::num::NonZeroU64;
    use std::path::Path;

    use memmap2::{Mmap, MmapOptions};
    use rustix::fs::{Advice, fadvise};

    /// What is asked for at once: Linux reads no more ahead than a disk's `read_ahead_kb`, by default 128, a call.
    const AHEAD: usize = 128 << 10;

    /// A file that stays in the page cache, as far as it was written.
    pub(in crate::store) struct Kept {
        file: File,
        pages: Mmap,
    }

    impl Kept {
        /// Holds what has been written to `path` so far; `None` where that is nothing, or the system won't.
        #[expect(unsafe_code, reason = "mapping a file is unsafe because others may change it")]
        pub(in crate::store) fn hold(path: &Path) -> Option<Self> {
            let file = File::open(path).ok()?;
            // SAFETY: the mapping is never read, so that it does not matter what becomes of the file.
            let pages = unsafe { MmapOptions::new().populate().map(&file) }.ok()?;
            Some(Self { file, pages })
        }

        /// The file is finished: lets go of it, and asks back what was dropped of the part written since.
        pub(in crate::store) fn release(self) {
            let end = self.file.metadata().map_or(0, |metadata| metadata.len() as usize);
            for start in (self.pages.len()..end).step_by(AHEAD) {
                let _ = fadvise(&self.file, start as u64, NonZeroU64::new(AHEAD as u64), Advice::WillNeed);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(in crate::store) struct Kept;

    impl Kept {
        pub(in crate::store) fn hold(_: &std::path::Path) -> Option<Self> {
            None
        }

        pub(in crate::store) fn release(self) {}
    }
}

pub(super) use system::Kept;
