//! Where and with what a run is made, as results tell it. No user names, no paths, no variables of the environment.
//!
//! What the program was built from is found out when it is built (`build.rs`).

use std::path::Path;

use engine::config::EngineConfig;
use results::environment::Environment;
use sysinfo::{CpuRefreshKind, Disks, MemoryRefreshKind, RefreshKind, System};

use crate::process;

/// The machine and the build; `dir` is where the state will lie.
#[must_use]
pub fn environment(dir: &Path) -> Environment {
    let what = RefreshKind::nothing()
        .with_cpu(CpuRefreshKind::nothing())
        .with_memory(MemoryRefreshKind::everything());
    let system = System::new_with_specifics(what).ok();
    let cpu =
        system.as_ref().and_then(|system| system.cpus().first()).map(|cpu| cpu.brand().trim().to_owned());
    Environment {
        understudy: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("UNDERSTUDY_COMMIT").map(str::to_owned),
        dirty: option_env!("UNDERSTUDY_DIRTY").map(|dirty| dirty == "true"),
        rustc: option_env!("UNDERSTUDY_RUSTC").map(str::to_owned),
        profile: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        os: System::long_os_version().unwrap_or_else(|_| std::env::consts::OS.to_owned()),
        kernel: System::kernel_version().ok(),
        cpu: cpu.unwrap_or_default(),
        cores: process::cores(),
        memory_bytes: system.map_or(0, |system| system.total_memory()),
        filesystem: disk(dir).map(|disk| disk.kind),
        rocksdb: option_env!("UNDERSTUDY_ROCKSDB").map(str::to_owned),
        rocksdb_options: EngineConfig::default().rocks.described(),
    }
}

/// The disk under a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Type of its file system.
    pub kind: String,
    /// Bytes that can still be written.
    pub free_bytes: u64,
}

/// The disk that `dir`, or the nearest folder above it that exists, lies on.
#[must_use]
pub fn disk(dir: &Path) -> Option<Disk> {
    let absolute = std::path::absolute(dir).ok()?;
    let real = absolute.ancestors().find_map(|dir| dir.canonicalize().ok())?;
    let disks = Disks::new_with_refreshed_list().ok()?;
    let under = disks.iter().filter(|disk| real.starts_with(disk.mount_point()));
    under.max_by_key(|disk| disk.mount_point().components().count()).map(|disk| Disk {
        kind: disk.file_system().to_string_lossy().into_owned(),
        free_bytes: disk.available_space(),
    })
}
