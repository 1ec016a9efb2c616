//! `understudy report`: results as text, a page, markdown or CSV.

use std::path::PathBuf;

use anyhow::anyhow;
use results::report::charts::picture;
use results::report::view::{Material, View};
use results::report::{csv, html, markdown, sweep_table, text};
use results::schema::RunFile;
use results::sweep::sweeps;

use crate::cli::{ReportArgs, ReportFormat};
use crate::exit::{Failure, Outcome};
use crate::result_file::{self, Read, ResultFile, deliver, style};

/// Reads every result and prints them in one format.
pub(crate) fn run(args: &ReportArgs) -> Result<Outcome, Failure> {
    let read = args.results.iter().map(|path| Read::open(path)).collect::<Result<Vec<_>, _>>()?;
    let files: Vec<&ResultFile> = read.iter().flat_map(Read::results).collect();
    let results: Vec<&RunFile> = files.iter().map(|file| file.result()).collect();
    let timelines = files.iter().map(|file| file.timelines()).collect::<Result<Vec<_>, _>>()?;
    let materials = result_file::materials(results.iter().copied(), &timelines);
    let text = match args.format {
        ReportFormat::Text => terminal(&materials, &results),
        ReportFormat::Markdown => {
            let mut parts = documents(&materials, args.out.as_ref())?;
            parts.push(sweep_table::markdown(&sweeps(&results)));
            parts.join("\n")
        }
        ReportFormat::Html => html::page(&materials),
        ReportFormat::Csv => {
            let mut rows = Vec::new();
            csv::runs(&mut rows, &results).map_err(Failure::run)?;
            String::from_utf8_lossy(&rows).into_owned()
        }
    };
    deliver(&text, args.out.as_ref())?;
    if args.open
        && let Some(file) = &args.out
    {
        result_file::open(file);
    }
    Ok(Outcome::Fine)
}

/// Every result's table, then one table per key in which they differ.
fn terminal(materials: &[Material<'_>], results: &[&RunFile]) -> String {
    let style = style();
    let mut parts: Vec<String> = materials.iter().map(|material| text::render(*material, style)).collect();
    parts.push(sweep_table::text(&sweeps(results), style));
    parts.join("\n")
}

/// Every result in Markdown. Written into a file, it has each result's picture beside it.
fn documents(materials: &[Material<'_>], out: Option<&PathBuf>) -> Result<Vec<String>, Failure> {
    let mut parts = Vec::new();
    for (at, material) in materials.iter().enumerate() {
        let Some((out, svg)) = out.zip(picture::picture(&View::new(*material))) else {
            parts.push(markdown::run(material.result, None));
            continue;
        };
        let number = if materials.len() > 1 { format!("-{}", at + 1) } else { String::new() };
        let stem = out
            .file_stem()
            .ok_or_else(|| Failure::Unusable(anyhow!("--out {}: is no file's name", out.display())))?;
        let name = format!("{}{number}.svg", stem.to_string_lossy());
        deliver(&svg, Some(&out.with_file_name(&name)))?;
        parts.push(markdown::run(material.result, Some(&name)));
    }
    Ok(parts)
}
