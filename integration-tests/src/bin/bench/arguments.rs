//! What is measured: the sizes and the ways, from the command line.

use clap::{Parser, ValueEnum};

/// Sizes of a whole run, in Ingresses.
const SIZES: [usize; 3] = [100, 1_000, 10_000];

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
    /// One size only
    #[arg(long, value_name = "N", conflicts_with = "quick")]
    pub ingresses: Option<usize>,
    /// Endpoint changes, each on its own
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub changes: usize,
    /// New routes, each on its own
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub routes: usize,
}

/// A way to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// Each stage alone, in this process
    Stages,
    /// Through `haptic local` and a folder of manifests
    Local,
    /// Through an API server, `haptic run` and `haptic agent`
    Cluster,
}

impl Arguments {
    /// The sizes to measure, small ones first.
    pub fn sizes(&self) -> Vec<usize> {
        match self.ingresses {
            Some(size) => vec![size.max(1)],
            None => SIZES.into_iter().filter(|size| !self.quick || *size < 10_000).collect(),
        }
    }

    /// Whether this way is measured.
    pub fn includes(&self, way: Way) -> bool {
        self.only.is_none_or(|only| only == way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(words: &[&str]) -> Vec<usize> {
        Arguments::try_parse_from([&["bench"], words].concat()).unwrap().sizes()
    }

    #[test]
    fn everything_is_measured_unless_asked_for_less() {
        assert_eq!(sizes(&[]), [100, 1_000, 10_000]);
        assert_eq!(sizes(&["--quick"]), [100, 1_000]);
        assert_eq!(sizes(&["--ingresses", "7"]), [7]);
        let only = Arguments::try_parse_from(["bench", "--only", "local"]).unwrap();
        assert!(only.includes(Way::Local) && !only.includes(Way::Stages) && !only.includes(Way::Cluster));
    }
}
