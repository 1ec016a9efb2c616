//! Many lists that grow side by side, of which nothing is left when they are dropped.
//!
//! An allocator keeps what it gets back in small pieces for those who ask next, and a replay's next need is a few pieces
//! too large for that: the process would hold the memory of both. So the lists are cut into blocks of a few large slabs,
//! each of which goes back to the system.

/// Bytes of a slab: glibc, which among the common allocators keeps the most, maps whatever is over 32 MiB by itself.
const SLAB_BYTES: usize = 33 << 20;
/// Entries of a block: what a list has too much on average is half of it.
const BLOCK: usize = 512;

/// Lists of `T`, by number.
#[derive(Debug)]
pub(super) struct Buckets<T> {
    /// Each with the capacity of a slab; as long as blocks of it are taken.
    slabs: Vec<Vec<T>>,
    lists: Vec<List>,
}

#[derive(Clone, Debug, Default)]
struct List {
    /// Slab and start of each of its blocks.
    blocks: Vec<(u32, u32)>,
    entries: usize,
}

impl<T: Copy> Buckets<T> {
    const SLAB: usize = SLAB_BYTES / size_of::<T>() / BLOCK * BLOCK;

    /// So many empty lists.
    pub(super) fn new(lists: usize) -> Self {
        Self { slabs: Vec::new(), lists: vec![List::default(); lists] }
    }

    /// How many lists there are.
    pub(super) fn lists(&self) -> usize {
        self.lists.len()
    }

    /// How many entries a list has.
    pub(super) fn entries(&self, list: usize) -> usize {
        self.lists[list].entries
    }

    /// Appends to a list.
    pub(super) fn push(&mut self, list: usize, entry: T) {
        let list = &mut self.lists[list];
        let at = list.entries % BLOCK;
        if at == 0 {
            list.blocks.push(Self::block(&mut self.slabs, entry));
        }
        if let Some(&(slab, start)) = list.blocks.last() {
            self.slabs[slab as usize][start as usize + at] = entry;
        }
        list.entries += 1;
    }

    /// Takes a block that is nobody's; it is filled with `filler`.
    fn block(slabs: &mut Vec<Vec<T>>, filler: T) -> (u32, u32) {
        if slabs.last().is_none_or(|slab| slab.len() == Self::SLAB) {
            slabs.push(Vec::with_capacity(Self::SLAB));
        }
        let nth = slabs.len() - 1;
        let start = slabs[nth].len();
        slabs[nth].resize(start + BLOCK, filler);
        (nth as u32, start as u32)
    }

    /// Appends a list's entries, in the order in which they came, to `to`.
    pub(super) fn copy(&self, list: usize, to: &mut Vec<T>) {
        let List { blocks, entries } = &self.lists[list];
        let mut left = *entries;
        for &(slab, start) in blocks {
            let taken = left.min(BLOCK);
            to.extend_from_slice(&self.slabs[slab as usize][start as usize..][..taken]);
            left -= taken;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_list_is_what_was_pushed_to_it() {
        // Large entries, so that there are several slabs.
        type Entry = [u64; 1_024];
        let mut random = 1_u64;
        let (mut buckets, mut model) = (Buckets::<Entry>::new(7), vec![Vec::new(); 7]);
        for nth in 0..12_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // The last list stays empty.
            let list = (random >> 33) as usize % 6;
            buckets.push(list, [nth; 1_024]);
            model[list].push(nth);
        }
        assert!(buckets.slabs.len() > 2);
        for (list, model) in model.iter().enumerate() {
            let mut found = Vec::new();
            buckets.copy(list, &mut found);
            assert_eq!(buckets.entries(list), model.len());
            assert!(found.iter().map(|entry| entry[1_023]).eq(model.iter().copied()));
        }
    }
}
