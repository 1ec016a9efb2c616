//! The terminal report: its numbers, its width, its colours, and the headline.

use crate::script::Script;
use results::report::text::{self, Style};
use results::report::view::Material;
use results::schema::{Audit, Run, RunFile, SCHEMA};

/// Scale-up in which T1 moves and pauses for the given time; eager ones pause T2 as well and give it back.
fn run(strategy: &str, trial: u32, pause_ms: u32) -> Run {
    let back = if strategy == "eager" {
        "1001 stopped T2 S1 given-up
         1500 polled T2 S1 2"
    } else {
        ""
    };
    let text = format!(
        "tasks 2, duration 20000, slo 50, window 1000..20000, minimum 1
        load T1 1000/s 0..20000 latency 2 stall 1001..{end}
        load T2 1000/s 0..20000 latency 1
        -100 completed 1 join balanced S1=T1,T2
        1000 scripted start S2
        1000 started 2 join
        1001 stopped T1 S1 given-up
        {back}
        1010 barrier 2
        1011 completed 2 join balanced S1=T2 S2=T1
        1012 assigned T1 S2 2
        1012 replayed T1 I2 250000 records, 29000000 bytes, work 250
        {end} polled T1 S2 2",
        end = 1_001 + pause_ms
    );
    let mut events: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    // The polls come after their stops; everything else is in order already.
    events[3..].sort_by_key(|line| line.split(' ').next().and_then(|time| time.parse::<i64>().ok()));
    Script::parse(&events.join("\n")).run(strategy, trial)
}

fn result(runs: Vec<Run>) -> RunFile {
    let file = serde_json::json!({
        "schema": SCHEMA, "title": "Scale up a running application", "scenario": {}, "environment":
        serde_json::to_value(results::environment::Environment::default()).expect("plain data"), "runs": []
    });
    RunFile { runs, ..serde_json::from_value(file).expect("a result") }
}

const PLAIN: Style = Style { width: 80, color: false };

/// The report of a result without its timeline.
fn render(result: &RunFile, style: Style) -> String {
    text::render(Material { result, timelines: &[] }, style)
}

#[test]
fn one_trial_each() {
    let text = render(&result(vec![run("eager", 1, 2_080), run("learner", 1, 52)]), PLAIN);
    let expected = "\
Scale up a running application

────────────────────────────────────────────────────────────────────────────
                                         eager                      learner
════════════════════════════════════════════════════════════════════════════
 task pauses                  2 (1 given back)                            1
   longest pause                        2.08 s                      52.0 ms
   all together                         2.58 s                      52.0 ms
   median pause                         499 ms                      52.0 ms
   most of it for               restore (80 %)               restore (79 %)
 stop the world                         499 ms                         0 ms
 latency p50                           1.00 ms                      1.00 ms
 latency p99                            1.68 s                      2.00 ms
 latency p99.9                          2.04 s                      14.0 ms
 latency max                            2.08 s                      54.0 ms
 delayed records                         2,031                            3
 recovery                               2.10 s                       100 ms
 rebalances                          1: join 1                    1: join 1
 restore            1.00 M records/s, 116 MB/s   1.00 M records/s, 116 MB/s
   of a bulk load                            –                            –
 moves                           1 (minimum 1)                1 (minimum 1)
 time to balance                        2.08 s                      53.0 ms
 audit                                  passed                       passed
────────────────────────────────────────────────────────────────────────────

longest pause
  eager   █████████████████████████████████████████████████████████ 2.08 s
  learner █▍ 52.0 ms

learner's longest pause is 1/40 of eager's (52.0 ms against 2.08 s)
";
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn medians_over_trials() {
    let runs = [1, 2, 3]
        .into_iter()
        .flat_map(|trial| [run("eager", trial, 1_000 * trial), run("learner", trial, 50 * trial)]);
    let text = render(&result(runs.collect()), PLAIN);
    assert!(text.contains("median of 3"), "{text}");
    let text = text.replace("\n  ", " ");
    assert!(text.contains("1/20 of eager's (100 ms against 2.00 s; medians of 3 trials)"), "{text}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let names = ["eager", "learner(revocation=two-phase,max_learners=4)", "cooperative", "high-availability"];
    let runs: Vec<Run> = names.iter().map(|name| run(name, 1, 500)).collect();
    let mut result = result(runs);
    result
        .warnings
        .push("the machine was busy for most of the time, so what follows is not to be believed".to_owned());
    for width in [40, 60, 80, 100, 200] {
        let text = render(&result, Style { width, color: false });
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= usize::from(width), "{widest} > {width}\n{text}");
        assert!(text.contains("\nwarning: the machine was"), "{text}");
    }
}

#[test]
fn colour_only_where_it_is_wanted() {
    let mut failed = run("eager", 1, 500);
    failed.audit = Audit { lost: 3, doubled: 1, passed: false, ..failed.audit };
    failed.warnings.push("the audit failed: this run is void".to_owned());
    let result = result(vec![failed]);
    let plain = render(&result, PLAIN);
    assert!(!plain.contains('\u{1b}'));
    assert!(plain.contains("FAILED: 3 lost"), "{plain}");
    assert!(plain.contains("warning: eager, trial 1: the audit failed: this run is void\n"), "{plain}");
    assert!(render(&result, Style { color: true, ..PLAIN }).contains('\u{1b}'));
}

#[test]
fn what_is_not_reached_is_said() {
    let mut run = run("eager", 1, 500);
    run.metrics.time_to_balance_ms = None;
    let text = render(&result(vec![run]), PLAIN);
    assert!(text.contains("> 20.0 s"), "{text}");
}
