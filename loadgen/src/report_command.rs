//! `understudy report`: a result as text, markdown or CSV.

use results::report::{csv, markdown, sweep_table, text};
use results::schema::RunFile;
use results::sweep::sweeps;

use crate::cli::{ReportArgs, ReportFormat};
use crate::exit::{Failure, Outcome};
use crate::result_file::{Read, ResultFile, deliver, style};

/// Reads every result and prints them in one format.
pub(crate) fn run(args: &ReportArgs) -> Result<Outcome, Failure> {
    let files = args.results.iter().map(|path| Read::open(path)).collect::<Result<Vec<_>, _>>()?;
    let results: Vec<&RunFile> = files.iter().flat_map(Read::results).map(ResultFile::result).collect();
    let text = match args.format {
        ReportFormat::Text => terminal(&results),
        ReportFormat::Markdown => {
            let mut parts: Vec<String> = results.iter().map(|result| markdown::run(result)).collect();
            parts.push(sweep_table::markdown(&sweeps(&results)));
            parts.join("\n")
        }
        ReportFormat::Csv => {
            let mut rows = Vec::new();
            csv::runs(&mut rows, &results).map_err(Failure::run)?;
            String::from_utf8_lossy(&rows).into_owned()
        }
    };
    deliver(&text, args.out.as_ref())?;
    Ok(Outcome::Fine)
}

/// Every result's table, then one table per key in which they differ.
fn terminal(results: &[&RunFile]) -> String {
    let style = style();
    let mut parts: Vec<String> = results.iter().map(|result| text::render(result, style)).collect();
    parts.push(sweep_table::text(&sweeps(results), style));
    parts.join("\n")
}
