//! What a run took of the machine over time: one chart each for CPU, memory, restore rate and backlog.

use serde_json::{Value, json};

use super::canvas::Canvas;
use super::columns::{Columns, Extent};
use super::frame::{Line, Place, Plot, Size};
use super::ink::{self, Ink};
use super::scale::{Scale, amount};
use super::{Chart, Drawing, number};
use crate::report::view::{Strategy, View};
use crate::timeline::read::Point;

/// One resource.
struct Resource {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    of: fn(&Point) -> Option<f64>,
    show: fn(f64) -> String,
}

const RESOURCES: [Resource; 5] = [
    Resource {
        id: "paused",
        title: "tasks standing still",
        unit: "",
        of: |point| point.tasks_paused,
        show: amount,
    },
    Resource {
        id: "restore",
        title: "restored per second",
        unit: "MB/s",
        of: |point| point.restore_mb_per_s,
        show: |value| format!("{} MB", amount(value)),
    },
    Resource { id: "backlog", title: "records waiting", unit: "", of: |point| point.backlog, show: amount },
    Resource {
        id: "cpu",
        title: "CPU, in per cent of one core",
        unit: "%",
        of: |point| point.cpu_percent,
        show: |value| format!("{} %", amount(value)),
    },
    Resource {
        id: "memory",
        title: "resident memory",
        unit: "MB",
        of: |point| point.rss_mb,
        show: |megabytes| match amount(megabytes * 1e6) {
            number if number.ends_with(|last: char| last.is_ascii_digit()) => format!("{number} B"),
            number => format!("{number}B"),
        },
    },
];

/// Those that were sampled; none without a timeline.
pub(crate) fn resources(view: &View<'_>) -> Vec<Chart> {
    let columns = Columns::new(view.span_s());
    RESOURCES.iter().filter_map(|resource| chart(view, resource, columns)).collect()
}

fn chart(view: &View<'_>, resource: &Resource, columns: Columns) -> Option<Chart> {
    let curves: Vec<(&Strategy<'_>, Vec<Extent>)> = view
        .strategies
        .iter()
        .map(|strategy| (strategy, columns.extents(strategy.points, resource.of)))
        .collect();
    let most =
        curves.iter().flat_map(|(_, of)| of.iter().flatten()).map(|extent| extent.1).reduce(f64::max)?;
    let series: Vec<Value> = curves
        .iter()
        .map(|(strategy, of)| {
            let values: Vec<Value> =
                of.iter().map(|extent| extent.map_or(Value::Null, |(_, most)| number(most))).collect();
            json!({
                "look": strategy.look, "name": strategy.label(), "key": "", "label": "", "unit": resource.unit,
                "values": values,
            })
        })
        .collect();
    let (from_s, to_s) = view.span_s();
    let data = json!({
        "kind": "time", "from": from_s, "to": to_s, "first": columns.start_s(), "step": columns.step_s(),
        "series": series,
    });
    let about = format!("Over time: {}; at most {}", resource.title, (resource.show)(most));
    Some(Chart::new(resource.id, &about, data, |size| draw(view, resource, &curves, columns, most, size)))
}

fn draw(
    view: &View<'_>,
    resource: &Resource,
    curves: &[(&Strategy<'_>, Vec<Extent>)],
    columns: Columns,
    most: f64,
    size: Size,
) -> Drawing {
    let width = size.pick(452.0, size.width());
    let height = 190.0;
    let canvas = Canvas::new(width, height);
    let place = Place { left: 58.0, top: 28.0, right: width - 12.0, bottom: height - 26.0 };
    let x = Scale::time(view.span_s().0, view.span_s().1, 6);
    let y = Scale::from_zero(most, 4, resource.show);
    canvas.text((0.0, 14.0), "start", "b", Ink::Text, resource.title);
    if let Some(mut plot) = Plot::new(&canvas, place, &x, &y) {
        for (strategy, extents) in curves {
            canvas.open_look(strategy.look);
            for line in columns.lines(extents) {
                plot.line(line, Line::new(ink::strategy(strategy.look), 1.5));
            }
            canvas.close();
        }
    }
    Drawing { canvas, place }
}
