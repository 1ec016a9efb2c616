//! The page's tables, of the same rows and cells that the other formats have.

use serde::Serialize;

use crate::compare::Comparison;
use crate::figure::{self, Unit};
use crate::report::comparison::{HEADINGS, cells, title};
use crate::report::view::View;
use crate::report::{rows, sweep_table, units};
use crate::schema::Run;
use crate::sweep::Sweep;

/// A table.
#[derive(Serialize)]
pub(super) struct Grid {
    pub(super) caption: String,
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Row>,
    /// Whether it is shown only when asked for.
    pub(super) folded: bool,
}

/// One line of it.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) cells: Vec<String>,
    /// Whether it continues the line above.
    pub(super) indented: bool,
}

impl Row {
    fn new(cells: impl IntoIterator<Item = String>) -> Self {
        let mut cells = cells.into_iter();
        Row { name: cells.next().unwrap_or_default(), cells: cells.collect(), indented: false }
    }
}

/// All tables of a result.
pub(super) fn all(view: &View<'_>) -> Vec<Grid> {
    let mut grids = vec![strategies(view)];
    grids.extend(view.comparisons.iter().flatten().map(comparison));
    grids.extend(events(view));
    grids.push(trials(view));
    grids.extend(view.strategies.iter().map(|strategy| generations(strategy.shown, &strategy.label())));
    grids.extend(view.strategies.iter().map(|strategy| pauses(strategy.shown, &strategy.label())));
    grids.retain(|grid| !grid.rows.is_empty());
    grids
}

fn strategies(view: &View<'_>) -> Grid {
    let head = std::iter::once(String::new()).chain(view.strategies.iter().map(|strategy| {
        let trials = strategy.runs.len();
        if trials > 1 { format!("{}, median of {trials}", strategy.label()) } else { strategy.label() }
    }));
    let rows = rows::ROWS.iter().map(|(label, cell)| Row {
        name: label.trim().to_owned(),
        cells: view.strategies.iter().map(|strategy| cell(&strategy.runs)).collect(),
        indented: label.starts_with(' '),
    });
    Grid { caption: "Strategies".to_owned(), head: head.collect(), rows: rows.collect(), folded: false }
}

fn comparison(comparison: &Comparison) -> Grid {
    Grid {
        caption: format!("{}: every figure", title(comparison)),
        head: HEADINGS.map(str::to_owned).to_vec(),
        rows: comparison.rows.iter().map(|row| Row::new(cells(row))).collect(),
        folded: true,
    }
}

/// What followed each scripted event, by strategy, in the drawn trial.
fn events(view: &View<'_>) -> Option<Grid> {
    let head = ["event", "strategy", "pauses", "longest pause", "all pauses", "recovery", "time to balance"];
    let time = |ms: Option<f64>| ms.map_or_else(|| "beyond the run".to_owned(), units::duration);
    let mut lines: Vec<(i64, Row)> = Vec::new();
    for strategy in &view.strategies {
        for event in &strategy.shown.metrics.by_event {
            let what = format!(
                "{} {} at {}",
                event.action.name(),
                event.members.join(", "),
                units::duration(event.at_us as f64 / 1e3)
            );
            let pauses = event.task_pause_ms;
            lines.push((
                event.at_us,
                Row::new([
                    what,
                    strategy.label(),
                    units::grouped(pauses.count),
                    units::duration(pauses.max),
                    units::duration(pauses.sum),
                    time(event.recovery_ms),
                    time(event.time_to_balance_ms),
                ]),
            ));
        }
    }
    lines.sort_by_key(|(at_us, _)| *at_us);
    let rows: Vec<Row> = lines.into_iter().map(|(_, row)| row).collect();
    (!rows.is_empty()).then(|| Grid {
        caption: format!("Event by event, in trial {}", view.trial),
        head: head.map(str::to_owned).to_vec(),
        rows,
        folded: false,
    })
}

/// Figures that the table of trials shows.
const OF_TRIAL: [&str; 9] = [
    "task_pause_ms.count",
    "task_pause_ms.max",
    "task_pause_ms.sum",
    "service_latency_ms.p50",
    "service_latency_ms.p99",
    "service_latency_ms.max",
    "delayed_records",
    "rebalances.total",
    "restore.bytes",
];

fn trials(view: &View<'_>) -> Grid {
    let figures: Vec<_> = OF_TRIAL.iter().filter_map(|name| figure::by_name(name)).collect();
    let mut head: Vec<String> = ["strategy", "trial", "seed"].map(str::to_owned).to_vec();
    head.extend(figures.iter().map(|figure| figure.label.to_owned()));
    head.extend(["CPU", "memory", "audit"].map(str::to_owned));
    let rows = view.result.runs.iter().map(|run| {
        let trial = if run.replica == 0 { run.trial.to_string() } else { format!("{} (A/A)", run.trial) };
        let mut cells = vec![run.strategy.replace(',', ", "), trial, run.seed.to_string()];
        cells.extend(
            figures
                .iter()
                .map(|figure| (figure.of)(run).map_or_else(absent, |value| figure.unit.show(value))),
        );
        cells.push(run.cpu_share.map_or_else(absent, |share| format!("{:.0} %", share * 100.0)));
        cells.push(run.rss_bytes_max.map_or_else(absent, |bytes| units::bytes(bytes as f64)));
        cells.push(if run.audit.passed { "passed" } else { "FAILED" }.to_owned());
        Row::new(cells)
    });
    Grid { caption: "Every run".to_owned(), head, rows: rows.collect(), folded: true }
}

fn absent() -> String {
    "–".to_owned()
}

fn generations(run: &Run, name: &str) -> Grid {
    let head = ["generation", "completed at", "took", "causes", "active tasks", "balanced"];
    let rows = run.generations.iter().map(|generation| {
        let causes: Vec<&str> = generation.causes.iter().map(|cause| cause.name()).collect();
        let active: Vec<String> =
            generation.active.iter().map(|of| format!("{} {}", of.member, of.tasks.len())).collect();
        Row::new([
            generation.generation.to_string(),
            units::duration(generation.completed_us as f64 / 1e3),
            units::duration(generation.completed_us.abs_diff(generation.started_us) as f64 / 1e3),
            causes.join(", "),
            active.join(", "),
            if generation.balanced { "yes" } else { "no" }.to_owned(),
        ])
    });
    Grid {
        caption: format!("Generations of {name}, trial {}", run.trial),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
        folded: true,
    }
}

/// More pauses than this nobody reads; the longest are shown.
const PAUSES: usize = 300;

fn pauses(run: &Run, name: &str) -> Grid {
    let mut longest: Vec<&crate::pause::Pause> = run.pauses.iter().collect();
    longest.sort_by_key(|pause| std::cmp::Reverse(pause.us()));
    let shown = longest.len().min(PAUSES);
    longest.truncate(PAUSES);
    let mut head: Vec<String> = ["task", "began at", "lasted", "from", "to"].map(str::to_owned).to_vec();
    head.extend(
        longest.first().into_iter().flat_map(|pause| pause.anatomy.parts()).map(|(part, _)| part.to_owned()),
    );
    head.push("replayed".to_owned());
    let ms = |us: u64| Unit::Ms.show(us as f64 / 1e3);
    let rows = longest.into_iter().map(|pause| {
        let mut cells = vec![
            pause.task.clone(),
            Unit::Ms.show(pause.start_us as f64 / 1e3),
            if pause.censored { format!("> {}", ms(pause.us())) } else { ms(pause.us()) },
            pause.from.clone(),
            pause.to.clone().unwrap_or_else(absent),
        ];
        cells.extend(pause.anatomy.parts().map(|(_, us)| if us == 0 { "0".to_owned() } else { ms(us) }));
        cells.push(units::grouped(pause.replayed));
        Row::new(cells)
    });
    let which = if run.pauses.len() > shown {
        format!(", the longest {shown} of {}", run.pauses.len())
    } else {
        String::new()
    };
    Grid {
        caption: format!("Pauses of {name}, trial {}{which}", run.trial),
        head,
        rows: rows.collect(),
        folded: true,
    }
}

/// A sweep's table.
pub(super) fn sweep(sweep: &Sweep) -> Grid {
    Grid {
        caption: format!("{}: every strategy and value", sweep.key),
        head: sweep_table::headings(sweep),
        rows: sweep_table::cells(sweep).map(Row::new).collect(),
        folded: false,
    }
}
