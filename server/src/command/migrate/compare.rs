//! `haptic migrate compare`: sends both sides what the Ingresses give reason to ask for, one request after the other of each Ingress,
//! and tells what is answered differently. Memory is that of the Ingresses and of what is reported.

use super::{
    DIFFERS, MigratedObjects,
    credentials::HostCredentials,
    side::{self, ComparedSide, SideRules},
};
use crate::{
    cli::{CommandFailure, MigrateCompareArgs, MigrateOutput, SideUrl},
    command::debug_client::block_on,
    output,
};
use futures::{StreamExt as _, stream};
use haptic_inspect::migrate::{
    self, Family,
    compare::{
        AnswerComparison, ComparedAnswer, ComparedIngress, ComparedOutcome, ComparedRequest, ComparedScheme,
        ComparisonReport, RequestPlan, as_comparison_page, as_comparison_summary, differences,
        recording::{ComparisonHead, ComparisonReader, ComparisonWriter, RecordedExchange},
        requests::MOST_REQUESTS,
    },
};
use std::{
    cell::Cell,
    collections::BTreeSet,
    fs::File,
    io::{BufReader, BufWriter, IsTerminal, Write},
    path::{Path, PathBuf},
    rc::Rc,
    time::Duration,
};
use tempfile::NamedTempFile;

/// So many requests wait for answers at the same time.
const AT_ONCE: usize = 8;
/// How often both are asked again where answers differ: those of canaries and rate limits differ from request to request.
const AGAIN: usize = 2;
/// After so many requests in a row without an answer of one side the comparison ends.
const MOST_WITHOUT_ANSWER: usize = 20;

/// An answer, or why there is none.
type ComparedResult = Result<ComparedAnswer, String>;

/// Who answers for the old controller.
enum ComparisonReference {
    Running(ComparedSide),
    Recorded(PathBuf, ComparisonReader<BufReader<File>>),
}

/// A request that is to be sent, with the answer that is known already.
struct PlannedRequest {
    ingress: ComparedIngress,
    request: ComparedRequest,
    recorded: Option<ComparedResult>,
}

/// A request that was sent.
struct SentRequest {
    ingress: ComparedIngress,
    request: ComparedRequest,
    reference: ComparedResult,
    ours: Option<ComparedResult>,
}

/// Compares.
///
/// # Errors
/// Exit code 3 when something is answered otherwise, 1 when something got no answer or nothing could be asked.
pub fn run(args: &MigrateCompareArgs) -> Result<(), CommandFailure> {
    block_on(compare(args))
}

async fn compare(args: &MigrateCompareArgs) -> Result<(), CommandFailure> {
    let family: Family = args.from.into();
    let (urls, recording) = reference_of(args)?;
    let (mut rules, mut recorded) = (rules(args)?, None);
    if let Some(file) = recording {
        let reader = open(&file, family)?;
        warn_of_headers(&rules.headers, &reader.head);
        rules.headers.clone_from(&reader.head.headers);
        recorded = Some((file, reader));
    }
    let config = migrate::configuration(family, args.objects.config_map.as_ref());
    let objects = super::read(config.map_err(CommandFailure::Because)?, &args.objects).await?;
    if objects.is_none() && recorded.is_none() {
        let usage = "give manifests with --file PATH, or --from-cluster: what is asked follows from them";
        return Err(CommandFailure::Usage(usage.into()));
    }
    let rules = Rc::new(rules);
    let ours = match &args.ours[..] {
        [] => None,
        urls => Some(ComparedSide::connect(urls, &rules).await.map_err(CommandFailure::Because)?),
    };
    let reference = match recorded {
        Some((file, reader)) => ComparisonReference::Recorded(file, reader),
        None => {
            let side = ComparedSide::connect(&urls, &rules).await.map_err(CommandFailure::Because)?;
            ComparisonReference::Running(side)
        }
    };
    let plan = plan(args, family, objects.as_ref(), &rules, &reference, ours.as_ref())?;
    let is_whole = objects.as_ref().is_none_or(|objects| objects.is_whole);
    let mut run = ComparisonRun::new(args, family, &reference, &rules)?;
    let progress = ComparisonProgress::new(args, objects.as_ref(), &plan);
    let left_out = Cell::new(0_usize);
    let mut missing: BTreeSet<ComparedIngress> = BTreeSet::new();
    let (running, planned): (_, Box<dyn Iterator<Item = Result<PlannedRequest, String>>>) = match reference {
        ComparisonReference::Running(side) => {
            let objects = objects.as_ref();
            (Some(side), Box::new(objects.into_iter().flat_map(|objects| derived(objects, &plan, &left_out))))
        }
        ComparisonReference::Recorded(file, reader) => {
            if let Some(objects) = &objects {
                missing = named(objects, &plan);
            }
            let wanted = objects.is_some().then(|| missing.clone());
            (None, Box::new(from_recording(file, reader, wanted)))
        }
    };
    let sides = (running.as_ref(), ours.as_ref());
    let planned =
        stream::iter(planned).map(|planned| async { Ok::<_, String>(answered(planned?, sides).await) });
    let mut sent = planned.buffered(AT_ONCE);
    while let Some(sent) = sent.next().await {
        let sent = sent.map_err(|why| progress.ended(CommandFailure::Because(why)))?;
        missing.remove(&sent.ingress);
        run.add(sent).map_err(|failure| progress.ended(failure))?;
        progress.show(&run.comparison);
    }
    progress.clear();
    drop(sent);
    let report = run.done(args)?;
    for ingress in &missing {
        output::print_problem(&format!(
            "Ingress {}/{} is not in the recording",
            ingress.namespace, ingress.name
        ));
    }
    if left_out.get() > 0 {
        let count = left_out.get();
        output::print_problem(&format!(
            "{count} requests were not sent: an Ingress is asked for by {MOST_REQUESTS} at the most, none of them longer than 8 KiB"
        ));
    }
    verdict(&report, is_whole && missing.is_empty() && left_out.get() == 0)
}

fn verdict(report: &ComparisonReport, is_whole: bool) -> Result<(), CommandFailure> {
    if report.totals.requests == 0 {
        return Err(CommandFailure::Because("there is no Ingress that requests can be made of".into()));
    }
    if report.totals.not_asked > 0 || !is_whole {
        return Err(CommandFailure::Exit(1));
    }
    if report.totals.differing > 0 { Err(CommandFailure::Exit(DIFFERS)) } else { Ok(()) }
}

/// The addresses of the old controller, or the file with what it answered.
fn reference_of(args: &MigrateCompareArgs) -> Result<(Vec<SideUrl>, Option<PathBuf>), CommandFailure> {
    let usage = |what: &str, why: &str| CommandFailure::Usage(format!("--reference {what}: {why}"));
    if let [one] = &args.reference[..]
        && !SideUrl::is_meant(one)
    {
        if args.record.is_some() {
            return Err(usage(one, "what is recorded already cannot be recorded again"));
        }
        return Ok((Vec::new(), Some(PathBuf::from(one))));
    }
    let urls = args.reference.iter().map(|text| text.parse::<SideUrl>().map_err(|why| usage(text, &why)));
    Ok((urls.collect::<Result<_, _>>()?, None))
}

fn open(file: &Path, family: Family) -> Result<ComparisonReader<BufReader<File>>, CommandFailure> {
    let opened = File::open(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let reader = ComparisonReader::open(BufReader::new(opened), family.name());
    Ok(reader.map_err(|why| format!("{}: {why}", file.display()))?)
}

fn warn_of_headers(headers: &[String], head: &ComparisonHead) {
    for name in headers.iter().filter(|name| !head.headers.contains(name)) {
        output::print_problem(&format!(
            "the recording was made without the header {name}, which does not count for that"
        ));
    }
}

fn rules(args: &MigrateCompareArgs) -> Result<SideRules, CommandFailure> {
    let credentials = args.credentials.as_deref().map(HostCredentials::read).transpose()?.unwrap_or_default();
    let asks_over_tls = args.reference.iter().any(|url| url.starts_with("https://"))
        || args.ours.iter().any(|url| url.scheme == ComparedScheme::Https);
    if args.credentials.is_some() && asks_over_tls && args.ca.is_none() && !args.insecure {
        let usage =
            "--credentials needs --ca FILE, or --insecure: without them nobody knows who gets passwords";
        return Err(CommandFailure::Usage(usage.into()));
    }
    let asks_in_clear = args.reference.iter().any(|url| url.starts_with("http://"))
        || args.ours.iter().any(|url| url.scheme == ComparedScheme::Http);
    if args.credentials.is_some() && asks_in_clear {
        output::print_problem("passwords are sent in clear over http://: whoever is on the way reads them");
    }
    Ok(SideRules {
        limit: Duration::from_secs(args.timeout),
        rate: args.rate,
        headers: args.headers.iter().chain(&args.echo_headers).map(|name| name.0.clone()).collect(),
        methods: args.methods.iter().map(|method| method.0.clone()).collect(),
        credentials,
        tls: side::tls(args.ca.as_deref())?,
    })
}

/// What may be asked: in the schemes that both sides have addresses for.
fn plan(
    args: &MigrateCompareArgs,
    family: Family,
    objects: Option<&MigratedObjects>,
    rules: &SideRules,
    reference: &ComparisonReference,
    ours: Option<&ComparedSide>,
) -> Result<RequestPlan, CommandFailure> {
    let empty;
    let (config, snapshots) = match objects {
        Some(objects) => (&objects.config, Some(&objects.snapshots)),
        None => {
            empty = migrate::configuration(family, None).map_err(CommandFailure::Because)?;
            (&empty, None)
        }
    };
    let data = match args.objects.config_map.as_ref().zip(snapshots) {
        Some((named, snapshots)) => migrate::config_map_data(snapshots, named)?,
        None => serde_json::Map::default(),
    };
    let mut plan = RequestPlan::new(config, family, &data);
    plan.methods.clone_from(&rules.methods);
    plan.credentials = rules.credentials.hosts();
    plan.classes.clone_from(&args.objects.classes);
    plan.schemes.retain(|scheme| {
        let is_of_reference = match reference {
            ComparisonReference::Running(side) => side.speaks(*scheme),
            ComparisonReference::Recorded(..) => true,
        };
        is_of_reference && ours.is_none_or(|ours| ours.speaks(*scheme))
    });
    if plan.schemes.is_empty() {
        return Err(CommandFailure::Usage("--reference and --ours need addresses of the same scheme".into()));
    }
    Ok(plan)
}

/// The requests that follow from the objects.
fn derived<'d>(
    objects: &'d MigratedObjects,
    plan: &'d RequestPlan,
    left_out: &'d Cell<usize>,
) -> impl Iterator<Item = Result<PlannedRequest, String>> + 'd {
    let ingresses = objects.snapshots.get("ingresses").into_iter().flat_map(|store| store.iter());
    ingresses.flat_map(move |object| {
        let ingress = ComparedIngress::from(&*object.reference);
        let of_ingress = plan.requests(object, &objects.snapshots);
        left_out.set(left_out.get() + of_ingress.left_out);
        of_ingress
            .requests
            .into_iter()
            .map(move |request| Ok(PlannedRequest { ingress: ingress.clone(), request, recorded: None }))
    })
}

/// The requests of a recording, for these Ingresses or all.
fn from_recording(
    file: PathBuf,
    reader: ComparisonReader<BufReader<File>>,
    wanted: Option<BTreeSet<ComparedIngress>>,
) -> impl Iterator<Item = Result<PlannedRequest, String>> {
    reader.filter_map(move |read| {
        let exchange = match read {
            Ok(exchange) => exchange,
            Err(why) => return Some(Err(format!("{}: {why}", file.display()))),
        };
        let RecordedExchange { ingress, request, answer, failure } = exchange;
        if wanted.as_ref().is_some_and(|wanted| !wanted.contains(&ingress)) {
            return None;
        }
        let why = failure.unwrap_or_else(|| "nothing was answered".to_owned());
        let recorded = Some(answer.ok_or_else(|| format!("recorded: {why}")));
        Some(Ok(PlannedRequest { ingress, request, recorded }))
    })
}

/// The Ingresses that something is asked for.
fn named(objects: &MigratedObjects, plan: &RequestPlan) -> BTreeSet<ComparedIngress> {
    let ingresses = objects.snapshots.get("ingresses").into_iter().flat_map(|store| store.iter());
    let asked = ingresses.filter(|object| !plan.requests(object, &objects.snapshots).requests.is_empty());
    asked.map(|object| ComparedIngress::from(&*object.reference)).collect()
}

async fn answered(
    planned: PlannedRequest,
    (running, ours): (Option<&ComparedSide>, Option<&ComparedSide>),
) -> SentRequest {
    let PlannedRequest { ingress, request, recorded } = planned;
    let of_reference = async {
        match (&recorded, running) {
            (Some(recorded), _) => recorded.clone(),
            (None, Some(side)) => side.ask(&request).await,
            (None, None) => Err("nobody is there to be asked".to_owned()),
        }
    };
    let of_ours = async {
        match ours {
            Some(side) => Some(side.ask(&request).await),
            None => None,
        }
    };
    let (reference, answer) = futures::join!(of_reference, of_ours);
    let (mut theirs, mut own) = (vec![reference.clone()], vec![answer.clone()]);
    for _ in 0..AGAIN {
        let is_settled = own.iter().flatten().any(|one| theirs.contains(one));
        let has_failed = reference.is_err() || matches!(answer, None | Some(Err(_)));
        if is_settled || has_failed || !request.is_safe() {
            break;
        }
        if let Some(side) = running {
            theirs.push(side.ask(&request).await);
        }
        if let Some(side) = ours {
            own.push(Some(side.ask(&request).await));
        }
    }
    let same = own.iter().flatten().find(|one| one.is_ok() && theirs.contains(one)).cloned();
    match same {
        Some(same) => SentRequest { ingress, request, reference: same.clone(), ours: Some(same) },
        None => SentRequest { ingress, request, reference, ours: answer },
    }
}

/// What is known so far, and where it is written.
struct ComparisonRun {
    comparison: AnswerComparison,
    writer: Option<ComparisonWriter<BufWriter<NamedTempFile>>>,
    /// Requests in a row without an answer, of the old controller and of ours.
    without_answer: (usize, usize),
    compares: bool,
}

impl ComparisonRun {
    fn new(
        args: &MigrateCompareArgs,
        family: Family,
        reference: &ComparisonReference,
        rules: &SideRules,
    ) -> Result<Self, CommandFailure> {
        let names = match reference {
            ComparisonReference::Running(_) => args.reference.clone(),
            ComparisonReference::Recorded(_, reader) => reader.head.reference.clone(),
        };
        let begin = |file: &PathBuf| {
            let head = ComparisonHead::new(family.name(), names.clone(), rules.headers.clone());
            let to = NamedTempFile::new_in(folder_of(file))?;
            ComparisonWriter::begin(BufWriter::new(to), &head)
        };
        let writer =
            args.record.as_ref().map(begin).transpose().map_err(|error| cannot_write(args, &error))?;
        let ours: Vec<String> = args.ours.iter().map(ToString::to_string).collect();
        let compares = !ours.is_empty();
        let comparison = AnswerComparison::new(family.name(), names, ours);
        Ok(Self { comparison, writer, without_answer: (0, 0), compares })
    }

    fn add(&mut self, sent: SentRequest) -> Result<(), CommandFailure> {
        let SentRequest { ingress, request, reference, ours } = sent;
        let count = |before: usize, is_missing: bool| if is_missing { before + 1 } else { 0 };
        let (theirs, own) = self.without_answer;
        let is_missing = matches!(ours, Some(Err(_)));
        self.without_answer = (count(theirs, reference.is_err()), count(own, is_missing));
        if let Some(writer) = &mut self.writer {
            let exchange = RecordedExchange {
                ingress: ingress.clone(),
                request: request.clone(),
                answer: reference.as_ref().ok().cloned(),
                failure: reference.as_ref().err().cloned(),
            };
            writer.write(&exchange).map_err(|error| format!("the recording cannot be written: {error}"))?;
        }
        let outcome = match (reference, ours) {
            (Err(why), _) | (_, Some(Err(why))) => ComparedOutcome::NotAsked(why),
            (Ok(_), None) => ComparedOutcome::Same,
            (Ok(theirs), Some(Ok(ours))) => match differences(&theirs, &ours) {
                none if none.is_empty() => ComparedOutcome::Same,
                all => ComparedOutcome::Differs(all),
            },
        };
        let last = match &outcome {
            ComparedOutcome::NotAsked(why) => why.clone(),
            _ => String::new(),
        };
        self.comparison.add(&ingress, request, outcome);
        if self.without_answer.0.max(self.without_answer.1) >= MOST_WITHOUT_ANSWER {
            return Err(CommandFailure::Because(format!(
                "{MOST_WITHOUT_ANSWER} requests in a row got no answer, the last one because: {last}. Nothing was compared or recorded"
            )));
        }
        Ok(())
    }

    /// Prints and writes it.
    fn done(self, args: &MigrateCompareArgs) -> Result<ComparisonReport, CommandFailure> {
        if let (Some(writer), Some(file)) = (self.writer, &args.record) {
            let written =
                writer.end().and_then(|to| to.into_inner().map_err(std::io::IntoInnerError::into_error));
            let persisted = written.and_then(|to| to.persist(file).map_err(|error| error.error));
            persisted.map_err(|error| cannot_write(args, &error))?;
        }
        let report = self.comparison.done();
        let summary = || {
            let totals = report.totals;
            let words =
                format!("{} requests of {} Ingresses are recorded\n", totals.requests, totals.ingresses);
            if self.compares { as_comparison_summary(&report) } else { words }
        };
        match args.output {
            MigrateOutput::Summary => output::print(&summary()),
            MigrateOutput::Json => output::print_json(&report),
            MigrateOutput::Markdown => output::print(&as_comparison_page(&report)),
        }
        .map_err(CommandFailure::because)?;
        Ok(report)
    }
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

fn cannot_write(args: &MigrateCompareArgs, error: &std::io::Error) -> CommandFailure {
    let file = args.record.as_deref().unwrap_or_else(|| Path::new("the recording"));
    CommandFailure::Because(format!("cannot write {}: {error}", file.display()))
}

/// How far it is, on a terminal.
struct ComparisonProgress {
    /// All requests, where they are known; `None`: nothing is shown.
    total: Option<usize>,
}

impl ComparisonProgress {
    fn new(args: &MigrateCompareArgs, objects: Option<&MigratedObjects>, plan: &RequestPlan) -> Self {
        let shows = matches!(args.output, MigrateOutput::Summary) && std::io::stderr().is_terminal();
        let count = || {
            let all = objects.and_then(|objects| Some((objects, objects.snapshots.get("ingresses")?)));
            all.map_or(0, |(objects, store)| {
                store.iter().map(|object| plan.requests(object, &objects.snapshots).requests.len()).sum()
            })
        };
        Self { total: shows.then(count) }
    }

    fn show(&self, comparison: &AnswerComparison) {
        let Some(total) = self.total else { return };
        let totals = comparison.totals();
        let of = if total > 0 { format!(" of {total}") } else { String::new() };
        let line =
            format!("\r\x1b[K{}{of} requests, {} answered otherwise", totals.requests, totals.differing);
        drop(std::io::stderr().write_all(line.as_bytes()));
    }

    fn clear(&self) {
        if self.total.is_some() {
            drop(std::io::stderr().write_all(b"\r\x1b[K"));
        }
    }

    fn ended(&self, failure: CommandFailure) -> CommandFailure {
        self.clear();
        failure
    }
}
