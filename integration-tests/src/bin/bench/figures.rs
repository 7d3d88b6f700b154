//! The figures: one flat object of names and numbers, and the table that a person reads.

use integration_tests::Outcome;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::Path,
};

/// Figures by name: `ingresses_10000/haproxy_3.4/endpoint_change/p99_ms`.
#[derive(Debug, Default)]
pub struct Figures(BTreeMap<String, f64>);

/// The figures of one size, or of one way at one size.
pub struct Scope<'f> {
    figures: &'f mut Figures,
    prefix: String,
}

/// Most that a figure may be, by the end of its name: of a small site, and of others.
const TARGETS: [(&str, f64, f64); 46] = [
    ("dataplaneapi/haproxy_3.4/endpoint_change/p99_ms", 200.0, 400.0),
    ("dataplaneapi/haproxy_3.4/endpoint_change/reloads", 0.0, 0.0),
    ("dataplaneapi/haproxy_3.4/storm/reloads", 0.0, 0.0),
    ("dataplaneapi/haproxy_3.4/new_route/reloads_too_many", 0.0, 0.0),
    ("webhook/p99_ms", 200.0, 200.0),
    ("webhook/attacked/p99_ms", 1000.0, 1000.0),
    ("languages/jinja2_ratio", 1.2, 1.2),
    ("languages/jinja2/change_ms", 3.0, 3.0),
    ("languages/jinja2_kept_ratio", 1.1, 1.1),
    ("annotations/ingress-nginx/ratio", 1.3, 1.3),
    ("annotations/ingress-nginx/change_ms", 3.0, 3.0),
    ("annotations/ingress-nginx/check_s", 10.0, 10.0),
    ("annotations/haproxy-org/ratio", 1.3, 1.3),
    ("annotations/haproxy-org/change_ms", 3.0, 3.0),
    ("annotations/haproxy-org/check_s", 10.0, 10.0),
    ("annotations/haproxy-ingress/ratio", 1.3, 1.3),
    ("annotations/haproxy-ingress/change_ms", 3.0, 3.0),
    ("annotations/haproxy-ingress/check_s", 10.0, 10.0),
    ("gateway/endpoint_change/p99_ms", 15.0, 25.0),
    ("gateway/endpoint_change/reloads", 0.0, 0.0),
    ("gateway/new_route/p99_ms", 35.0, 35.0),
    ("gateway/new_route/reloads", 0.0, 0.0),
    ("gateway/status_after_new_route/p99_ms", 500.0, 500.0),
    ("gateway/resident_to_ingresses_ratio", 1.2, 1.2),
    ("gateway/attached/ratio", 1.5, 1.5),
    ("gateway/attached_by_gateway/ratio", 1.5, 1.5),
    ("option_memory/ratio", 1.3, 1.3),
    ("option_reloads/reloads", 0.0, 0.0),
    ("render_ms", 250.0, 250.0),
    ("render_after_change_ms", 10.0, 10.0),
    ("resident_mb", 150.0, 150.0),
    ("agent_resident_mb", 20.0, 20.0),
    ("haproxy_3.4/endpoint_change/p99_ms", 30.0, 60.0),
    ("haproxy_3.4/new_route/p99_ms", 40.0, 100.0),
    ("haproxy_3.4/storm/p99_ms", 200.0, 200.0),
    ("haproxy_3.4/reloads", 0.0, 0.0),
    ("haproxy_3.4/worker_changes", 0.0, 0.0),
    ("haproxy_3.2/endpoint_change/reloads", 0.0, 0.0),
    ("haproxy_3.0/endpoint_change/reloads", 0.0, 0.0),
    ("haproxy_3.2/new_route/reloads_too_many", 0.0, 0.0),
    ("haproxy_3.0/new_route/reloads_too_many", 0.0, 0.0),
    ("haproxy_3.4/failed_requests", 0.0, 0.0),
    (RATIO, 1.2, 1.2),
    ("others_live_ms", 2000.0, 2000.0),
    ("memory_ratio", 1.5, 1.5),
    ("promises_broken", 0.0, 0.0),
];
/// By how much changes are slower among hostile Ingresses: the same wherever it is measured.
const RATIO: &str = "hostile_ratio";
/// Other targets are those of a cluster with agents.
const APART: [&str; 2] = ["local/", API];
const API: &str = "dataplaneapi/";
/// Up to this many Ingresses a site is small, and behind a Data Plane API, which checks and writes all of it for each change.
const SMALL: usize = 100;
const SMALL_BEHIND_API: usize = 1_000;

impl Figures {
    /// Where the figures for `ingresses` Ingresses go.
    pub fn of_size(&mut self, ingresses: usize) -> Scope<'_> {
        Scope { figures: self, prefix: format!("ingresses_{ingresses}/") }
    }

    /// Where the figures of something go that is measured at one size only.
    pub fn of(&mut self, name: &str) -> Scope<'_> {
        Scope { figures: self, prefix: format!("{name}/") }
    }

    /// Writes them as one flat JSON object.
    pub fn write(&self, file: &Path) -> Outcome {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        let text = serde_json::to_string_pretty(&self.0)?;
        Ok(fs::write(file, text + "\n")?)
    }

    /// One row a figure, one column a size, with its target where it has one; then the figures without a size; at last
    /// where the time of changes went.
    pub fn table(&self) -> String {
        let (sizes, rows) = self.rows();
        let name_width = rows.keys().map(String::len).max().unwrap_or_default();
        let mut table = format!("{:name_width$}", "ingresses");
        for size in &sizes {
            write_to(&mut table, format_args!(" {:>12}", grouped(*size)));
        }
        table.push_str("   target\n");
        for (name, values) in rows.iter().filter(|(name, _)| part(name).is_none()) {
            write_to(&mut table, format_args!("{name:name_width$}"));
            for size in &sizes {
                let value = values.get(size).map_or_else(|| "-".to_owned(), |value| shown(*value));
                write_to(&mut table, format_args!(" {value:>12}"));
            }
            table.push_str(&target_column(name, values));
            table.push('\n');
        }
        let sizeless = |name: &str| of_a_size(name).is_none() && part(name).is_none();
        for (name, value) in self.0.iter().filter(|(name, _)| sizeless(name)) {
            let target = target_column(name, &BTreeMap::from([(usize::MAX, *value)]));
            write_to(&mut table, format_args!("{name:name_width$} {:>12}{target}\n", shown(*value)));
        }
        table + &self.parts()
    }

    /// One row a kind of change, one column a stage: what each took on the average.
    fn parts(&self) -> String {
        let mut rows: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
        for (name, value) in &self.0 {
            if let Some((change, part)) = part(name) {
                rows.entry(change).or_default().insert(part, *value);
            }
        }
        let columns: BTreeSet<&str> = rows.values().flat_map(BTreeMap::keys).copied().collect();
        let width = rows.keys().map(|name| name.len()).max().unwrap_or_default();
        let mut table = format!("\n{:width$}", "mean, ms");
        columns.iter().for_each(|column| write_to(&mut table, format_args!(" {column:>17}")));
        for (change, values) in &rows {
            write_to(&mut table, format_args!("\n{change:width$}"));
            for column in &columns {
                let value = values.get(column).map_or_else(|| "-".to_owned(), |value| shown(*value));
                write_to(&mut table, format_args!(" {value:>17}"));
            }
        }
        if rows.is_empty() { String::new() } else { table + "\n" }
    }

    /// All sizes, and each figure's value by size.
    fn rows(&self) -> (Vec<usize>, BTreeMap<String, BTreeMap<usize, f64>>) {
        let mut rows: BTreeMap<String, BTreeMap<usize, f64>> = BTreeMap::new();
        for (name, value) in &self.0 {
            if let Some((size, rest)) = of_a_size(name) {
                rows.entry(rest.to_owned()).or_default().insert(size, *value);
            }
        }
        let mut sizes: Vec<usize> = rows.values().flat_map(BTreeMap::keys).copied().collect();
        sizes.sort_unstable();
        sizes.dedup();
        (sizes, rows)
    }
}

/// The kind of change and the stage that a figure is the mean of.
fn part(name: &str) -> Option<(&str, &str)> {
    let (change, figure) = name.rsplit_once('/')?;
    Some((change, figure.strip_prefix("mean_")?.strip_suffix("_ms")?))
}

/// The size and the rest of a figure's name.
fn of_a_size(name: &str) -> Option<(usize, &str)> {
    let (size, rest) = name.strip_prefix("ingresses_")?.split_once('/')?;
    Some((size.parse().ok()?, rest))
}

impl Scope<'_> {
    /// Adds a whole number.
    pub fn count(&mut self, name: &str, value: u64) {
        self.add(name, value.to_string().parse().unwrap_or(f64::MAX));
    }

    /// Adds one figure, kept to three decimals.
    pub fn add(&mut self, name: &str, value: f64) {
        self.figures.0.insert(format!("{}{name}", self.prefix), (value * 1e3).round() / 1e3);
    }

    /// The same with `part` in front of every name.
    pub fn within(&mut self, part: &str) -> Scope<'_> {
        Scope { prefix: format!("{}{part}/", self.prefix), figures: self.figures }
    }
}

/// The target, or the two of small and other sizes, and whether every size meets its own.
fn target_column(name: &str, values: &BTreeMap<usize, f64>) -> String {
    let is_apart = APART.iter().any(|apart| name.starts_with(apart));
    let is_meant = |end: &str| end == RATIO || end.starts_with(API) || !is_apart;
    let whole = |end: &str| name == end || name.ends_with(&format!("/{end}")) && is_meant(end);
    let Some((_, small, other)) = TARGETS.iter().find(|(end, ..)| whole(end)) else { return String::new() };
    let most_of_small = if name.starts_with(API) { SMALL_BEHIND_API } else { SMALL };
    let missed =
        values.iter().any(|(size, value)| value > if *size <= most_of_small { small } else { other });
    let most =
        if (small - other).abs() < f64::EPSILON { String::new() } else { format!("{}, ", shown(*small)) };
    format!("   <= {most}{}{}", shown(*other), if missed { "  MISSED" } else { "" })
}

/// Three or four digits: more would be noise.
fn shown(value: f64) -> String {
    match value {
        v if v.fract() == 0.0 || v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// 10000 as 10,000.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn write_to(text: &mut String, what: std::fmt::Arguments<'_>) {
    let _a_string_takes_everything = text.write_fmt(what);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let mut figures = Figures::default();
        figures.of_size(100).add("render_ms", 4.56789);
        figures.of_size(10_000).add("render_ms", 300.4);
        figures.of_size(100).within("haproxy_3.4").within("endpoint_change").add("p99_ms", 29.0);
        figures.of_size(10_000).within("haproxy_3.4").within("endpoint_change").add("p99_ms", 59.0);
        figures.of("churn_under_load").within("haproxy_3.4").count("failed_requests", 1);
        figures
    }

    #[test]
    fn the_file_is_one_flat_object_of_numbers() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("bench/latest.json");
        figures().write(&file).unwrap();
        let read: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(read["ingresses_100/render_ms"], 4.568);
        assert_eq!(read["ingresses_10000/haproxy_3.4/endpoint_change/p99_ms"], 59.0);
        assert_eq!(read["churn_under_load/haproxy_3.4/failed_requests"], 1.0);
        assert_eq!(read.as_object().unwrap().len(), 5);
    }

    #[test]
    fn the_table_has_a_column_a_size_and_says_which_target_is_missed() {
        let table = figures().table();
        let line = |start: &str| table.lines().find(|line| line.starts_with(start)).unwrap().to_owned();
        assert!(line("ingresses").contains("100") && line("ingresses").contains("10,000"), "{table}");
        assert!(
            line("render_ms").contains("4.57") && line("render_ms").ends_with("<= 250  MISSED"),
            "{table}"
        );
        let change = line("haproxy_3.4/endpoint_change/p99_ms");
        assert!(change.contains(" 29 ") && change.ends_with("<= 30, 60"), "{table}");
        assert!(
            line("churn_under_load/haproxy_3.4/failed_requests").ends_with(" 1   <= 0  MISSED"),
            "{table}"
        );
    }

    #[test]
    fn where_the_time_went_is_a_table_of_its_own() {
        let mut figures = figures();
        figures.of_size(100).within("haproxy_3.4/storm").add("mean_render_ms", 1.25);
        figures.of_size(100).within("haproxy_3.4/storm").add("mean_deploy_ms", 7.0);
        let table = figures.table();
        let row = table.lines().find(|line| line.starts_with("ingresses_100/haproxy_3.4/storm")).unwrap();
        assert_eq!(row.split_whitespace().skip(1).collect::<Vec<_>>(), ["7", "1.25"], "{table}");
        assert!(!table.contains("mean_render_ms"), "{table}");
    }

    #[test]
    fn a_small_site_has_targets_of_its_own() {
        let name = "haproxy_3.4/endpoint_change/p99_ms";
        assert!(target_column(name, &BTreeMap::from([(100, 31.0)])).ends_with("MISSED"));
        assert!(target_column(name, &BTreeMap::from([(1_000, 31.0)])).ends_with("60"));
        let name = "dataplaneapi/haproxy_3.4/endpoint_change/p99_ms";
        assert!(target_column(name, &BTreeMap::from([(1_000, 201.0)])).ends_with("MISSED"));
        assert!(target_column(name, &BTreeMap::from([(1_000, 199.0), (10_000, 399.0)])).ends_with("400"));
    }

    #[test]
    fn a_name_that_only_ends_like_a_target_has_none() {
        assert_eq!(target_column("first_render_ms", &BTreeMap::from([(1, 9e9)])), "");
        assert!(target_column("haproxy_3.0/resident_mb", &BTreeMap::from([(1, 301.0)])).ends_with("MISSED"));
        assert_eq!(target_column("local/resident_mb", &BTreeMap::from([(1, 301.0)])), "");
        assert_eq!(target_column("dataplaneapi/haproxy_3.4/storm/p99_ms", &BTreeMap::from([(1, 900.0)])), "");
        let reloads = target_column("dataplaneapi/haproxy_3.4/storm/reloads", &BTreeMap::from([(1, 1.0)]));
        assert!(reloads.ends_with("MISSED"));
        assert!(
            target_column("local/new_route/hostile_ratio", &BTreeMap::from([(1, 1.3)])).ends_with("MISSED")
        );
    }
}
