// The page: what the server says is drawn, what a person does is asked for. Nothing but names of deeds and numbers is sent.

import { FieldChart, NUM_HUES, drawErrors, forgetColours, inView, short } from "./charts.js";
import { Scene } from "./scene.js";

const $ = id => document.getElementById(id);
const LONGEST_PLAY_S = 6, SHORTEST_PLAY_S = 2.5;
let socket = null, world = null, motion = null, scene = null, charts = [], rows = [], lines = [];
let frame = 0, playing = false, played = 0, serial = 0, busy = 0, drawn = false, goalHeld = {};
window.live = { answered: 0, drawn: 0, at: 0, wrong: [] }; // for those who test and time the page
addEventListener("error", event => window.live.wrong.push(String(event.message)));

function wish(what, number = 0, value = 0) {
  if (!socket || socket.readyState !== WebSocket.OPEN) return;
  serial += 1;
  socket.send(JSON.stringify({ do: what, number: Math.round(number), value, serial }));
  if (!["turn", "aim"].includes(what)) { busy = serial; document.body.classList.add("busy"); }
}

// Sliders move faster than answers come: one wish is under way at a time, and the last place of a slider is sent when it is answered.
const later = new Map();
let underway = false;
function wishSoon(what, number, value) {
  later.set(`${what} ${number}`, [what, number, value]);
  if (!underway) sendNext();
}
function sendNext() {
  const first = later.entries().next();
  underway = !first.done;
  if (first.done) return;
  later.delete(first.value[0]);
  wish(...first.value[1]);
}

function connect() {
  socket = new WebSocket(`ws://${location.host}/socket`);
  socket.onmessage = event => {
    const told = JSON.parse(event.data);
    if (told.kind === "world") begin(told);
    else if (told.kind === "motion") change(told);
    else say(told.text);
    if (told.serial === serial || told.serial >= busy) document.body.classList.remove("busy");
    if (told.serial) { window.live.answered = told.serial; sendNext(); }
  };
  socket.onclose = event => { playing = false; say(event.reason || "The page was closed: start `vpw live` again and reload."); };
}

function begin(told) {
  world = told;
  document.title = `${world.title} · vpw live`;
  $("title").textContent = world.title; $("title").title = world.title;
  $("horizon").replaceChildren(...world.horizons.map(steps => new Option(steps, steps)));
  $("perturb").textContent = world.runs ? "perturb" : "elsewhere";
  $("perturb").title = world.runs ? "Push the world elsewhere" : "Nothing can be pushed in a log: go to another of its steps";
  $("plan").hidden = !world.acts;
  $("goalkey").hidden = !world.acts;
  $("stage").hidden = !world.scene;
  $("hint").textContent = world.scene ? (world.scene.solid ? "drag a goal (shift: up and down, wheel: turn); drag elsewhere to look around" : "drag a goal (wheel: turn)") : "";
  if (world.scene) scene = window.live.scene = new Scene($("scene"), world.scene, aim, redraw);
  $("view").classList.toggle("scenic", Boolean(world.scene));
  $("fields").classList.toggle("large", !world.scene);
  charts = world.fields.map((field, i) => {
    const canvas = document.createElement("canvas");
    return new FieldChart(canvas, field, i, world.acts ? aim : () => {});
  });
  $("fields").replaceChildren(...charts.map(chart => chart.canvas));
  $("errorkey").replaceChildren(...world.fields.map((field, i) => { const item = document.createElement("li"); item.className = `hue${i % NUM_HUES}`; return item; }));
  rows = world.dials.map(makeDial);
  $("dials").replaceChildren(...rows.map(row => row.element));
  lines = world.listing.map(line => {
    const item = document.createElement("span");
    item.className = "line"; item.innerHTML = line.html || "\u200b"; item.dataset.dial = line.dial ?? "";
    return item;
  });
  $("listing").replaceChildren(...lines);
}

function makeDial(dial, number) {
  const part = (tag, name, text = "") => { const item = document.createElement(tag); item.className = name; item.textContent = text; return item; };
  const element = part("div", "row"), top = part("div", "top"), slide = part("div", "slide");
  const slider = part("input", ""), box = part("input", ""), back = part("button", "quiet", "↺");
  const step = dial.whole ? 1 : (dial.high - dial.low) / 1000;
  Object.assign(slider, { type: "range", min: dial.low, max: dial.high, step: dial.whole ? 1 : "any", value: dial.value });
  Object.assign(box, { type: "number", min: dial.low, max: dial.high, step: dial.whole ? 1 : "any" });
  slider.dataset.dial = box.dataset.dial = dial.name;
  slider.setAttribute("aria-label", dial.name); box.setAttribute("aria-label", `${dial.name}, value`);
  back.title = `back to ${dial.value}`; back.setAttribute("aria-label", `reset ${dial.name}`);
  const meaning = part("span", "meaning", dial.meaning); meaning.title = dial.meaning;
  const error = part("span", "error", [dial.stderr === null ? "" : `± ${short(dial.stderr)}`, dial.unit].filter(Boolean).join(" "));
  error.title = dial.stderr === null ? "not fitted" : "standard error of the fit";
  top.append(part("span", "name", dial.name), meaning, box, error);
  slide.append(part("span", "", short(dial.low)), slider, part("span", "", short(dial.high)), back);
  element.append(top, slide);
  slider.addEventListener("input", () => { box.value = Number(Number(slider.value).toPrecision(6)); wishSoon("turn", number, Number(slider.value)); });
  slider.addEventListener("keydown", event => {
    const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!way) return;
    event.preventDefault(); slider.value = Number(slider.value) + way * step; slider.dispatchEvent(new Event("input"));
  });
  box.addEventListener("change", () => wishSoon("turn", number, Number(box.value)));
  back.addEventListener("click", () => wish("back", number));
  return { element, slider, box, dial };
}

function change(told) {
  const moved = !motion || told.start !== motion.start || told.episode !== motion.episode || told.steps.length !== motion.steps.length || told.planned !== motion.planned;
  motion = told;
  if (moved) { frame = playing ? 0 : Math.min(frame, told.steps.length - 1); played = 0; }
  if (told.planned && moved) { frame = 0; play(true); }
  $("cursor").max = told.steps.length - 1;
  $("horizon").value = told.horizon;
  rows.forEach((row, i) => {
    const value = told.values[i];
    if (row.shown === value) return;
    row.shown = value;
    const held = later.has(`turn ${i}`);
    if (document.activeElement !== row.slider && !held) row.slider.value = value;
    if (document.activeElement !== row.box && !held) row.box.value = Number(value.toPrecision(6));
    row.element.classList.toggle("changed", value !== row.dial.value);
  });
  for (const line of lines) {
    if (line.dataset.dial === "") continue;
    const i = Number(line.dataset.dial), dial = world.dials[i], value = told.values[i];
    if (line.shown === value) continue;
    line.shown = value;
    line.classList.toggle("changed", value !== dial.value);
    const text = value === dial.value ? null : dial.whole ? String(value) : String(Number(value.toPrecision(8)));
    const number = line.querySelector("b.dial");
    number.dataset.own ??= number.textContent;
    number.textContent = text ?? number.dataset.own;
  }
  $("changed").textContent = told.changed ? `${told.changed} changed` : "";
  $("back").disabled = $("save").disabled = !told.changed;
  $("plan").disabled = told.aim === null;
  $("plan").title = told.aim === "reward" ? "Search for the actions that the program's own reward likes best, and do them in the true world" : told.aim === null ? "Drag a goal into a chart first" : "Search for actions that lead to the goal, and do them in the true world";
  $("plan").textContent = told.aim === "reward" ? "plan for reward" : "plan to goal";
  $("aimless").hidden = world.task || !told.goal.chosen.some(Boolean);
  for (const [i, value] of Object.entries(goalHeld)) if (Math.abs(value - told.goal.values[i]) < 1e-6 * Math.max(1, Math.abs(value))) delete goalHeld[i];
  const last = told.steps[told.steps.length - 1];
  const kind = told.planned ? (world.runs ? "a plan, imagined and done" : "a plan, only imagined") : world.runs ? "" : "from the log";
  $("where").textContent = `episode ${told.episode}${world.episodes ? ` of ${world.episodes}` : ""}, steps ${told.start} to ${told.start + last}${kind ? ` · ${kind}` : ""}`;
  redraw();
}

// A goal follows the hand at once; the server's answer confirms it.
function aim(field, value) {
  const { low, high } = world.fields[field];
  goalHeld[field] = Math.min(Math.max(value, low), high);
  wishSoon("aim", field, goalHeld[field]);
  redraw();
}

function goal() {
  const values = motion.goal.values.map((value, i) => goalHeld[i] ?? value), chosen = motion.goal.chosen.map((was, i) => was || i in goalHeld);
  if (!scene) return { values, chosen };
  const places = motion.places.goal.map((place, k) => {
    const fields = world.scene.shapes[world.scene.moving[k]].fields;
    return place.map((value, axis) => axis < 4 && fields[axis] >= 0 && fields[axis] in goalHeld ? goalHeld[fields[axis]] : value);
  });
  return { values, chosen, places };
}

function redraw() {
  if (drawn || !motion) return;
  drawn = true;
  requestAnimationFrame(() => {
    drawn = false;
    frame = Math.min(frame, motion.steps.length - 1);
    const aimed = goal();
    $("cursor").value = frame;
    const step = motion.steps[frame], seconds = world.dt ? ` · ${short(step * world.dt)} s` : "";
    $("moment").textContent = `step ${step}${seconds}`;
    if (scene && inView($("scene"))) scene.draw(motion, world.task || aimed.chosen.some(Boolean) ? aimed.places : null, frame);
    charts.filter(chart => inView(chart.canvas)).forEach(chart => chart.draw(motion, aimed.values[chart.number], aimed.chosen[chart.number], frame));
    if (inView($("errorchart"))) drawErrors($("errorchart"), motion, world.fields, frame);
    const now = motion.errors[Math.min(frame, motion.errors.length - 1)];
    [...$("errorkey").children].forEach((item, i) => { item.textContent = `${world.fields[i].name} ${short(now[i])}${world.fields[i].unit && world.fields[i].unit.length < 8 ? ` ${world.fields[i].unit}` : ""}`; });
    Object.assign(window.live, { drawn: motion.serial, at: performance.now() });
  });
}

function play(on) {
  playing = on;
  $("play").textContent = on ? "❚❚ pause" : "▶ play";
  if (on) { played = 0; if (frame >= motion.steps.length - 1) frame = 0; requestAnimationFrame(tick); }
}

function tick(now) {
  if (!playing) return;
  const count = motion.steps.length - 1, steps = motion.steps[count];
  const seconds = Math.min(LONGEST_PLAY_S, Math.max(SHORTEST_PLAY_S, (world.dt || 0.1) * steps));
  if (played && now - played < 1000 * seconds / Math.max(count, 1)) { requestAnimationFrame(tick); return; }
  if (played) frame += Math.max(1, Math.floor((now - played) / (1000 * seconds / Math.max(count, 1))));
  played = now;
  if (frame >= count) {
    frame = count;
    if (motion.planned) play(false);
    else if (!document.body.classList.contains("busy")) wish("step", Math.max(1, steps));
  }
  redraw();
  requestAnimationFrame(tick);
}

let hush = 0;
function say(text) {
  $("said").textContent = text; $("said").classList.add("shown");
  clearTimeout(hush); hush = setTimeout(() => $("said").classList.remove("shown"), 8000);
}

$("play").addEventListener("click", () => play(!playing));
$("step").addEventListener("click", () => { play(false); frame = 0; wish("step", Math.max(1, motion.steps[1] || 1)); });
$("plan").addEventListener("click", () => { play(false); wish("plan", motion.steps[Math.min(frame, motion.true.length - 1)]); });
$("perturb").addEventListener("click", () => { play(false); wish("perturb", motion.steps[Math.min(frame, motion.true.length - 1)]); });
$("again").addEventListener("click", () => { play(false); frame = 0; wish("episode", motion.episode); });
$("next").addEventListener("click", () => { play(false); frame = 0; wish("episode", world.episodes ? (motion.episode + 1) % world.episodes : motion.episode + 1); });
$("horizon").addEventListener("change", () => wish("look", Number($("horizon").value)));
$("cursor").addEventListener("input", () => { play(false); frame = Number($("cursor").value); redraw(); });
$("back").addEventListener("click", () => wish("back_all"));
$("aimless").addEventListener("click", () => { goalHeld = {}; wish("aimless"); });
$("save").addEventListener("click", () => wish("save"));
addEventListener("resize", redraw);
addEventListener("scroll", redraw, { passive: true });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { forgetColours(); redraw(); });
connect();
