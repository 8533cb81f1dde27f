// The square on the image whose content is restored at once, and the pair of crops below.
import * as api from "./api.js";
import { $, debounced } from "./dom.js";

const SIDE = 160;
// Names this page, not this tab: a duplicated tab is another page.
const CLIENT = crypto.getRandomValues(new Uint32Array(4)).join("-");

export class Lens {
  constructor(viewer, question, failed) {
    this.viewer = viewer;
    this.question = question; // () => { file, task, page } or null
    this.failed = failed;
    this.active = false;
    this.centre = [0.5, 0.5]; // shares of width and height
    this.shown = null; // { image, box }
    this.fresh = false; // whether it answers the latest question
    this.grip = null;
    this.ask = debounced(() => this.fetch(), 180);
    viewer.overlays.push((context, toScreen) => this.draw(context, toScreen));
    viewer.tools.push(this);
  }

  // Asks anew; what is shown is out of date until the answer comes.
  refresh() {
    this.controller?.abort();
    this.stale(true);
    if (!this.active || !this.question()) {
      this.clear();
      return;
    }
    $("#quick-state").textContent = "…";
    this.ask();
  }

  stop() {
    this.controller?.abort();
    this.active = false;
    this.shown = null;
    this.viewer.draw();
  }

  clear() {
    this.shown = null;
    for (const id of ["#crop-before", "#crop-after"]) {
      const canvas = $(id);
      canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
    }
  }

  async fetch() {
    const question = this.active ? this.question() : null;
    if (!question) return;
    const controller = this.controller = new AbortController();
    const began = performance.now();
    try {
      const [x, y] = this.centre;
      const answer = await api.preview({ ...question, client: CLIENT, centre: [y, x] }, controller.signal);
      if (controller.signal.aborted) return;
      this.shown = answer;
      this.showCrops();
      this.stale(false);
      $("#quick-state").textContent = `${((performance.now() - began) / 1000).toFixed(1)} s · a fast restoration of this square`;
      this.failed(null);
      this.viewer.draw();
    } catch (problem) {
      if (problem.name === "AbortError" || problem.status === 409) return;
      $("#quick-state").textContent = "No preview.";
      this.clear();
      this.failed(problem);
    }
  }

  stale(yes) {
    this.fresh = !yes;
    $("#crop-after").classList.toggle("stale", yes);
    this.viewer.draw();
  }

  box() {
    const { width, height } = this.viewer;
    const side = Math.min(SIDE / (this.question()?.task?.factor ?? 1), width, height);
    const clamp = (value, most) => Math.min(Math.max(Math.round(value), 0), Math.max(most, 0));
    const left = clamp(this.centre[0] * width - side / 2, width - side);
    const top = clamp(this.centre[1] * height - side / 2, height - side);
    return { left, top, width: side, height: side };
  }

  showCrops() {
    const { image, box } = this.shown;
    const { before, width } = this.viewer;
    const share = before.width / width; // the image on the screen may be smaller than the file
    const places = [
      ["#crop-before", before, [box.left * share, box.top * share, box.width * share, box.height * share]],
      ["#crop-after", image, [0, 0, image.width, image.height]],
    ];
    for (const [id, source, part] of places) {
      const canvas = $(id);
      [canvas.width, canvas.height] = [image.width, image.height];
      const context = canvas.getContext("2d");
      context.imageSmoothingEnabled = false;
      context.drawImage(source, ...part, 0, 0, canvas.width, canvas.height);
    }
  }

  draw(context, toScreen) {
    if (!this.active || !this.question()) return;
    const box = this.box();
    const [left, top] = toScreen(box.left, box.top);
    const [right, bottom] = toScreen(box.left + box.width, box.top + box.height);
    const fits = this.fresh && this.shown && this.shown.box.left === box.left && this.shown.box.top === box.top;
    if (fits) context.drawImage(this.shown.image, left, top, right - left, bottom - top);
    const ratio = window.devicePixelRatio || 1;
    context.lineWidth = 4 * ratio;
    context.strokeStyle = "#0008";
    context.strokeRect(left, top, right - left, bottom - top);
    context.lineWidth = 2 * ratio;
    context.strokeStyle = "#fff";
    context.strokeRect(left, top, right - left, bottom - top);
  }

  inside([x, y]) {
    const box = this.box();
    return x >= box.left && x <= box.left + box.width && y >= box.top && y <= box.top + box.height;
  }

  cursor(point) {
    return this.active && this.question() && this.inside(point) ? "move" : null;
  }

  down(point) {
    if (!this.active || !this.question() || !this.inside(point)) return false;
    this.grip = [point[0] - this.centre[0] * this.viewer.width, point[1] - this.centre[1] * this.viewer.height];
    return true;
  }

  move(point) {
    this.moveTo(point[0] - this.grip[0], point[1] - this.grip[1]);
  }

  up() {
    this.grip = null;
  }

  moveBy(dx, dy) {
    const box = this.box();
    this.moveTo(box.left + box.width / 2 + dx, box.top + box.height / 2 + dy);
  }

  moveTo(x, y) {
    const share = (value, whole) => Math.min(Math.max(value / whole, 0), 1);
    this.centre = [share(x, this.viewer.width), share(y, this.viewer.height)];
    this.viewer.draw();
    this.refresh();
  }
}
