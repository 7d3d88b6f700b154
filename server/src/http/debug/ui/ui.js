"use strict";
// Shows what /debug answers and asks again every two seconds. What changed is changed in place, so that scroll, focus,
// selected text and opened details stay. Nothing is kept; the address says what is shown.

const EVERY = 2000;
const main = document.getElementById("main");
const by = id => document.getElementById(id);
let paused = false, asked = 0, filter = "";

// --- texts ----------------------------------------------------------------------------------------------------------
class Safe { constructor(text) { this.text = text; } }
const escaped = value => String(value).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
const made = value => value instanceof Safe ? value.text
  : Array.isArray(value) ? value.map(made).join("") : value === null || value === undefined || value === false ? "" : escaped(value);
/** A piece of the page; whatever is put into it is text, unless it is a piece itself. */
const html = (parts, ...values) => new Safe(parts.reduce((text, part, i) => text + made(values[i - 1]) + part));

const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
const took = ms => ms === null || ms === undefined ? "" : ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
const size = n => n < 10000 ? `${n} B` : n < 1e7 ? `${Math.round(n / 1000)} kB` : `${Math.round(n / 1e6)} MB`;
const short = digest => digest ? digest.slice(0, 12) : "";
const clock = ms => new Date(ms).toLocaleTimeString();
const ago = ms => {
  const s = Math.max(0, Math.round((Date.now() - ms) / 1000));
  const said = s < 2 ? "now" : s < 120 ? `${s} s ago` : s < 7200 ? `${Math.round(s / 60)} min ago` : `${Math.round(s / 3600)} h ago`;
  return html`<time class="narrow muted" title="${new Date(ms).toLocaleString()}">${said}</time>`;
};
const chip = (kind, text) => html`<span class="chip ${kind}">${text}</span>`;
const STANDING = { converged: "good", behind: "warn", failing: "bad", unknown: "warn" };
const LEVEL = { error: "bad", warn: "warn" };
const OUTCOME = { deployed: "good", "not on every pod": "bad", checked: "good", refused: "bad", "not rendered": "bad", "taken back": "bad", "not deployed": "bad" };
const section = (title, note, body) =>
  html`<section data-key="${title}" aria-label="${title}"><h2>${title} <span class="muted">${note}</span></h2>${body}</section>`;
const table = (caption, heads, rows) => html`<div class="wide" tabindex="-1"><table><caption class="skip">${caption}</caption><thead><tr>${heads.map(h =>
  html`<th scope="col" class="${h[0] === "#" ? "number" : ""}">${h.replace("#", "")}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`;

// --- pages ----------------------------------------------------------------------------------------------------------
const plan = last => {
  if (!last) return "";
  const files = last.written.length + last.deleted.length;
  const operations = Object.entries(last.operations).map(([name, n]) => `${n} × ${name}`).join(", ");
  return html`${last.reload ? chip("warn", "reload") : chip("", operations ? "runtime" : "files only")} ${ago(last.unixMs)}
    <div>${last.reload || operations}${files ? html` <span class="muted" title="${[...last.written, ...last.deleted].join("\n")}">${plural(files, "file")}</span>` : ""}</div>`;
};

const problems = all => all.map(p => html`<div class="problem ${p.severity}" data-key="${p.what}${p.object}">
  <span class="what">${p.what}</span>${p.object ? html`<b>${p.object}</b>` : ""}<p>${p.why}</p></div>`);

const pods = o => section("Pods", `${o.pods.filter(p => p.standing === "converged").length} of ${o.pods.length} converged`,
  o.pods.length ? table("Pods", ["Pod", "State", "HAProxy", "#Generation", "#Lag", "Last change"], o.pods.map(p => html`<tr data-key="${p.pod}">
    <td><div class="name">${p.pod}</div><div class="muted mono">${p.address}</div></td>
    <td>${chip(STANDING[p.standing], p.standing)}<div class="muted">${p.standing === "converged" ? "" : p.lastError || p.activity}</div></td>
    <td class="narrow">${p.haproxy}</td><td class="number" title="${p.running}">${p.deployed}</td><td class="number">${took(p.lagMs)}</td>
    <td>${plan(p.lastPlan)}</td></tr>`)) : html`<p class="muted">No HAProxy pod was found yet.</p>`);

const steps = t => {
  const whole = Math.max(1, ...t.steps.map(s => s.afterMs));
  const kind = s => LEVEL[s.level] || (s.kind === "Deployed" ? "done" : "");
  return html`<div class="track" aria-hidden="true"><i></i>${t.steps.map(s =>
      html`<span class="${kind(s)}" data-at="${Math.round(97 * s.afterMs / whole)}" title="${s.kind} +${took(s.afterMs)}"></span>`)}</div>
    <details data-key="${t.generation}"><summary>${plural(t.steps.length, "step")}</summary><ol class="steps">${t.steps.map(s =>
      html`<li><span class="number">+${took(s.afterMs)}</span><span>${s.text}</span></li>`)}</ol></details>`;
};
const generations = all => table("Generations", ["#Generation", "Outcome", "Began", "Cause", "#Took", "Stages"], all.map(t => html`<tr data-key="${t.generation}">
  <td class="number">${t.generation}</td><td>${chip(OUTCOME[t.outcome] || "", t.outcome)}</td><td>${ago(t.unixMs)}</td>
  <td>${(t.steps.find(s => s.kind === "ReconcileStarted") || t.steps[0]).text.replace(/^generation \d+ begins, triggered by /, "")}</td>
  <td class="number">${took(Math.max(...t.steps.map(s => s.afterMs)))}</td><td>${steps(t)}</td></tr>`));

const events = all => table("Events", ["When", "Level", "#Generation", "What happened"], all.map(e => html`<tr data-key="${e.number ?? `${e.unixMs}${e.text}`}">
  <td>${ago(e.unixMs)}</td><td>${chip(LEVEL[e.level] || "", e.level)}</td><td class="number">${e.generation}</td>
  <td>${e.text}</td></tr>`));

const PAGES = {
  now: { ask: () => ["generations"], show: (g, path, o) => [
    html`<section class="hero" data-key="hero">
      <div><dl><dt>Configuration</dt><dd>${chip(o.config.state === "valid" ? "good" : "bad", o.config.state)}<small>${o.config.name}</small></dd></dl></div>
      <div><dl><dt>Pods converged</dt><dd>${o.pods.filter(p => p.standing === "converged").length} of ${o.pods.length}<small>${[...new Set(o.pods.map(p => p.haproxy).filter(v => v))].map(v => `HAProxy ${v}`).join(", ")}</small></dd></dl></div>
      <div><dl><dt>Generation</dt><dd>${o.rendered ? o.rendered.generation : "none yet"}<small>${o.rendered ? `rendered in ${took(o.rendered.tookMs)}` : ""}${o.checked ? `, ${o.checked.generation === (o.rendered || {}).generation ? "checked" : `${o.checked.generation} is checked`} in ${took(o.checked.tookMs)}` : ""}</small></dd></dl></div>
      <div><dl><dt>Held back</dt><dd>${plural(o.quarantine.length, "object")}<small>of ${o.stores.reduce((n, s) => n + s.objects, 0)} watched</small></dd></dl></div>
      <div><dl><dt>This replica</dt><dd>${o.replica.leads ? "leads" : "stands by"}<small>haptic ${o.replica.version}</small></dd></dl></div>
    </section>`,
    o.problems.length ? section("What is wrong", plural(o.problems.length, "thing"), problems(o.problems)) : "",
    pods(o),
    o.quarantine.length ? section("Held back", "so that they do not stop the others", table("Held back", ["Object", "In force", "#Since generation", "Why"],
      o.quarantine.map(q => html`<tr data-key="${q.object}"><td class="name">${q.object}</td><td>${chip("warn", q.inForce)}</td><td class="number">${q.since}</td><td>${q.why}</td></tr>`))) : "",
    section("Latest generations", "", g.timelines.length ? generations(g.timelines.slice(0, 5)) : html`<p class="muted">None yet.</p>`),
    section("Latest events", "", events([...o.recent].reverse().slice(0, 12))),
  ] },
  generations: { ask: () => ["generations"], show: g => section("Generations", "newest first", generations(g.timelines)) },
  events: { ask: () => ["events?limit=500"], show: e => [search("event"), section("Events", "newest first",
    events(e.reverse().filter(x => `${x.text} ${x.object} ${x.kind}`.includes(filter))))] },
  files: { ask: path => path ? [`files/${path}?q=${encodeURIComponent(filter)}`] : ["files"], show: (f, path) => path
    ? [search("line or object"), section(f.path, `${f.what}, generation ${f.generation}, ${short(f.digest)}`, html`<div class="wide"><table class="lines"><caption class="skip">${f.path}</caption>
        <thead><tr><th scope="col" class="number">Line</th><th scope="col">Template</th><th scope="col">Object</th><th scope="col">Text</th></tr></thead><tbody>${f.lines.map(l =>
        html`<tr><td class="number">${l.number}</td><td class="from" title="${l.template}">${l.template ? `${l.template}:${l.templateLine}` : ""}</td><td class="from" title="${l.object}">${l.object}</td><td class="text">${l.text}</td></tr>`)}</tbody></table></div>
        ${f.next ? html`<p class="muted">More lines follow: <a href="/debug/files/${path}?from=${f.next}">as JSON</a>, or filter.</p>` : ""}`)]
    : section("Files", `generation ${f.generation}, ${short(f.digest)}`, table("Files", ["Path", "What", "#Size", "Digest"], f.files.map(x => html`<tr>
        <td class="name"><a href="#files/${x.path}">${x.path}</a></td><td>${x.what}</td><td class="number">${size(x.bytes)}</td><td class="mono">${short(x.digest)}</td></tr>`))) },
  stores: { ask: path => path ? [`stores/${path}${path.includes("/") ? "" : `?q=${encodeURIComponent(filter)}`}`] : ["stores"], show: (s, path) => !path
    ? section("Stores", "watched objects", table("Stores", ["Resource", "State", "#Objects", "#Size"], Object.entries(s).map(([name, x]) => html`<tr>
        <td class="name"><a href="#stores/${name}">${name}</a></td><td>${x.trouble ? html`${chip("bad", "failing")} ${x.trouble}` : x.synced ? chip("good", "synced") : chip("warn", "reading")}</td>
        <td class="number">${x.objects}</td><td class="number">${size(x.bytes)}</td></tr>`)))
    : path.includes("/") ? section(path, "", html`<pre tabindex="0">${JSON.stringify(s, null, 2)}</pre>`)
    : [search("object"), section(path, s.notListed ? `and ${s.notListed} more` : "", table(path, ["Object", "#Version", "#Size"], s.objects.map(x => html`<tr>
        <td class="name"><a href="#stores/${path}/${x.name}">${x.name}</a></td><td class="number">${x.version}</td><td class="number">${size(x.bytes)}</td></tr>`)))] },
  findings: { ask: path => [`findings${path ? `?kind=${path}` : ""}`], show: (f, path) => [
    section("Findings", `${f.findings}, which hold nothing back`, table("Kinds", ["Kind", "#Findings"], Object.entries(f.kinds).map(([kind, n]) => html`<tr data-key="${kind}">
      <td class="name"><a href="#findings/${kind}">${kind}</a></td><td class="number">${n}</td></tr>`))),
    section(path || "All kinds", f.matching > f.shown.length ? `the first ${f.shown.length} of ${f.matching}` : "", table("Findings", ["Kind", "Object", "Where", "What"], f.shown.map(x => html`<tr>
      <td>${x.kind}</td><td class="name">${x.object}</td><td class="mono">${[x.place.annotation, x.place.host, x.place.path].filter(v => v).join(" ")}</td><td>${x.sentence}</td></tr>`)))] },
  config: { ask: () => ["config"], show: c => [section("Configuration", c.state.state, (c.state.problems || []).map(p =>
      html`<div class="problem"><span class="what">${p.source}</span><p>${p.message}${p.template ? ` (${p.template.template}:${p.template.line})` : ""}${p.field ? ` (${p.field})` : ""}\n${p.help}</p></div>`)),
    c.active ? section(`${c.active.namespace}/${c.active.name}`, `in force, metadata.generation ${c.active.resourceGeneration}`, html`<pre tabindex="0">${JSON.stringify(c.active.spec, null, 2)}</pre>`) : ""] },
  actors: { ask: () => ["actors"], show: a => section("Actors", "", [a.complaints.map(c => html`<div class="problem"><p>${c}</p></div>`),
    table("Actors", ["Actor", "State", "#Queue", "#Handled", "#Restarts", "Last message", "It says"], a.actors.map(x => html`<tr data-key="${x.name}"><td class="name">${x.name}</td>
      <td>${chip(x.state === "running" ? "good" : x.state === "done" ? "" : "bad", x.state)}</td><td class="number">${x.mailbox}</td><td class="number">${x.handled}</td>
      <td class="number">${x.restarts}</td><td>${(x.last_message || "").split("::").pop().replace(/^Envelope<|>+$/g, "")} <span class="muted">${took(x.last_message_ms_ago)}</span></td>
      <td class="mono">${x.last_panic ? chip("bad", x.last_panic) : ""}${x.detail ? JSON.stringify(x.detail) : ""}</td></tr>`))]) },
};
const search = what => html`<div class="bar" data-key="search"><label>Filter <input id="filter" type="search" placeholder="${what}" autocomplete="off"></label></div>`;

// --- what changed is changed in place -------------------------------------------------------------------------------
const key = node => node.dataset && node.dataset.key;
function morph(old, now) {
  if (old.nodeName !== now.nodeName || key(old) !== key(now)) return old.replaceWith(now);
  if (old.nodeType === Node.TEXT_NODE) { if (old.data !== now.data) old.data = now.data; return; }
  for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (name !== "open" && name !== "style" && !now.hasAttribute(name)) old.removeAttribute(name);
  children(old, now);
}
function children(old, now) {
  const keyed = new Map([...old.childNodes].filter(key).map(child => [key(child), child]));
  let here = old.firstChild;
  for (const child of [...now.childNodes]) {
    const known = key(child) && keyed.get(key(child));
    if (known && known !== here) old.insertBefore(known, here);
    const match = known || (here && !key(here) ? here : null);
    if (!match) { old.insertBefore(child, here); continue; }
    here = match.nextSibling;
    morph(match, child);
  }
  while (here) { const next = here.nextSibling; here.remove(); here = next; }
}
function put(place, piece) {
  const template = document.createElement("template");
  template.innerHTML = made(piece);
  children(place, template.content);
  // Styles in the page are refused by its policy; a style set by the script is not.
  place.querySelectorAll("[data-at]").forEach(dot => { dot.style.left = `${dot.dataset.at}%`; });
}

// --- asking -----------------------------------------------------------------------------------------------------------
const where = () => { const [page, ...rest] = decodeURI(location.hash.slice(1) || "now").split("/"); return [PAGES[page] ? page : "now", rest.join("/")]; };
async function ask(path) {
  const answer = await fetch(`/debug/${path}`, { headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
function head(o) {
  const errors = o.problems.filter(p => p.severity === "error").length;
  const warnings = o.problems.length - errors;
  const said = errors ? plural(errors, "problem") : o.pods.length ? "all is well" : "no pods yet";
  put(by("verdict"), html`${chip(errors ? "bad" : o.pods.length ? "good" : "warn", said)} ${warnings ? chip("warn", plural(warnings, "warning")) : ""}`);
  document.body.classList.remove("stale");
  put(by("whose"), html`${o.config.name || "no configuration"}`);
  document.title = `${errors ? `(${errors}) ` : ""}HAPTIC ${o.config.name || ""}`;
  put(by("fresh"), html`${clock(o.takenUnixMs)}`);
}
async function refresh() {
  const [page, path] = where(), mine = ++asked;
  try {
    const [overview, ...answers] = await Promise.all([ask("overview"), ...PAGES[page].ask(path).map(ask)]);
    if (mine !== asked) return;
    head(overview);
    put(main, PAGES[page].show(...answers, path, overview));
  } catch (why) {
    if (mine !== asked) return;
    put(by("verdict"), chip("bad", "no answer"));
    // What is below stays, and must not be taken for how things are now.
    document.body.classList.add("stale");
    put(by("fresh"), html`${clock(Date.now())}: ${why.message}; what is below is older. Does the port-forward still run?`);
  }
}
function turn() {
  const [page] = where();
  filter = "";
  document.querySelectorAll("nav a").forEach(a => a.hash === `#${page}` ? a.setAttribute("aria-current", "page") : a.removeAttribute("aria-current"));
  main.replaceChildren();
  refresh();
}
by("pause").addEventListener("click", () => {
  paused = !paused;
  by("pause").setAttribute("aria-pressed", paused);
  if (!paused) refresh();
});
main.addEventListener("input", event => { if (event.target.id === "filter") { filter = event.target.value; refresh(); } });
addEventListener("hashchange", turn);
document.addEventListener("visibilitychange", () => { if (!document.hidden && !paused) refresh(); });
setInterval(() => { if (!paused && !document.hidden) refresh(); }, EVERY);
turn();
