// Line charts on canvas: one per field, with a goal that can be dragged, and one of all errors.

export const NUM_HUES = 8;
const LEFT = 46, RIGHT = 18, TOP = 20, BOTTOM = 18;

const colours = new Map(); // asking the style sheet anew for every line would take longer than drawing it
export const forgetColours = () => colours.clear();
export function colour(name) {
  if (!colours.has(name)) colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return colours.get(name);
}

// Whether somebody can see an element now; what is scrolled away need not be drawn.
export function inView(element) {
  const box = element.getBoundingClientRect();
  return box.width > 0 && box.bottom > 0 && box.top < innerHeight;
}

export function sized(canvas) {
  const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  const width = Math.max(1, Math.round(box.width * ratio)), height = Math.max(1, Math.round(box.height * ratio));
  if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
  const paint = canvas.getContext("2d");
  paint.setTransform(ratio, 0, 0, ratio, 0, 0);
  paint.clearRect(0, 0, box.width, box.height);
  return { paint, width: box.width, height: box.height };
}

export function short(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(1).replace("e+", "e").replace(".0e", "e");
  return String(Number(value.toPrecision(4)));
}

function ticks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= rough) || power;
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-9) + 1e-12; i++) found.push(i * step);
  return found;
}

function line(paint, points, style, width, dash) {
  paint.strokeStyle = style; paint.lineWidth = width; paint.setLineDash(dash); paint.lineJoin = paint.lineCap = dash.length ? "butt" : "round";
  paint.beginPath();
  let drawing = false;
  for (const [x, y] of points) {
    if (y === null || !Number.isFinite(y)) { drawing = false; continue; }
    if (drawing) paint.lineTo(x, y); else paint.moveTo(x, y);
    drawing = true;
  }
  paint.stroke(); paint.setLineDash([]);
}

// The range that a chart shows: all of the truth; of the imagined motion as much as three times that.
function range(field, truth, imagined, goal) {
  const finite = rows => rows.filter(value => value !== null);
  const seen = finite(truth), dreamt = finite(imagined), all = seen.length > 1 ? seen : [...seen, ...dreamt];
  let low = Math.min(...all), high = Math.max(...all);
  if (!Number.isFinite(low)) { low = -1; high = 1; }
  const room = Math.max(high - low, 0.02 * field.spread, 1e-9);
  for (const value of dreamt) { low = Math.max(Math.min(low, value), low - room); high = Math.min(Math.max(high, value), high + room); }
  if (goal !== null) { low = Math.min(low, goal); high = Math.max(high, goal); }
  const pad = 0.08 * Math.max(high - low, 0.02 * field.spread, 1e-9);
  return [low - pad, high + pad];
}

export class FieldChart {
  constructor(canvas, field, number, aim) {
    Object.assign(this, { canvas, field, number, aim, scale: null });
    canvas.setAttribute("role", "img");
    canvas.dataset.field = field.name;
    let held = false;
    const at = event => event.clientY - canvas.getBoundingClientRect().top;
    canvas.addEventListener("pointerdown", event => {
      if (!this.scale || event.clientX - canvas.getBoundingClientRect().left < LEFT) return;
      held = true; this.held = this.scale; canvas.setPointerCapture(event.pointerId); this.aim(number, this.value(at(event)));
    });
    canvas.addEventListener("pointermove", event => { if (held) this.aim(number, this.value(at(event))); });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { held = false; this.held = null; });
  }
  // While a goal is dragged the scale stays, so that it does not run away from the hand.
  value(y) {
    const [low, high, height] = this.held || this.scale;
    const share = (height - BOTTOM - y) / (height - TOP - BOTTOM);
    return Math.min(Math.max(low + share * (high - low), this.field.low), this.field.high);
  }
  draw(motion, goal, chosen, frame) {
    const { paint, width, height } = sized(this.canvas);
    const truth = motion.true.map(row => row[this.number]), imagined = motion.imagined.map(row => row[this.number]);
    const [low, high] = this.held || range(this.field, truth, imagined, chosen ? goal : null);
    this.scale = [low, high, height];
    const last = motion.steps[motion.steps.length - 1] || 1;
    const x = step => LEFT + step / last * (width - LEFT - RIGHT), y = value => value === null ? null : height - BOTTOM - (value - low) / (high - low) * (height - TOP - BOTTOM);
    paint.font = "600 12px system-ui, sans-serif"; paint.fillStyle = colour("ink"); paint.textAlign = "left";
    paint.fillText(this.field.name + (this.field.unit ? ` (${this.field.unit})` : ""), 0, 12);
    paint.font = "11px system-ui, sans-serif"; paint.fillStyle = colour("soft"); paint.lineWidth = 1;
    for (const value of ticks(low, high, 3)) {
      paint.strokeStyle = colour("rule"); paint.beginPath(); paint.moveTo(LEFT, y(value)); paint.lineTo(width - RIGHT, y(value)); paint.stroke();
      paint.textAlign = "right"; paint.fillText(short(value), LEFT - 6, y(value) + 4);
    }
    paint.textAlign = "center";
    for (const step of ticks(0, last, 5)) paint.fillText(step, x(step), height - 4);
    paint.save(); paint.beginPath(); paint.rect(LEFT - 2, TOP - 4, width - LEFT - RIGHT + 4, height - TOP - BOTTOM + 8); paint.clip();
    line(paint, truth.map((value, i) => [x(motion.steps[i]), y(value)]), colour("true-line"), 5, []);
    line(paint, imagined.map((value, i) => [x(motion.steps[i]), y(value)]), colour("accent"), 2, [6, 4]);
    paint.restore();
    line(paint, [[x(motion.steps[frame]), TOP - 4], [x(motion.steps[frame]), height - BOTTOM]], colour("soft"), 1, []);
    if (chosen) {
      line(paint, [[LEFT, y(goal)], [width - RIGHT, y(goal)]], colour("goal"), 2, [2, 4]);
      paint.fillStyle = colour("goal"); paint.beginPath(); paint.arc(width - RIGHT, y(goal), 5, 0, 7); paint.fill();
    }
    const end = imagined[imagined.length - 1];
    this.canvas.setAttribute("aria-label", `${this.field.name}: true ends at ${short(truth[truth.length - 1])}, imagined at ${short(end)}`);
  }
}

const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

export function drawErrors(canvas, motion, fields, frame) {
  const { paint, width, height } = sized(canvas);
  const shares = motion.errors.map(row => row.map((value, i) => value === null ? null : value / fields[i].spread));
  const positive = shares.flat().filter(value => value > 0);
  const top = Math.min(3, Math.ceil(Math.log10(Math.max(...positive, 1e-3)) + 1e-9));
  const bottom = Math.max(Math.min(Math.floor(Math.log10(Math.min(...positive, 1))), top - 2), top - 12, -12);
  const last = motion.steps[motion.steps.length - 1] || 1;
  const x = step => LEFT + step / last * (width - LEFT - RIGHT);
  const y = value => value === null ? null : height - BOTTOM - (Math.min(Math.max(Math.log10(Math.max(value, 1e-300)), bottom), top) - bottom) / (top - bottom) * (height - 8 - BOTTOM);
  paint.font = "11px system-ui, sans-serif"; paint.fillStyle = colour("soft");
  const every = Math.ceil((top - bottom) / 4);
  for (let power = bottom; power <= top; power += every) {
    paint.strokeStyle = colour("rule"); paint.lineWidth = 1; paint.beginPath(); paint.moveTo(LEFT, y(10 ** power)); paint.lineTo(width - RIGHT, y(10 ** power)); paint.stroke();
    paint.textAlign = "right"; paint.fillText(power === 0 ? "1" : "10" + [...String(power)].map(sign => RAISED[sign]).join(""), LEFT - 6, y(10 ** power) + 4);
  }
  paint.textAlign = "center";
  for (const step of ticks(0, last, 8)) paint.fillText(step, x(step), height - 4);
  fields.forEach((_, i) => line(paint, shares.map((row, k) => [x(motion.steps[k]), y(row[i])]), colour(`hue${i % NUM_HUES}`), 2, i < NUM_HUES ? [] : [5, 4]));
  line(paint, [[x(motion.steps[frame]), 4], [x(motion.steps[frame]), height - BOTTOM]], colour("soft"), 1, []);
  if (motion.errors.length < 2) { paint.textAlign = "center"; paint.font = "13px system-ui, sans-serif"; paint.fillText("No true motion to compare with: this plan is only imagined.", width / 2, height / 2); }
}
