//! `/livez`: may the process go on? `/readyz`: may it be relied on? `/healthz`: both. Reasons under `?verbose`.

use crate::webhook::standing::Standing;
use actix_web::{HttpRequest, HttpResponse, web};
use haptic_config::ConfigState;
use haptic_debounce::gate::Gate;
use haptic_model::{ActiveConfig, AllLeftOut, Snapshots, config::Judgement};
use haptic_runtime::{CellReader, Health};
use haptic_watch::Troubles;
use std::sync::Arc;

/// What health is judged by.
#[derive(Clone, Debug)]
pub struct Vitality {
    /// Actors and arbiters.
    pub actors: Health,
    /// Why there is or is no configuration.
    pub config_state: CellReader<ConfigState>,
    /// The configuration in force.
    pub config: CellReader<Option<Arc<ActiveConfig>>>,
    /// The newest valid configuration: in force once its stores are read.
    pub accepted: CellReader<Option<Arc<ActiveConfig>>>,
    /// The verdict on the newest configuration.
    pub judged: CellReader<Option<Judgement>>,
    /// All stores.
    pub snapshots: CellReader<Snapshots>,
    /// Why watched resources cannot be read at the moment.
    pub troubles: CellReader<Troubles>,
    /// What stores do not hold because of their limits.
    pub left_out: CellReader<AllLeftOut>,
    /// What the admission webhook is called by.
    pub webhook: CellReader<Standing>,
    /// Whether the process is ending.
    pub draining: CellReader<bool>,
}

impl Vitality {
    /// Why not to rely on this process; empty when ready.
    #[must_use]
    pub fn why_not_ready(&self) -> Vec<String> {
        let mut reasons = self.actors.why_not_live();
        if !self.actors.all_running() {
            reasons.push("an actor is starting or being restarted".into());
        }
        if *self.draining.read() {
            reasons.push("the process is shutting down".into());
        }
        match Gate::look(self.config.read().as_ref().as_ref(), &self.snapshots.read()) {
            Gate::Open => reasons.extend(self.why_the_next_waits()),
            Gate::NoConfig => reasons.push(self.why_no_config()),
            Gate::Unsynced(names) => reasons.extend(self.why_not_read(&names)),
        }
        reasons.extend(self.why_no_credentials());
        reasons.extend(self.why_no_webhook());
        reasons
    }

    /// One that only a watched resource asks for may be without the rights and objects that it needs: that is told, and hinders
    /// nothing else.
    fn why_no_webhook(&self) -> Option<String> {
        let config = self.config.read();
        config.as_ref().as_ref()?.spec.controller.webhook.as_ref()?;
        self.webhook.read().why_not_ready()
    }

    /// What keeps the newest valid configuration from replacing the one in force; that it takes time is no reason.
    fn why_the_next_waits(&self) -> Option<String> {
        let (accepted, config) = (self.accepted.read(), self.config.read());
        let (accepted, config) = (accepted.as_ref().as_ref()?, config.as_ref().as_ref()?);
        let (snapshots, troubles) = (self.snapshots.read(), self.troubles.read());
        let why = |name: &str| Some(format!("{name}: {}", troubles.get(name)?));
        let unreadable: Vec<String> = accepted.unread(&snapshots).filter_map(why).collect();
        let waits = accepted.revision > config.revision && !unreadable.is_empty();
        waits.then(|| {
            let why = unreadable.join("\n");
            format!("the new configuration waits, the one before stays in force: {why}")
        })
    }

    /// Where nothing is in force, it is why there is no configuration.
    fn why_no_credentials(&self) -> Option<String> {
        let judged = self.judged.read();
        let why = judged.as_ref().as_ref()?.credentials.as_ref()?;
        self.config.read().is_some().then(|| format!("the credentials before stay in use: {why}"))
    }

    /// What keeps watched resources from being read: a sentence for each that fails, one for all that only take time.
    fn why_not_read(&self, names: &[String]) -> Vec<String> {
        let troubles = self.troubles.read();
        let (failing, reading): (Vec<&String>, Vec<&String>) =
            names.iter().partition(|name| troubles.contains_key(name.as_str()));
        let why = |name: &String| Some(format!("{name}: {}", troubles.get(name.as_str())?));
        let mut reasons: Vec<String> = failing.into_iter().filter_map(why).collect();
        if !reading.is_empty() {
            let names: Vec<&str> = reading.into_iter().map(String::as_str).collect();
            reasons.push(format!("not yet read to the end: {}", names.join(", ")));
        }
        reasons
    }

    fn why_no_config(&self) -> String {
        match &*self.config_state.read() {
            ConfigState::Waiting(why) => why.clone(),
            ConfigState::Invalid(problems) => {
                let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
                format!("the configuration is invalid: {}", said.join("\n"))
            }
            ConfigState::Valid | ConfigState::Deleted => "there is no valid configuration yet".into(),
        }
    }
}

/// The three paths.
pub fn routes(vitality: Vitality) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |service| {
        service
            .app_data(web::Data::new(vitality.clone()))
            .route("/livez", web::get().to(livez))
            .route("/readyz", web::get().to(readyz))
            .route("/healthz", web::get().to(readyz))
            .route("/", web::get().to(|| async { "Here are /livez, /readyz and /healthz.\n" }));
    }
}

async fn livez(request: HttpRequest, vitality: web::Data<Vitality>) -> HttpResponse {
    answer(&request, &vitality.actors.why_not_live())
}

async fn readyz(request: HttpRequest, vitality: web::Data<Vitality>) -> HttpResponse {
    answer(&request, &vitality.why_not_ready())
}

fn answer(request: &HttpRequest, reasons: &[String]) -> HttpResponse {
    if reasons.is_empty() {
        return HttpResponse::Ok().body("ok\n");
    }
    let verbose = request.query_string().split('&').any(|q| q == "verbose" || q.starts_with("verbose="));
    let body =
        if verbose { reasons.join("\n") } else { format!("{} reason(s); add ?verbose", reasons.len()) };
    HttpResponse::ServiceUnavailable().body(format!("{body}\n"))
}
