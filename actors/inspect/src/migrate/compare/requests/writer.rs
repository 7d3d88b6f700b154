//! The requests for one Ingress, host by host.

use super::{
    ComparedRequest, ComparedScheme, IngressRequests, MOST_REQUESTS, NOTHING, RequestPlan, RequestReason,
    SAFE_METHODS,
    ingress::RequestedTls,
    options::AskedOptions,
    spellings::{base, encoded, named, of_query, spellings},
};
use haptic_routes::families::ForeignOptions;
use std::collections::{BTreeSet, HashSet};

/// A request has no more bytes of path and query: no controller takes more.
const LONGEST_TARGET: usize = 8 << 10;
/// The origin of pages that nobody trusts.
const OTHER_ORIGIN: &str = "https://haptic-compare.example";

/// The requests for one Ingress, as far as they are made.
pub(super) struct RequestWriter<'w> {
    plan: &'w RequestPlan,
    tls: &'w [RequestedTls],
    compares: Vec<String>,
    options: AskedOptions<'w>,
    known: HashSet<String>,
    asked: IngressRequests,
}

/// Where a request is sent.
#[derive(Clone, Copy)]
struct RequestPlace<'r> {
    scheme: ComparedScheme,
    host: Option<&'r str>,
    /// Path and query.
    target: &'r str,
}

impl<'w> RequestWriter<'w> {
    pub fn new(plan: &'w RequestPlan, tls: &'w [RequestedTls], options: AskedOptions<'w>) -> Self {
        let (compares, known) = (options.headers_of_answers(), HashSet::new());
        Self { plan, tls, compares, options, known, asked: IngressRequests::default() }
    }

    /// All requests that were written.
    pub fn done(self) -> IngressRequests {
        self.asked
    }

    /// The requests for a host, of which an Ingress has these paths.
    pub fn host(&mut self, host: Option<&str>, paths: &[String], foreign: &ForeignOptions) {
        let (main, other) = self.schemes(host);
        let Some(main) = main else { return };
        let mut seen = HashSet::new();
        for path in paths.iter().map(|path| base(path)).filter(|path| seen.insert(path.clone())) {
            for (why, target) in spellings(&path) {
                self.get(why, RequestPlace { scheme: main, host, target: &target });
            }
            let itself = RequestPlace { scheme: main, host, target: &encoded(&path) };
            if let Some(scheme) = other {
                self.get(RequestReason::Scheme, RequestPlace { scheme, ..itself });
            }
            self.methods(itself);
            self.conditions(itself);
            self.canary(itself);
            self.origins(itself);
            self.credentials(itself);
        }
        for target in ["/", &format!("/{NOTHING}")] {
            self.get(RequestReason::Rest, RequestPlace { scheme: main, host, target });
        }
        let Some(host) = host else { return };
        let first = paths.first().map_or_else(|| "/".to_owned(), |path| encoded(&base(path)));
        for name in self.other_names(host, foreign) {
            for scheme in [main].into_iter().chain(other) {
                self.get(
                    RequestReason::OtherHost,
                    RequestPlace { scheme, host: Some(&name), target: &first },
                );
            }
        }
    }

    fn other_names(&self, host: &str, foreign: &ForeignOptions) -> BTreeSet<String> {
        let www = self.options.has("redirect-www").then(|| match host.strip_prefix("www.") {
            Some(rest) => rest.to_owned(),
            None => format!("www.{host}"),
        });
        let others =
            foreign.ingress.aliases.iter().chain(&foreign.ingress.redirected).map(|name| named(name));
        others.chain(www).collect()
    }

    /// The scheme in which most is asked, and the other one, of those in which both sides can be asked.
    fn schemes(&self, host: Option<&str>) -> (Option<ComparedScheme>, Option<ComparedScheme>) {
        let covers = |name: &String| Some(&*named(name)) == host;
        let has_tls = self.tls.iter().any(|tls| match tls.hosts.as_deref() {
            None | Some([]) => true,
            Some(hosts) => hosts.iter().any(covers),
        });
        let mut both = [ComparedScheme::Http, ComparedScheme::Https];
        if has_tls {
            both.reverse();
        }
        let mut schemes = both.into_iter().filter(|scheme| self.plan.schemes.contains(scheme));
        (schemes.next(), schemes.next())
    }

    fn methods(&mut self, place: RequestPlace<'_>) {
        let more = self.plan.methods.iter().map(String::as_str);
        for method in SAFE_METHODS.into_iter().skip(1).chain(more).collect::<Vec<_>>() {
            self.push(RequestReason::Method, method, place, Vec::new());
        }
    }

    fn conditions(&mut self, place: RequestPlace<'_>) {
        let of = |options: &AskedOptions<'_>, one: &str, other: &str| {
            [options.conditions(one), options.conditions(other)].concat()
        };
        let headers = of(&self.options, "match-headers", "match-headers-regex");
        let query = of(&self.options, "match-query", "match-query-regex");
        let methods = self.options.texts("match-methods");
        if headers.is_empty() && query.is_empty() && methods.is_empty() {
            return;
        }
        let query: Vec<String> =
            query.iter().map(|(name, value)| format!("{}={}", of_query(name), of_query(value))).collect();
        let target = match query.is_empty() {
            true => place.target.to_owned(),
            false => format!("{}?{}", place.target, query.join("&")),
        };
        let place = RequestPlace { target: &target, ..place };
        let may_be_asked =
            |method: &&String| SAFE_METHODS.contains(&&***method) || self.plan.methods.contains(method);
        let mut methods: Vec<String> = methods.iter().filter(may_be_asked).cloned().collect();
        if methods.is_empty() {
            methods.push("GET".to_owned());
        }
        for method in methods {
            self.push(RequestReason::Condition, &method, place, headers.clone());
        }
    }

    fn canary(&mut self, place: RequestPlace<'_>) {
        let mut values = self.options.texts("canary-header-value");
        values.extend(self.options.texts("canary-header-pattern"));
        values.extend(["always", "never"].map(str::to_owned));
        let headers = self.options.texts("canary-header");
        let cookies = self.options.texts("canary-cookie");
        for value in &values {
            for name in &headers {
                let header = vec![(name.clone(), value.clone())];
                self.push(RequestReason::Canary, "GET", place, header);
            }
        }
        for name in cookies {
            for value in ["always", "never"] {
                let header = vec![("cookie".to_owned(), format!("{name}={value}"))];
                self.push(RequestReason::Canary, "GET", place, header);
            }
        }
    }

    fn origins(&mut self, place: RequestPlace<'_>) {
        let allowed = self.options.texts("cors-allow-origin");
        let of_expression = self.options.texts("cors-allow-origin-regex");
        if allowed.is_empty() && of_expression.is_empty() {
            return;
        }
        let named = allowed.into_iter().find(|origin| origin.contains("://") && !origin.contains('*'));
        let origins: BTreeSet<String> =
            named.into_iter().chain(of_expression).chain([OTHER_ORIGIN.to_owned()]).collect();
        for origin in origins {
            let origin = ("origin".to_owned(), origin);
            self.push(RequestReason::Origin, "GET", place, vec![origin.clone()]);
            let asks = ("access-control-request-method".to_owned(), "GET".to_owned());
            self.push(RequestReason::Preflight, "OPTIONS", place, vec![origin, asks]);
        }
    }

    fn credentials(&mut self, place: RequestPlace<'_>) {
        // Who is asked by auth-url may want them as well as a list of users does.
        let is_asked = self.options.has("auth-secret") || self.options.has("auth-url");
        if !is_asked || !place.host.is_some_and(|host| self.plan.credentials.contains(host)) {
            return;
        }
        self.push(RequestReason::Credentials, "GET", place, Vec::new());
    }

    fn get(&mut self, why: RequestReason, place: RequestPlace<'_>) {
        self.push(why, "GET", place, Vec::new());
    }

    fn push(
        &mut self,
        why: RequestReason,
        method: &str,
        place: RequestPlace<'_>,
        headers: Vec<(String, String)>,
    ) {
        let RequestPlace { scheme, host, target } = place;
        let headers: Vec<_> = headers.into_iter().filter(|(name, value)| is_header(name, value)).collect();
        let with_credentials = why == RequestReason::Credentials;
        let key = format!("{scheme:?} {method} {host:?} {target} {headers:?} {with_credentials}");
        if !self.known.insert(key) {
            return;
        }
        if self.asked.requests.len() >= MOST_REQUESTS || target.len() > LONGEST_TARGET {
            self.asked.left_out += 1;
            return;
        }
        self.asked.requests.push(ComparedRequest {
            why,
            scheme,
            method: method.to_owned(),
            host: host.map(str::to_owned),
            target: target.to_owned(),
            headers,
            with_credentials,
            compares: self.compares.clone(),
        });
    }
}

/// Whether it can be sent as a header; names and passwords are never made up.
fn is_header(name: &str, value: &str) -> bool {
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let is_secret = ["authorization", "proxy-authorization", "host", "content-length", "transfer-encoding"];
    is_name
        && !is_secret.iter().any(|secret| name.eq_ignore_ascii_case(secret))
        && value.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}
