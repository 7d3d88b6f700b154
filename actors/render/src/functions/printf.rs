//! `printf` as in C, for the conversions that mean something here.

use super::call::integer;
use crate::value::Value;

/// The widest field.
const WIDEST: usize = 1000;

/// `format` with `values` in place of its conversions.
pub(super) fn printf(format: &str, values: &[Value]) -> Result<String, String> {
    let mut out = String::with_capacity(format.len() + 16);
    let mut values = values.iter();
    let mut characters = format.chars().peekable();
    while let Some(c) = characters.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut spec = Spec::default();
        while let Some(flag) = characters.next_if(|c| matches!(c, '-' | '0' | '+')) {
            match flag {
                '-' => spec.left = true,
                '0' => spec.zero = true,
                _ => spec.plus = true,
            }
        }
        spec.width = digits(&mut characters).unwrap_or(0);
        if characters.next_if_eq(&'.').is_some() {
            spec.precision = Some(digits(&mut characters).unwrap_or(0));
        }
        if spec.width > WIDEST || spec.precision.is_some_and(|p| p > WIDEST) {
            return Err(format!("a field is wider than {WIDEST}"));
        }
        match characters.next() {
            Some('%') => out.push('%'),
            Some(conversion) => {
                let value = values.next().ok_or_else(|| format!("there is no value for %{conversion}"))?;
                out.push_str(&spec.padded(spec.converted(conversion, value)?));
            }
            None => return Err("the format ends with a single %".into()),
        }
    }
    match values.count() {
        0 => Ok(out),
        more => Err(format!("{more} value(s) too many for the format {format:?}")),
    }
}

#[derive(Default)]
struct Spec {
    left: bool,
    zero: bool,
    plus: bool,
    width: usize,
    precision: Option<usize>,
}

impl Spec {
    fn converted(&self, conversion: char, value: &Value) -> Result<String, String> {
        let unfit = |wanted: &str| format!("%{conversion} takes {wanted}, it got {}", value.describe());
        let sign = |n: f64| if self.plus && n >= 0.0 { "+" } else { "" };
        match conversion {
            's' | 'v' => {
                let text = value.printed().ok_or_else(|| unfit("a text"))?;
                Ok(match self.precision {
                    Some(most) => text.chars().take(most).collect(),
                    None => text.to_string(),
                })
            }
            'q' => Ok(format!("{:?}", value.printed().ok_or_else(|| unfit("a text"))?)),
            'd' => {
                let n = integer(value).ok_or_else(|| unfit("a whole number"))?;
                Ok(format!("{}{n}", if self.plus && n >= 0 { "+" } else { "" }))
            }
            'x' | 'X' => {
                let n = integer(value).ok_or_else(|| unfit("a whole number"))?;
                Ok(if conversion == 'x' { format!("{n:x}") } else { format!("{n:X}") })
            }
            'f' => {
                let n = value.as_number().ok_or_else(|| unfit("a number"))?;
                Ok(format!("{}{n:.*}", sign(n), self.precision.unwrap_or(6)))
            }
            other => Err(format!("%{other} is no conversion; there are %s %d %f %x %X %q %%")),
        }
    }

    fn padded(&self, text: String) -> String {
        let missing = self.width.saturating_sub(text.chars().count());
        if self.left {
            text + &" ".repeat(missing)
        } else if self.zero {
            let digits = text.trim_start_matches(['-', '+']);
            let sign = text.get(..text.len() - digits.len()).unwrap_or_default();
            format!("{sign}{}{digits}", "0".repeat(missing))
        } else {
            " ".repeat(missing) + &text
        }
    }
}

fn digits(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<usize> {
    let mut number = None;
    while let Some(digit) = characters.next_if(char::is_ascii_digit).and_then(|c| c.to_digit(10)) {
        number = Some(number.unwrap_or(0_usize).saturating_mul(10).saturating_add(digit as usize));
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_conversion_prints_as_in_c() {
        let (text, number) = (Value::text("ab"), Value::integer(-7));
        let cases = [
            ("%5s|", &text, "   ab|"),
            ("%-5s|", &text, "ab   |"),
            ("%.1s", &text, "a"),
            ("%05d", &number, "-0007"),
            ("%q", &text, "\"ab\""),
        ];
        for (format, value, expected) in cases {
            assert_eq!(printf(format, std::slice::from_ref(value)), Ok(expected.into()), "{format}");
        }
    }

    #[test]
    fn too_few_and_too_many_values_are_errors() {
        assert!(printf("%s", &[]).unwrap_err().contains("no value for %s"));
        assert!(printf("x", &[Value::Null]).unwrap_err().contains("too many"));
        assert!(printf("%99999999999999999999s", &[Value::text("a")]).unwrap_err().contains("wider"));
    }
}
