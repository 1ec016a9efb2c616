//! A long timeline in as many columns as a picture has room for: least and greatest of each, so that no peak is lost.

use crate::timeline::read::Point;

/// The most columns that any picture has.
pub(super) const MOST: usize = 640;

/// How the time axis is cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    from_s: f64,
    step_s: f64,
    pub(super) count: usize,
}

/// Least and greatest value within a column.
pub(super) type Extent = Option<(f64, f64)>;

/// The length of an interval of a timeline.
const INTERVAL_S: f64 = crate::latency::INTERVAL_US as f64 / 1e6;

impl Columns {
    /// Columns of whole intervals, no more than [`MOST`].
    pub(super) fn new((from_s, to_s): (f64, f64)) -> Self {
        let intervals = ((to_s - from_s) / INTERVAL_S).ceil().max(1.0) as usize;
        let each = intervals.div_ceil(MOST);
        let from_s = (from_s / INTERVAL_S).floor() * INTERVAL_S;
        Columns { from_s, step_s: each as f64 * INTERVAL_S, count: intervals.div_ceil(each) }
    }

    /// The length of a column in seconds.
    pub(super) fn step_s(&self) -> f64 {
        self.step_s
    }

    /// Where the first begins.
    pub(super) fn start_s(&self) -> f64 {
        self.from_s
    }

    /// The middle of a column.
    pub(super) fn middle(&self, column: usize) -> f64 {
        self.from_s + (column as f64 + 0.5) * self.step_s
    }

    /// The column that a time lies in.
    pub(super) fn of(&self, time_s: f64) -> Option<usize> {
        let at = ((time_s - self.from_s) / self.step_s + 1e-6).floor();
        (at >= 0.0 && (at as usize) < self.count).then_some(at as usize)
    }

    /// A figure's extent in every column.
    pub(super) fn extents(&self, points: &[Point], of: fn(&Point) -> Option<f64>) -> Vec<Extent> {
        let mut extents = vec![None; self.count];
        for point in points {
            if let Some((column, value)) = self.of(point.time_s).zip(of(point)) {
                let extent: &mut Extent = &mut extents[column];
                *extent =
                    Some(extent.map_or((value, value), |(least, most)| (least.min(value), most.max(value))));
            }
        }
        extents
    }

    /// A line through the columns: through both ends of a column's extent, so that what swings shows as a band. Broken
    /// where there is nothing.
    pub(super) fn lines(&self, extents: &[Extent]) -> Vec<Vec<(f64, f64)>> {
        let mut lines = vec![Vec::new()];
        for (column, extent) in extents.iter().enumerate() {
            match extent {
                Some((least, most)) => {
                    let x = self.middle(column);
                    let line = lines.last_mut().map(|line| {
                        line.push((x, *least));
                        if most > least {
                            line.push((x, *most));
                        }
                    });
                    debug_assert!(line.is_some());
                }
                None => lines.push(Vec::new()),
            }
        }
        lines.retain(|line| !line.is_empty());
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(time_s: f64, p99_ms: f64) -> Point {
        Point { time_s, p99_ms: Some(p99_ms), ..Point::default() }
    }

    #[test]
    fn an_hour_fits_and_no_peak_is_lost() {
        let mut points: Vec<Point> = (0..36_000).map(|at| point(f64::from(at) / 10.0, 1.0)).collect();
        points[12_345].p99_ms = Some(900.0);
        points[20_000].p99_ms = Some(0.1);
        let columns = Columns::new((0.0, 3_600.0));
        assert!(columns.count <= MOST);
        let extents = columns.extents(&points, |point| point.p99_ms);
        assert_eq!(extents.iter().flatten().map(|extent| extent.1).fold(0.0, f64::max), 900.0);
        assert_eq!(extents.iter().flatten().map(|extent| extent.0).fold(9.0, f64::min), 0.1);
        assert!(extents.iter().all(Option::is_some));
        assert_eq!(columns.of(1_234.5), columns.of(points[12_345].time_s));
    }

    #[test]
    fn a_short_run_keeps_every_interval_and_its_gaps() {
        let points = [point(-0.1, 1.0), point(0.0, 2.0), point(0.3, 3.0)];
        let columns = Columns::new((-0.1, 0.4));
        assert_eq!(columns.count, 5);
        let lines = columns.lines(&columns.extents(&points, |point| point.p99_ms));
        assert_eq!(lines.len(), 2);
        assert_eq!((lines[0].len(), lines[1].len()), (2, 1));
    }
}
