//! The worked examples of `docs/metrics.md`: what the page says is what the program computes.

use crate::script::Script;

const PAGE: &str = include_str!("../../../docs/metrics.md");

/// The page's examples: the heading they stand under, and the text of the fenced block.
fn examples() -> Vec<(String, String)> {
    let mut examples = Vec::new();
    let (mut heading, mut block) = ("", None::<String>);
    for line in PAGE.lines() {
        match &mut block {
            Some(_) if line == "```" => examples.push((heading.to_owned(), block.take().unwrap_or_default())),
            Some(text) => {
                text.push_str(line);
                text.push('\n');
            }
            None if line == "```example" => block = Some(String::new()),
            None => heading = line.strip_prefix("## ").or(line.strip_prefix("### ")).unwrap_or(heading),
        }
    }
    examples
}

#[test]
fn every_example_comes_out_as_the_page_says() {
    let examples = examples();
    assert!(examples.len() >= 20, "only {} examples found", examples.len());
    for (heading, text) in examples {
        Script::parse(&text).check(&heading);
    }
}

#[test]
fn every_metric_has_an_example() {
    let shown: Vec<&str> =
        PAGE.lines().filter_map(|line| line.strip_prefix("=> ")?.split(' ').next()).collect();
    for metric in [
        "pause",
        "task_pause_ms.count",
        "recovery_ms",
        "stop_the_world_ms",
        "unavailable_task_seconds",
        "service_latency_ms.p99",
        "service_time_ms.p99",
        "delayed_records",
        "rebalances.total",
        "restore.records_per_s",
        "restore.discarded_bytes",
        "restore.share_of_ceiling",
        "moves.actual",
        "time_to_balance_ms",
        "imbalance_task_seconds",
        "foreground_cost.p99_ratio",
        "foreground_cost.excess_latency_s",
        "learners.time_to_ready_ms",
        "no_owner_ms",
    ] {
        assert!(shown.contains(&metric), "no example shows {metric}");
    }
}
