//! How often a request is tried again, and after which answers (`HTTPRouteRule.retry`).
//!
//! HAProxy has one set of codes for a backend, so each way of trying again is a profile that backends are made of. It does not wait between attempts.

use super::objects::Retry;

/// Codes after which every HAProxy can try again: 3.0 does not know 421. Configuration manual, 4.2 "retry-on".
const CODES: [u16; 11] = [401, 403, 404, 408, 425, 429, 500, 501, 502, 503, 504];
/// HAProxy's own bound.
const MOST_ATTEMPTS: u32 = 100;

/// A way of trying again. What ends without an answer is tried again, whatever the codes are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RetryProfile {
    pub attempts: u32,
    pub codes: Vec<u16>,
    /// Whether all tries together have a time: nobody tries any more once it is over.
    pub is_timed: bool,
}

impl RetryProfile {
    /// # Errors
    /// Something that HAProxy cannot do.
    pub fn of(retry: &Retry, is_timed: bool) -> Result<Self, String> {
        if retry.backoff.is_some() {
            return Err("retry.backoff is not supported, because HAProxy does not wait between attempts: leave it out".into());
        }
        let mut codes = retry.codes.clone();
        codes.sort_unstable();
        codes.dedup();
        if let Some(code) = codes.iter().find(|code| !CODES.contains(code)) {
            return Err(format!("HAProxy cannot try again after status {code}; it can after {CODES:?}"));
        }
        let attempts = retry.attempts.unwrap_or(1).min(MOST_ATTEMPTS);
        Ok(Self { attempts, codes, is_timed: is_timed && attempts > 0 })
    }

    /// No request is tried again.
    pub fn none() -> Self {
        Self { attempts: 0, codes: Vec::new(), is_timed: false }
    }

    /// Whether HAProxy's defaults are always there.
    pub fn is_none(&self) -> bool {
        *self == Self::none()
    }

    /// The name of HAProxy's defaults.
    pub fn name(&self) -> String {
        let codes: String = self.codes.iter().map(|code| format!("_{code}")).collect();
        let timed = if self.is_timed { "_timed" } else { "" };
        format!("gateway_retry_{}{codes}{timed}", self.attempts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry(attempts: Option<u32>, codes: &[u16], backoff: Option<&str>) -> Result<String, String> {
        let retry = Retry { attempts, codes: codes.to_vec(), backoff: backoff.map(str::to_owned) };
        RetryProfile::of(&retry, false).map(|profile| profile.name())
    }

    #[test]
    fn the_same_way_has_one_name_and_what_haproxy_cannot_do_is_told() {
        assert_eq!(retry(None, &[503, 500, 503], None).unwrap(), "gateway_retry_1_500_503");
        assert_eq!(retry(Some(1000), &[], None).unwrap(), "gateway_retry_100");
        assert_eq!(retry(Some(0), &[], None).unwrap(), RetryProfile::none().name());
        for unknown in [421, 505] {
            assert!(retry(Some(1), &[500, unknown], None).unwrap_err().contains(&unknown.to_string()));
        }
        assert!(retry(Some(1), &[], Some("1s")).unwrap_err().contains("backoff"));
    }
}
