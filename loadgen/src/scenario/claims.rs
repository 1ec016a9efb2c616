//! Reads the claims of a scenario.

use results::claim::{Bound, Claim};

use super::keys;
use super::mistake::Mistake;
use super::reader::Reader;

/// Reads one `[[claim]]`; `None` after a mistake.
pub(super) fn read(reader: &mut Reader<'_>) -> Option<Claim> {
    let says = reader.get(&keys::SAYS);
    let subject = reader.maybe(&keys::METRIC).flatten();
    let bounds = [
        reader.maybe(&keys::AT_MOST).map(Bound::AtMost),
        reader.maybe(&keys::AT_LEAST).map(Bound::AtLeast),
        reader.maybe(&keys::EXACTLY).map(Bound::Exactly),
    ];
    let strategy = reader.maybe(&keys::CLAIM_STRATEGY);
    let of = reader.maybe(&keys::OF);
    let mut written = bounds.into_iter().flatten();
    match (written.next(), written.next()) {
        (Some(bound), None) => Some(Claim { says, subject: subject?, bound, strategy, of }),
        (found, _) => {
            let title = match found {
                Some(_) => "[[claim]] has two bounds",
                None => "[[claim]] has no bound",
            };
            let mistake =
                reader.at().cloned().map_or_else(|| Mistake::anywhere(title), |at| Mistake::at(&at, title));
            reader
                .mistake(mistake.hint("give it one of at_most, at_least, exactly; for example: at_most = 0"));
            None
        }
    }
}
