#!/usr/bin/env python3
"""Templates of Jinja2 made at random, and what Python's own Jinja2 prints for them: generate.py COUNT SEED, JSON to stdout."""

import json
import random
import sys

from jinja2 import DictLoader, Environment

# Keys of dicts stand in their order: those of watched objects always do.
CONTEXT = {
    "a": 1, "b": 7, "f": 2.5, "s": "hello", "t": "Wor ld", "n": None, "y": True, "e": [], "l": [3, 1, 2],
    "d": {"k": "v", "q": [1, 2], "z": 5}, "strs": ["b", "a", "c"],
    "rows": [{"n": "x", "p": 1}, {"n": "y"}, {"n": "z", "p": 3}],
    "people": [{"n": "Bo", "age": 30, "home": {"city": "x"}}, {"n": "al", "age": 30, "home": {"city": "Y"}}, {"n": "Cy", "age": 20, "home": {"city": "x"}}],
}
SNIPPETS = {
    "part": "I{{ a }}{% set v = 99 %}\n",
    "macros": "{% set sign = '!' %}{% macro hi(x, y='w') %}hi {{ x }}{{ y }}{{ sign }}{% endmacro %}",
    "within": "[{{ v|default('none') }}{{ i|default('-') }}]",
    "middle": "{% extends 'base' %}{% block one %}m({{ super() }}){% endblock %}{% block three %}mid{{ super() }}{% endblock %}",
    "base": "<{% block one %}1{{ a }}{% endblock %}|{% block two %}2{% endblock %}{% block three %}3{% endblock %}>",
}

one = random.choice


def chance(percent):
    return random.randrange(100) < percent


def number(depth):
    """An expression that is a number."""
    if depth <= 0 or chance(20):
        return one(["a", "b", "f", "1", "2", "10", "3.0", "l[0]", "d.z", "d['q'][1]", "l|length", "l|sum", "s|length", "'12'|int", "-b"])
    x, y = number(depth - 1), number(depth - 1)
    return one([
        f"{x} + {y}", f"{x} - {y}", f"{x} * {y}", f"({x})", f"({x}) / {one('247')}", f"({x}) // {one('23b')}", f"({x}) % {one('23')}",
        f"2 ** {one('023')}", f"({x})|abs", f"({x})|int", f"({x})|float", f"({x})|round", f"({x})|round(1)", f"({x})|round(0, 'ceil')",
        f"({x})|round(1, 'floor')", f"[{x}, {y}]|max", f"[{x}, {y}]|min", f"[{x}, {y}]|sum", f"({x} if {test(0)} else {y})",
        f"({x}, {y})[1]", f"{{'k': {x}}}.k", f"[{x}, {y}]|last",
    ])


def word(depth):
    """An expression that is a text."""
    if depth <= 0 or chance(20):
        return one(["s", "t", "'x'", "'a b'", "d.k", "rows[0].n", "'A-b'", "'its'", "strs[-1]", "''", "'é'"])
    x, y = word(depth - 1), word(depth - 1)
    return one([
        f"({x} ~ {y})", f"({x} ~ {number(0)})", f"({x} + {y})", f"({x})|{one(['upper', 'lower', 'title', 'capitalize', 'trim', 'reverse', 'string', 'urlencode', 'tojson'])}",
        f"({x})|replace({y}, {word(0)})", f"({x})|replace('l', 'L', 1)", f"({x})|indent({one('02')}{one(['', ', true'])})", f"({x})|center({one(['9', '4'])})",
        f"({x})|truncate({one(['3', '4, true', '6, false, s'])})", f"({x})|default({y}, true)", f"missing|default({x})", f"({x} if {test(0)} else {y})",
        f"({x})[{one(['0', '1', '-1'])}:]", f"({x})[::{one(['1', '2', '-1'])}]", f"({x} * {one('023')})", f"'%s-%s'|format({x}, {y})", f"'%d|%5s|%-4s.' % ({one('ab')}, {x}, {y})",
        f"'{{}}:{{}}'.format({x}, {number(0)})", f"({x}).{one(['upper', 'lower', 'strip', 'lstrip', 'title', 'capitalize', 'swapcase'])}()", f"({x}).split({one(['', repr(' '), repr('l')])})|join('_')",
        f"({x}).replace('l', {y})", f"({x}).partition('l')|join('^')", f"({x}).{one(['ljust', 'rjust', 'zfill', 'center'])}({one('359')})", f"strs|join({word(0)})", f"strs|sort|join", f"l|map('string')|join('+')",
        f"({x})[{one(['', '1', '-2'])}:{one(['', '0', '-9'])}:-1]", f"({x}).splitlines({one(['', 'true'])})|join('/')", f"'{{0}}{{1}}{{0}}'.format({x}, {y})", f"({x}).{one(['removeprefix', 'removesuffix', 'lstrip', 'rstrip', 'strip'])}({word(0)})",
        f"'%5.2f|%+d|%#x|%03d' % (f, {one('ab')}, b, a)", f"'%s %s' % ({x}, ({test(0)}) == true)", f"({x} ~ '\\n' ~ {y} ~ '\\n\\nz')|indent({one(['2', '1, true', '3, blank=true', 'width=1, first=true', repr('> ')])})", f"({x}).rpartition('l')|join('^')", f"({x}).rsplit({one(['none, 1', repr('l') + ', 1'])})|join('_')",
        f"people|sort(attribute='{one(['age,n', 'n', 'home.city,n'])}'{one(['', ', reverse=true', ', case_sensitive=true'])})|map(attribute='n')|join(',')", f"people|groupby('{one(['home.city', 'age', 'n'])}'{one(['', ', case_sensitive=true'])})|map(attribute='{one(['grouper', 'list.0.n'])}')|join(',')", f"rows|groupby('p', default={one('02')})|map('first')|join", f"people|unique(attribute='{one(['age', 'home.city'])}')|map(attribute='n')|join",
        f"(people|{one(['max', 'min'])}(attribute='{one(['age', 'n'])}')).n", f"{{'b': 1, 'A': 3, 'c': 2}}|dictsort({one(['', 'true', 'by=' + repr('value'), 'false, ' + repr('value'), 'reverse=true'])})|map('first')|join", f"range({one('067')})|slice({one('23')}{one(['', ', ' + repr('-')])})|map('join')|join('|')", f"{{'k v': {x}, 'z': {number(0)}}}|urlencode", f"{{'q': [{x}, {number(0)}]}}|tojson",
        f"rows|map(attribute='n')|join(',')", f"rows|map(attribute='p', default='-')|join(',')", f"rows|{one(['selectattr', 'rejectattr'])}('p', 'defined')|map(attribute='n')|join",
        f"rows|selectattr('n', 'in', ['x', 'z'])|map(attribute='n')|join", f"l|{one(['select', 'reject'])}('{one(['odd', 'even'])}')|join(',')", f"l|select('gt', {one('012')})|join",
        f"l|sort(reverse={one(['true', 'false'])})|join", f"rows|sort(attribute='n', reverse=true)|map(attribute='n')|join", f"l|unique|join", f"strs|batch(2, {word(0)})|map('join')|join('|')",
        f"l|slice(2)|map('join')|join('|')", f"d|dictsort|map('first')|join", f"d.keys()|join", f"d.items()|map('first')|join", f"d.get({word(0)}, {y})", f"rows|groupby('n')|map('first')|join", f"strs|first", f"[{x}, {y}]|join({word(0)})", f"l|tojson", f"d|tojson", f"d|tojson({one(['2', 'indent=1'])})", f"'%(k)s %(z)03d'|format(k={x}, z=5)", f"'%(k)s' % {{'k': {x}}}",
        f"({x} ~ ' well-known a-b word ' ~ {y})|wordwrap({one(['5', '9', '12, false', '4, true, s', '7, true, none, false'])})", f"({number(0)} * {one(['1', '999', '12345678'])})|filesizeformat{one(['', '(true)'])}",
    ])


def test(depth):
    """An expression that is true or false."""
    if depth <= 0 or chance(20):
        return one(["y", "a", "missing", "e", "l", "n", "not e", "s == 'hello'", "missing is defined", "n is none", "a is odd", "s is string", "a is number", "3 in l", "'x' not in s", "d is mapping", "l is iterable", "l is sequence", "b is divisibleby(7)", "'k' in d", "'odd' is test", "'nosuch' is test", "'upper' is filter"])
    x, y = test(depth - 1), test(depth - 1)
    return one([
        f"not {x}", f"({x}) and ({y})", f"({x}) or ({y})", f"({number(depth - 1)}) {one(['<', '>', '==', '!=', '<=', '>='])} {number(0)}", f"1 < {number(0)} < 9", f"{word(0)} in {one(['strs', 's', 'd'])}",
        f"({word(0)}) {one(['<', '==', '>='])} {word(0)}", f"({number(0)}) is {one(['even', 'odd', 'integer', 'float', 'eq(1)', 'ge(2)'])}" if chance(0) else f"{one('ab')} is {one(['even', 'odd', 'eq(1)', 'ge(2)'])}", f"s.startswith({word(0)})", f"s is {one(['lower', 'upper'])}", f"[1, {number(0)}] == [1, 2]",
    ])


def white():
    return one(["", "", " ", "\n", "\n  ", "  \n", "x", "x\n", " y "])


def tag(content):
    return "{%" + one(["", "", "-", "+"]) + " " + content + " " + one(["", "", "-"]) + "%}"


def shown(expression):
    return "{{" + one(["", "", "-"]) + " " + expression + " " + one(["", "", "-"]) + "}}"


def loop():
    over = one(["l", "e", "strs", "range(3)", "range(1, 6, 2)", "d", "l|sort", "l if i > 1", "rows|map(attribute='n')", "'abc'", "l[::-1]", "strs + ['z']"])
    inside = one(["loop.index", "loop.index0", "loop.last", "loop.first", "loop.length ~ loop.revindex", "i", "loop.cycle('o', 'e')", "loop.previtem is defined", "loop.nextitem|default('end')", "'c' if loop.changed(i)", "loop.depth"])
    return over, shown(inside)


def statement(depth):
    """A tag with what stands in it."""
    if depth <= 0 or chance(25):
        return shown(one([number, word, test])(2))
    inner = lambda: block(depth - 1)
    over, inside = loop()
    return one([
        lambda: tag("if " + test(1)) + inner() + one(["", tag("else") + inner(), tag("elif " + test(0)) + inner()]) + tag("endif"),
        lambda: tag("for i in " + over) + inside + inner() + one(["", tag("else") + "none"]) + tag("endfor"),
        lambda: tag("for i in l") + "{{ i }}" + tag("if " + test(0)) + "{% " + one(["break", "continue"]) + " %}" + tag("endif") + white() + tag("endfor"),
        lambda: tag("for k, v in d.items()") + "{{ k }}" + white() + tag("endfor"),
        lambda: tag("for i in [1, [2, [3]]] recursive") + "{% if i is iterable %}({{ loop(i) }}){% else %}{{ i }}{{ loop.depth }}{% endif %}" + tag("endfor"),
        lambda: tag("set v = " + one([number, word])(1)) + white() + "{{ v }}",
        lambda: tag("set v") + inner() + tag("endset") + "[{{ v }}{{ v|upper }}{{ v|length }}]",
        lambda: tag("set p, q = " + number(0) + ", " + word(0)) + "{{ q }}{{ p }}",
        lambda: "{% set ns = namespace(c=0, t='') %}{% for i in l %}{% set ns.c = ns.c + i %}{% set ns.t = ns.t ~ i %}{% endfor %}{{ ns.c }}{{ ns.t }}",
        lambda: "{% set g = [" + number(0) + "] %}{% for i in strs %}{% set _ = g.append(i) %}{% endfor %}{% do g." + one(["reverse()", "insert(0, 'i')", "pop()", "extend(l)", "remove('a')"]) + " %}{{ g|join('.') }}",
        lambda: "{% set m = {} %}{% do m.update({'p': 1}) %}{% do m.setdefault('q', []).append(2) %}{% for k, v in m.items() %}{{ k }}{{ v if v is number else v|join }}{% endfor %}",
        lambda: "{% set v = 1 %}{% for i in l %}{% set v = i %}{% endfor %}{{ v }}",
        lambda: tag("with w = " + number(1) + ", x = a") + "{{ w }}{{ x }}" + inner() + tag("endwith"),
        lambda: tag("macro m(p, q='dq')") + "<{{ p }}|{{ q }}>" + white() + tag("endmacro") + "{{ m(" + number(0) + ") }}{{ m(1, q=" + word(0) + ")|upper }}",
        lambda: "{% macro c(x) %}({{ caller(x) }}){% endmacro %}{% call(z) c(" + word(0) + ") %}{{ z }}" + inner() + "{% endcall %}",
        lambda: tag("macro v(p, q=p ~ 'd')") + "{{ p }}{{ q }}{{ varargs|join('.') }}{% for k, w in kwargs|dictsort %}{{ k }}{{ w }}{% endfor %}" + tag("endmacro") + "{{ v(" + one(["1", "1, 2, 3", "1, r=4", "*l", "1, **{'q': 2, 's': 3}", "q=1, p=2"]) + ") }}",
        lambda: "{% macro c(n) %}{% for i in range(n) %}{{ caller(i, i * 2) if caller is defined }}{% endfor %}{% endmacro %}" + tag("call(p, q='dq') c(" + one("012") + ")") + "{{ p }}{{ q }}" + inner() + tag("endcall"),
        lambda: "{% for i in [1, 1, 2, 1] %}{{ loop.changed(i) }}{{ loop.cycle('a', 'b', 'c') }}{{ loop.previtem|default('-') }}{{ loop.nextitem|default('-') }}" + inner() + "{% endfor %}",
        lambda: "{% for n in [{'v': 1, 'c': [{'v': 2, 'c': []}]}, {'v': 3, 'c': []}] recursive %}{{ n.v }}{{ loop.depth0 }}{{ loop.index }}" + tag("if n.c") + "({{ loop(n.c) }})" + tag("endif") + "{% endfor %}",
        lambda: tag("set v | " + one(["upper", "trim", "replace('a', 'b') | title", "indent(2)"])) + inner() + tag("endset") + "[{{ v }}]",
        lambda: "{% set ns = namespace(l=[]) %}{% for i in l %}{% do ns.l.append(i * 2) %}{% endfor %}{{ ns.l|join }}{{ ns.q is defined }}",
        lambda: tag("set v = " + word(0)) + "{% for i in strs %}{% set v = i %}{% include 'within' %}{% endfor %}" + tag("include 'within'" + one(["", " ignore missing with context"])) + "{{ v }}",
        lambda: tag("set (p, (q, r)) = (1, (" + word(0) + ", 3))") + "{{ p }}{{ q }}{{ r }}",
        lambda: "{% import 'macros' as mm with context %}{{ mm.hi(" + word(0) + ") }}{% set h = mm.hi %}{{ h(1) }}{% from 'macros' import hi, sign as g with context %}{{ hi(g) }}",
        lambda: tag("include " + one(["'part'", "['nowhere', 'part']", "'nowhere' ignore missing"])) + white(),
        lambda: tag("filter " + one(["upper", "title", "trim", "replace('l', 'r')", "indent(2)"])) + inner() + tag("endfilter"),
        lambda: "{#" + one(["", "-"]) + " note {{ }} " + one(["", "-"]) + "#}",
        lambda: "{% raw %}{{ raw }} {% endraw %}",
        lambda: "{% import 'macros' as mm %}{{ mm.hi(" + number(0) + ") }}{{ mm.sign }}",
        lambda: "{% from 'macros' import hi as h %}{{ h(" + word(0) + ", y=" + number(0) + ") }}",
        lambda: "{% set j = joiner('|') %}{% for i in l %}{{ j() }}{{ i }}{% endfor %}{% set c = cycler('o', 'e') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}",
    ])()


def block(depth):
    return "".join(white() if chance(50) else statement(depth) for _ in range(random.randint(1, 3)))


def template():
    if chance(5):
        inner = one(["{{ super() }}", "", "{{ self.two() }}", "{{ super() }}{{ super()|upper }}"])
        return one(["", " ", "x"]) + "{% extends '" + one(["base", "middle"]) + "' %}" + white() + "{% block one %}" + inner + statement(0) + "{% endblock %}"
    text = ""
    while len(text) < 80:
        text += block(3)
    return text


def printed(text):
    environment = Environment(
        loader=DictLoader({**SNIPPETS, "template": text}),
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"],
    )
    try:
        return environment.get_template("template").render(json.loads(json.dumps(CONTEXT)))
    except Exception:  # Whatever it is, Python prints nothing.
        return None


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    random.seed(seed)
    templates = [template() for _ in range(count)]
    cases = [{"template": text, "python": printed(text)} for text in templates]
    json.dump({"context": CONTEXT, "snippets": SNIPPETS, "cases": cases}, sys.stdout)


main()
