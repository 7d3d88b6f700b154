//! Building, ordering and sifting lists and dicts.

use super::{
    access::below,
    call::Call,
    comparison,
    function::{Function, Group, Kind::*, LONGEST_LIST, arg, check_length, function, many, maybe, named},
};
use crate::value::{Dict as Entries, Value};
use std::{cmp::Ordering, sync::Arc};

pub(super) static FUNCTIONS: &[Function] = &[
    function(
        "array",
        Group::Lists,
        &[many("item", Any)],
        "A list of the given items.",
        (r#"{{json (array 1 "b")}}"#, r#"[1,"b"]"#),
        |call| Ok(Value::list(call.rest(0).to_vec())),
    ),
    function(
        "dict",
        Group::Lists,
        &[many("key and value", Any), named("key")],
        "A dict of the given keys and values, as key=value or in pairs.",
        (r#"{{json (dict a=1 b="x")}} {{json (dict "a.b/c" 2)}}"#, r#"{"a":1,"b":"x"} {"a.b/c":2}"#),
        dict,
    ),
    function(
        "append",
        Group::Lists,
        &[arg("list", List), many("item", Any)],
        "The list with items added to its end.",
        (r#"{{json (append (array 1) 2 3)}}"#, "[1,2,3]"),
        |call| {
            let mut list = call.list(0);
            Arc::make_mut(&mut list).extend_from_slice(call.rest(1));
            Ok(Value::List(list))
        },
    ),
    function(
        "concat",
        Group::Lists,
        &[many("part", Any)],
        "Lists as one list, or texts as one text.",
        (r#"{{json (concat (array 1) (array 2 3))}} {{concat "be_" 80}}"#, "[1,2,3] be_80"),
        concat,
    ),
    function(
        "sort_by",
        Group::Lists,
        &[arg("list", List), many("path", Text)],
        "The list ordered by the values below the paths; a path with - before it orders downwards. Without a path, by the items themselves. Numbers by value, texts by character; equal items keep their order.",
        (
            r#"{{json (sort_by (array 3 1 2))}} {{join (pluck (sort_by (array (dict n="a" w=1) (dict n="b" w=2)) "-w") "n") " "}}"#,
            "[1,2,3] b a",
        ),
        sort_by,
    ),
    function(
        "group_by",
        Group::Lists,
        &[arg("list", List), arg("path", Text)],
        "A dict from each value below the path to the list of items that have it. Items without it are left out.",
        (
            r#"{{#each (group_by (array (dict h="x" n=1) (dict h="y" n=2) (dict h="x" n=3)) "h") as |items h|}}{{h}}:{{join (pluck items "n") ","}} {{/each}}"#,
            "x:1,3 y:2 ",
        ),
        group_by,
    ),
    function(
        "where",
        Group::Lists,
        &[arg("list", List), arg("path", Text), maybe("operator or value", Any), maybe("value", Any)],
        "The items whose value below the path is true, equals the value, or compares to it: eq ne lt lte gt gte contains in starts_with ends_with matches.",
        (
            r#"{{json (pluck (where (array (dict n=1 ok=true) (dict n=2 ok=false)) "ok") "n")}} {{json (pluck (where (array (dict n=1) (dict n=2)) "n" "gt" 1) "n")}}"#,
            "[1] [2]",
        ),
        |call| sift(call, true),
    ),
    function(
        "reject",
        Group::Lists,
        &[arg("list", List), arg("path", Text), maybe("operator or value", Any), maybe("value", Any)],
        "The items that `where` would leave out.",
        (r#"{{json (pluck (reject (array (dict n=1) (dict n=2)) "n" 1) "n")}}"#, "[2]"),
        |call| sift(call, false),
    ),
    function(
        "pluck",
        Group::Lists,
        &[arg("list", List), arg("path", Text)],
        "The values below the path of each item, without those that have none.",
        (r#"{{json (pluck (array (dict n=1) (dict m=2) (dict n=3)) "n")}}"#, "[1,3]"),
        |call| {
            let path = call.text(1);
            let found =
                call.list(0).iter().map(|i| below(&i.unread(), &path)).collect::<Result<Vec<_>, _>>()?;
            Ok(Value::list(
                found.into_iter().filter(|v| !matches!(v, Value::Missing | Value::Null)).collect(),
            ))
        },
    ),
    function(
        "unique",
        Group::Lists,
        &[arg("list", List), maybe("path", Text)],
        "The list without items (or items with a value below the path) that came before.",
        (r#"{{json (unique (array "b" "a" "b"))}}"#, r#"["b","a"]"#),
        unique,
    ),
    function(
        "reverse",
        Group::Lists,
        &[arg("list", List)],
        "The list backwards.",
        (r#"{{json (reverse (array 1 2 3))}}"#, "[3,2,1]"),
        |call| Ok(Value::list(call.list(0).iter().rev().cloned().collect())),
    ),
    function(
        "flatten",
        Group::Lists,
        &[arg("list", List)],
        "The items of the lists in the list, one level deep.",
        (r#"{{json (flatten (array (array 1 2) 3 (array 4)))}}"#, "[1,2,3,4]"),
        |call| {
            let mut flat = Vec::new();
            for item in call.list(0).iter() {
                match item {
                    Value::List(inner) => flat.extend_from_slice(inner),
                    other => flat.push(other.clone()),
                }
            }
            Ok(Value::list(flat))
        },
    ),
    function(
        "join",
        Group::Lists,
        &[arg("list", List), maybe("separator", Text)],
        "The items as one text, with a separator between them.",
        (r#"{{join (array "a" 1 true) ", "}}"#, "a, 1, true"),
        join,
    ),
    function(
        "split",
        Group::Lists,
        &[arg("text", Text), arg("separator", Text)],
        "The parts of a text between separators; an empty separator splits at white space.",
        (r#"{{json (split "a,b" ",")}} {{json (split " a  b " "")}}"#, r#"["a","b"] ["a","b"]"#),
        |call| {
            let (text, separator) = (call.text(0), call.text(1));
            let parts: Vec<Value> = if separator.is_empty() {
                text.split_whitespace().map(Value::text).collect()
            } else {
                text.split(&*separator).map(Value::text).collect()
            };
            Ok(Value::list(parts))
        },
    ),
    function(
        "chunks",
        Group::Lists,
        &[arg("list", List), arg("bytes", Integer)],
        "The list cut into lists whose texts have at most so many bytes, a blank between two of them; a longer text is alone. For lines that may not be longer.",
        (r#"{{json (chunks (array "a" "bb" "c" "dddddd") 4)}}"#, r#"[["a","bb"],["c"],["dddddd"]]"#),
        chunks,
    ),
    function(
        "range",
        Group::Lists,
        &[arg("start or count", Integer), maybe("end", Integer), maybe("step", Integer)],
        "Whole numbers: from 0 up to a count, or from start up to end (without end) by a step.",
        (r#"{{json (range 3)}} {{json (range 1 4)}} {{json (range 6 0 -2)}}"#, "[0,1,2] [1,2,3] [6,4,2]"),
        range,
    ),
    function(
        "merge",
        Group::Lists,
        &[many("dict", Dict)],
        "The keys of all dicts; of equal keys the last one counts. Dicts inside dicts are merged too.",
        (r#"{{json (merge (dict a=1 b=2) (dict b=3))}}"#, r#"{"a":1,"b":3}"#),
        |call| {
            let mut merged = Entries::default();
            for index in 0..call.rest(0).len() {
                merge_into(&mut merged, &*call.dict(index)?);
            }
            Ok(Value::Dict(Arc::new(merged)))
        },
    ),
    function(
        "put",
        Group::Lists,
        &[arg("dict", Dict), arg("key", Text), arg("value", Any)],
        "The dict with one key set; for keys that are computed.",
        (r#"{{json (put (dict a=1) "b" 2)}}"#, r#"{"a":1,"b":2}"#),
        |call| {
            let mut dict = call.dict(0)?;
            Arc::make_mut(&mut dict).insert(call.text(1), call.value(2).clone());
            Ok(Value::Dict(dict))
        },
    ),
];

fn dict(call: &Call<'_>) -> Result<Value, String> {
    let mut entries = Entries::default();
    let mut pairs = call.rest(0).chunks_exact(2);
    for pair in &mut pairs {
        let [key, value] = pair else { continue };
        let key = key.printed().ok_or_else(|| format!("a key must be a text, it is {}", key.describe()))?;
        entries.insert(key, value.clone());
    }
    if let [key] = pairs.remainder() {
        return Err(format!("the key {} has no value", key.describe()));
    }
    for (key, value) in call.named {
        entries.insert(key.clone(), value.clone());
    }
    Ok(Value::Dict(Arc::new(entries)))
}

fn concat(call: &Call<'_>) -> Result<Value, String> {
    let parts = call.rest(0);
    if parts.iter().any(|p| matches!(p, Value::List(_))) {
        let mut all = Vec::new();
        for part in parts {
            match part {
                Value::List(list) => all.extend_from_slice(list),
                Value::Null => {}
                other => {
                    return Err(format!("lists and {} do not go together; use append", other.describe()));
                }
            }
        }
        return Ok(Value::list(all));
    }
    let texts = parts.iter().map(|p| p.printed().ok_or_else(|| format!("{} is no text", p.describe())));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    check_length(texts.iter().map(|text| text.len()).sum())?;
    Ok(Value::Text(texts.concat().into()))
}

fn sort_by(call: &Call<'_>) -> Result<Value, String> {
    let paths: Vec<(Arc<str>, bool)> = call
        .rest(1)
        .iter()
        .filter_map(Value::printed)
        .map(|p| p.strip_prefix('-').map_or_else(|| (p.clone(), false), |p| (p.into(), true)))
        .collect();
    let mut keyed = Vec::new();
    for item in call.list(0).iter() {
        let read = item.unread();
        let keys = paths.iter().map(|(p, _)| below(&read, p)).collect::<Result<Vec<_>, _>>()?;
        keyed.push((keys, item.clone()));
    }
    keyed.sort_by(|(a, item_a), (b, item_b)| {
        if paths.is_empty() {
            return item_a.order(item_b);
        }
        let orders = a.iter().zip(b).zip(&paths).map(
            |((a, b), (_, down))| {
                if *down { b.order(a) } else { a.order(b) }
            },
        );
        orders.into_iter().find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    });
    Ok(Value::list(keyed.into_iter().map(|(_, item)| item).collect()))
}

fn group_by(call: &Call<'_>) -> Result<Value, String> {
    let path = call.text(1);
    let mut groups = std::collections::BTreeMap::<Arc<str>, Vec<Value>>::new();
    for item in call.list(0).iter() {
        if let Some(key) = below(&item.unread(), &path)?.printed() {
            groups.entry(key).or_default().push(item.clone());
        }
    }
    Ok(Value::dict(groups.into_iter().map(|(k, v)| (k, Value::list(v)))))
}

fn sift(call: &Call<'_>, wanted: bool) -> Result<Value, String> {
    let path = call.text(1);
    let operator = call.text(2);
    let mut kept = Vec::new();
    for item in call.list(0).iter() {
        let found = below(&item.unread(), &path)?;
        let holds = if call.has(3) {
            comparison::holds(&operator, &found, call.value(3), call.session)?
        } else if call.has(2) {
            found == *call.value(2)
        } else {
            found.is_true()
        };
        if holds == wanted {
            kept.push(item.clone());
        }
    }
    Ok(Value::list(kept))
}

fn unique(call: &Call<'_>) -> Result<Value, String> {
    let mut seen = std::collections::BTreeSet::new();
    let mut kept = Vec::new();
    for item in call.list(0).iter() {
        let key = if call.has(1) { below(&item.unread(), &call.text(1))? } else { item.clone() };
        let identity = match &key {
            Value::Object(object) => object.reference().to_string(),
            other => other.to_json()?.to_string(),
        };
        if seen.insert(identity) {
            kept.push(item.clone());
        }
    }
    Ok(Value::list(kept))
}

fn join(call: &Call<'_>) -> Result<Value, String> {
    let list = call.list(0);
    let texts = list.iter().map(|i| i.printed().ok_or_else(|| format!("{} is no text", i.describe())));
    let (texts, separator) = (texts.collect::<Result<Vec<_>, _>>()?, call.text(1));
    check_length(texts.iter().map(|text| text.len().saturating_add(separator.len())).sum())?;
    Ok(Value::Text(texts.join(&*separator).into()))
}

fn chunks(call: &Call<'_>) -> Result<Value, String> {
    let most = usize::try_from(call.integer(1, 0)).unwrap_or_default();
    let (mut chunks, mut chunk, mut length) = (Vec::new(), Vec::new(), 0);
    for item in call.list(0).iter() {
        let bytes = item.printed().ok_or_else(|| format!("{} is no text", item.describe()))?.len();
        if !chunk.is_empty() && length + 1 + bytes > most {
            chunks.push(Value::list(std::mem::take(&mut chunk)));
        }
        length = if chunk.is_empty() { bytes } else { length + 1 + bytes };
        chunk.push(item.clone());
    }
    if !chunk.is_empty() {
        chunks.push(Value::list(chunk));
    }
    Ok(Value::list(chunks))
}

fn range(call: &Call<'_>) -> Result<Value, String> {
    let (start, end) =
        if call.has(1) { (call.integer(0, 0), call.integer(1, 0)) } else { (0, call.integer(0, 0)) };
    let step = call.integer(2, 1);
    if step == 0 {
        return Err("the step must not be 0".into());
    }
    let mut numbers = Vec::new();
    let mut here = start;
    while (step > 0 && here < end) || (step < 0 && here > end) {
        if numbers.len() >= LONGEST_LIST {
            return Err(format!("more than {LONGEST_LIST} numbers"));
        }
        numbers.push(Value::integer(here));
        here = here.saturating_add(step);
    }
    Ok(Value::list(numbers))
}

fn merge_into(target: &mut Entries, more: &Entries) {
    for (key, value) in more.iter() {
        match (target.get(key), value) {
            (Some(Value::Dict(old)), Value::Dict(new)) => {
                let mut merged = (**old).clone();
                merge_into(&mut merged, new);
                target.insert(key.clone(), Value::Dict(Arc::new(merged)));
            }
            _ => target.insert(key.clone(), value.clone()),
        }
    }
}
