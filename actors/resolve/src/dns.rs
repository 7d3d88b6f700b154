//! Asks name servers: those of this machine's or pod's `/etc/resolv.conf`, after its `/etc/hosts`.
//!
//! A name with a dot is asked for as it stands first, whatever `ndots` says, and with the search list only if it does not
//! exist so: with a pod's `ndots:5` whoever has a namespace `com` with a Service `example` would answer for
//! `api.example.com`. When nobody answers, nothing else is asked.

use crate::table::LookupResponse;
use hickory_resolver::{
    TokioResolver,
    config::{ResolveHosts, ResolverConfig, ResolverOpts},
    net::{NetError, runtime::TokioRuntimeProvider},
    proto::rr::{Name, RData, RecordType},
    system_conf::read_system_conf,
};
use std::{net::IpAddr, time::Duration};

/// A question, with all that it takes to answer it, is given up after this time.
const TIMEOUT: Duration = Duration::from_secs(5);
/// A name server is waited for so long, twice.
const ONE_SERVER: Duration = Duration::from_secs(2);

/// Name servers, and what they are asked besides the name itself.
#[derive(Clone)]
pub struct Dns {
    resolver: TokioResolver,
    search: Vec<Name>,
}

impl Dns {
    /// Those of this machine.
    ///
    /// # Errors
    /// Why there are none.
    pub fn of_system() -> Result<Self, String> {
        let (config, mut options) = read_system_conf().map_err(|why| format!("/etc/resolv.conf: {why}"))?;
        options.use_hosts_file = ResolveHosts::Always;
        Self::new(config, options).map_err(|why| format!("/etc/resolv.conf: {why}"))
    }

    /// Those of `config`.
    ///
    /// # Errors
    /// Why they cannot be asked.
    pub fn new(config: ResolverConfig, mut options: ResolverOpts) -> Result<Self, NetError> {
        // Times to live are the table's affair.
        options.cache_size = 0;
        options.timeout = options.timeout.min(ONE_SERVER);
        options.max_active_requests = crate::table::AT_ONCE * 2;
        let search = config.search().to_vec();
        let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        *builder.options_mut() = options;
        Ok(Self { resolver: builder.build()?, search })
    }

    /// The addresses of `name`: of IPv4, or where there are none of IPv6.
    pub async fn ask(&self, name: &str) -> LookupResponse {
        tokio::time::timeout(TIMEOUT, self.ask_patiently(name))
            .await
            .unwrap_or_else(|_| LookupResponse::Failure("no name server answered in time".to_owned()))
    }

    async fn ask_patiently(&self, name: &str) -> LookupResponse {
        for candidate in candidates(name, &self.search) {
            for kind in [RecordType::A, RecordType::AAAA] {
                match self.ask_for(candidate.clone(), kind).await {
                    LookupResponse::Nothing => {}
                    response => return response,
                }
            }
        }
        LookupResponse::Nothing
    }

    async fn ask_for(&self, name: Name, kind: RecordType) -> LookupResponse {
        let lookup = match self.resolver.lookup(name, kind).await {
            Ok(lookup) => lookup,
            Err(why) if why.is_no_records_found() => return LookupResponse::Nothing,
            Err(why) => return LookupResponse::Failure(format!("the name servers cannot tell: {why}")),
        };
        let answers = lookup.answers();
        let addresses: Vec<IpAddr> = answers.iter().filter_map(|record| address(&record.data)).collect();
        if addresses.is_empty() {
            return LookupResponse::Nothing;
        }
        // An alias is good for as long as itself.
        let seconds = answers.iter().map(|record| record.ttl).min().unwrap_or_default();
        LookupResponse::Addresses(addresses, Duration::from_secs(seconds.into()))
    }
}

fn address(data: &RData) -> Option<IpAddr> {
    match data {
        RData::A(address) => Some(address.0.into()),
        RData::AAAA(address) => Some(address.0.into()),
        _ => None,
    }
}

/// What is asked for in turn until something is found. `name` ends without a dot.
fn candidates(name: &str, search: &[Name]) -> Vec<Name> {
    let Ok(mut own) = Name::from_ascii(name) else { return Vec::new() };
    let searched = search.iter().filter_map(|domain| own.clone().append_domain(domain).ok());
    let mut searched: Vec<Name> = searched.collect();
    searched.iter_mut().for_each(|name| name.set_fqdn(true));
    own.set_fqdn(true);
    // A name without a dot is one of a search list first, as everywhere.
    let at = if name.contains('.') { 0 } else { searched.len() };
    searched.insert(at, own);
    searched
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_dot_is_asked_for_as_it_stands_first() {
        let search: Vec<Name> =
            ["edge.svc.cluster.local", "svc.cluster.local"].map(|d| Name::from_ascii(d).unwrap()).into();
        let asked = |name: &str| -> Vec<String> {
            candidates(name, &search).iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            asked("db.other"),
            ["db.other.", "db.other.edge.svc.cluster.local.", "db.other.svc.cluster.local."]
        );
        assert_eq!(asked("db"), ["db.edge.svc.cluster.local.", "db.svc.cluster.local.", "db."]);
        let long = ["a"; 125].join(".");
        assert_eq!(asked(&long), [format!("{long}.")], "longer names there are not");
    }
}
