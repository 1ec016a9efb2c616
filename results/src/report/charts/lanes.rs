//! The picture of a rebalance: one lane per task. Above, who ran it and when it stood still; below, who learned it or
//! stood by. Generations and the script's events cut through all lanes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::canvas::{Canvas, text_width};
use super::events::events;
use super::frame::{LABEL, Line, Place, Plot, Size, fit};
use super::ink::Ink;
use super::scale::Scale;
use super::{Chart, Drawing, number};
use crate::ownership::{Role, Span};
use crate::pause::Pause;
use crate::report::view::Strategy;
use crate::schema::Run;

/// The lanes of one strategy's drawn run. `None` where no ownership is known.
pub(crate) fn lanes(strategy: &Strategy<'_>, span_s: (f64, f64), number_of: usize) -> Option<Chart> {
    let run = strategy.shown;
    let lanes = Lanes::new(run)?;
    let about = format!(
        "Who ran, learned and restored each task under {}: {} tasks, {} pauses, {} generations",
        strategy.name,
        lanes.tasks.len(),
        run.pauses.len(),
        run.generations.iter().filter(|generation| generation.completed_us >= 0).count()
    );
    let data = lanes.data(run, span_s);
    Some(Chart::new(&format!("lanes-{number_of}"), &about, data, |size| draw(&lanes, run, span_s, size)))
}

/// Which lane is whose.
struct Lanes<'a> {
    /// Tasks in natural order: T2 before T10.
    tasks: Vec<&'a str>,
    lane_of: BTreeMap<&'a str, usize>,
}

impl<'a> Lanes<'a> {
    fn new(run: &'a Run) -> Option<Self> {
        let spans = run.ownership.iter().map(|span| span.task.as_str());
        let mut tasks: Vec<&str> = spans.chain(run.pauses.iter().map(|pause| pause.task.as_str())).collect();
        tasks.sort_by_key(|task| natural(task));
        tasks.dedup();
        let lane_of = tasks.iter().enumerate().map(|(lane, task)| (*task, lane)).collect();
        (!tasks.is_empty()).then_some(Lanes { tasks, lane_of })
    }

    /// For the script: spans as task, member, role, from, to in milliseconds, by indices into the lists of names.
    fn data(&self, run: &Run, (from_s, to_s): (f64, f64)) -> Value {
        let mut members: Vec<&str> = run.ownership.iter().map(|span| span.member.as_str()).collect();
        members.extend(run.pauses.iter().map(|pause| pause.from.as_str()));
        members.sort_by_key(|member| natural(member));
        members.dedup();
        let member = |name: &str| members.iter().position(|member| *member == name);
        let ms = |us: i64| number(us as f64 / 1_000.0);
        let spans: Vec<Value> = run
            .ownership
            .iter()
            .filter(|span| span.to_us as f64 >= from_s * 1e6)
            .map(|span| {
                json!([
                    self.lane_of[span.task.as_str()],
                    member(&span.member),
                    role(span.role),
                    ms(span.from_us),
                    ms(span.to_us)
                ])
            })
            .collect();
        let pauses: Vec<Value> = run
            .pauses
            .iter()
            .map(|pause| {
                let to = pause.to.as_deref().and_then(member);
                json!([
                    self.lane_of[pause.task.as_str()],
                    member(&pause.from),
                    to,
                    ms(pause.start_us),
                    ms(pause.end_us)
                ])
            })
            .collect();
        json!({
            "kind": "lanes", "from": from_s, "to": to_s, "tasks": self.tasks, "members": members,
            "spans": spans, "pauses": pauses,
        })
    }
}

/// As the script has it: runs, is restored, learns, has learned, stands by.
fn role(role: Role) -> usize {
    match role {
        Role::Active => 0,
        Role::Restoring => 1,
        Role::Learning => 2,
        Role::Ready => 3,
        Role::Standby => 4,
    }
}

/// Sorts numbers within names by size.
fn natural(name: &str) -> (String, u64, String) {
    let digits = name.find(|letter: char| letter.is_ascii_digit()).unwrap_or(name.len());
    let number = name[digits..].chars().take_while(char::is_ascii_digit).collect::<String>();
    (name[..digits].to_owned(), number.parse().unwrap_or(0), name.to_owned())
}

/// The height of a lane: generous while there are few.
fn lane_height(tasks: usize) -> f64 {
    match tasks {
        0..=8 => 30.0,
        9..=20 => 22.0,
        21..=60 => 14.0,
        _ => 8.0,
    }
}

/// Room above the lanes for events and generations.
const HEAD: f64 = 36.0;

fn draw(lanes: &Lanes<'_>, run: &Run, span_s: (f64, f64), size: Size) -> Drawing {
    let height = lane_height(lanes.tasks.len());
    let longest = lanes.tasks.iter().map(|task| text_width(task, LABEL)).fold(0.0, f64::max);
    let left = (longest + 14.0).clamp(34.0, size.pick(110.0, 70.0));
    let width = size.width();
    let total = HEAD + height * lanes.tasks.len() as f64 + 30.0;
    let canvas = Canvas::new(width, total);
    let place = Place { left, top: HEAD, right: width - 12.0, bottom: total - 30.0 };
    let x = Scale::time(span_s.0, span_s.1, size.pick(12, 6));
    let grid = Sheet { canvas: &canvas, place, x: &x, height };
    let y = Scale::places(lanes.tasks.len());
    if let Some(mut plot) = Plot::new(&canvas, place, &x, &y) {
        grid.names(lanes);
        grid.roles(lanes, run);
        grid.pauses(lanes, &run.pauses, run);
        grid.generations(run, &mut plot, y.ends());
        events(&mut plot, run, place, (&x, &y));
        grid.members(lanes, run);
    }
    Drawing { canvas, place }
}

/// Where lanes are drawn.
struct Sheet<'a> {
    canvas: &'a Canvas,
    place: Place,
    x: &'a Scale,
    height: f64,
}

/// Shares of a lane's height: the owner's track, then the copies' track.
const OWNER: (f64, f64) = (0.10, 0.62);
const COPIES: (f64, f64) = (0.68, 0.90);
/// A mark that is shorter than this could not be seen, in pixels.
const LEAST_PX: f64 = 1.6;

impl Sheet<'_> {
    fn names(&self, lanes: &Lanes<'_>) {
        let every = (LABEL / self.height).ceil().max(1.0) as usize;
        for (lane, task) in lanes.tasks.iter().enumerate().step_by(every) {
            let y = self.place.top + (lane as f64 + 0.36) * self.height + 4.0;
            let label = fit(task, self.place.left - 12.0, LABEL);
            self.canvas.text((self.place.left - 8.0, y), "end", "t", Ink::Muted, &label);
        }
    }

    /// The box of a stretch of time on a lane's track; `None` if it lies outside.
    fn stretch(
        &self,
        lane: usize,
        (from_us, to_us): (i64, i64),
        track: (f64, f64),
        least: f64,
    ) -> Option<[f64; 4]> {
        let (from_s, to_s) = (from_us as f64 / 1e6, to_us as f64 / 1e6);
        let ends = self.x.ends();
        if to_s < ends.0 || from_s > ends.1 {
            return None;
        }
        let left = self.place.x(self.x, from_s);
        let right = self.place.x(self.x, to_s).max(left + least);
        let top = self.place.top + lane as f64 * self.height;
        Some([left, top + track.0 * self.height, right, top + track.1 * self.height])
    }

    fn spans<'b>(
        &'b self,
        lanes: &'b Lanes<'_>,
        run: &'b Run,
        role: Role,
    ) -> impl Iterator<Item = [f64; 4]> + 'b {
        let track = if matches!(role, Role::Active | Role::Restoring) { OWNER } else { COPIES };
        let of_role = run.ownership.iter().filter(move |span| span.role == role);
        of_role.filter_map(move |span| {
            let lane = lanes.lane_of.get(span.task.as_str())?;
            let least = if role == Role::Restoring { 0.0 } else { 1.0 };
            self.stretch(*lane, (span.from_us, span.to_us), track, least)
        })
    }

    fn roles(&self, lanes: &Lanes<'_>, run: &Run) {
        let roles = [
            (Role::Standby, Ink::Standby),
            (Role::Learning, Ink::Learning),
            (Role::Ready, Ink::Ready),
            (Role::Active, Ink::Active),
        ];
        for (role, ink) in roles {
            self.canvas.rectangles(ink, merged(self.spans(lanes, run, role)));
        }
    }

    fn pauses(&self, lanes: &Lanes<'_>, pauses: &[Pause], run: &Run) {
        let boxes = pauses.iter().filter_map(|pause| {
            let lane = lanes.lane_of.get(pause.task.as_str())?;
            // A little taller than a lane's owner: a pause is what this picture is about.
            let track = (OWNER.0 - 0.06, OWNER.1 + 0.06);
            self.stretch(*lane, (pause.start_us, pause.end_us), track, LEAST_PX)
        });
        self.canvas.rectangles(Ink::Paused, merged(boxes));
        let within = (OWNER.0 + 0.14, OWNER.1 - 0.14);
        let restoring = run.ownership.iter().filter(|span| span.role == Role::Restoring).filter_map(|span| {
            let lane = lanes.lane_of.get(span.task.as_str())?;
            self.stretch(*lane, (span.from_us, span.to_us), within, 0.0)
        });
        self.canvas
            .rectangles(Ink::Restoring, merged(restoring.filter(|[left, _, right, _]| right - left > 1.0)));
    }

    /// Generations as hairlines with their numbers.
    fn generations(&self, run: &Run, plot: &mut Plot<'_>, (low, high): (f64, f64)) {
        let (from_s, to_s) = self.x.ends();
        let inside = |at_us: i64| (from_s..=to_s).contains(&(at_us as f64 / 1e6));
        let mut free = self.place.left;
        for generation in run.generations.iter().filter(|generation| inside(generation.completed_us)) {
            let at_s = generation.completed_us as f64 / 1e6;
            let causes: Vec<&str> = generation.causes.iter().map(|cause| cause.name()).collect();
            let title = format!("generation {} at {at_s:.3} s: {}", generation.generation, causes.join(", "));
            self.canvas.open_mark("cut", &title);
            plot.line([(at_s, low), (at_s, high)], Line::new(Ink::Muted, 0.8));
            let label = generation.generation.to_string();
            let half = text_width(&label, LABEL) / 2.0;
            let at = self.place.x(self.x, at_s);
            if at - half >= free && at + half <= self.place.right + 10.0 {
                plot.note((at, self.place.top - 5.0), "middle", Ink::Muted, &label);
                free = at + half + 4.0;
            }
            self.canvas.close();
        }
    }

    /// Who runs, written into the stretches that have room.
    fn members(&self, lanes: &Lanes<'_>, run: &Run) {
        if self.height < 14.0 {
            return;
        }
        let size = if self.height < 20.0 { 9.0 } else { 11.0 };
        for span in run.ownership.iter().filter(|span: &&Span| span.role == Role::Active) {
            let Some(lane) = lanes.lane_of.get(span.task.as_str()) else { continue };
            let Some([left, _, right, _]) = self.stretch(*lane, (span.from_us, span.to_us), OWNER, 0.0)
            else {
                continue;
            };
            if right - left > text_width(&span.member, size) + 8.0 {
                let y = self.place.top + (*lane as f64 + 0.36) * self.height + size * 0.35;
                let class = if size < 10.0 { "t9" } else { "t11" };
                self.canvas.text((left + 4.0, y), "start", class, Ink::Text, &span.member);
            }
        }
    }
}

/// Boxes side by side on one track that no eye could tell apart as one: a big run has tens of thousands.
fn merged(boxes: impl Iterator<Item = [f64; 4]>) -> Vec<[f64; 4]> {
    let mut boxes: Vec<[f64; 4]> = boxes.collect();
    boxes.sort_by(|a, b| (a[1], a[0]).partial_cmp(&(b[1], b[0])).unwrap_or(std::cmp::Ordering::Equal));
    let mut merged: Vec<[f64; 4]> = Vec::new();
    for next in boxes {
        match merged.last_mut() {
            Some(last) if last[1] == next[1] && next[0] - last[2] < 0.1 => last[2] = last[2].max(next[2]),
            _ => merged.push(next),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_people_count() {
        let mut names = vec!["T10", "T9", "T1", "S2", "x", "T01"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["S2", "T01", "T1", "T9", "T10", "x"]);
    }

    #[test]
    fn only_what_no_eye_tells_apart_is_merged() {
        let boxes =
            [[0.0, 0.0, 1.0, 5.0], [1.05, 0.0, 2.0, 5.0], [4.0, 0.0, 5.0, 5.0], [5.0, 9.0, 6.0, 14.0]];
        assert_eq!(
            merged(boxes.into_iter()),
            [[0.0, 0.0, 2.0, 5.0], [4.0, 0.0, 5.0, 5.0], [5.0, 9.0, 6.0, 14.0]]
        );
    }
}
