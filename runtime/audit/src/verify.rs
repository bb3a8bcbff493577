//! Goes through all files of a log and says what is not as it was written.
//!
//! What it cannot see: a log that was written anew from some line to its end, with its
//! head, by somebody who may write these files. A line that was noted elsewhere (an
//! *anchor*) shows that too.

use super::chain::Link;
use super::head::{self, End};
use super::parts;
use super::scan::{Gathered, Unchained};
use bouncer_system::private;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Remarks of one kind that are kept; more would not help anybody.
const MAX_FINDINGS: usize = 100;

/// What was found in a log.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// The files that there are, oldest first.
    pub files: Vec<PathBuf>,
    /// Lines of the chain.
    pub lines: u64,
    /// The number of the first.
    pub first: Option<u64>,
    /// The last, as `SEQ:HASH`: what to note elsewhere.
    pub anchor: Option<String>,
    /// What is not as it was written, in the log's order.
    pub faults: Vec<Remark>,
    /// How many there are: not all are kept.
    pub fault_count: u64,
    /// What is as it was written, and still worth a look.
    pub notes: Vec<Remark>,
}

/// Something about one place of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The file.
    pub file: PathBuf,
    /// The line in that file, from 1; 0: about the file as a whole.
    pub line: u64,
    /// What.
    pub what: String,
}

/// What of a line matters here.
#[derive(Deserialize)]
struct Probe {
    event: Option<String>,
    reason: Option<String>,
    unchained: Option<Unchained>,
}

/// Verifies the log at `log`. `anchors` are lines that were noted before: each has to be
/// there still, or to be the last one before the first file that there is.
///
/// # Errors
/// If there is no such log, or it cannot be read.
pub fn verify(log: &Path, anchors: &[Link]) -> io::Result<Report> {
    let open = |end| {
        let mut files = Vec::new();
        for number in parts::numbers(log)? {
            let path = parts::numbered(log, number);
            files.push((Some(number), private::open(&path)?, path));
        }
        match private::open(log) {
            Ok(file) => files.push((None, file, log.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // What is written from now on is not looked at.
        let lengths: Vec<u64> = files
            .iter()
            .map(|(_, file, _)| file.metadata().map(|metadata| metadata.len()))
            .collect::<io::Result<_>>()?;
        Ok((end, files, lengths))
    };
    let (has_head, (end, files, lengths)) = head::look(log, open)?;
    if files.is_empty() && end.is_none() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "there is no log"));
    }
    let mut reader = Reader {
        report: Report::default(),
        last: None,
        before: (log.to_owned(), 0),
        unchained: Gathered::default(),
        unchained_at: None,
        anchors,
    };
    let mut earlier = None;
    for ((number, file, path), length) in files.into_iter().zip(lengths) {
        if let (Some(number), Some(earlier)) = (number, earlier)
            && number > earlier + 1
        {
            for missing in (earlier + 1..number).take(MAX_FINDINGS) {
                let what = "this file is missing".to_owned();
                reader.fault(&parts::numbered(log, missing), 0, what);
            }
        }
        earlier = number;
        reader.report.files.push(path.clone());
        reader.file(&path, file, length)?;
    }
    reader.finish(log, end);
    let mut report = reader.report;
    if !has_head {
        let what =
            "there is no head beside the log: lines that were cut off at its end do not show"
                .to_owned();
        note(&mut report, log, 0, what);
    }
    Ok(report)
}

struct Reader<'a> {
    report: Report,
    last: Option<Link>,
    /// Where the last line of the chain stands.
    before: (PathBuf, u64),
    /// Bytes since then that are no line of the chain, and where they begin.
    unchained: Gathered,
    unchained_at: Option<(PathBuf, u64, bool)>,
    anchors: &'a [Link],
}

impl Reader<'_> {
    fn file(&mut self, path: &Path, file: File, length: u64) -> io::Result<()> {
        let mut reader = BufReader::with_capacity(64 * 1024, file.take(length));
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            if reader.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let whole = line.strip_suffix(b"\n");
            match whole.and_then(|line| Some((line, Link::of(line)?))) {
                Some((line, (link, prev))) => self.line(path, number, line, (link, prev)),
                None => {
                    self.unchained.add(&line);
                    let torn = whole.is_none();
                    let at = self
                        .unchained_at
                        .get_or_insert((path.to_owned(), number, torn));
                    at.2 = torn;
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, path: &Path, number: u64, line: &[u8], (link, prev): (Link, [u8; 32])) {
        let probe = serde_json::from_slice::<Probe>(line);
        let claimed = probe.as_ref().ok().and_then(|p| p.unchained.clone());
        let gathered = std::mem::take(&mut self.unchained).finish();
        let at = self.unchained_at.take();
        if gathered != claimed {
            match at {
                Some((file, number, _)) => {
                    let what = "this is no line of the log, and none that says so follows";
                    self.fault(&file, number, what.to_owned());
                }
                None => {
                    let what = "it speaks of damaged lines before it, which are gone";
                    self.fault(path, number, what.to_owned());
                }
            }
        }
        match probe {
            Err(error) => self.fault(path, number, format!("it is not JSON: {error}")),
            Ok(probe) => {
                if let Some(event @ ("recovered" | "lost")) = probe.event.as_deref() {
                    let reason = probe.reason.unwrap_or_default();
                    note(&mut self.report, path, number, format!("{event}: {reason}"));
                }
            }
        }
        self.chain(path, number, link, prev);
        for anchor in self.anchors {
            if anchor.seq == link.seq && anchor.hash != link.hash {
                let what = format!("line {} is not the one that was noted", link.seq);
                self.fault(path, number, what);
            }
        }
        self.report.lines += 1;
        self.report.first.get_or_insert(link.seq);
        self.last = Some(link);
        self.before = (path.to_owned(), number);
    }

    /// Compares a line with the one before it.
    fn chain(&mut self, path: &Path, number: u64, link: Link, prev: [u8; 32]) {
        let (before, known) = match self.last {
            Some(last) => (last, true),
            None => {
                let before = self
                    .anchors
                    .iter()
                    .find(|anchor| anchor.seq + 1 == link.seq);
                (before.copied().unwrap_or(Link::START), before.is_some())
            }
        };
        let seq = link.seq;
        if seq == before.seq + 1 {
            if prev != before.hash {
                let what = if known {
                    format!(
                        "line {} is not as it was when the next one was written",
                        before.seq
                    )
                } else {
                    "it is not the first line of a log".to_owned()
                };
                let (file, at) = if self.last.is_some() {
                    self.before.clone()
                } else {
                    (path.to_owned(), number)
                };
                self.fault(&file, at, what);
            }
        } else if seq > before.seq {
            let missing = lines(before.seq + 1, seq - 1);
            self.fault(path, number, format!("{missing} missing before it"));
        } else {
            let what = format!("it is line {seq}, and stands behind line {}", before.seq);
            self.fault(path, number, what);
        }
    }

    fn finish(&mut self, log: &Path, end: Option<End>) {
        if let Some((file, number, torn)) = self.unchained_at.take() {
            let what = if torn {
                "it was written in part; whoever writes the next line notes that"
            } else {
                "this is no line of the log"
            };
            self.fault(&file, number, what.to_owned());
        }
        let last = self.last.unwrap_or(Link::START);
        let (file, at) = self.before.clone();
        if let Some(end) = end {
            if last.seq < end.link.seq {
                let missing = lines(last.seq + 1, end.link.seq);
                self.fault(&file, at, format!("{missing} missing behind it"));
            } else if last.seq == end.link.seq && last.hash != end.link.hash {
                let what = format!("line {} is not as it was written", last.seq);
                self.fault(&file, at, what);
            }
        }
        for anchor in self.anchors.iter().filter(|anchor| anchor.seq > last.seq) {
            let what = format!(
                "the log ends with line {}, and line {} was noted",
                last.seq, anchor.seq
            );
            self.fault(log, 0, what);
        }
        self.report.anchor = self.last.map(|last| last.to_string());
    }

    fn fault(&mut self, file: &Path, line: u64, what: String) {
        self.report.fault_count += 1;
        if self.report.faults.len() < MAX_FINDINGS {
            self.report.faults.push(Remark {
                file: file.to_owned(),
                line,
                what,
            });
        }
    }
}

fn note(report: &mut Report, file: &Path, line: u64, what: String) {
    if report.notes.len() < MAX_FINDINGS {
        report.notes.push(Remark {
            file: file.to_owned(),
            line,
            what,
        });
    }
}

fn lines(first: u64, last: u64) -> String {
    if first == last {
        format!("line {first} is")
    } else {
        format!("lines {first} to {last} are")
    }
}
