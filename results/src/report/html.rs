//! A report as one page that needs nothing else: charts, tables, style and script are in it, and its own policy forbids
//! the browser to load or run anything but what is.
//!
//! Text from a result is escaped by the template, by the charts' canvas, and in the script's numbers by [`data`]; the
//! policy would stop what slipped through all of them.

mod article;
mod growth;
mod tables;

use std::collections::BTreeMap;

use base64::Engine as _;
use minijinja::Environment;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use self::article::Article;
use self::tables::Grid;
use super::charts::{self, Chart, Key};
use super::view::{Material, View};
use crate::schema::RunFile;
use crate::sweep::sweeps;

/// Its name ends in `.html`: whatever is put into it is escaped unless it is said to be markup.
const TEMPLATE: (&str, &str) = ("report.html", include_str!("../../templates/report.html"));
const STYLE: &str = include_str!("../../templates/report.css");
const SCRIPT: &str = include_str!("../../templates/report.js");

#[derive(Serialize)]
struct Page {
    title: String,
    style: String,
    script: &'static str,
    script_hash: String,
    switches: Vec<Switch>,
    role_keys: Vec<Key>,
    phase_keys: Vec<Key>,
    part_keys: Vec<Key>,
    sweeps: Vec<SweepPart>,
    articles: Vec<Article>,
    data: String,
    footer: String,
}

/// A strategy in the legend, which switches it on and off.
#[derive(Serialize)]
struct Switch {
    look: usize,
    sample: String,
    name: String,
}

/// A swept key: the finding in a sentence, charts, table.
#[derive(Serialize)]
struct SweepPart {
    key: String,
    sentence: String,
    sub: String,
    charts: Vec<Chart>,
    table: Grid,
}

/// The whole page. Several results show what the settings in which they differ do, then each result.
///
/// # Panics
/// Never: the template is a constant that every test of this page renders.
#[must_use]
pub fn page(materials: &[Material<'_>]) -> String {
    let views: Vec<View<'_>> = materials.iter().map(|material| View::new(*material)).collect();
    let switches = switches(&views);
    let results: Vec<&RunFile> = materials.iter().map(|material| material.result).collect();
    let sweeps = if results.len() > 1 { sweep_parts(&results, &switches) } else { Vec::new() };
    let articles: Vec<Article> =
        views.iter().enumerate().map(|(at, view)| Article::new(view, at, views.len())).collect();
    let mut all: Vec<&Chart> = sweeps.iter().flat_map(|sweep| &sweep.charts).collect();
    all.extend(articles.iter().flat_map(Article::charts));
    let standby = all.iter().any(|chart| chart.wide.contains(&charts::standby_class()));
    let page = Page {
        title: title(&results),
        style: format!("{STYLE}{}", charts::style_sheet()),
        script: SCRIPT,
        script_hash: hash(SCRIPT),
        data: data(&all, &switches),
        switches,
        role_keys: charts::role_keys(standby),
        phase_keys: charts::phase_keys(),
        part_keys: charts::part_keys(),
        sweeps,
        articles,
        footer: footer(&results),
    };
    let mut environment = Environment::new();
    environment.add_template(TEMPLATE.0, TEMPLATE.1).expect("the template is well-formed");
    let template = environment.get_template(TEMPLATE.0).expect("it has just been added");
    template.render(minijinja::value::Serde(&page)).expect("the template asks for what a page has")
}

fn title(results: &[&RunFile]) -> String {
    match results {
        [] => "Nothing measured".to_owned(),
        [only] => article::title(only),
        [first, rest @ ..] if rest.iter().all(|result| result.title == first.title) => {
            format!("{}: {} results", article::title(first), results.len())
        }
        _ => format!("{} results", results.len()),
    }
}

fn footer(results: &[&RunFile]) -> String {
    let mut versions: Vec<String> = results
        .iter()
        .map(|result| {
            let environment = &result.environment;
            let commit =
                environment.commit.as_deref().map(|commit| format!(" ({commit})")).unwrap_or_default();
            format!("{}{commit}", environment.understudy)
        })
        .collect();
    versions.dedup();
    format!(
        "Measured by Understudy {}. docs/metrics.md says how each figure is defined. This page holds everything it \
         shows and loads nothing.",
        versions.join(", ")
    )
}

/// Every strategy of every result once; one that is in several looks as it does in the first.
fn switches(views: &[View<'_>]) -> Vec<Switch> {
    let mut switches: Vec<Switch> = Vec::new();
    for strategy in views.iter().flat_map(|view| &view.strategies) {
        let name = strategy.label();
        if !switches.iter().any(|switch| switch.name == name) {
            switches.push(Switch { look: strategy.look, sample: charts::sample(strategy.look), name });
        }
    }
    switches
}

fn sweep_parts(results: &[&RunFile], switches: &[Switch]) -> Vec<SweepPart> {
    let look_of = |strategy: &str| {
        let name = strategy.replace(',', ", ");
        switches.iter().find(|switch| switch.name == name).map_or(0, |switch| switch.look)
    };
    sweeps(results)
        .iter()
        .enumerate()
        .map(|(at, sweep)| {
            let (sentence, sub) = growth::sentence(sweep).unwrap_or_default();
            SweepPart {
                key: sweep.key.clone(),
                sentence,
                sub,
                charts: charts::sweep(sweep, at, &look_of),
                table: tables::sweep(sweep),
            }
        })
        .collect()
}

/// The charts' numbers by their ids. Whatever could end the element they stand in is written as an escape of JSON's.
fn data(charts: &[&Chart], switches: &[Switch]) -> String {
    let numbers: BTreeMap<&str, &Value> =
        charts.iter().map(|chart| (chart.id.as_str(), &chart.data)).collect();
    let patches: BTreeMap<String, String> = switches
        .iter()
        .map(|switch| (switch.look.to_string(), charts::strategy_patch(switch.look)))
        .collect();
    let text = json!({ "data": numbers, "patches": patches }).to_string();
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// As a content security policy names a script.
fn hash(script: &str) -> String {
    format!("sha256-{}", base64::engine::general_purpose::STANDARD.encode(Sha256::digest(script.as_bytes())))
}
