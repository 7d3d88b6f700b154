//! The JSON of an object as a store holds it: packed, because most of what Kubernetes writes is the same in all objects.

use lz4_flex::block::{compress_prepend_size_with_dict, decompress_size_prepended_with_dict};
use serde_json::Value;
use std::{borrow::Cow, fmt, sync::Arc};

/// What objects have in common: one of each kind as the API server writes them, and one set of routes. Packed objects refer to these
/// bytes, in memory only.
const TYPICAL: &[u8] = include_bytes!("typical_objects.json");

/// The bytes that say how long the packed text is when it is not.
const LENGTH: usize = size_of::<u32>();

/// Compact JSON. Ten thousand Ingresses with their Services and endpoints take 7 MB in place of 25; to unpack one takes a tenth of a
/// microsecond, a thirtieth of what parsing it does.
#[derive(Clone)]
pub struct ObjectJson(JsonBytes);

#[derive(Clone)]
enum JsonBytes {
    Whole(Arc<[u8]>),
    /// LZ4, with the length before it and [`TYPICAL`] as what came before.
    Packed(Box<[u8]>),
}

impl ObjectJson {
    /// `json`, packed if that saves a quarter of it.
    #[must_use]
    pub fn packed(json: Vec<u8>) -> Self {
        let is_representable = u32::try_from(json.len()).is_ok();
        let packed = is_representable.then(|| compress_prepend_size_with_dict(&json, TYPICAL));
        Self(match packed {
            Some(packed) if packed.len() <= json.len() / 4 * 3 => JsonBytes::Packed(packed.into()),
            _ => JsonBytes::Whole(json.into()),
        })
    }

    /// The bytes of JSON, which may be unpacked for that: whoever asks several times keeps the answer.
    #[must_use]
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match &self.0 {
            JsonBytes::Whole(json) => Cow::Borrowed(json),
            // It was packed by this process, with this dictionary: nothing can be wrong with it.
            JsonBytes::Packed(packed) => {
                Cow::Owned(decompress_size_prepended_with_dict(packed, TYPICAL).unwrap_or_default())
            }
        }
    }

    /// How many bytes of JSON there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            JsonBytes::Whole(json) => json.len(),
            JsonBytes::Packed(packed) => packed
                .first_chunk::<LENGTH>()
                .and_then(|length| usize::try_from(u32::from_le_bytes(*length)).ok())
                .unwrap_or_default(),
        }
    }

    /// Whether there is no JSON, as of an object of which only a reference is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes of memory hold it.
    #[cfg(test)]
    fn held(&self) -> usize {
        match &self.0 {
            JsonBytes::Whole(json) => json.len(),
            JsonBytes::Packed(packed) => packed.len(),
        }
    }
}

impl Default for ObjectJson {
    fn default() -> Self {
        Self(JsonBytes::Whole(Arc::default()))
    }
}

impl From<Arc<[u8]>> for ObjectJson {
    fn from(json: Arc<[u8]>) -> Self {
        Self(JsonBytes::Whole(json))
    }
}

impl From<Vec<u8>> for ObjectJson {
    fn from(json: Vec<u8>) -> Self {
        Self(JsonBytes::Whole(json.into()))
    }
}

impl From<&Value> for ObjectJson {
    fn from(json: &Value) -> Self {
        json.to_string().into_bytes().into()
    }
}

impl From<&[u8]> for ObjectJson {
    fn from(json: &[u8]) -> Self {
        Self(JsonBytes::Whole(json.into()))
    }
}

impl PartialEq for ObjectJson {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && match (&self.0, &other.0) {
                // The same text is packed in the same way.
                (JsonBytes::Packed(one), JsonBytes::Packed(other)) => one == other,
                _ => self.bytes() == other.bytes(),
            }
    }
}

impl Eq for ObjectJson {}

/// What it says may be a Secret.
impl fmt::Debug for ObjectJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of JSON", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_kubernetes_writes_takes_less_than_half() {
        let ingress = br#"{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"creationTimestamp":"2026-02-03T04:05:06Z","generation":2,"name":"shop","namespace":"team-a","uid":"0d9a1f5e-3b52-4c0e-9d4e-2f7a8f1c6b3a"},"spec":{"ingressClassName":"public","rules":[{"host":"shop.example.org","http":{"paths":[{"backend":{"service":{"name":"shop","port":{"name":"web"}}},"path":"/cart","pathType":"Prefix"}]}}]},"status":{"loadBalancer":{}}}"#;
        let packed = ObjectJson::packed(ingress.to_vec());
        assert!(packed.held() * 2 < packed.len(), "{} of {}", packed.held(), packed.len());
    }

    #[test]
    fn what_is_not_repeated_stays_as_it_is() {
        let unlike: Vec<u8> = (0..=u8::MAX).collect();
        let kept = ObjectJson::packed(unlike.clone());
        assert!(matches!(kept.bytes(), Cow::Borrowed(bytes) if bytes == unlike));
        assert_eq!((kept.len(), kept.held()), (256, 256));
    }

    proptest! {
        #[test]
        fn what_was_packed_is_there_again(
            text in prop_oneof![".*", "(\\{\"name\":\"[a-z]{1,9}\",\"namespace\":\"[ab]{1,4}\"\\}){0,40}"],
            begin in 0..TYPICAL.len(),
        ) {
            for json in [text.clone().into_bytes(), [text.as_bytes(), TYPICAL.get(begin..).unwrap_or_default()].concat()] {
                let packed = ObjectJson::packed(json.clone());
                prop_assert_eq!(&*packed.bytes(), &*json);
                prop_assert_eq!((packed.len(), packed.is_empty()), (json.len(), json.is_empty()));
                prop_assert!(packed.held() <= json.len());
                prop_assert_eq!(&packed, &ObjectJson::from(json));
            }
        }
    }
}
