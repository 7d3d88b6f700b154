//! The figures: one flat object of names and numbers, and the table that a person reads.

use integration_tests::Outcome;
use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

/// Figures by name: `ingresses_10000/haproxy_3.4/endpoint_change/p99_ms`.
#[derive(Debug, Default)]
pub struct Figures(BTreeMap<String, f64>);

/// The figures of one size, or of one way at one size.
pub struct Scope<'f> {
    figures: &'f mut Figures,
    prefix: String,
}

/// Most that a figure may be; compared by the end of its name.
const TARGETS: [(&str, f64); 4] = [
    ("render_ms", 250.0),
    ("resident_mb", 300.0),
    ("endpoint_change/p99_ms", 1_500.0),
    ("endpoint_change/reloads", 0.0),
];

impl Figures {
    /// Where the figures for `ingresses` Ingresses go.
    pub fn of_size(&mut self, ingresses: usize) -> Scope<'_> {
        Scope { figures: self, prefix: format!("ingresses_{ingresses}/") }
    }

    /// Writes them as one flat JSON object.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, file: &Path) -> Outcome {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        let text = serde_json::to_string_pretty(&self.0)?;
        Ok(fs::write(file, text + "\n")?)
    }

    /// One row a figure, one column a size, with its target where it has one.
    pub fn table(&self) -> String {
        let (sizes, rows) = self.rows();
        let name_width = rows.keys().map(String::len).max().unwrap_or_default();
        let mut table = format!("{:name_width$}", "ingresses");
        for size in &sizes {
            write_to(&mut table, format_args!(" {:>12}", grouped(*size)));
        }
        table.push_str("   target\n");
        for (name, values) in &rows {
            write_to(&mut table, format_args!("{name:name_width$}"));
            for size in &sizes {
                let value = values.get(size).map_or_else(|| "-".to_owned(), |value| shown(*value));
                write_to(&mut table, format_args!(" {value:>12}"));
            }
            table.push_str(&target_column(name, values));
            table.push('\n');
        }
        table
    }

    /// All sizes, and each figure's value by size.
    fn rows(&self) -> (Vec<usize>, BTreeMap<String, BTreeMap<usize, f64>>) {
        let mut rows: BTreeMap<String, BTreeMap<usize, f64>> = BTreeMap::new();
        for (name, value) in &self.0 {
            let parts = name.strip_prefix("ingresses_").and_then(|rest| rest.split_once('/'));
            if let Some((Ok(size), rest)) = parts.map(|(size, rest)| (size.parse(), rest)) {
                rows.entry(rest.to_owned()).or_default().insert(size, *value);
            }
        }
        let mut sizes: Vec<usize> = rows.values().flat_map(BTreeMap::keys).copied().collect();
        sizes.sort_unstable();
        sizes.dedup();
        (sizes, rows)
    }
}

impl Scope<'_> {
    /// Adds one figure, kept to three decimals.
    pub fn add(&mut self, name: &str, value: f64) {
        self.figures.0.insert(format!("{}{name}", self.prefix), (value * 1e3).round() / 1e3);
    }

    /// The same with `part` in front of every name.
    pub fn within(&mut self, part: &str) -> Scope<'_> {
        Scope { prefix: format!("{}{part}/", self.prefix), figures: self.figures }
    }
}

/// The target and whether every size meets it.
fn target_column(name: &str, values: &BTreeMap<usize, f64>) -> String {
    let whole = |end: &str| name == end || name.ends_with(&format!("/{end}"));
    let Some((_, most)) = TARGETS.iter().find(|(end, _)| whole(end)) else { return String::new() };
    let missed = values.values().any(|value| value > most);
    format!("   <= {}{}", shown(*most), if missed { "  MISSED" } else { "" })
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
        figures.of_size(10_000).within("haproxy_3.4").within("endpoint_change").add("p99_ms", 900.0);
        figures
    }

    #[test]
    fn the_file_is_one_flat_object_of_numbers() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("bench/latest.json");
        figures().write(&file).unwrap();
        let read: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(read["ingresses_100/render_ms"], 4.568);
        assert_eq!(read["ingresses_10000/haproxy_3.4/endpoint_change/p99_ms"], 900.0);
        assert_eq!(read.as_object().unwrap().len(), 3);
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
        assert!(change.contains(" - ") && change.ends_with("<= 1500"), "{table}");
    }

    #[test]
    fn a_name_that_only_ends_like_a_target_has_none() {
        assert_eq!(target_column("first_render_ms", &BTreeMap::from([(1, 9e9)])), "");
        assert!(target_column("local/resident_mb", &BTreeMap::from([(1, 301.0)])).ends_with("MISSED"));
    }
}
