//! What is measured: the sizes, the ways and how much of each, from the command line.

use clap::{Parser, ValueEnum};
use integration_tests::program::HaproxySeries;
use std::time::Duration;

/// Sizes of a whole run, in Ingresses.
const SIZES: [usize; 3] = [100, 1_000, 10_000];
/// Of a soak.
const SOAKED: usize = 1_000;
/// From this size on pods with the Data Plane API are measured in a whole run.
const BEHIND_API: usize = 1_000;
/// From this size on everything is measured as often as it is worth.
const LARGE: usize = 10_000;

/// Measures HAPTIC: its stages one by one, and changes on their whole way to HAProxy's answers.
#[derive(Debug, Parser)]
#[command(name = "bench")]
pub struct Arguments {
    /// Leave out 10,000 Ingresses
    #[arg(long)]
    pub quick: bool,
    /// One way only
    #[arg(long, value_enum)]
    pub only: Option<Way>,
    /// An endpoint change and a new route through a cluster, with what each stage of them took; nothing else is measured
    #[arg(long, conflicts_with = "only")]
    pub trace: bool,
    /// One size only
    #[arg(long, value_name = "N", conflicts_with = "quick")]
    pub ingresses: Option<usize>,
    /// One HAProxy only
    #[arg(long, value_enum)]
    pub haproxy: Option<Series>,
    /// One transport to the pods of a cluster only
    #[arg(long, value_enum)]
    pub transport: Option<Transport>,
    /// Endpoint changes, each on its own [default: 1000 with 10,000 Ingresses, else 200]
    #[arg(long, value_name = "N")]
    pub changes: Option<usize>,
    /// New routes, each on its own, and as many deleted ones [default: 200 with 10,000 Ingresses, else 50]
    #[arg(long, value_name = "N")]
    pub routes: Option<usize>,
    /// Certificates that are rotated, each on its own
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub certificates: usize,
    /// How long the storm lasts, in which endpoints change 50 times a second
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    pub storm: u64,
    /// How long `--only soak` lasts: half of it a storm, half of it load
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub minutes: u64,
    /// How long the load lasts, under which endpoints and routes change
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub load: u64,
}

/// A way to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// Each stage alone, in this process
    Stages,
    /// Through `haptic local` and a folder of manifests
    Local,
    /// Through an API server, `haptic run` and `haptic agent` or a Data Plane API
    Cluster,
    /// The same while wrk asks as fast as it is answered: no request may fail
    Load,
    /// What each option costs HAProxy for a request; no part of a whole run
    Options,
    /// How many reloads options take that docs mark as without one; no part of a whole run
    OptionReloads,
    /// The controller's memory for Ingresses with ten options each; no part of a whole run
    OptionMemory,
    /// HTTPRoutes at ten Gateways: changes, their statuses, memory beside as many Ingresses; no part of a whole run
    Gateway,
    /// The worst object of each kind beside as many innocent ones as the largest size has
    Hostile,
    /// Storm and load for long, with 1,000 Ingresses; no part of a whole run
    Soak,
}

/// A HAProxy, as the command line calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Series {
    /// HAProxy 3.0
    #[value(name = "3.0")]
    V3_0,
    /// HAProxy 3.2
    #[value(name = "3.2")]
    V3_2,
    /// HAProxy 3.4
    #[value(name = "3.4")]
    V3_4,
}

/// What stands between a controller and HAProxy in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// Our own agent
    Agent,
    /// A Data Plane API: a double that drives a real HAProxy, or HAPTIC_TEST_DATAPLANEAPI
    #[value(name = "dataplaneapi")]
    DataPlaneApi,
}

/// How much is measured at one size.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Endpoint changes.
    pub changes: usize,
    /// New routes, and deleted ones.
    pub routes: usize,
    /// Rotated certificates.
    pub certificates: usize,
    /// The storm's length.
    pub storm: Duration,
    /// The load's length.
    pub load: Duration,
}

impl Arguments {
    /// The sizes to measure, small ones first.
    pub fn sizes(&self) -> Vec<usize> {
        match self.ingresses {
            Some(size) => vec![size.max(1)],
            None if self.only == Some(Way::Soak) => vec![SOAKED],
            None => SIZES.into_iter().filter(|size| !self.quick || *size < LARGE).collect(),
        }
    }

    /// Whether this way is measured.
    pub fn includes(&self, way: Way) -> bool {
        let is_of_whole_run =
            matches!(way, Way::Stages | Way::Local | Way::Cluster | Way::Load | Way::Hostile);
        !self.trace && self.only.map_or(is_of_whole_run, |only| only == way)
    }

    /// The HAProxys to measure with, the one that needs no reloads first.
    pub fn series(&self) -> Vec<Series> {
        let all = [Series::V3_4, Series::V3_2, Series::V3_0];
        all.into_iter().filter(|series| self.haproxy.is_none_or(|only| only == *series)).collect()
    }

    /// The HAProxys to measure with behind a Data Plane API, and `ingresses` Ingresses: those for which it was made, unless
    /// asked for.
    pub fn series_behind_api(&self, ingresses: usize) -> Vec<Series> {
        let is_asked = self.transport == Some(Transport::DataPlaneApi);
        let is_meant = self.transport.is_none() && ingresses >= BEHIND_API;
        match self.haproxy {
            _ if !is_asked && !is_meant => Vec::new(),
            Some(series) => vec![series],
            None => vec![Series::V3_4],
        }
    }

    /// The HAProxys to measure with beside an agent.
    pub fn series_beside_agent(&self) -> Vec<Series> {
        if self.transport == Some(Transport::DataPlaneApi) { Vec::new() } else { self.series() }
    }

    /// How long the storm and then the load of a soak last, if there is one.
    pub fn soak(&self) -> Option<Duration> {
        self.includes(Way::Soak).then(|| Duration::from_secs(self.minutes * 30))
    }

    /// How much to measure with `ingresses` Ingresses.
    pub fn counts(&self, ingresses: usize) -> Counts {
        let large = ingresses >= LARGE;
        Counts {
            changes: self.changes.unwrap_or(if large { 1_000 } else { 200 }),
            routes: self.routes.unwrap_or(if large { 200 } else { 50 }),
            certificates: self.certificates.min(ingresses),
            storm: Duration::from_secs(self.storm),
            load: Duration::from_secs(self.load),
        }
    }
}

impl Series {
    /// As the figures are named.
    pub fn name(self) -> &'static str {
        match self {
            Self::V3_0 => "haproxy_3.0",
            Self::V3_2 => "haproxy_3.2",
            Self::V3_4 => "haproxy_3.4",
        }
    }

    /// As templates see it.
    pub fn number(self) -> &'static str {
        match self {
            Self::V3_0 => "3.0",
            Self::V3_2 => "3.2",
            Self::V3_4 => "3.4",
        }
    }

    /// The HAProxy itself.
    pub fn haproxy(self) -> HaproxySeries {
        match self {
            Self::V3_0 => HaproxySeries::V3_0,
            Self::V3_2 => HaproxySeries::V3_2,
            Self::V3_4 => HaproxySeries::V3_4,
        }
    }

    /// Whether backends come and go without a reload.
    pub fn adds_backends(self) -> bool {
        self == Self::V3_4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Arguments {
        Arguments::try_parse_from([&["bench"], words].concat()).unwrap()
    }

    #[test]
    fn everything_is_measured_unless_asked_for_less() {
        assert_eq!(arguments(&[]).sizes(), [100, 1_000, 10_000]);
        assert_eq!(arguments(&["--quick"]).sizes(), [100, 1_000]);
        assert_eq!(arguments(&["--ingresses", "7"]).sizes(), [7]);
        let only = arguments(&["--only", "local"]);
        assert!(only.includes(Way::Local) && !only.includes(Way::Stages) && !only.includes(Way::Cluster));
        assert_eq!(arguments(&[]).series().len(), 3);
        assert_eq!((arguments(&[]).soak(), arguments(&["--only", "soak"]).sizes()), (None, vec![1_000]));
        assert_eq!(arguments(&["--haproxy", "3.0"]).series(), [Series::V3_0]);
    }

    #[test]
    fn a_trace_is_all_that_is_measured() {
        assert!(!Way::value_variants().iter().any(|way| arguments(&["--trace"]).includes(*way)));
        assert!(arguments(&["--only", "option-reloads"]).includes(Way::OptionReloads));
        assert!(!arguments(&[]).includes(Way::Gateway) && !arguments(&[]).trace);
        assert!(Arguments::try_parse_from(["bench", "--trace", "--only", "gateway"]).is_err());
    }

    #[test]
    fn both_transports_are_measured_unless_one_is_asked_for() {
        let behind_api = |words: &[&str], size| arguments(words).series_behind_api(size);
        assert_eq!((behind_api(&[], 1_000), behind_api(&[], 100)), (vec![Series::V3_4], Vec::new()));
        assert_eq!(behind_api(&["--transport", "dataplaneapi", "--haproxy", "3.0"], 7), [Series::V3_0]);
        assert_eq!(behind_api(&["--transport", "agent"], 1_000), []);
        assert_eq!(arguments(&["--transport", "dataplaneapi"]).series_beside_agent(), []);
        assert_eq!(arguments(&["--transport", "agent"]).series_beside_agent().len(), 3);
    }

    #[test]
    fn a_large_site_is_measured_more_often_than_a_small_one() {
        let (large, small) = (arguments(&[]).counts(10_000), arguments(&[]).counts(100));
        assert_eq!((large.changes, large.routes, large.certificates), (1_000, 200, 20));
        assert!(small.changes < large.changes && small.routes < large.routes);
        assert_eq!(arguments(&["--changes", "3"]).counts(10_000).changes, 3);
    }
}
