//! The lines of a recorded load, plain or compressed: `time,key,bytes`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 1 << 20;
/// No line is longer: a file without line ends is none of ours, and must not fill the memory.
const LINE_BYTES: u64 = 1 << 20;

/// Opens a file, decompressed if its name ends in `.gz` or `.zst`.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let file = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
    let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    Ok(match ending.as_deref() {
        Some("gz") => Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(file))),
        Some("zst") => Box::new(BufReader::with_capacity(BUFFER_BYTES, Frames::Between(file))),
        _ => Box::new(file),
    })
}

/// The frames of a zstd file, one after another: compressors that work in parallel write many.
enum Frames {
    Between(BufReader<File>),
    Within(Box<StreamingDecoder<BufReader<File>, ruzstd::decoding::FrameDecoder>>),
    Done,
}

impl Read for Frames {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        loop {
            *self = match std::mem::replace(self, Self::Done) {
                Self::Done => return Ok(0),
                Self::Between(mut file) => {
                    if file.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    Self::Within(Box::new(StreamingDecoder::new(file).map_err(io::Error::other)?))
                }
                Self::Within(mut frame) => match frame.read(space)? {
                    0 if !space.is_empty() => Self::Between(frame.into_inner()),
                    bytes => {
                        *self = Self::Within(frame);
                        return Ok(bytes);
                    }
                },
            };
        }
    }
}

/// Reads the next line into `line`, without its end; `false` at the end of the file.
pub(super) fn next(file: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    file.take(LINE_BYTES).read_until(b'\n', line)?;
    if line.len() as u64 == LINE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is longer than 1 MiB"));
    }
    let more = !line.is_empty();
    while line.last().is_some_and(u8::is_ascii_whitespace) {
        line.pop();
    }
    Ok(more)
}

/// Time in ns, key and bytes of a line.
pub(super) fn record(line: &[u8]) -> Result<(u64, &[u8], u32), String> {
    let mut fields = line.split(|&byte| byte == b',');
    let (Some(time), Some(key), Some(bytes), None) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err("expected three fields: time,key,bytes".to_owned());
    };
    let shown = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    let text = |field| std::str::from_utf8(field).map(str::trim).ok();
    let nanos =
        text(time).and_then(nanos).ok_or_else(|| format!("`{}` is not a time in seconds", shown(time)))?;
    let key = key.trim_ascii();
    if key.is_empty() || key.len() > usize::from(u16::MAX) {
        return Err("a key has 1 to 65,535 bytes".to_owned());
    }
    if key[0] == crate::log::batch::RESERVED {
        return Err("a key does not start with the byte 0xff".to_owned());
    }
    let bytes = text(bytes)
        .and_then(|bytes| bytes.parse().ok())
        .ok_or_else(|| format!("`{}` is not a number of bytes", shown(bytes)))?;
    Ok((nanos, key, bytes))
}

/// Decimal seconds as nanoseconds, without the rounding of floating point.
fn nanos(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let fraction = &fraction[..fraction.len().min(9)];
    let scale = 10_u64.pow(9 - fraction.len() as u32);
    let fraction = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().ok()? * scale };
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}
