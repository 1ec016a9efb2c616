//! Task copies in RocksDB: one database each, with one block cache and one write-buffer budget for all of an
//! instance.
//!
//! The write-ahead log is off, since the task's changelog is one. What makes that safe: all keys, the checkpoint
//! among them, live in one column family, whose memtables are flushed oldest first, so that a crash leaves exactly
//! the writes up to some checkpoint. An ingest overlaps the memtable in the checkpoint's key at least, so that
//! RocksDB flushes what came before it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use assignor::TaskId;
use parking_lot::Mutex;
use rocksdb::properties::{ACTUAL_DELAYED_WRITE_RATE, ESTIMATE_PENDING_COMPACTION_BYTES, IS_WRITE_STOPPED};
use rocksdb::{
    BlockBasedOptions, BottommostLevelCompaction, Cache, CompactOptions, DB, Env, IngestExternalFileOptions,
    LogLevel, Options, ReadOptions, SstFileWriter, WaitForCompactOptions, WriteBatch, WriteBufferManager,
    WriteOptions,
};

use super::held::hold;
use super::page_cache::Kept;
use super::{
    Checkpoint, Form, Part, PartWriter, Pressure, ReadState, SortedEntries, Store, StoreDirectory, Updates,
};
use crate::error::StoreError;
use crate::folder::{folder_of, task_of};

/// Where the checkpoint lives: reserved, and after every other key.
const CHECKPOINT_KEY: &[u8] = b"\xff__checkpoint";
/// Under which name the memory shared by an instance's copies is told.
const SHARED_MEMORY: &str = "shared_memory";
/// What files are called that wait to be ingested.
const PART: &str = "part";

/// What an instance's databases share and how each is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RocksOptions {
    /// Cached blocks of all copies. Default 128 MiB.
    pub block_cache_bytes: usize,
    /// Memtables of all copies; beyond it the largest is flushed. Default 256 MiB.
    pub write_buffer_budget_bytes: usize,
    /// One memtable. Default 32 MiB.
    pub write_buffer_bytes: usize,
    /// Flushes and compactions at a time in the whole process. Default 2.
    pub background_jobs: i32,
    /// A block of a data file. Default 4 KiB.
    pub block_bytes: usize,
    /// Bloom filter bits a key; 0 for none. Default 10.
    pub bloom_bits: u32,
    /// Any other options, as RocksDB itself writes them: `compression=kNoCompression;level0_stop_writes_trigger=30`. They
    /// come last, and win. Default none.
    pub text: String,
}

impl Default for RocksOptions {
    fn default() -> Self {
        Self {
            block_cache_bytes: 128 << 20,
            write_buffer_budget_bytes: 256 << 20,
            write_buffer_bytes: 32 << 20,
            background_jobs: 2,
            block_bytes: 4 << 10,
            bloom_bits: 10,
            text: String::new(),
        }
    }
}

impl RocksOptions {
    /// Whether RocksDB understands them.
    ///
    /// # Errors
    ///
    /// What it says about them.
    pub fn check(&self) -> Result<(), String> {
        let cache = Cache::new_lru_cache(1 << 20);
        let budget = WriteBufferManager::new_write_buffer_manager(1 << 20, false);
        self.database(&cache, &budget).map(drop).map_err(|error| error.to_string())
    }

    /// What differs from RocksDB's defaults, under RocksDB's own names, for a record of what was measured.
    #[must_use]
    pub fn described(&self) -> BTreeMap<String, String> {
        let options: [(&str, String); 10] = [
            ("allow_concurrent_memtable_write", "false".into()),
            ("avoid_flush_during_shutdown", "true".into()),
            ("block_size", self.block_bytes.to_string()),
            ("compression", "kNoCompression".into()),
            ("format_version", "5".into()),
            ("level_compaction_dynamic_level_bytes", "true".into()),
            ("max_background_jobs", self.background_jobs.to_string()),
            ("max_write_buffer_number", "3".into()),
            ("write_buffer_size", self.write_buffer_bytes.to_string()),
            // Not RocksDB's option but an object handed to it.
            (SHARED_MEMORY, self.shared_memory()),
        ];
        let bloom = (self.bloom_bits > 0)
            .then(|| ("filter_policy", format!("bloomfilter:{}:false", self.bloom_bits)));
        options.into_iter().chain(bloom).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn shared_memory(&self) -> String {
        format!(
            "{} bytes of cache, {} of memtables, per instance; no write-ahead log",
            self.block_cache_bytes, self.write_buffer_budget_bytes
        )
    }

    /// RocksDB's own options for one database.
    fn database(&self, cache: &Cache, budget: &WriteBufferManager) -> Result<Options, rocksdb::Error> {
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(cache);
        table.set_block_size(self.block_bytes);
        table.set_format_version(5);
        if self.bloom_bits > 0 {
            table.set_bloom_filter(f64::from(self.bloom_bits), false);
        }
        // A flush at shutdown is what `close` is for; a drop is a crash. Only options in text can say so.
        let mut options = Options::default().get_options_from_string("avoid_flush_during_shutdown=true")?;
        options.create_if_missing(true);
        options.set_block_based_table_factory(&table);
        options.set_write_buffer_manager(budget);
        options.set_write_buffer_size(self.write_buffer_bytes);
        options.set_max_write_buffer_number(3);
        options.set_max_background_jobs(self.background_jobs);
        options.set_allow_concurrent_memtable_write(false);
        options.set_level_compaction_dynamic_level_bytes(true);
        options.set_log_level(LogLevel::Error);
        options.set_keep_log_file_num(1);
        options.set_stats_dump_period_sec(0);
        options.set_stats_persist_period_sec(0);
        if self.text.is_empty() { Ok(options) } else { options.get_options_from_string(&self.text) }
    }
}

/// Starts the threads of this process that flush and compact, as many as these options let RocksDB have and in its own
/// shares. It would start them itself when they are first needed, from whatever thread that is, and they would be pinned
/// where that one is.
///
/// # Errors
///
/// What RocksDB says.
pub(crate) fn start_background_threads(options: &RocksOptions) -> Result<(), StoreError> {
    let path = || PathBuf::from("RocksDB's threads");
    let mut env = Env::new().map_err(|source| StoreError::Rocks { path: path(), source })?;
    let flushes = (options.background_jobs / 4).max(1);
    env.set_high_priority_background_threads(flushes);
    env.set_low_priority_background_threads((options.background_jobs - flushes).max(1));
    Ok(())
}

/// The open databases of one directory, each behind a lock of its own, for whoever samples them.
type OpenDatabases = Mutex<BTreeMap<PathBuf, Arc<Mutex<Option<Arc<DB>>>>>>;

/// A database's place among the open ones. It is cleared before its store goes, so that nobody who samples holds a
/// database that ought to be closed: the same folder may be opened again at once.
struct Listed {
    open: Arc<OpenDatabases>,
    path: PathBuf,
}

impl Listed {
    fn new(open: &Arc<OpenDatabases>, path: &Path, database: &Arc<DB>) -> Self {
        open.lock().insert(path.to_owned(), Arc::new(Mutex::new(Some(Arc::clone(database)))));
        Self { open: Arc::clone(open), path: path.to_owned() }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let place = self.open.lock().remove(&self.path);
        // Waits for a sample of this database alone.
        drop(place.and_then(|place| place.lock().take()));
    }
}

/// One task copy in RocksDB.
pub struct RocksStore {
    /// The first field: it is dropped before the database.
    _listed: Listed,
    database: Arc<DB>,
    path: PathBuf,
    parts: Arc<RocksParts>,
    checkpoint: Checkpoint,
    unlogged: WriteOptions,
    reads: ReadOptions,
}

impl fmt::Debug for RocksStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RocksStore")
            .field("path", &self.path)
            .field("checkpoint", &self.checkpoint)
            .finish_non_exhaustive()
    }
}

impl RocksStore {
    fn open(path: PathBuf, options: Options, open: &Arc<OpenDatabases>) -> Result<Self, StoreError> {
        let rocks = |source| StoreError::Rocks { path: path.clone(), source };
        // Named, so that its handle is at hand; what is not given options of its own would get RocksDB's defaults.
        let family = [("default", options.clone())];
        let database = DB::open_cf_with_opts(&options, &path, family).map_err(rocks)?;
        let checkpoint = match database.get_pinned(CHECKPOINT_KEY).map_err(rocks)? {
            None => Checkpoint::default(),
            Some(bytes) => Checkpoint::decode(&bytes).ok_or_else(|| StoreError::Damaged {
                path: path.clone(),
                what: format!("a checkpoint of {} bytes", bytes.len()),
            })?,
        };
        let parts = Arc::new(RocksParts::new(&path, options)?);
        let mut unlogged = WriteOptions::default();
        unlogged.disable_wal(true);
        // Commits come in key order: each insert starts its search where the last one ended.
        unlogged.set_memtable_insert_hint_per_batch(true);
        let reads = ReadOptions::default();
        let database = Arc::new(database);
        let listed = Listed::new(open, &path, &database);
        Ok(Self { _listed: listed, database, path, parts, checkpoint, unlogged, reads })
    }

    fn rocks(&self) -> impl Fn(rocksdb::Error) -> StoreError + use<> {
        let path = self.path.clone();
        move |source| StoreError::Rocks { path: path.clone(), source }
    }
}

impl ReadState for RocksStore {
    fn get_many(
        &self,
        keys: &[&[u8]],
        visit: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<(), StoreError> {
        let family = self.database.cf_handle("default").ok_or_else(|| StoreError::Damaged {
            path: self.path.clone(),
            what: "the default column family is missing".to_owned(),
        })?;
        let rocks = self.rocks();
        let values = self.database.batched_multi_get_cf_opt(family, keys.iter().copied(), false, &self.reads);
        for (index, value) in values.into_iter().enumerate() {
            visit(index, value.map_err(&rocks)?.as_deref());
        }
        Ok(())
    }

    fn location(&self) -> PathBuf {
        self.path.clone()
    }
}

impl Store for RocksStore {
    fn checkpoint(&self) -> Checkpoint {
        self.checkpoint
    }

    fn write(&mut self, updates: &mut Updates<'_>, to: Checkpoint) -> Result<(), StoreError> {
        let mut batch = WriteBatch::new();
        for (key, value) in updates {
            match value {
                Some(value) => batch.put(key, value),
                None => batch.delete(key),
            }
        }
        batch.put(CHECKPOINT_KEY, to.encode());
        self.database.write_opt(batch, &self.unlogged).map_err(self.rocks())?;
        self.checkpoint = to;
        Ok(())
    }

    fn part_writer(&self) -> Arc<dyn PartWriter> {
        Arc::clone(&self.parts) as Arc<dyn PartWriter>
    }

    fn ingest(&mut self, parts: Vec<Part>, to: Checkpoint) -> Result<(), StoreError> {
        let checkpoint = (CHECKPOINT_KEY, Some(&to.encode()[..]));
        let last = self.parts.write(&mut [checkpoint].into_iter())?;
        let files = parts.into_iter().chain([last]).filter_map(|part| match part {
            Part(Form::File(path)) => Some(path),
            Part(Form::Memory(_)) => None,
        });
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(true);
        self.database.ingest_external_file_opts(&options, files.collect()).map_err(self.rocks())?;
        self.checkpoint = to;
        Ok(())
    }

    fn scan(&self, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), StoreError> {
        let mut reads = ReadOptions::default();
        reads.set_iterate_upper_bound(CHECKPOINT_KEY);
        reads.fill_cache(false);
        let mut cursor = self.database.raw_iterator_opt(reads);
        cursor.seek_to_first();
        while let Some((key, value)) = cursor.item() {
            visit(key, value);
            cursor.next();
        }
        cursor.status().map_err(self.rocks())
    }

    fn size_bytes(&self) -> u64 {
        let property = |name: &str| self.database.property_int_value(name).ok().flatten().unwrap_or(0);
        property("rocksdb.total-sst-files-size") + property("rocksdb.cur-size-all-mem-tables")
    }

    fn settle(&self, whole: bool) -> Result<(), StoreError> {
        if whole {
            self.database.flush().map_err(self.rocks())?;
            let mut options = CompactOptions::default();
            options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
            self.database.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &options);
        }
        let mut options = WaitForCompactOptions::default();
        options.set_flush(true);
        self.database.wait_for_compact(&options).map_err(self.rocks())
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        self.database.flush().map_err(self.rocks())
    }
}

/// Writes files beside a database, to be ingested.
struct RocksParts {
    folder: PathBuf,
    options: Options,
    next: AtomicU64,
}

impl fmt::Debug for RocksParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RocksParts").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl RocksParts {
    /// Files that a crash has left are thrown away.
    fn new(folder: &Path, options: Options) -> Result<Self, StoreError> {
        let io = |source| StoreError::Io { path: folder.to_owned(), source };
        for entry in fs::read_dir(folder).map_err(io)? {
            let path = entry.map_err(io)?.path();
            if path.extension().is_some_and(|extension| extension == PART) {
                fs::remove_file(path).map_err(io)?;
            }
        }
        Ok(Self { folder: folder.to_owned(), options, next: AtomicU64::new(0) })
    }

    fn write_file(&self, path: &Path, entries: &mut SortedEntries<'_>) -> Result<(), rocksdb::Error> {
        let mut file = SstFileWriter::create(&self.options);
        file.open(path)?;
        for (key, value) in entries {
            match value {
                Some(value) => file.put(key, value)?,
                None => file.delete(key)?,
            }
        }
        let kept = Kept::hold(path);
        file.finish()?;
        kept.into_iter().for_each(Kept::release);
        Ok(())
    }
}

impl PartWriter for RocksParts {
    fn write(&self, entries: &mut SortedEntries<'_>) -> Result<Part, StoreError> {
        let nth = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{nth}.{PART}"));
        match self.write_file(&path, entries) {
            Ok(()) => Ok(Part(Form::File(path))),
            Err(source) => Err(StoreError::Rocks { path, source }),
        }
    }
}

/// The copies of one instance in folders under one root.
pub struct RocksStores {
    root: PathBuf,
    options: Options,
    /// Keeps other processes out.
    _held: Arc<fs::File>,
    open: Arc<OpenDatabases>,
}

impl fmt::Debug for RocksStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RocksStores").field("root", &self.root).finish_non_exhaustive()
    }
}

impl RocksStores {
    /// Copies under `root`, made if it doesn't exist.
    ///
    /// # Errors
    ///
    /// [`StoreError::Held`] if another process uses `root`; what the file system or RocksDB says.
    pub fn new(root: &Path, options: &RocksOptions) -> Result<Self, StoreError> {
        let held = hold(root)?;
        let cache = Cache::new_lru_cache(options.block_cache_bytes);
        let budget = WriteBufferManager::new_write_buffer_manager(options.write_buffer_budget_bytes, false);
        let options = options
            .database(&cache, &budget)
            .map_err(|source| StoreError::Rocks { path: root.to_owned(), source })?;
        Ok(Self { root: root.to_owned(), options, _held: held, open: Arc::default() })
    }

    fn path(&self, task: &TaskId) -> PathBuf {
        self.root.join(folder_of(task))
    }
}

impl StoreDirectory for RocksStores {
    fn open(&self, task: &TaskId) -> Result<Box<dyn Store>, StoreError> {
        // That a copy is open at most once is for RocksDB to check: it locks the folder against other processes too.
        Ok(Box::new(RocksStore::open(self.path(task), self.options.clone(), &self.open)?))
    }

    fn discard(&self, task: &TaskId) -> Result<(), StoreError> {
        let path = self.path(task);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::Io { path, source: error }),
            _ => Ok(()),
        }
    }

    fn pressure(&self) -> Pressure {
        let mut pressure = Pressure::default();
        let places: Vec<_> = self.open.lock().values().cloned().collect();
        for place in places {
            let place = place.lock();
            let Some(database) = place.as_ref() else { continue };
            let property = |name| database.property_int_value(name).ok().flatten().unwrap_or(0);
            let held_back = property(IS_WRITE_STOPPED) + property(ACTUAL_DELAYED_WRITE_RATE) > 0;
            pressure.stalled += u32::from(held_back);
            pressure.debt_bytes += property(ESTIMATE_PENDING_COMPACTION_BYTES);
        }
        pressure
    }

    fn tasks(&self) -> Result<Vec<TaskId>, StoreError> {
        let io = |source| StoreError::Io { path: self.root.clone(), source };
        let mut tasks = Vec::new();
        for entry in fs::read_dir(&self.root).map_err(io)? {
            tasks.extend(entry.map_err(io)?.file_name().to_str().and_then(task_of));
        }
        tasks.sort();
        Ok(tasks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_described_is_what_rocksdb_says_it_does() {
        let folder = tempfile::tempdir().unwrap();
        let options = RocksOptions::default();
        let stores = RocksStores::new(folder.path(), &options).unwrap();
        let _store = stores.open(&"T1".into()).unwrap();
        let files = fs::read_dir(stores.path(&"T1".into())).unwrap().map(|entry| entry.unwrap().path());
        let written = files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("OPTIONS"));
        let written: String = written.map(|path| fs::read_to_string(path).unwrap()).collect();
        for (name, value) in options.described().iter().filter(|(name, _)| *name != SHARED_MEMORY) {
            // Of a filter only the kind is written.
            let said = if name == "filter_policy" { "bloomfilter" } else { value };
            let found = written.lines().any(|line| {
                line.trim().split_once('=').is_some_and(|(key, value)| key == name && value.contains(said))
            });
            assert!(found, "{name}={said} is not in\n{written}");
        }
    }

    #[test]
    fn a_database_that_is_sampled_can_be_closed_and_opened_again_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let stores = RocksStores::new(folder.path(), &RocksOptions::default()).unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(stores.pressure().stalled, 0);
                }
            });
            for _ in 0..20 {
                let store = stores.open(&"T1".into()).unwrap();
                drop(store);
            }
            done.store(true, Ordering::Relaxed);
        });
        assert!(stores.open.lock().is_empty());
    }
}
