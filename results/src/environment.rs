//! Where and with what a run was made: plain data, filled in by the program. No secrets and no user names.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine, the system and the build. An empty or absent value was not to be found out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Environment {
    /// Version of Understudy.
    pub understudy: String,
    /// Commit that it was built from.
    pub commit: Option<String>,
    /// Whether the working tree had changes on top of the commit.
    pub dirty: Option<bool>,
    /// Build profile, `release` or `debug`.
    pub profile: String,
    /// Compiler version.
    pub rustc: Option<String>,
    /// Operating system and its version.
    pub os: String,
    /// Kernel version.
    pub kernel: Option<String>,
    /// CPU model.
    pub cpu: String,
    /// Logical cores that the process may use.
    pub cores: u32,
    /// Memory of the machine in bytes.
    pub memory_bytes: u64,
    /// Type of the file system that held the state.
    pub filesystem: Option<String>,
    /// Version of RocksDB.
    pub rocksdb: Option<String>,
    /// RocksDB options that differ from its defaults.
    pub rocksdb_options: BTreeMap<String, String>,
}
