//! The latest values of recently updated keys, and which of them the store lacks.

use crate::log::batch::Entries;
use crate::table::{Place, Table};

/// The latest values of recently updated keys.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// What the store lacks is marked.
    table: Table,
    /// Where the entries are that the store lacks.
    waiting: Vec<Place>,
}

impl Cache {
    /// Keys that wait for a commit.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Memory in use, roughly.
    pub(crate) fn memory(&self) -> usize {
        self.table.memory() + size_of_val(&*self.waiting)
    }

    /// Takes in a turn's updates.
    pub(crate) fn apply(&mut self, updates: Entries<'_>) {
        for (key, value) in updates {
            let place = self.table.put(key, value);
            if !self.table.mark(place, true) {
                self.waiting.push(place);
            }
        }
    }

    /// Looks many keys up at once, as [`Table::get_each`] does.
    pub(crate) fn get_each<'a>(&'a self, keys: &[&[u8]], visit: impl FnMut(usize, Option<Option<&'a [u8]>>)) {
        self.table.get_each(keys, visit);
    }

    /// What waits for the store, in key order.
    pub(crate) fn updates(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.table.sorted(self.waiting.iter().copied())
    }

    /// Everything is in the store by now; if more memory than `limit` is in use, it is given up.
    pub(crate) fn committed(&mut self, limit: usize) {
        if self.memory() > limit {
            self.table.clear();
            self.waiting.clear();
        }
        for place in self.waiting.drain(..) {
            self.table.mark(place, false);
        }
    }
}
