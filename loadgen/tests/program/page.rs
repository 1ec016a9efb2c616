//! The report's page, made from a real run of three strategies and opened in a real browser.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::browser::{Browser, Screen, chromium};
use crate::common::{assert_code, stdout, understudy};

/// A result of six trials of eager, cooperative and learner, as the program wrote it.
const REAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/real");

const DESKTOP: Screen = Screen { width: 1280, height: 900, dark: false };
const PHONE: Screen = Screen { width: 390, height: 844, dark: false };

/// The report of `result` as a page in `dir`.
fn page(dir: &Path, result: &Path) -> PathBuf {
    let args = ["report", result.to_str().unwrap(), "--format", "html", "--out", "report.html"];
    assert_code(&understudy(dir, &args), 0);
    dir.join("report.html")
}

/// A browser that has opened it; `None` where there is no browser.
fn opened(page: &Path, screen: Screen) -> Option<Browser> {
    let mut browser = Browser::start(&chromium()?);
    browser.screen(screen);
    browser.open(page);
    Some(browser)
}

/// Nothing was complained about, and nothing was asked for but the page itself and what it holds.
#[track_caller]
fn assert_quiet(browser: &Browser) {
    assert!(browser.complaints.is_empty(), "{:#?}", browser.complaints);
    let foreign: Vec<&String> = browser
        .requests
        .iter()
        .filter(|url| !url.starts_with("data:") && !url.ends_with("/report.html") && *url != "about:blank")
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    assert!(browser.requests.iter().any(|url| url.ends_with("/report.html")), "requests are seen at all");
}

#[test]
fn every_section_of_a_real_run_is_there_and_the_page_is_quiet() {
    let dir = TempDir::new().unwrap();
    let page = page(dir.path(), Path::new(REAL));
    for screen in [DESKTOP, PHONE, Screen { dark: true, ..DESKTOP }] {
        let Some(mut browser) = opened(&page, screen) else { return };
        let sections = browser.evaluate("[...document.querySelectorAll('section')].map(of => of.id)");
        assert_eq!(
            sections,
            json!([
                "headline",
                "warnings",
                "ownership",
                "latency",
                "anatomy",
                "tail",
                "pareto",
                "resources",
                "tables",
                "environment",
                "reproduce"
            ])
        );
        // Every chart is drawn once for this screen, and has marks in it.
        let drawn = browser.evaluate(
            "[...document.querySelectorAll('.chart')].map(chart => {
                const shown = [...chart.querySelectorAll('svg')].filter(svg => svg.getClientRects().length);
                return [chart.id, shown.length, shown[0].querySelectorAll('path, circle').length];
            })",
        );
        let drawn = drawn.as_array().unwrap();
        assert_eq!(drawn.len(), 1 + 3 + 1 + 1 + 1 + 1 + 5, "{drawn:?}");
        for chart in drawn {
            assert_eq!(chart[1], 1, "{chart}");
            assert!(chart[2].as_u64().unwrap() > 5, "{chart}");
        }
        let sentence = browser.evaluate("document.querySelector('.sentence').textContent");
        assert!(sentence.as_str().unwrap().starts_with("learner's longest pause is 1/"), "{sentence}");
        assert_quiet(&browser);
    }
}

/// Elements of text that reach beyond the page, and texts of one picture that lie on one another.
const LAYOUT: &str = "(() => {
    const wrong = [];
    const wide = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > wide) wrong.push(`the page is ${document.documentElement.scrollWidth} wide`);
    // A tablet may have to move a table of a dozen columns that it has unfolded; phones show rows as paragraphs.
    if (wide < 700 || wide >= 1024) document.querySelectorAll('details').forEach(of => of.open = true);
    for (const box of document.querySelectorAll('.scroll, .bar > div, pre'))
        if (box.checkVisibility() && box.scrollWidth > box.clientWidth + 1) wrong.push(`${box.className} is cut: ${box.innerText.slice(0, 60)}`);
    for (const svg of document.querySelectorAll('.chart svg')) {
        if (!svg.getClientRects().length) continue;
        const texts = [...svg.querySelectorAll('text')].map(of => [of.textContent, of.getBoundingClientRect()]);
        for (const [text, box] of texts)
            if (box.left < -0.5 || box.right > wide + 0.5) wrong.push(`${svg.parentElement.id}: ${text} is cut`);
        texts.forEach(([text, a], at) => texts.slice(at + 1).forEach(([other, b]) => {
            const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (across > 1 && down > 4) wrong.push(`${svg.parentElement.id}: ${text} lies on ${other}`);
        }));
    }
    return wrong;
})()";

#[test]
fn nothing_is_cut_or_lies_on_something_else() {
    let dir = TempDir::new().unwrap();
    let page = page(dir.path(), Path::new(REAL));
    for width in [360, 390, 600, 768, 1024, 1280, 1920] {
        let Some(mut browser) = opened(&page, Screen { width, height: 900, dark: false }) else { return };
        let wrong = browser.evaluate(LAYOUT);
        assert_eq!(wrong, json!([]), "at a width of {width}");
    }
}

/// The middle of the plot of a chart, on the screen after scrolling to it.
fn middle(browser: &mut Browser, chart: &str) -> (f64, f64) {
    let place = browser.evaluate(&format!(
        "(() => {{
            const svg = [...document.querySelectorAll('#{chart} svg')].find(svg => svg.getClientRects().length);
            svg.scrollIntoView({{ block: 'center', behavior: 'instant' }});
            const [left, top, right, bottom] = svg.dataset.plot.split(' ').map(Number);
            const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
            return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>
                done([box.left + (left + right) / 2 * scale, box.top + (top + bottom) / 2 * scale]))));
        }})()"
    ));
    (place[0].as_f64().unwrap(), place[1].as_f64().unwrap())
}

/// What the readout says, or null while it says nothing.
fn readout(browser: &mut Browser) -> Value {
    browser.evaluate("(tip => tip.hidden ? null : tip.innerText)(document.getElementById('tip'))")
}

#[track_caller]
fn assert_says(said: &Value, parts: &[&str]) {
    for part in parts {
        assert!(said.as_str().is_some_and(|said| said.contains(part)), "{part} is not in {said}");
    }
}

#[test]
fn pointing_shows_values() {
    let dir = TempDir::new().unwrap();
    let page = page(dir.path(), Path::new(REAL));
    for screen in [DESKTOP, PHONE] {
        let Some(mut browser) = opened(&page, screen) else { return };
        let at = middle(&mut browser, "chart-timeline");
        browser.point(at);
        assert_says(&readout(&mut browser), &["at 3.6", "p99", "eager", "cooperative", "learner", "ms"]);
        assert_eq!(browser.evaluate("document.querySelectorAll('.cross').length"), 1);
        let at = middle(&mut browser, "chart-lanes-0");
        browser.point(at);
        assert_says(&readout(&mut browser), &["T3 at 3.6", "runs it"]);
        browser.point((1.0, 1.0));
        assert_eq!(readout(&mut browser), Value::Null);
        assert_quiet(&browser);
    }
}

#[test]
fn the_keyboard_reaches_everything() {
    let dir = TempDir::new().unwrap();
    let page = page(dir.path(), Path::new(REAL));
    let Some(mut browser) = opened(&page, DESKTOP) else { return };
    let mut stops: Vec<String> = Vec::new();
    for _ in 0..60 {
        browser.press("Tab");
        let at = "(at => at.id || at.dataset.look || at.dataset.curve || at.tagName)(document.activeElement)";
        stops.push(browser.evaluate(at).as_str().unwrap_or_default().to_owned());
    }
    for wanted in
        ["chart-longest", "chart-lanes-0", "chart-timeline", "chart-anatomy", "chart-cpu", "p99", "SUMMARY"]
    {
        assert!(stops.iter().any(|stop| stop == wanted), "{wanted} is not among {stops:?}");
    }
    browser.evaluate("document.getElementById('chart-timeline').focus()");
    browser.press("ArrowRight");
    let first = readout(&mut browser);
    assert_says(&first, &["p99", "learner"]);
    browser.press("ArrowRight");
    assert_ne!(readout(&mut browser), first);
    browser.press("Home");
    assert_eq!(readout(&mut browser), first);
    browser.press("Escape");
    assert_eq!(readout(&mut browser), Value::Null);

    browser.evaluate("document.getElementById('chart-lanes-0').focus()");
    browser.press("ArrowDown");
    assert_says(&readout(&mut browser), &["T1 at 0.000 s", "runs it"]);
    browser.press("ArrowDown");
    assert_says(&readout(&mut browser), &["T2 at 0.000 s"]);

    browser.evaluate("document.getElementById('chart-anatomy').focus()");
    browser.press("ArrowRight");
    assert_says(&readout(&mut browser), &["%"]);
    assert_quiet(&browser);
}

#[test]
fn strategies_and_curves_can_be_switched_off_and_on() {
    let dir = TempDir::new().unwrap();
    let page = page(dir.path(), Path::new(REAL));
    let Some(mut browser) = opened(&page, DESKTOP) else { return };
    // The learner always has the first look.
    let shown = "[...document.querySelectorAll('#chart-timeline svg.wide .look0')].filter(of => of.getClientRects().length).length";
    let before = browser.evaluate(shown);
    assert!(before.as_u64() > Some(0));
    let button = "document.querySelector('button[data-look=\"0\"]')";
    let place = browser.evaluate(&format!(
        "(box => [box.left + box.width / 2, box.top + box.height / 2])(({button}.scrollIntoView({{ behavior: 'instant' }}), {button}.getBoundingClientRect()))"
    ));
    browser.click((place[0].as_f64().unwrap(), place[1].as_f64().unwrap()));
    assert_eq!(browser.evaluate(&format!("{button}.getAttribute('aria-pressed')")), "false");
    assert_eq!(browser.evaluate(shown), 0);
    let at = middle(&mut browser, "chart-timeline");
    browser.point(at);
    let said = readout(&mut browser);
    assert_says(&said, &["eager"]);
    assert!(!said.as_str().unwrap().contains("learner"), "{said}");
    // The same with the keyboard.
    browser.evaluate(&format!("{button}.focus()"));
    browser.press("Enter");
    assert_eq!(browser.evaluate(shown), before);
    browser.evaluate("document.querySelector('button[data-curve=max]').focus()");
    browser.press("Enter");
    let bands = "[...document.querySelectorAll('#chart-timeline svg.wide .q-max')].filter(of => of.getClientRects().length).length";
    assert_eq!(browser.evaluate(bands), 0);
    assert_quiet(&browser);
}

#[test]
fn without_a_script_everything_is_there_to_read() {
    let dir = TempDir::new().unwrap();
    let page = page(dir.path(), Path::new(REAL));
    let text = std::fs::read_to_string(&page).unwrap();
    let still = text[..text.find("<script").unwrap()].to_owned();
    for part in [
        "longest pause",
        "paused for restore",
        "95 % interval",
        "<span>understudy</span> <span>run</span> <span>scale-up</span>",
        "generation 2 at",
    ] {
        assert!(still.contains(part), "{part} needs a script");
    }
    let Some(program) = chromium() else { return };
    let mut browser = Browser::start(&program);
    browser.screen(DESKTOP);
    browser.call("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    browser.call("Page.navigate", &json!({ "url": format!("file://{}", page.display()) }));
    // Without scripts nothing can say when it is there; asked for its layout, the browser answers when it is.
    let height = || json!({});
    let mut tall = 0.0;
    for _ in 0..100 {
        tall = browser.call("Page.getLayoutMetrics", &height())["cssContentSize"]["height"].as_f64().unwrap();
        if tall > 3_000.0 {
            break;
        }
    }
    assert!(tall > 3_000.0, "the page is {tall} tall");
}

/// Markup that would announce itself, for every place that a string of a result can end up in.
const MARKUP: &str = "</script></style></title><script>window.injected=1</script>\
                      <img src=x onerror=window.injected=1>\"'><svg onload=window.injected=1>&lt;b&gt;{{7*7}}";

/// Puts markup into every string, and into every key of a map; what are names of the schema's own stay.
fn poison(value: &mut Value, key: &str) {
    const OWN: [&str; 6] = ["schema", "role", "why", "action", "causes", "by_cause"];
    match value {
        Value::String(text) if !OWN.contains(&key) => text.push_str(MARKUP),
        Value::Array(values) => values.iter_mut().for_each(|value| poison(value, key)),
        Value::Object(object) => {
            object.iter_mut().for_each(|(key, value)| poison(value, key));
            if ["scenario", "rocksdb_options", "state", "load"].contains(&key) {
                let copies: Vec<(String, Value)> =
                    object.iter().map(|(key, value)| (format!("{key}{MARKUP}"), value.clone())).collect();
                object.extend(copies);
            }
        }
        _ => {}
    }
}

#[test]
fn no_string_of_a_result_becomes_markup() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().join("poisoned");
    std::fs::create_dir(&folder).unwrap();
    let content = std::fs::read_to_string(format!("{REAL}/result.json")).unwrap();
    let mut result: Value = serde_json::from_str(&content).unwrap();
    poison(&mut result, "");
    std::fs::write(folder.join("result.json"), result.to_string()).unwrap();
    // The timeline names the strategies as the result does.
    let timeline = std::fs::read_to_string(format!("{REAL}/timeline.csv")).unwrap();
    let quoted = MARKUP.replace('"', "\"\"");
    let timeline: Vec<String> = timeline
        .lines()
        .enumerate()
        .map(|(at, line)| match line.split_once(',') {
            Some((strategy, rest)) if at > 0 => format!("\"{strategy}{quoted}\",{rest}"),
            _ => line.to_owned(),
        })
        .collect();
    std::fs::write(folder.join("timeline.csv"), timeline.join("\n")).unwrap();

    let page = page(dir.path(), &folder);
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.matches("window.injected").count() > 100, "the strings are shown");
    for markup in ["<script>window", "<img", "<svg onload", "49"] {
        let raw = text.matches(markup).count();
        if markup != "49" {
            assert_eq!(raw, 0, "{markup} got through");
        }
    }
    assert_eq!(text.matches("<script").count(), 2, "the numbers and the page's own");
    if let Some(mut browser) = opened(&page, DESKTOP) {
        assert_eq!(browser.evaluate("typeof window.injected"), "undefined");
        for chart in ["chart-timeline", "chart-lanes-0"] {
            let at = middle(&mut browser, chart);
            browser.point(at);
            assert_says(&readout(&mut browser), &["<img src=x"]);
        }
        assert_eq!(
            browser.evaluate("[typeof window.injected, document.images.length]"),
            json!(["undefined", 0])
        );
        assert_quiet(&browser);
    }
    // The other formats for people, too.
    let args = ["report", "poisoned", "--format", "markdown", "--out", "report.md"];
    assert_code(&understudy(dir.path(), &args), 0);
    let picture = std::fs::read_to_string(dir.path().join("report.svg")).unwrap();
    let document = std::fs::read_to_string(dir.path().join("report.md")).unwrap();
    // The command stands in a code span, in which nothing is markup but its end.
    let (command, prose): (Vec<&str>, Vec<&str>) =
        document.lines().partition(|line| line.starts_with("Reproduce: `"));
    assert_eq!(command[0].matches('`').count(), 2);
    for text in [picture, prose.join("\n")] {
        assert!(!text.contains("<script>") && !text.contains("<img"), "{text}");
    }
}

/// The largest case: 200 tasks on 50 members for an hour, a member joining every minute. Under eager every task stops at
/// every join; under the others one moves, and is learned for a while before.
fn largest(folder: &Path) {
    const TASKS: usize = 200;
    const MINUTES: i64 = 60;
    let minute = 60_000_000_i64;
    let content = std::fs::read_to_string(format!("{REAL}/result.json")).unwrap();
    let mut result: Value = serde_json::from_str(&content).unwrap();
    let runs = result["runs"].as_array_mut().unwrap();
    runs.retain(|run| run["trial"] == 1);
    let mut timeline = String::from(
        "strategy,trial,replica,time_s,phase,latency_p50_ms,latency_p99_ms,latency_max_ms,backlog,tasks_paused,\
         restore_mb_per_s,cpu_percent,rss_mb\n",
    );
    for run in runs.iter_mut() {
        let name = run["strategy"].as_str().unwrap().to_owned();
        let pause = run["pauses"][0].clone();
        let generation = run["generations"][0].clone();
        let (mut ownership, mut pauses, mut generations, mut membership) = (vec![], vec![], vec![], vec![]);
        for at in 0..MINUTES {
            let from = at * minute;
            let mut one = generation.clone();
            (one["generation"], one["started_us"], one["completed_us"]) =
                ((at + 2).into(), from.into(), (from + 90_000).into());
            generations.push(one);
            membership
                .push(json!({ "at_us": from, "action": "start", "members": [format!("S{}", at % 50 + 1)] }));
            for task in 0..TASKS {
                let moves = name == "eager" || task as i64 % MINUTES == at;
                let lasts = if !moves {
                    0
                } else if name == "eager" {
                    4_000_000 + task as i64 * 20_000
                } else {
                    6_000
                };
                let id = format!("T{}", task + 1);
                let member = format!("S{}", (task as i64 + at) % 50 + 1);
                let span = |role: &str, from: i64, to: i64| json!({ "task": id, "member": member, "role": role, "from_us": from, "to_us": to });
                ownership.push(span("active", from + lasts, from + minute));
                if moves {
                    let mut one = pause.clone();
                    (one["task"], one["start_us"], one["end_us"]) =
                        (id.clone().into(), from.into(), (from + lasts).into());
                    pauses.push(one);
                    ownership.push(span("restoring", from + lasts / 2, from + lasts));
                    ownership.push(json!({
                        "task": id, "member": "S50", "role": "learning", "from_us": from - 20_000_000, "to_us": from,
                    }));
                }
            }
        }
        (run["ownership"], run["pauses"]) = (ownership.into(), pauses.into());
        (run["generations"], run["membership"]) = (generations.into(), membership.into());
        (run["duration_us"], run["end_us"]) = ((MINUTES * minute).into(), (MINUTES * minute).into());
        for at in 0..MINUTES * 600 {
            let late = if at % 600 < 40 && name == "eager" { 4_000 } else { at * 7919 % 23 };
            timeline.push_str(&format!(
                "{name},1,0,{:.1},steady,{}.5,{}.25,{}.125,{},{},{},{},{}\n",
                at as f64 / 10.0,
                1 + late / 9,
                3 + late,
                9 + late,
                late * 3,
                late / 20,
                late % 50,
                40 + at % 37,
                900 + at / 99,
            ));
        }
    }
    std::fs::create_dir(folder).unwrap();
    std::fs::write(folder.join("result.json"), result.to_string()).unwrap();
    std::fs::write(folder.join("timeline.csv"), timeline).unwrap();
}

#[test]
fn the_largest_case_stays_small_and_answers() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().join("largest");
    largest(&folder);
    let page = page(dir.path(), &folder);
    let bytes = std::fs::metadata(&page).unwrap().len();
    println!("the largest page takes {:.1} MB", bytes as f64 / 1e6);
    assert!(bytes < 10_000_000, "the page takes {bytes} bytes");
    for screen in [DESKTOP, PHONE] {
        let Some(mut browser) = opened(&page, screen) else { return };
        let interactive = browser.evaluate(
            "(of => [of.domInteractive, of.loadEventEnd])(performance.getEntriesByType('navigation')[0])",
        );
        println!("interactive, loaded after {interactive} ms at a width of {}", screen.width);
        let at = middle(&mut browser, "chart-lanes-0");
        browser.point(at);
        assert_says(&readout(&mut browser), &["T10"]);
        let at = middle(&mut browser, "chart-timeline");
        browser.point(at);
        assert_says(&readout(&mut browser), &["p99", "eager", "highest"]);
        assert_eq!(browser.evaluate(LAYOUT), json!([]), "at a width of {}", screen.width);
        assert_quiet(&browser);
    }
}

#[test]
fn markdown_has_its_picture_beside_it() {
    let dir = TempDir::new().unwrap();
    let args = ["report", REAL, "--format", "markdown", "--out", "sum mary.md"];
    assert_code(&understudy(dir.path(), &args), 0);
    let document = std::fs::read_to_string(dir.path().join("sum mary.md")).unwrap();
    assert!(document.contains("](sum%20mary.svg)"), "{document}");
    let svg = std::fs::read_to_string(dir.path().join("sum mary.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("learner: who runs each task"), "{svg}");
    let Some(program) = chromium() else { return };
    let mut browser = Browser::start(&program);
    browser.screen(DESKTOP);
    browser
        .call("Page.navigate", &json!({ "url": format!("file://{}/sum%20mary.svg", dir.path().display()) }));
    let errors = browser.evaluate("document.querySelectorAll('parsererror').length");
    assert_eq!(errors, 0);
    // Printed, it goes into the terminal's text and needs no file.
    assert!(!stdout(&understudy(dir.path(), &["report", REAL, "--format", "markdown"])).contains(".svg"));
}

#[test]
fn text_keeps_to_the_width_and_to_no_color() {
    let dir = TempDir::new().unwrap();
    let text = stdout(&understudy(dir.path(), &["report", REAL]));
    assert!(text.contains("latency p99 over") && text.contains('█') && text.contains('▁'), "{text}");
    assert!(!text.contains('\u{1b}'), "NO_COLOR is set");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn a_report_without_its_timeline_says_so() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().join("alone");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(format!("{REAL}/result.json"), folder.join("result.json")).unwrap();
    let text = std::fs::read_to_string(page(dir.path(), &folder)).unwrap();
    assert!(text.contains("timeline.csv is not beside result.json"));
    std::fs::write(folder.join("timeline.csv"), "strategy,trial,time_s\neager,x,0\n").unwrap();
    let output = understudy(dir.path(), &["report", "alone", "--format", "html"]);
    assert_code(&output, 2);
    assert!(crate::common::stderr(&output).contains("timeline.csv:2: `x` is no whole number"));
}

/// A sweep's folder in which the second cell's pauses under eager are ten times as long.
fn sweep_of_two(dir: &Path) -> [String; 2] {
    [1_u32, 10].map(|times| {
        let cell = format!("cell{times}");
        let folder = dir.join(&cell);
        std::fs::create_dir(&folder).unwrap();
        let content = std::fs::read_to_string(format!("{REAL}/result.json")).unwrap();
        let mut result: Value = serde_json::from_str(&content).unwrap();
        result["sweep"] = json!({ "state.keys": 20_000 * times });
        for run in result["runs"].as_array_mut().unwrap().iter_mut().filter(|run| run["strategy"] == "eager")
        {
            let longest = &mut run["metrics"]["task_pause_ms"]["max"];
            *longest = (longest.as_f64().unwrap() * f64::from(times)).into();
        }
        std::fs::write(folder.join("result.json"), result.to_string()).unwrap();
        std::fs::copy(format!("{REAL}/timeline.csv"), folder.join("timeline.csv")).unwrap();
        cell
    })
}

#[test]
fn a_sweeps_page_begins_with_what_the_setting_does() {
    let dir = TempDir::new().unwrap();
    let [first, second] = sweep_of_two(dir.path());
    let args = ["report", &first, &second, "--format", "html", "--out", "report.html"];
    assert_code(&understudy(dir.path(), &args), 0);
    for screen in [DESKTOP, PHONE] {
        let Some(mut browser) = opened(&dir.path().join("report.html"), screen) else { return };
        let sentence = browser.evaluate("document.querySelector('.sentence').textContent");
        assert_says(&sentence, &["state.keys from 20000 to 200000: ", "longest pause × 1.0", "eager's × 10"]);
        let charts = browser.evaluate("[...document.querySelectorAll('#sweep .chart')].map(of => of.id)");
        assert_eq!(charts.as_array().unwrap().len(), 3, "{charts}");
        let links = browser.evaluate(
            "[...document.querySelectorAll('.results a')].map(a => [a.textContent, !!document.querySelector(a.hash)])",
        );
        assert_eq!(
            links,
            json!([["1 of 2: state.keys = 20000", true], ["2 of 2: state.keys = 200000", true]])
        );
        assert_eq!(browser.evaluate(LAYOUT), json!([]), "at a width of {}", screen.width);
        assert_quiet(&browser);
    }
}

#[cfg(unix)]
#[test]
fn a_page_may_be_read_by_whom_other_files_may() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = TempDir::new().unwrap();
    let page = page(dir.path(), Path::new(REAL));
    let other = dir.path().join("other");
    std::fs::write(&other, "").unwrap();
    let rights = |file: &Path| std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(rights(&page), rights(&other));
}

/// Not a test of anything: with `UNDERSTUDY_PICTURES=folder` it leaves the pictures of docs/reports.md there. Those that
/// are kept have 64 colours: `mogrify +dither -colors 64 -define png:format=png8 *.png`.
#[test]
fn pictures_for_the_docs() {
    let Some(folder) = std::env::var_os("UNDERSTUDY_PICTURES") else { return };
    let dir = TempDir::new().unwrap();
    let page = page(dir.path(), Path::new(REAL));
    for (name, width, until) in [
        ("report", 1280, "#ownership figure:nth-of-type(2)"),
        ("desktop", 1280, "#latency"),
        ("phone", 390, "#latency"),
    ] {
        for (light, dark) in [("light", false), ("dark", true)] {
            let Some(mut browser) = opened(&page, Screen { width, height: 900, dark }) else { return };
            let picture = crate::common::base64(&browser.picture(until));
            std::fs::write(Path::new(&folder).join(format!("{name}-{light}.png")), picture).unwrap();
        }
    }
}
