//! Numbers. Whole numbers stay whole and exact; what does not fit is an error, never a wrong number.

use super::{
    call::{Call, integer},
    function::{Function, Group, Kind::*, arg, function, many, maybe},
};
use crate::value::Value;

pub(super) static FUNCTIONS: &[Function] = &[
    function(
        "add",
        Group::Arithmetic,
        &[arg("a", Number), many("b", Number)],
        "The sum.",
        (r#"{{add 1 2 3}} {{add "8080" 0.5}}"#, "6 8080.5"),
        |call| fold(call, i64::checked_add, |a, b| a + b),
    ),
    function(
        "sub",
        Group::Arithmetic,
        &[arg("a", Number), many("b", Number)],
        "a without b.",
        (r#"{{sub 10 3}}"#, "7"),
        |call| fold(call, i64::checked_sub, |a, b| a - b),
    ),
    function(
        "mul",
        Group::Arithmetic,
        &[arg("a", Number), many("b", Number)],
        "The product.",
        (r#"{{mul 6 7}}"#, "42"),
        |call| fold(call, i64::checked_mul, |a, b| a * b),
    ),
    function(
        "div",
        Group::Arithmetic,
        &[arg("a", Number), arg("b", Number)],
        "a divided by b, with a fraction if there is one; floor makes it whole.",
        (r#"{{div 7 2}} {{div 6 2}} {{floor (div 7 2)}}"#, "3.5 3 3"),
        |call| {
            if call.number(1) == 0.0 {
                return Err("division by 0".into());
            }
            match (integer(call.value(0)), integer(call.value(1))) {
                (Some(a), Some(b)) if a.checked_rem(b) == Some(0) => Ok(Value::integer(a.wrapping_div(b))),
                _ => Value::number(call.number(0) / call.number(1)),
            }
        },
    ),
    function(
        "mod",
        Group::Arithmetic,
        &[arg("a", Integer), arg("b", Integer)],
        "What is left of a after division by b, never negative.",
        (r#"{{mod 7 3}} {{mod -1 3}}"#, "1 2"),
        |call| {
            call.integer(0, 0)
                .checked_rem_euclid(call.integer(1, 0))
                .map(Value::integer)
                .ok_or_else(|| "division by 0".to_owned())
        },
    ),
    function(
        "min",
        Group::Arithmetic,
        &[arg("a", Number), many("b", Number)],
        "The smallest.",
        (r#"{{min 3 1 2}}"#, "1"),
        |call| extreme(call, f64::lt),
    ),
    function(
        "max",
        Group::Arithmetic,
        &[arg("a", Number), many("b", Number)],
        "The greatest.",
        (r#"{{max 3 "10" 2}}"#, "10"),
        |call| extreme(call, f64::gt),
    ),
    function(
        "round",
        Group::Arithmetic,
        &[arg("a", Number), maybe("digits", Integer)],
        "The nearest whole number, or the nearest with that many digits behind the point.",
        (r#"{{round 2.5}} {{round 3.14159 2}}"#, "3 3.14"),
        |call| {
            let scale = 10_f64.powi(i32::try_from(call.integer(1, 0).clamp(0, 15)).unwrap_or(0));
            Value::number((call.number(0) * scale).round() / scale)
        },
    ),
    function(
        "ceil",
        Group::Arithmetic,
        &[arg("a", Number)],
        "The next whole number upwards.",
        (r#"{{ceil 2.1}}"#, "3"),
        |call| Value::number(call.number(0).ceil()),
    ),
    function(
        "floor",
        Group::Arithmetic,
        &[arg("a", Number)],
        "The next whole number downwards.",
        (r#"{{floor 2.9}}"#, "2"),
        |call| Value::number(call.number(0).floor()),
    ),
    function(
        "abs",
        Group::Arithmetic,
        &[arg("a", Number)],
        "Without its sign.",
        (r#"{{abs -3}}"#, "3"),
        |call| Value::number(call.number(0).abs()),
    ),
    function(
        "pow",
        Group::Arithmetic,
        &[arg("a", Number), arg("b", Number)],
        "a to the power of b.",
        (r#"{{pow 2 10}}"#, "1024"),
        |call| {
            let whole =
                integer(call.value(0)).zip(integer(call.value(1)).and_then(|b| u32::try_from(b).ok()));
            match whole.and_then(|(a, b)| a.checked_pow(b)) {
                Some(power) => Ok(Value::integer(power)),
                None => Value::number(call.number(0).powf(call.number(1))),
            }
        },
    ),
    function(
        "log",
        Group::Arithmetic,
        &[arg("a", Number), maybe("base", Number)],
        "The logarithm; without a base the natural one.",
        (r#"{{log 8 2}} {{pow 2 (ceil (log 5 2))}}"#, "3 8"),
        |call| {
            let a = call.number(0);
            if a <= 0.0 {
                return Err(format!("{a} has no logarithm"));
            }
            Value::number(match (call.has(1), call.number(1)) {
                (false, _) => a.ln(),
                (true, 2.0) => a.log2(),
                (true, 10.0) => a.log10(),
                (true, base) => a.log(base),
            })
        },
    ),
];

fn fold(
    call: &Call<'_>,
    exact: fn(i64, i64) -> Option<i64>,
    loose: fn(f64, f64) -> f64,
) -> Result<Value, String> {
    let whole: Option<Vec<i64>> = call.rest(0).iter().map(integer).collect();
    if let Some((first, rest)) = whole.as_deref().and_then(<[i64]>::split_first) {
        return rest
            .iter()
            .try_fold(*first, |a, b| exact(a, *b))
            .map(Value::integer)
            .ok_or_else(|| "the result is too large".to_owned());
    }
    let numbers: Vec<f64> = call.rest(0).iter().filter_map(Value::as_number).collect();
    Value::number(numbers.into_iter().reduce(loose).unwrap_or_default())
}

fn extreme(call: &Call<'_>, better: fn(&f64, &f64) -> bool) -> Result<Value, String> {
    let numbers = call.rest(0).iter().filter_map(Value::as_number);
    let best = numbers.reduce(|a, b| if better(&b, &a) { b } else { a });
    Value::number(best.unwrap_or_default())
}
