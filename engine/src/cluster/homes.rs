//! Where the copies of each instance are kept: in a directory on disk, or in its memory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use assignor::InstanceId;
use parking_lot::Mutex;

use crate::config::{EngineConfig, StoreKind};
use crate::error::StoreError;
use crate::store::{HashStores, RocksOptions, RocksStores, StoreDirectory};

/// The copies of all instances.
#[derive(Debug)]
pub(super) struct Homes {
    kind: StoreKind,
    rocks: RocksOptions,
    /// The folder of all state directories.
    state: PathBuf,
    /// What instances that are up have in memory.
    memory: Mutex<BTreeMap<InstanceId, HashStores>>,
}

impl Homes {
    pub(super) fn new(state: PathBuf, engine: &EngineConfig) -> Self {
        Self { kind: engine.store, rocks: engine.rocks.clone(), state, memory: Mutex::default() }
    }

    /// Its state directory, if there is one.
    pub(super) fn folder(&self, instance: &InstanceId) -> PathBuf {
        self.state.join(instance.as_str())
    }

    /// The copies of an instance that is being started: what lies in its directory, or nothing.
    pub(super) fn open(&self, instance: &InstanceId) -> Result<Arc<dyn StoreDirectory>, StoreError> {
        Ok(match self.kind {
            StoreKind::RocksDb => Arc::new(RocksStores::new(&self.folder(instance), &self.rocks)?),
            StoreKind::Memory => {
                let stores = HashStores::default();
                self.memory.lock().insert(instance.clone(), stores.clone());
                Arc::new(stores)
            }
        })
    }

    /// An instance is gone for good, or until it is started again: its memory is given back.
    pub(super) fn is_down(&self, instance: &InstanceId) {
        self.memory.lock().remove(instance);
    }

    /// Where the copies of an instance can be looked at once the cluster is stopped.
    pub(super) fn remains(&self, instance: &InstanceId) -> Remains {
        match self.kind {
            StoreKind::RocksDb => Remains::OnDisk(self.folder(instance)),
            StoreKind::Memory => {
                Remains::InMemory(self.memory.lock().get(instance).cloned().unwrap_or_default())
            }
        }
    }
}

/// What is left of an instance's copies when its cluster has been stopped.
#[derive(Clone, Debug)]
pub enum Remains {
    /// Databases in this directory.
    OnDisk(PathBuf),
    /// Tables; none of an instance that was down already, of which there is nothing but the changelogs.
    InMemory(HashStores),
}

impl Remains {
    /// The copies.
    ///
    /// # Errors
    ///
    /// A state directory that cannot be opened, or that somebody uses.
    pub fn open(&self) -> Result<Arc<dyn StoreDirectory>, StoreError> {
        Ok(match self {
            Self::OnDisk(folder) => Arc::new(RocksStores::new(folder, &RocksOptions::default())?),
            Self::InMemory(stores) => Arc::new(stores.clone()),
        })
    }
}
