#!/usr/bin/env python3
"""Writes the keyword table of one HAProxy binary to standard output.

    python3 generate.py /usr/sbin/haproxy /usr/share/doc/haproxy/configuration.txt.gz > 3.4.txt

`haproxy -dKall -q -c -f /dev/null` lists only the keywords that are registered by name. Sections such as
`resolvers`, `ring` or `cache` and many words of `global` and of proxies compare strings by hand, so the dump
is only the first source of candidates. The others are every string of the binary and every word of its manual.
Each candidate is then put on a line of its own and given to `haproxy -c`: a word is unknown when HAProxy says
about it exactly what it says about a word that cannot exist, or that it is not supported any more, and it is
known otherwise.
"""
import functools
import gzip
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor

NONSENSE = "zz-no-such-word"
BATCH = 40  # HAProxy stops after 50 errors
SECTIONS = """global listen peers resolvers userlist cache http-errors ring log-forward
log-profile crt-store mailers program fcgi-app acme traces healthcheck""".split()
MANUAL, DUMP = {}, {}  # texts, by binary
REMOVED = re.compile(r"not supported any ?more|no longer supported|doesn't exist any ?more")
UNNAMED = {"global", "defaults", "traces"}
# Lines whose next word is one of a closed set: section and the words before it.
POSITIONS = [("listen", words) for words in [
    "option", "no option", "timeout", "stats", "balance", "filter", "compression", "http-check", "tcp-check",
    "hash-type", "email-alert", "http-reuse", "mode", "stick", "rate-limit", "external-check", "tcp-request",
    "tcp-response", "tcp-request connection", "tcp-request session", "tcp-request content", "tcp-response content",
    "http-request", "http-response", "http-after-response", "declare",
    "declare capture",
]] + [("global", "stats"), ("global", "ssl-default-bind-options"), ("global", "ssl-default-server-options"),
      ("resolvers", "hold"), ("resolvers", "timeout"), ("crt-store", "load"),
      ("global", "log 127.0.0.1:514", "log facility"), ("global", "log 127.0.0.1:514 local0", "log level")]
# What only some of the sections that share the keywords of `listen` take.
PROXIES = {"frontend": "frontend x", "backend": "backend x", "defaults": "defaults x", "unnamed defaults": "defaults"}
MISPLACED = re.compile(r"(?:not|only) (?:allowed|available|supported)|no \w+ capability|unknown option")


def run(haproxy, lines):
    """The first complaint of `haproxy -c` about each line, by line number."""
    with tempfile.NamedTemporaryFile("w", suffix=".cfg", dir=os.environ.get("TMPDIR")) as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        done = subprocess.run([haproxy, "-c", "-f", file.name], capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL)
    found = {}
    for match in re.finditer(r"parsing \[[^]]*?:(\d+)\] ?: (.*?)(?=\[ALERT\]|\n|$)", done.stderr):
        found.setdefault(int(match[1]), match[2])
    return found


def alert(haproxy, lines):
    """What `haproxy -c` refuses on the last of the lines, as if every section had one name. Warnings do not count."""
    with tempfile.NamedTemporaryFile("w", suffix=".cfg", dir=os.environ.get("TMPDIR")) as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        done = subprocess.run([haproxy, "-c", "-f", file.name], capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL)
    found = re.search(rf"^\[ALERT\].*?:{len(lines)}\] ?: (.*)$", done.stderr, re.MULTILINE)
    return re.sub(r"\b(frontend|backend|listen|proxy) 'x'", "proxy 'x'", found[1]) if found else ""


def misplaced(haproxy, section, before, word):
    """Whether a `listen` section takes the word and this section does not."""
    line = f"  {before} {word.replace('*', '(x)')}"
    said = alert(haproxy, [PROXIES[section], line])
    return MISPLACED.search(said) and said != alert(haproxy, ["listen x", line])


def plain(message):
    """A complaint without HAProxy's own suggestion, and without the place, which some give twice."""
    return message and re.sub(r"[.;,]? *[Dd]id you mean '[^']*' maybe \?|parsing \[[^]]*\] ?: ", "", message).rstrip(".")


def known(haproxy, header, before, words):
    """Those of the words that HAProxy knows after `before`."""
    if not words:
        return []
    refusal, goes_on = refusal_of(haproxy, tuple(header), before)
    probes = [NONSENSE, *words, NONSENSE] if goes_on else words[:1]
    said = run(haproxy, header + [f"  {before} {word}" for word in probes])
    first = len(header) + 1
    upset = goes_on and {plain(said.get(at)) for at in (first, first + len(words) + 1)} != {refusal}
    if len(words) > 1 and (upset or not goes_on):  # one of the words ended the run or the section
        half = len(words) // 2 if goes_on else 1
        return known(haproxy, header, before, words[:half]) + known(haproxy, header, before, words[half:])
    if upset:
        said = run(haproxy, header + [f"  {before} {words[0]}"])
        goes_on = False
    complaints = [(word, plain(said.get(first + goes_on + at)) or "") for at, word in enumerate(words)]
    return [word for word, said in complaints
            if said != refusal.replace(NONSENSE, word) and not REMOVED.search(said)]


@functools.cache
def refusal_of(haproxy, header, before):
    """What HAProxy says about nonsense (nothing when any word will do), and whether it reads on after that."""
    said = run(haproxy, [*header, *[f"  {before} {NONSENSE}"] * 2])
    first, second = (plain(said.get(len(header) + at)) for at in (1, 2))
    return first, first == second


def listed(haproxy, header, before):
    """The words that HAProxy's own complaint offers; `x(*)` and `x*` take any continuation."""
    said = run(haproxy, header + [f"  {before} {NONSENSE}"]).get(len(header) + 1, "")
    words = re.findall(r"'([a-z0-9][a-z0-9_.-]*(?:\(\*\))?)'", said)
    words = {word.replace("(*)", "*") for word in words if word not in (NONSENSE, before, *header[-1].split())}
    return words | ({"track-sc*"} if "track-sc0" in words else set())  # as many as tune.stick-counters says


def candidates(haproxy):
    """What may be a keyword: words of the dump, strings of the binary that are no C names, and from the manual
    the words that start a line, are quoted, or are joined by a sign that English words do not have."""
    text = MANUAL[haproxy]
    words = set(re.findall(r"[a-z0-9_.-]+", DUMP[haproxy]))
    words.update(re.findall(r"^[ \t-]*([a-z0-9][a-z0-9_.-]*)", text, re.MULTILINE))
    words.update(re.findall(r"[\"'`]([a-z0-9][a-z0-9_.-]*)", text))
    words.update(re.findall(r"[a-z0-9]+[_.-][a-z0-9_.-]+", text))
    with open(haproxy, "rb") as file:
        words.update(s.decode() for s in re.findall(rb"(?<=\0)[a-z0-9][a-z0-9.-]{2,50}(?=\0)", file.read()))
    words = {word.rstrip(".-_") for word in words}
    return sorted(w for w in words if re.fullmatch(r"[a-z0-9][a-z0-9_.-]*[a-z0-9]", w) and re.search("[a-z]{2}", w))


def dumped(haproxy, keyword):
    """The parameters of `server` or `bind` in the dump, where all of them are registered; those that take one value
    (`weight +1`) and all."""
    found = re.findall(rf"^\t{keyword} <.*> (?:ssl )?(\S+)( \+-?1)?$", DUMP[haproxy], re.MULTILINE)
    return {name for name, value in found if value == " +1"}, {"ssl"} | {name for name, _ in found}


def functions(haproxy, heading):
    """The names in a list of the dump with the least and the most arguments: `map(string[,string])` is `map/1-2`. Those
    of other types than these may be left out where the surroundings say which is meant: `nbsrv(backend)`."""
    listing = re.search(rf"^# List of registered {heading}:\n(.*?)(?=^# List|\Z)", DUMP[haproxy], re.MULTILINE | re.DOTALL)
    for name, arguments in re.findall(r"^(?:\[[ Y.]+\] )?([^\s(:]+)(?:\(([^)]*)\))?: ", listing[1], re.MULTILINE):
        least = re.match(r"(?:(?:string|integer)(?:,|$|(?=\[)))*", arguments)[0]
        most = len([argument for argument in re.split(r"[],[]+", arguments) if argument])
        yield f"{name}/{len(re.findall('[a-z]+', least))}-{most}" if most else name


def following(haproxy, before):
    """The words that come after `before` in the manual and in the dump; each also with an argument."""
    last = before.removeprefix("no ")
    found = re.findall(rf"\b{last}\s+([a-z0-9][a-z0-9_.-]*)", MANUAL[haproxy] + DUMP[haproxy])
    words = sorted({word.rstrip(".-_") for word in found})
    return words + [f"{word}(x)" for word in words]


def chapter(haproxy, section, before=""):
    """The words that start a line in the manual's chapters about a section or about what follows `before` in it, and
    those of the dump."""
    chapters = re.split(r"^(?=\d+(?:\.\d+)*\.? +\S)", MANUAL[haproxy], flags=re.MULTILINE)
    mention = rf"^{section}(?: |$)" + (rf"|^[\d.]+ +{before.capitalize()} " if before else "")
    about = [text for text in chapters if re.search(mention, text, re.MULTILINE)]
    words = {word for text in about for word in re.findall(r"^ {0,4}([a-z0-9][a-z0-9_.-]+)", text, re.MULTILINE)}
    listing = re.search(rf"^{section}\n((?:\t.*\n)*)", DUMP[haproxy], re.MULTILINE)
    return sorted(words | set(re.findall(r"^\t(\S+)", listing[1], re.MULTILINE) if listing else ()))


def batches(pool, haproxy, header, before, words):
    refusal, goes_on = refusal_of(haproxy, tuple(header), before)
    if refusal is None:
        return set()
    if not goes_on:  # one run for each word: only what the manual says about the section
        words = chapter(haproxy, header[-1].split()[0], before)
    parts = [words[at:at + BATCH] for at in range(0, len(words), BATCH)]
    found = [word for part in pool.map(lambda part: known(haproxy, header, before, part), parts) for word in part]
    # A word may have changed what HAProxy said about its neighbours: ask again for each alone.
    return {word for part in pool.map(lambda word: known(haproxy, header, before, [word]), found) for word in part}


def write(name, words):
    words = list(words)
    if not words:
        return
    print(f"\n[{name}]")
    print(textwrap.fill(" ".join(sorted(words)), 110, break_long_words=False, break_on_hyphens=False))


def main():
    haproxy, manual = sys.argv[1:3]
    with gzip.open(manual, "rt", errors="replace") as file:
        MANUAL[haproxy] = file.read()
    dump = [haproxy, "-dKall", "-q", "-c", "-f", "/dev/null"]
    DUMP[haproxy] = subprocess.run(dump, capture_output=True, text=True).stdout
    words = candidates(haproxy)
    version = subprocess.run([haproxy, "-v"], capture_output=True, text=True).stdout.split()[2]
    print(f"# Keywords of HAProxy {version}, written by generate.py. A word that ends in * takes any continuation.")
    with ThreadPoolExecutor(3) as pool:
        sections = sorted(batches(pool, haproxy, [], "", words) - {"no", "default"})  # prefixes of other words
        write("sections", sections)
        for keyword in ("server", "bind"):
            with_value, every = dumped(haproxy, keyword)
            write(f"{keyword} values", with_value)
            write(f"listen {keyword}", every)
        found_in = {}
        for section in SECTIONS:
            if section not in sections:
                continue
            header = ["global", "  expose-experimental-directives", section if section in UNNAMED else f"{section} x"]
            if section == "traces":  # read by the parser of `global`, which says so in its complaints
                write(section, {"trace"})
                continue
            found_in[section] = batches(pool, haproxy, header, "", words) - {"no", "default", *sections}
            write(section, found_in[section])
        proxies = {"": found_in["listen"]}
        for section, before, *title in POSITIONS:
            header = [section if section in UNNAMED else f"{section} x"]
            found = listed(haproxy, header, before)
            if refusal_of(haproxy, tuple(header), before)[1] or not found:
                tried = batches(pool, haproxy, header, before, sorted({*following(haproxy, before), *words}))
                found |= {word.replace("(x)", "*") for word in tried}
            write(f"{section} {title[0] if title else before}", found)
            if section == "listen":
                proxies[before] = found
        for section in PROXIES:
            for before, found in proxies.items():
                asked = pool.map(lambda word: misplaced(haproxy, section, before, word), sorted(found))
                write(f"{section} lacks {before}".strip(), {word for word, lacks in zip(sorted(found), asked) if lacks})
        write("fetches", functions(haproxy, "sample fetch functions"))
        write("converters", functions(haproxy, "sample converter functions"))
        write("acl", set(re.findall(r"^(\S+) = \S+ -m ", DUMP[haproxy], re.MULTILINE)))


main()
