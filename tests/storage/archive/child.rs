//! Processes that write and are killed: this test executable, run again.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use liqdata::archive::{Archive, Completeness, GroupCommitWriter, OrderRow, SegmentStep, Tables};
use liqdata::model::Millis;

use crate::archive::rows::{START, of_orders, order, order_table, scope};

const ARCHIVE: &str = "LIQDATA_TEST_ARCHIVE";
const PART: &str = "LIQDATA_TEST_PART";

/// A process that plays `part` on an archive; killed at the latest when it is dropped.
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    pub(crate) fn start(archive: &Path, part: &str) -> Self {
        Self::start_in(archive, part, [])
    }

    /// Starts it with variables of the environment set.
    pub(crate) fn start_in<const N: usize>(
        archive: &Path,
        part: &str,
        set: [(String, OsString); N],
    ) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "archive::child::run_as_child_process",
                "--ignored",
                "--nocapture",
            ])
            .env(ARCHIVE, archive)
            .env(PART, part)
            .envs(set)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            input,
            output,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes a line to its standard input.
    pub(crate) fn send_line(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// What follows `word` in the next line that has it; `None` once the process is gone.
    pub(crate) fn read_report(&mut self, word: &str) -> Option<String> {
        self.output.by_ref().find_map(|line| {
            // The test harness writes before and after the output of the part.
            let line = line.unwrap();
            let (_, rest) = line.split_once(word)?;
            Some(rest.trim().to_owned())
        })
    }

    /// Kills the endless writer some time after so many acknowledgements; the number of the last batch it acknowledged.
    pub(crate) fn killed_after(mut self, acknowledgements: usize, time: Duration) -> Option<u64> {
        let mut last = None;
        for _ in 0..acknowledgements {
            last = Some(self.read_report("durable").unwrap().parse().unwrap());
        }
        std::thread::sleep(time);
        self.kill();
        // Reports that were written before the kill count as well.
        while let Some(number) = self.read_report("durable") {
            last = number.parse().ok().or(last);
        }
        last
    }

    /// Kills it with SIGKILL and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prints a line for the process that started this one.
pub(crate) fn report(line: &str) {
    println!("\n{line}");
    std::io::stdout().flush().unwrap();
}

/// Waits for a line; for ever, where none comes.
fn wait() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    line.trim().to_owned()
}

#[test]
#[ignore = "run by other tests as a process of its own"]
fn run_as_child_process() {
    let archive = std::env::var(ARCHIVE).unwrap();
    let part = std::env::var(PART).unwrap();
    let words: Vec<&str> = part.split(' ').collect();
    match words[..] {
        ["append"] => append(Path::new(&archive)),
        #[cfg(target_os = "linux")]
        ["live", days, orders] => {
            let (days, orders) = (days.parse().unwrap(), orders.parse().unwrap());
            crate::archive::days::live(Path::new(&archive), days, orders);
        }
        ["file", days, step, file] => {
            let (days, file) = (days.parse().unwrap(), file.parse().unwrap());
            file_rows(Path::new(&archive), days, step, file);
        }
        ["revise", step] => revise(Path::new(&archive), step),
        ["roll", step, file] => roll(Path::new(&archive), step, file.parse().unwrap()),
        ["roll-during-writes", step, file] => {
            roll_during_writes(Path::new(&archive), step, file.parse().unwrap());
        }
        ["write", batch] => write(Path::new(&archive), batch.parse().unwrap()),
        _ => panic!("no such part: {part}"),
    }
}

/// Opens the archive and appends one order for every line.
fn append(archive: &Path) {
    let mut writer = Archive::create_or_open(archive).unwrap();
    report("open");
    for key in 0.. {
        wait();
        writer.append(&of_orders(vec![order(key, START)])).unwrap();
        report("durable");
    }
}

/// Files the orders of so many days and stops for ever once the file of this number has come to `step`.
fn file_rows(archive: &Path, days: u64, step: &str, file: usize) {
    let mut writer = Archive::create_or_open(archive).unwrap();
    let mut come = 0;
    let halt = &mut |done: SegmentStep, _: &Path| {
        if format!("{done:?}") == step {
            come += 1;
            if come == file {
                report("reached");
                wait();
            }
        }
    };
    let tables = Tables {
        orders: order_table(&crate::archive::filing::orders_of(days)),
        ..Tables::default()
    };
    let until = Millis(START + 100 * Millis::DAY);
    let sessions = [crate::archive::filing::two_day_session()];
    writer
        .import_observed(tables, scope(&sessions, until), &mut |_| true, halt)
        .unwrap();
}

/// Supersedes a day and stops for ever once a file has come to `step`.
fn revise(archive: &Path, step: &str) {
    let mut writer = Archive::create_or_open(archive).unwrap();
    let revision = crate::archive::killing::revision();
    let halt = &mut |done: SegmentStep, _: &Path| {
        if format!("{done:?}") == step {
            report("reached");
            wait();
        }
    };
    writer
        .supersede_observed(Millis(START), &revision, halt)
        .unwrap();
}

/// Rolls everything and stops for ever once the file of this number has come to `step`.
fn roll(archive: &Path, step: &str, file: usize) {
    let mut writer = Archive::create_or_open(archive).unwrap();
    let mut begun = 0;
    writer
        .compact_observed(Millis(START + 100 * Millis::DAY), &mut |done, _| {
            begun += usize::from(done == SegmentStep::Intended);
            if begun == file && format!("{done:?}") == step {
                report("reached");
                wait();
            }
        })
        .unwrap();
    report("finished");
}

/// Like [`roll`], with an order written at each step.
fn roll_during_writes(archive: &Path, step: &str, file: usize) {
    let group_writer = GroupCommitWriter::start(Archive::create_or_open(archive).unwrap()).unwrap();
    let inbox = group_writer.queue();
    let (step, mut begun, mut key) = (step.to_owned(), 0, LATER);
    let rolled = group_writer
        .queue()
        .compact_observed(Millis(START + 100 * Millis::DAY), move |done, _| {
            let row = order(key, START + 200 * Millis::DAY);
            let receipt = inbox.send_blocking(of_orders(vec![row])).unwrap();
            receipt.wait().unwrap();
            key += 1;
            report("durable");
            begun += usize::from(done == SegmentStep::Intended);
            if begun == file && format!("{done:?}") == step {
                report("reached");
                wait();
            }
        })
        .unwrap();
    rolled.wait().unwrap();
    report("finished");
}

/// The key of the first order that is kept while a roll goes on.
pub(crate) const LATER: u64 = 1000;

/// How many orders a batch of the endless writer has.
fn size(batch: u64) -> u64 {
    1 + batch * 7 % 40
}

/// The orders of a batch of the endless writer, spread over three days.
fn batch(batch: u64) -> Vec<OrderRow> {
    (0..size(batch))
        .map(|place| {
            let day = i64::try_from((batch + place) % 3).unwrap();
            let at = i64::try_from(batch % 80_000_000).unwrap();
            order(batch * 100 + place, START + day * Millis::DAY + at)
        })
        .collect()
}

/// How many batches of the endless writer `rows` are; each must be whole, and none missing before another.
pub(crate) fn whole_batches(rows: &[OrderRow]) -> Result<u64, String> {
    let mut batches: BTreeMap<u64, u64> = BTreeMap::new();
    for row in rows {
        let key: u64 = row.dedupe_key.split_once('|').unwrap().1.parse().unwrap();
        if *row != order(key, row.order.timestamp.0) {
            return Err(format!("{row:?} was never written"));
        }
        *batches.entry(key / 100).or_default() += 1;
    }
    for (place, (batch, count)) in (0..).zip(&batches) {
        if (*batch, *count) != (place, size(place)) {
            return Err(format!(
                "{count} rows of batch {batch} stand where {place} should"
            ));
        }
    }
    Ok(u64::try_from(batches.len()).unwrap())
}

/// Appends batches for ever, rolling every so often, and says which are acknowledged.
fn write(archive: &Path, first: u64) {
    let mut writer = Archive::create_or_open(archive).unwrap();
    let run = writer
        .begin_session("binance", Completeness::Sampled, Millis(START))
        .unwrap();
    for number in first.. {
        let mut rows = of_orders(batch(number));
        rows.seen.push((run, Millis(START + 1)));
        writer.append(&rows).unwrap();
        report(&format!("durable {number}"));
        if number % 5 == 4 {
            writer.compact(Millis(START + 2 * Millis::DAY)).unwrap();
        }
    }
}
