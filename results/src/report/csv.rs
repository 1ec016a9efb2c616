//! CSV as RFC 4180 has it, but for the line ends, which are plain newlines.

use std::io;

/// Writes one line. A cell with a comma, a quote or a line break is quoted.
///
/// # Errors
/// What `out` reports.
pub fn write_row<'a>(out: &mut impl io::Write, cells: impl IntoIterator<Item = &'a str>) -> io::Result<()> {
    for (index, cell) in cells.into_iter().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        if cell.contains([',', '"', '\n', '\r']) {
            write!(out, "\"{}\"", cell.replace('"', "\"\""))?;
        } else {
            out.write_all(cell.as_bytes())?;
        }
    }
    out.write_all(b"\n")
}
