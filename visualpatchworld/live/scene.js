// The scene on canvas, as it looks from far away: flat worlds from above, others from aside. Shapes come from the scene graph.

import { colour, sized } from "./charts.js";

const GRAB_PX = 14;

export class Scene {
  constructor(canvas, scene, aim, redraw) {
    Object.assign(this, { canvas, scene, aim, redraw });
    this.view = { azimuth: 0.45, elevation: scene.solid ? 0.6 : Math.PI / 2, zoom: scene.solid ? 1.4 : 1 }; // room above the ground is mostly empty
    this.goal = null;
    this.listen();
  }

  // Where a point of the world lies on the canvas, and how near it is.
  project(point) {
    const { right, up, toward, middle, scale, width, height } = this.camera;
    const offset = [0, 1, 2].map(i => point[i] - middle[i]);
    const along = axis => axis[0] * offset[0] + axis[1] * offset[1] + axis[2] * offset[2];
    return { x: width / 2 + scale * along(right), y: height / 2 - scale * along(up), near: along(toward) };
  }

  aimCamera(width, height) {
    const { low, high, solid, yDown } = this.scene, { azimuth: a, elevation: e, zoom } = this.view;
    const middle = low.map((value, i) => (value + high[i]) / 2);
    middle[2] = solid ? low[2] + 0.25 * (high[2] - low[2]) : 0; // most things lie on the ground
    const right = solid ? [-Math.sin(a), Math.cos(a), 0] : [1, 0, 0];
    const up = solid ? [-Math.sin(e) * Math.cos(a), -Math.sin(e) * Math.sin(a), Math.cos(e)] : [0, yDown ? -1 : 1, 0];
    const toward = solid ? [Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)] : [0, 0, 1];
    this.camera = { right, up, toward, middle, scale: 1, width, height };
    let wide = 1e-9, tall = 1e-9;
    for (const x of [low[0], high[0]]) for (const y of [low[1], high[1]]) for (const z of solid ? [low[2], high[2]] : [0]) {
      const at = this.project([x, y, z]);
      wide = Math.max(wide, Math.abs(at.x - width / 2)); tall = Math.max(tall, Math.abs(at.y - height / 2));
    }
    this.camera.scale = zoom * Math.min(width / 2 / wide, height / 2 / tall) * 0.98;
  }

  draw(motion, goal, frame) {
    const { paint, width, height } = sized(this.canvas);
    this.aimCamera(width, height);
    const moving = this.scene.moving;
    paint.fillStyle = colour("raised"); paint.fillRect(0, 0, width, height);
    if (this.scene.solid) this.ground(paint);
    this.scene.shapes.forEach((item, i) => { if (item.fixed) this.fixed(paint, item, this.scene.rest[i]); });
    const last = motion.places.true.length - 1, now = Math.min(frame, last);
    this.trails(paint, motion.places.true, colour("true-line"), []);
    this.trails(paint, motion.places.imagined, colour("accent"), [4, 4]);
    const pieces = [];
    moving.forEach((number, k) => {
      const item = this.scene.shapes[number];
      if (goal) pieces.push(...this.pieces(item, goal[k], "goal"));
      pieces.push(...this.pieces(item, motion.places.true[now][k], "true"));
      pieces.push(...this.pieces(item, motion.places.imagined[frame][k], "imagined"));
    });
    const rank = { true: 0, goal: 1, imagined: 2 };
    pieces.sort(this.scene.solid ? (a, b) => a.near - b.near : (a, b) => rank[a.look] - rank[b.look]);
    for (const piece of pieces) this.piece(paint, piece);
    this.goal = goal;
  }

  ground(paint) {
    const { low, high } = this.scene, z = low[2];
    const corner = (x, y) => this.project([x, y, z]);
    paint.fillStyle = colour("floor"); paint.beginPath();
    for (const [x, y] of [[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]]) { const at = corner(x, y); paint.lineTo(at.x, at.y); }
    paint.fill();
    paint.strokeStyle = colour("rule"); paint.lineWidth = 1; paint.setLineDash([]);
    const step = 10 ** Math.floor(Math.log10(Math.max(high[0] - low[0], high[1] - low[1]) / 2)) ;
    const lines = [];
    for (let i = Math.ceil(low[0] / step); i * step <= high[0]; i++) lines.push([corner(i * step, low[1]), corner(i * step, high[1])]);
    for (let i = Math.ceil(low[1] / step); i * step <= high[1]; i++) lines.push([corner(low[0], i * step), corner(high[0], i * step)]);
    for (const [from, to] of lines) { paint.beginPath(); paint.moveTo(from.x, from.y); paint.lineTo(to.x, to.y); paint.stroke(); }
  }

  // Parts of the house: what surrounds everything is an outline, a door is a hole, the rest is wall.
  fixed(paint, item, place) {
    for (const piece of this.pieces(item, place, "fixed")) {
      if (item.kind === "border") { this.outline(paint, piece); paint.strokeStyle = colour("wall"); paint.lineWidth = 3; paint.setLineDash([]); paint.stroke(); continue; }
      this.piece(paint, { ...piece, fill: colour(item.kind === "door" ? "raised" : "wall"), edge: null });
    }
  }

  trails(paint, places, style, dash) {
    this.scene.moving.forEach((number, k) => {
      if (this.scene.shapes[number].fields[0] < 0 && this.scene.shapes[number].fields[1] < 0) return;
      paint.strokeStyle = style; paint.lineWidth = 1.5; paint.setLineDash(dash); paint.beginPath();
      for (const row of places) {
        if (row[k].slice(0, 3).includes(null)) break;
        const at = this.project(row[k]); paint.lineTo(at.x, at.y);
      }
      paint.stroke();
    });
    paint.setLineDash([]);
  }

  // What an object is made of, on the canvas: faces, discs and rounded lines, each with how near it is.
  pieces(item, place, look) {
    if (place.includes(null)) return [];
    const [x, y, z, angle, opening] = place, c = Math.cos(angle), s = Math.sin(angle);
    const world = ([u, v, w = 0]) => [x + c * u - s * v, y + s * u + c * v, z + w];
    const shape = item.shape, scale = this.camera.scale, lift = this.scene.solid && !shape.half_sizes ? shape.radius || 0 : 0;
    const made = [];
    const flat = corners => made.push({ look, path: corners.map(corner => this.project(world(corner))), shade: 1 });
    const rounded = (from, to, radius) => {
      const ends = [from, to].map(end => this.project(world([...end, lift])));
      made.push({ look, ends, radius: radius * scale, shade: 1 });
    };
    if (item.opens) {
      const r = shape.radius, gap = r * (0.35 + 1.5 * (1 - opening));
      for (const side of [-1, 1]) made.push(...this.box(world, [0, side * (gap + 0.3 * r), 0.6 * r], [0.55 * r, 0.3 * r, 1.3 * r], look));
      made.push(...this.box(world, [0, 0, 2.4 * r], [0.7 * r, 2.3 * r, 0.5 * r], look));
    } else if (shape.polygons) shape.polygons.forEach(flat);
    else if (shape.half_sizes && shape.half_sizes.length > 2) made.push(...this.box(world, [0, 0, 0], shape.half_sizes, look));
    else if (shape.half_sizes) { const [a, b] = shape.half_sizes; flat([[-a, -b], [a, -b], [a, b], [-a, b]]); }
    else if (shape.segment) rounded(...shape.segment, shape.radius || 0);
    else if (shape.length) rounded([0, 0], [shape.length, 0], shape.radius || 0);
    else rounded([0, 0], [0, 0], shape.radius || 0);
    for (const piece of made) {
      const points = piece.path || piece.ends;
      piece.near = points.reduce((sum, at) => sum + at.near, 0) / points.length;
    }
    return made;
  }

  box(world, middle, half, look) {
    const faces = [];
    for (let axis = 0; axis < 3; axis++) for (const side of [-1, 1]) {
      const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
      const corners = [[1, 1], [-1, 1], [-1, -1], [1, -1]].map(([a, b]) => {
        const corner = [...middle]; corner[axis] += side * half[axis]; corner[u] += a * half[u]; corner[v] += b * half[v];
        return this.project(world(corner));
      });
      const inner = [...middle], outer = [...middle]; outer[axis] += side * half[axis];
      if (this.project(world(outer)).near > this.project(world(inner)).near + 1e-12) faces.push({ look, path: corners, shade: [0.82, 0.92, 1][axis] });
    }
    return faces;
  }

  outline(paint, piece) {
    paint.beginPath();
    if (piece.path) { for (const at of piece.path) paint.lineTo(at.x, at.y); paint.closePath(); return; }
    const [a, b] = piece.ends, turn = Math.atan2(b.y - a.y, b.x - a.x), r = Math.max(piece.radius, 1);
    paint.arc(a.x, a.y, r, turn + Math.PI / 2, turn - Math.PI / 2);
    paint.arc(b.x, b.y, r, turn - Math.PI / 2, turn + Math.PI / 2);
    paint.closePath();
  }

  piece(paint, piece) {
    const look = piece.look;
    this.outline(paint, piece);
    paint.lineJoin = "round"; paint.setLineDash(look === "imagined" ? [5, 3] : look === "goal" ? [2, 4] : []);
    if (piece.fill) { paint.fillStyle = piece.fill; paint.fill(); return; }
    if (look === "true") {
      paint.fillStyle = colour("true"); paint.fill();
      if (piece.shade < 1) { paint.fillStyle = `rgba(0,0,0,${(1 - piece.shade).toFixed(2)})`; paint.fill(); }
      paint.strokeStyle = colour("true-edge"); paint.lineWidth = 1; paint.stroke();
    } else {
      if (look === "imagined") { paint.fillStyle = colour("accent-soft"); paint.fill(); }
      paint.strokeStyle = colour(look === "imagined" ? "accent" : "goal"); paint.lineWidth = look === "goal" ? 2.2 : 1.8; paint.stroke();
    }
    paint.setLineDash([]);
  }

  // The goal's object nearest to the pointer that a drag can move.
  grabbed(x, y) {
    let best = null;
    (this.goal || []).forEach((place, k) => {
      const item = this.scene.shapes[this.scene.moving[k]], [fx, fy] = item.fields;
      if ((fx < 0 && fy < 0) || place.includes(null)) return;
      const at = this.project(place), far = Math.hypot(at.x - x, at.y - y), reach = Math.max(GRAB_PX, 1.2 * (item.shape.radius || 0) * this.camera.scale, item.shape.polygons || item.shape.half_sizes ? 36 : 0);
      if (far < reach && (!best || far < best.far)) best = { item, place: [...place], far };
    });
    return best;
  }

  listen() {
    const canvas = this.canvas;
    let held = null, turning = null, from = null;
    const at = event => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    canvas.addEventListener("pointerdown", event => {
      from = at(event); held = this.grabbed(...from);
      turning = held ? null : { ...this.view };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", event => {
      const [x, y] = at(event);
      if (held) { this.drag(held, x - from[0], y - from[1], event.shiftKey); from = [x, y]; return; }
      if (turning && this.scene.solid) {
        this.view.azimuth = turning.azimuth - (x - from[0]) / 150;
        this.view.elevation = Math.min(Math.PI / 2, Math.max(0.05, turning.elevation + (y - from[1]) / 150));
        this.redraw(); return;
      }
      canvas.style.cursor = this.grabbed(x, y) ? "grab" : "default";
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { held = turning = null; });
    canvas.addEventListener("wheel", event => {
      event.preventDefault();
      const found = this.grabbed(...at(event));
      if (found && found.item.fields[3] >= 0) { this.aim(found.item.fields[3], found.place[3] + (event.deltaY > 0 ? 0.1 : -0.1)); return; }
      this.view.zoom = Math.min(8, Math.max(0.5, this.view.zoom * (event.deltaY > 0 ? 0.92 : 1.08)));
      this.redraw();
    }, { passive: false });
  }

  // Along the ground; with the shift key, up and down.
  drag(held, dx, dy, upwards) {
    const { right, up, scale } = this.camera, [fx, fy, fz] = held.item.fields;
    if (upwards && fz >= 0 && this.scene.solid) { held.place[2] -= dy / scale / Math.max(up[2], 0.2); this.aim(fz, held.place[2]); return; }
    // Solve for the shift on the ground that the pointer made on the canvas.
    const [a, b, c, d] = [right[0], right[1], up[0], up[1]], det = a * d - b * c;
    if (Math.abs(det) < 0.05) return;
    const [u, v] = [dx / scale, -dy / scale];
    if (fx >= 0) { held.place[0] += (d * u - b * v) / det; this.aim(fx, held.place[0]); }
    if (fy >= 0) { held.place[1] += (a * v - c * u) / det; this.aim(fy, held.place[1]); }
  }
}
