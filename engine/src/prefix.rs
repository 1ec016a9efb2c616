//! The first bytes of a key as numbers, so that sorting keys seldom has to look at the keys themselves.

/// Bytes that a [`prefix`] stands for.
pub(crate) const PREFIX_BYTES: usize = 16;

/// The first 16 bytes of a key, zero-padded, in two halves that sort like them.
pub(crate) fn prefix(key: &[u8]) -> [u64; 2] {
    let mut first = [0; PREFIX_BYTES];
    let length = key.len().min(PREFIX_BYTES);
    first[..length].copy_from_slice(&key[..length]);
    let whole = u128::from_be_bytes(first);
    [(whole >> 64) as u64, whole as u64]
}
