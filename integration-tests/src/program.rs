//! Where the programs are that a journey starts.

use crate::failure::{Failure, Outcome};
use std::path::PathBuf;

/// A series of HAProxy versions that is tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HaproxySeries {
    /// 3.0
    V3_0,
    /// 3.2
    V3_2,
    /// 3.4, what a journey uses when nothing else is said.
    #[default]
    V3_4,
}

/// The HAProxy of `series`.
pub fn haproxy(series: HaproxySeries) -> Outcome<PathBuf> {
    from_environment(match series {
        HaproxySeries::V3_0 => "HAPTIC_HAPROXY_3_0",
        HaproxySeries::V3_2 => "HAPTIC_HAPROXY_3_2",
        HaproxySeries::V3_4 => "HAPTIC_HAPROXY_3_4",
    })
}

/// etcd.
pub fn etcd() -> Outcome<PathBuf> {
    from_environment("HAPTIC_ETCD")
}

/// kube-apiserver.
pub fn kube_apiserver() -> Outcome<PathBuf> {
    from_environment("HAPTIC_KUBE_APISERVER")
}

/// wrk, the load generator.
pub fn wrk() -> Outcome<PathBuf> {
    from_environment("HAPTIC_WRK")
}

/// A version of helm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Helm {
    /// 3, which merges an upgrade with what is there.
    #[default]
    V3,
    /// 4, which applies it at the server: a field that somebody else wrote is a conflict.
    V4,
}

/// helm of `version`.
pub fn helm(version: Helm) -> Outcome<PathBuf> {
    from_environment(match version {
        Helm::V3 => "HAPTIC_HELM",
        Helm::V4 => "HAPTIC_HELM_4",
    })
}

/// kubectl.
pub fn kubectl() -> Outcome<PathBuf> {
    from_environment("HAPTIC_KUBECTL")
}

/// The folder with definitions of other projects' resources.
pub fn definitions() -> Outcome<PathBuf> {
    from_environment("HAPTIC_DEFINITIONS")
}

/// The folder with the files of the container image, without `haptic`.
pub fn image() -> Outcome<PathBuf> {
    from_environment("HAPTIC_IMAGE")
}

/// The program under test: `HAPTIC_BIN`, else the one cargo built beside this test program.
pub fn haptic() -> Outcome<PathBuf> {
    let path = match std::env::var_os("HAPTIC_BIN") {
        Some(path) => PathBuf::from(path),
        None => {
            // Tests are in `deps`, one folder below the programs; the benchmark is beside them.
            let this = std::env::current_exe()?;
            let mut beside = this.ancestors().skip(1).take(2).map(|folder| folder.join("haptic"));
            beside.find(|file| file.is_file()).unwrap_or_else(|| this.with_file_name("haptic"))
        }
    };
    if path.is_file() {
        return Ok(path);
    }
    Err(Failure::new(format!(
        "there is no {}: run the journeys through `make journeys`, which builds it",
        path.display()
    )))
}

/// A `haptic` of an earlier revision, whose exchanges and files the program under test still reads and writes.
pub fn earlier_haptic() -> Outcome<PathBuf> {
    from_environment(EARLIER)
}

/// Names the earlier `haptic`.
pub const EARLIER: &str = "HAPTIC_TEST_OLD";

/// The Data Plane API: `HAPTIC_TEST_DATAPLANEAPI`, else its double, which cargo builds beside `haptic`.
pub fn data_plane_api() -> Outcome<PathBuf> {
    let path = match std::env::var_os("HAPTIC_TEST_DATAPLANEAPI").filter(|path| !path.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => haptic()?.with_file_name("data-plane-api-double"),
    };
    if path.is_file() {
        return Ok(path);
    }
    Err(Failure::new(format!(
        "there is no {}: run the journeys through `make journeys`, which builds it",
        path.display()
    )))
}

fn from_environment(variable: &str) -> Outcome<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).ok_or_else(|| {
        Failure::new(format!(
            "{variable} is not set: run the tests through `make test` (journeys alone: `make journeys`), which sets it"
        ))
    })
}
