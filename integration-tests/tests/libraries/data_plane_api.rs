//! HAProxy's Data Plane API reads what the libraries print and writes it anew. All that is rendered in these tests is asked here
//! what would come back of it, by the rules of the API's double; and HAProxy 3.2 runs what came back, so that requests show it.

use haptic_haproxy::{
    Document, Section,
    data_plane_api::{loss, refusals},
};
use haptic_model::{Bundle, BundleFile, FileKey};
use haptic_text::Text;
use integration_tests::{data_plane_api::canonical, program::HaproxySeries};
use std::collections::BTreeMap;

/// The API's versions, each of which reads and writes in its own way.
const MINORS: [u16; 3] = [0, 2, 4];

/// Fails unless the API damages nothing of `bundle`, and gives each of its lines back in its own words.
pub fn keeps(bundle: &Bundle) {
    let text = bundle.config.text.to_string();
    let sent = Document::parse(&text);
    assert_eq!(refusals(&sent), [], "the Data Plane API would damage this:\n{text}");
    for minor in MINORS {
        let (written, _) = canonical::write(&text, 1, minor);
        let returned = Document::parse(&written);
        assert_eq!(loss(&sent, &returned), None, "3.{minor}");
        let (lines, others) = (lines(&sent), lines(&returned));
        assert_eq!(lines.keys().collect::<Vec<_>>(), others.keys().collect::<Vec<_>>(), "3.{minor}");
        for (section, lines) in lines {
            assert_eq!(lines, others[&section], "3.{minor} words lines of {section} in another way");
        }
    }
}

/// What HAProxy `series` is started with in these tests.
pub fn run_by(series: HaproxySeries, config: &str) -> String {
    match series {
        HaproxySeries::V3_2 => canonical::write(config, 1, 2).0,
        HaproxySeries::V3_0 | HaproxySeries::V3_4 => config.to_owned(),
    }
}

/// Each section's lines by their keyword, in their order.
fn lines<'d>(document: &'d Document<'_>) -> BTreeMap<String, BTreeMap<&'d str, Vec<Vec<&'d str>>>> {
    let is_real = |section: &&Section<'_>| section.header.is_some();
    let by_keyword = |section: &'d Section<'_>| {
        let mut lines: BTreeMap<&str, Vec<Vec<&str>>> = BTreeMap::new();
        for line in section.lines.iter().filter(|line| !line.words.is_empty()) {
            lines.entry(line.keyword()).or_default().push(line.words.iter().map(|word| word.raw).collect());
        }
        (section.title(), lines)
    };
    document.sections.iter().filter(is_real).map(by_keyword).collect()
}

#[test]
#[should_panic(expected = "words lines of frontend f in another way")]
fn what_the_api_words_in_another_way_is_found() {
    let config = "defaults d\n  mode http\nfrontend f from d\n  bind :80\n  http-request deny status 403\n";
    keeps(&Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(config)), []));
}
