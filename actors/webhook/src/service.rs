//! The webhook's HTTP: one secret path, one kind of body, each in its bounds. `/healthz` says that it listens, and nothing else.
//! Everything else is 404 before a byte of it is read.

use super::{
    ReviewQueue,
    answer::ReviewAnswer,
    configuration::{self, OwnConfiguration},
    endpoint::EndpointState,
    lookups::Lookups,
    policy::Subject,
    render_cache::{LiveTopics, ObjectChange},
    review::{Review, SIZE_LIMIT},
    space::ReviewSpace,
};
use actix_web::{
    HttpRequest, HttpResponse,
    http::{ConnectionType, Method, StatusCode, header},
    web,
};
use futures::StreamExt;
use haptic_commentator::metrics::table;
use haptic_inspect::Readers;
use haptic_model::{Event, crd::FailurePolicy};
use haptic_runtime::{Events, Topic, cpu};
use haptic_validate::{CheckLimits, Checker};
use haptic_watch::NameOrigin;
use metrics::{counter, histogram};
use serde_json::{Map, Value};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::task::TaskTracker;

/// Says that the webhook listens, to whoever asks.
const HEALTH: &str = "/healthz";
/// An API server sends a review whole.
const READ_WITHIN: Duration = Duration::from_secs(5);
/// All bodies that are read at the same time have no more kilobytes than that together.
const BODIES: usize = 64 << 10;
/// As many of them are one namespace's.
const BODIES_OF_NAMESPACE: usize = BODIES / 2;
/// Of a value's place in memory, with that of its copy: `[1,1,1]` grows a hundredfold when it is read.
const VALUE: usize = 128;
/// Longer bodies are read off the thread that serves.
const LONG: usize = 64 << 10;

/// `checker` for one evaluator, which checks one bundle at a time, and nothing else waits for it.
#[must_use]
pub fn checker_of_its_own(checker: &Checker) -> Checker {
    checker.apart(CheckLimits { at_once: 1, ..CheckLimits::default() })
}

/// What an [`Admission`] is opened with.
pub struct AdmissionOptions {
    /// The API server.
    pub client: kube::Client,
    /// Which configuration is active here.
    pub own: OwnConfiguration,
    /// What reviews are judged by.
    pub readers: Readers,
    /// Path and certificate.
    pub endpoint: Topic<EndpointState>,
    /// Where changes of objects are judged.
    pub queue: ReviewQueue,
    /// Shares what it keeps with the one that configurations are checked by.
    pub checker: Checker,
    /// Told of what was not let pass.
    pub events: Events,
}

/// All that answers reviews.
#[derive(Clone)]
pub struct Admission {
    /// Path and certificate.
    pub endpoint: Topic<EndpointState>,
    /// What reviews are judged by.
    pub readers: Readers,
    /// Which configuration is ours.
    pub own: OwnConfiguration,
    /// Where changes of objects are judged.
    pub queue: ReviewQueue,
    /// Runs `haproxy -c` for configurations.
    pub checker: Checker,
    /// Asks the API server.
    pub lookups: Lookups,
    /// Told of what was not let pass.
    pub events: Events,
    bodies: Arc<Semaphore>,
    by_namespace: ReviewSpace,
    configurations: Arc<Semaphore>,
    /// Requests that have no answer yet.
    answering: TaskTracker,
}

impl Admission {
    /// Answers reviews of objects, and of configurations.
    #[must_use]
    pub fn open(options: AdmissionOptions) -> Self {
        let AdmissionOptions { client, own, readers, endpoint, queue, checker, events } = options;
        Self {
            endpoint,
            own,
            queue,
            checker: checker_of_its_own(&checker),
            readers,
            lookups: Lookups::new(client),
            events,
            bodies: Arc::new(Semaphore::new(BODIES)),
            by_namespace: ReviewSpace::of_at_most(BODIES_OF_NAMESPACE),
            configurations: Arc::new(Semaphore::new(1)),
            answering: TaskTracker::new(),
        }
    }

    /// Waits until no request is without its answer, and none has come for `quiet`: an answer that was given is on its way then,
    /// and what was under way when others were answered has been seen.
    pub async fn all_answered(&self, quiet: Duration) {
        self.answering.close();
        loop {
            self.answering.wait().await;
            tokio::time::sleep(quiet).await;
            if self.answering.is_empty() {
                return;
            }
        }
    }

    async fn answer(&self, review: &Review, subject: Subject, received: Instant) -> ReviewAnswer {
        match subject {
            Subject::Other => ReviewAnswer::allowed(),
            Subject::Configuration => {
                self.queue.fetch_named_by(NameOrigin::Configuration, review.object.as_ref()).await;
                // Its tests take all cores; objects do not wait behind them.
                let Ok(_turn) = self.configurations.try_acquire() else {
                    return ReviewAnswer::Undecided { why: "another configuration is being checked".into() };
                };
                configuration::evaluate(
                    review,
                    received,
                    &self.own,
                    &self.lookups,
                    &LiveTopics::of(&self.readers),
                    &self.checker,
                )
                .await
            }
            Subject::Watched(resources) => match self.change(review, resources).await {
                Ok(change) => self.queue.ask(change, received).await,
                Err(why) => ReviewAnswer::Undecided { why },
            },
        }
    }

    async fn change(&self, review: &Review, resources: Vec<Arc<str>>) -> Result<ObjectChange, String> {
        let config = (*self.readers.config.latest()).clone().ok_or("no configuration is in force yet")?;
        let (name, object) = named(review);
        let watched = &config.spec.watched_resources;
        let selects =
            |name: &Arc<str>| watched.get(&**name).is_some_and(|w| w.selects_namespaces().is_some());
        let namespace_labels = if resources.iter().any(selects) && review.object.is_some() {
            self.lookups.labels(&review.namespace).await?
        } else {
            Map::new()
        };
        Ok(ObjectChange { resources, namespace: review.namespace.clone(), name, object, namespace_labels })
    }

    fn report(&self, review: &Review, answer: &ReviewAnswer, label: &Arc<str>, took: Duration) {
        let labels = [("resource", label.to_string()), ("verdict", answer.verdict().to_owned())];
        counter!(table::WEBHOOK_REQUESTS_TOTAL.name, &labels).increment(1);
        histogram!(table::WEBHOOK_DURATION_SECONDS.name, "resource" => label.to_string())
            .record(took.as_secs_f64());
        let (refused, why) = match answer {
            ReviewAnswer::Denied { message } => (true, message.clone()),
            ReviewAnswer::Undecided { why } => (false, why.clone()),
            ReviewAnswer::Allowed { warnings } => {
                let (object, resource) = (review.full_name(), &review.resource);
                return tracing::debug!(resource, object, ?took, warnings = warnings.len(), "allowed");
            }
        };
        self.events.emit(Event::Reviewed {
            resource: review.resource.as_str().into(),
            object: review.full_name(),
            refused,
            why,
            dry_run: review.dry_run,
            took,
        });
    }

    fn policy(&self) -> FailurePolicy {
        let config = self.readers.config.latest();
        let webhook = config.as_ref().as_ref().and_then(|config| config.spec.webhook());
        webhook.map(|webhook| webhook.failure_policy).unwrap_or_default()
    }
}

/// The object with a name: one that the API server is yet to make up stands for all that it could.
fn named(review: &Review) -> (String, Option<Map<String, Value>>) {
    let Some(mut object) = review.object.clone() else { return (review.name.clone(), None) };
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let own = metadata.as_ref().and_then(|m| m.get("name")?.as_str().map(str::to_owned));
    let name = own.filter(|name| !name.is_empty()).unwrap_or_else(|| match &*review.name {
        "" => "to-be-named".to_owned(),
        name => name.to_owned(),
    });
    if let Some(metadata) = metadata {
        metadata.insert("name".into(), Value::String(name.clone()));
    }
    (name, Some(object))
}

/// The secret path, and `/healthz`.
pub fn routes(admission: Admission) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |service| {
        service.app_data(web::Data::new(admission.clone())).default_service(web::to(serve));
    }
}

/// While the controller drains, each answer ends its connection: the next review goes to a replica that stays.
async fn serve(request: HttpRequest, body: web::Payload, admission: web::Data<Admission>) -> HttpResponse {
    let _unanswered = admission.answering.token();
    let mut response = respond(request, body, &admission).await;
    if *admission.readers.draining.latest() {
        response.head_mut().set_connection_type(ConnectionType::Close);
    }
    response
}

async fn respond(request: HttpRequest, body: web::Payload, admission: &Admission) -> HttpResponse {
    if request.path() == HEALTH && matches!(*request.method(), Method::GET | Method::HEAD) {
        return HttpResponse::Ok().force_close().content_type("text/plain").body("ok\n");
    }
    let known = |endpoint: &EndpointState| {
        endpoint.endpoint().is_some_and(|endpoint| endpoint.is_asked_for(request.path()))
    };
    if !known(&admission.endpoint.latest()) || request.method() != Method::POST {
        return refuse(StatusCode::NOT_FOUND, "there is nothing here\n");
    }
    let began = Instant::now();
    let read = match tokio::time::timeout(READ_WITHIN, read(&request, body, admission)).await {
        Ok(read) => read,
        Err(_) => Err(refuse(StatusCode::REQUEST_TIMEOUT, "the body took too long\n")),
    };
    let (review, space) = match read {
        Ok(read) => read,
        Err(refusal) => return refusal,
    };
    let config = admission.readers.config.latest();
    let subject = Subject::of(&review, config.as_ref().as_ref().map(|config| &*config.spec));
    let label = subject.label();
    let answer = match admission.by_namespace.take(&review.namespace, space.num_permits()) {
        Some(_share) => admission.answer(&review, subject, began).await,
        None => ReviewAnswer::Undecided { why: "its namespace has too many large changes at once".into() },
    };
    admission.report(&review, &answer, &label, began.elapsed());
    HttpResponse::Ok()
        .content_type("application/json")
        .body(answer.to_review(&review.uid, admission.policy()).to_string())
}

/// The review in a request's body, with the space that it takes.
async fn read(
    request: &HttpRequest,
    mut body: web::Payload,
    admission: &Admission,
) -> Result<(Review, OwnedSemaphorePermit), HttpResponse> {
    let too_large = || refuse(StatusCode::PAYLOAD_TOO_LARGE, "a review has at most 8 MiB\n");
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok()).unwrap_or(SIZE_LIMIT);
    if length > SIZE_LIMIT {
        return Err(too_large());
    }
    let space = u32::try_from(length / 1024 + 1).unwrap_or(u32::MAX);
    let Ok(space) = admission.bodies.clone().try_acquire_many_owned(space) else {
        return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, "too many reviews at once\n"));
    };
    let mut bytes = web::BytesMut::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|_| refuse(StatusCode::BAD_REQUEST, "the body was cut off\n"))?;
        if bytes.len() + chunk.len() > length {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    let Ok(values) = admission.bodies.clone().try_acquire_many_owned(space_of_values(&bytes)) else {
        return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, "too many values in reviews at once\n"));
    };
    let mut space = space;
    space.merge(values);
    let review = if bytes.len() > LONG {
        let read = cpu("webhook", move || Review::read(&bytes)).await;
        read.map_err(|_| refuse(StatusCode::INTERNAL_SERVER_ERROR, "the review could not be read\n"))?
    } else {
        Review::read(&bytes)
    };
    let review = review.map_err(|malformed| refuse(StatusCode::BAD_REQUEST, &format!("{malformed}\n")))?;
    Ok((review, space))
}

/// Kilobytes that the values in a body take when it is read. What is within texts is none: a tenant's annotation full of commas
/// would take the space of everybody's reviews.
fn space_of_values(body: &[u8]) -> u32 {
    let (mut values, mut in_text, mut is_escaped) = (0_usize, false, false);
    for byte in body {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_text,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => values += 1,
            _ => {}
        }
    }
    u32::try_from(values * VALUE / 1024).unwrap_or(u32::MAX)
}

/// An answer after which the connection ends: what is left of the body is not wanted.
fn refuse(status: StatusCode, why: &str) -> HttpResponse {
    counter!(table::WEBHOOK_REFUSED_TOTAL.name, "status" => status.as_u16().to_string()).increment(1);
    HttpResponse::build(status).force_close().content_type("text/plain").body(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_take_no_space_of_values() {
        let many = ",[{".repeat(100_000);
        let space = |body: String| space_of_values(body.as_bytes());
        assert_eq!(space(format!(r#"{{"a":"{many}","b":"\"{many}","c":"\\"}}"#)), 0);
        assert_eq!(space(format!(r#"["a\"","b\\",{}1]"#, "1,".repeat(8_000))), 1_000);
    }
}
