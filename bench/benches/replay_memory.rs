//! What memory a replay takes beyond what the process has, for changelogs of which one is four times as long. It is not a
//! time, so that criterion has no part in it.

use bench::changelogs::Changelog;
use bench::memory::Peak;
use bench::replays::Input;
use engine::restore::ReplayOptions;

const LOG: Changelog = Changelog::FOUR_MILLION;

fn main() {
    let bound = ReplayOptions::default().chunk_bytes >> 20;
    for keys in [LOG.keys, 4 * LOG.keys] {
        let input = Input::new(Changelog { keys, ..LOG });
        let Some(peak) = Peak::start() else {
            println!("replay-memory: this system does not tell");
            return;
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (store, _) = input.replay(folder.path(), ReplayOptions::default());
        let taken = peak.beyond_start() >> 20;
        input.check_store(&*store);
        let records = input.changelog.updates() / 1_000_000;
        println!("replay-memory: {taken} MiB for {records} M records, set to {bound} MiB");
    }
}
