"use strict";
// Every node is made here from data, never from text that a browser would read as HTML.
const MATHML = "http://www.w3.org/1998/Math/MathML";
const IDLE_SECONDS = 120;
const el = (id) => document.getElementById(id);
const token = document.querySelector("meta[name=review-token]").content;
let items = [], decisions = {}, verdicts = [], reasons = [], at = 0, asWritten = false;
let spent = {}, lastInput = Date.now(), saving = false;

function node(tree) {
  if (typeof tree === "string") return document.createTextNode(tree);
  const made = document.createElementNS(MATHML, tree[0]);
  for (const [name, value] of Object.entries(tree[1])) made.setAttribute(name, value);
  for (const child of tree[2]) made.appendChild(node(child));
  return made;
}

function fill(target, pieces, source) {
  target.replaceChildren();
  if (asWritten) { target.textContent = source; return; }
  for (const piece of pieces) {
    const made = node(piece[1]);
    if (piece[0] === "math") made.setAttribute("title", piece[2]);
    target.appendChild(made);
  }
}

const draftName = (id) => "draft " + id;
const draft = (id) => JSON.parse(sessionStorage.getItem(draftName(id)) || "null");
function keepDraft() {
  if (!items.length) return;
  const kept = { answer: el("answer").value, comment: el("comment").value, reasons: chosen(), open: !el("after").hidden };
  sessionStorage.setItem(draftName(items[at].blind_id), JSON.stringify(kept));
}

function chosen() {
  return [...document.querySelectorAll("#reasons input:checked")].map((box) => box.value);
}

function say(text, trouble = false) {
  el("said").textContent = text;
  el("said").classList.toggle("trouble", trouble);
}

function count() {
  const done = items.filter((item) => decisions[item.blind_id]).length;
  el("place").textContent = `Item ${at + 1} of ${items.length}`;
  el("done").max = items.length;
  el("done").value = done;
  el("left").textContent = done === items.length ? "all decided" : `${items.length - done} left`;
}

function fillTexts() {
  fill(el("question"), items[at].question, items[at].question_source);
  fill(el("key"), items[at].key, items[at].key_source);
}

function show(index) {
  at = Math.max(0, Math.min(items.length - 1, index));
  const item = items[at], decided = decisions[item.blind_id];
  const from = draft(item.blind_id) || decided || {};
  fillTexts();
  el("answer").value = from.answer || "";
  el("comment").value = from.comment || "";
  for (const box of document.querySelectorAll("#reasons input")) box.checked = (from.reasons || []).includes(box.value);
  for (const button of document.querySelectorAll("#verdicts button"))
    button.setAttribute("aria-pressed", String(Boolean(decided) && decided.verdict === button.dataset.verdict));
  reveal(Boolean(decided || from.open));
  document.body.dataset.item = item.blind_id;
  document.body.dataset.revision = decided ? decided.revision : 0;
  count();
}

function reveal(open) {
  el("after").hidden = !open;
  if (open) el("answer").blur();
  else el("answer").focus();
}

function nextUndecided() {
  for (let step = 1; step <= items.length; step++) {
    const index = (at + step) % items.length;
    if (!decisions[items[index].blind_id]) return index;
  }
  return at;
}

async function decide(verdict) {
  if (saving) return;
  const item = items[at], before = decisions[item.blind_id];
  const row = {
    blind_id: item.blind_id, verdict, answer: el("answer").value, reasons: chosen(), comment: el("comment").value,
    seconds: (spent[item.blind_id] || 0) + (before ? Number(before.seconds) || 0 : 0),
    based_on: before ? Number(before.revision) : 0,
  };
  saving = true;
  try {
    const reply = await fetch("/api/decision", {
      method: "POST", headers: { "Content-Type": "application/json", "X-Review-Token": token }, body: JSON.stringify(row),
    });
    const told = await reply.json();
    if (reply.status === 409) {
      decisions[item.blind_id] = told.decision;
      sessionStorage.removeItem(draftName(item.blind_id));
      show(at);
      say(`Not saved: you decided ${told.decision.verdict} on this item in another tab. Decide again if you want to change that.`, true);
      return;
    }
    if (!reply.ok) { say(`Not saved: ${told.error}.`, true); return; }
    decisions[item.blind_id] = { ...row, revision: told.revision };
    spent[item.blind_id] = 0;
    sessionStorage.removeItem(draftName(item.blind_id));
    show(nextUndecided());
    const left = items.some((each) => !decisions[each.blind_id]);
    say(left ? `Saved: ${verdict}.` : `Saved: ${verdict}. Everything is decided: send back the file decisions.jsonl.`);
  } catch (error) {
    say("Not saved: the server does not answer. Is benchfill review serve still running?", true);
  } finally {
    saving = false;
  }
}

async function refresh() {
  try {
    const told = await (await fetch("/api/decisions")).json();
    const here = items[at] && items[at].blind_id, before = here && decisions[here];
    decisions = told.decisions;
    if (here && decisions[here] && (!before || before.revision !== decisions[here].revision)) show(at);
    else if (items.length) count();
  } catch (error) { /* the next decision will say so */ }
}

function typing() {
  return document.activeElement === el("answer") || document.activeElement === el("comment");
}

document.addEventListener("keydown", (event) => {
  lastInput = Date.now();
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !items.length) return;
  if (event.key === "Escape") { document.activeElement.blur(); return; }
  if (event.key === "Enter" && document.activeElement === el("answer")) {
    event.preventDefault();
    reveal(true);
    keepDraft();
    return;
  }
  if (typing()) return;
  const open = !el("after").hidden;
  const verdict = verdicts.find((name) => name[0] === event.key);
  const boxes = document.querySelectorAll("#reasons input");
  const box = /^[1-9]$/.test(event.key) ? boxes[Number(event.key) - 1] : null;
  if (verdict && open) decide(verdict);
  else if (box && open) { box.checked = !box.checked; keepDraft(); }
  else if (event.key === "Enter" && document.activeElement === document.body) reveal(true);
  else if (event.key === "ArrowRight") { show(at + 1); say(""); }
  else if (event.key === "ArrowLeft") { show(at - 1); say(""); }
  else if (event.key === "n") { show(nextUndecided()); say(""); }
  else if (event.key === "c" && open) el("comment").focus();
  else if (event.key === "e") el("answer").focus();
  else if (event.key === "s") { asWritten = !asWritten; fillTexts(); }
  else return;
  event.preventDefault();
});
for (const name of ["pointerdown", "wheel"]) document.addEventListener(name, () => { lastInput = Date.now(); });
document.addEventListener("input", keepDraft);
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
window.addEventListener("focus", refresh);
// Time counts while the item is looked at: the page visible, and a hand on it within two minutes.
setInterval(() => {
  if (document.hidden || !items.length || Date.now() - lastInput > 1000 * IDLE_SECONDS) return;
  spent[items[at].blind_id] = (spent[items[at].blind_id] || 0) + 0.5;
}, 500);

async function start() {
  const told = await (await fetch("/api/packet")).json();
  ({ items, decisions, verdicts, reasons } = told);
  for (const name of verdicts) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.verdict = name;
    button.textContent = name;
    button.addEventListener("click", () => decide(name));
    el("verdicts").appendChild(button);
  }
  for (const name of reasons) {
    const label = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox";
    box.value = name;
    label.append(box, " " + name.replace("_", " "));
    el("reasons").appendChild(label);
  }
  const first = items.findIndex((item) => !decisions[item.blind_id]);
  show(first < 0 ? 0 : first);
  document.body.dataset.ready = "yes";
}
start();
