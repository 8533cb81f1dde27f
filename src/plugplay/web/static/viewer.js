// Shows the image before and after on one canvas: linked zoom and pan, a divider, and the difference.
// Coordinates of tools and overlays are those of the image before, in pixels.

const MAX_ZOOM = 32;
const HANDLE = 22;

export class Viewer {
  constructor(canvas, onChange) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.onChange = onChange;
    this.before = null;
    this.after = null;
    this.width = this.height = 0; // of the image before
    this.zoom = 1; // device pixels per pixel of the image before
    this.centre = [0, 0];
    this.mode = "before";
    this.divider = 0.5; // share of the frame's width
    this.gain = 4;
    this.tools = []; // { down(point, event), move(point), up(), cursor(point) }, the first that takes the pointer has it
    this.overlays = []; // (context, toScreen) => void
    this.fitted = true;
    this.scale = 1; // pixels after per pixel before
    this.pointers = new Map();
    this.holding = null;
    new ResizeObserver(() => this.resize()).observe(canvas);
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => this.up(event));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY * 0.0015), this.deviceAt(event));
    }, { passive: false });
  }

  setBefore(image, { width = image?.width, height = image?.height, keep = false } = {}) {
    this.before = image;
    [this.width, this.height] = [width ?? 0, height ?? 0];
    if (!keep) this.fit();
    this.draw();
  }

  setAfter(image, scale = 1) {
    this.after = image;
    this.scale = scale;
    this.draw();
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    if (this.fitted) this.fit();
    this.draw();
  }

  fit() {
    if (!this.width) return;
    const { width, height } = this.canvas;
    const room = 24 * (window.devicePixelRatio || 1);
    this.zoom = Math.min((width - room) / this.width, (height - room) / this.height, 8);
    this.centre = [this.width / 2, this.height / 2];
    this.fitted = true;
    this.draw();
  }

  // One pixel of the result on one pixel of the screen.
  actualSize() {
    this.zoomBy(this.scale / this.zoom);
  }

  zoomBy(factor, [x, y] = [this.canvas.width / 2, this.canvas.height / 2]) {
    const [imageX, imageY] = this.toImage(x, y);
    this.zoom = Math.min(Math.max(this.zoom * factor, 0.02), MAX_ZOOM * this.scale);
    this.centre = [imageX - (x - this.canvas.width / 2) / this.zoom, imageY - (y - this.canvas.height / 2) / this.zoom];
    this.fitted = false;
    this.settle();
  }

  panBy(dx, dy) {
    this.centre = [this.centre[0] - dx / this.zoom, this.centre[1] - dy / this.zoom];
    this.fitted = false;
    this.settle();
  }

  settle() {
    this.centre = [Math.min(Math.max(this.centre[0], 0), this.width), Math.min(Math.max(this.centre[1], 0), this.height)];
    this.draw();
  }

  toImage(x, y) {
    return [this.centre[0] + (x - this.canvas.width / 2) / this.zoom, this.centre[1] + (y - this.canvas.height / 2) / this.zoom];
  }

  toScreen(x, y) {
    return [this.canvas.width / 2 + (x - this.centre[0]) * this.zoom, this.canvas.height / 2 + (y - this.centre[1]) * this.zoom];
  }

  deviceAt(event) {
    const box = this.canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * this.canvas.width / box.width, (event.clientY - box.top) * this.canvas.height / box.height];
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.paint());
  }

  paint() {
    const { context, canvas } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.globalCompositeOperation = "source-over";
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (!this.before) return;
    const mode = this.after ? this.mode : "before";
    if (mode === "difference") this.paintDifference();
    else {
      if (mode !== "after") this.place(context, this.before);
      if (mode === "after") this.place(context, this.after);
      if (mode === "split") this.paintSplit();
    }
    for (const overlay of this.overlays) overlay(context, (x, y) => this.toScreen(x, y));
    this.onChange?.();
  }

  place(context, image) {
    const [left, top] = this.toScreen(0, 0);
    context.imageSmoothingEnabled = this.zoom * this.width / image.width < 2;
    context.imageSmoothingQuality = "high";
    context.drawImage(image, left, top, this.width * this.zoom, this.height * this.zoom);
  }

  paintSplit() {
    const { context, canvas } = this;
    const x = Math.round(this.divider * canvas.width);
    context.save();
    context.beginPath();
    context.rect(x, 0, canvas.width - x, canvas.height);
    context.clip();
    context.clearRect(x, 0, canvas.width - x, canvas.height);
    this.place(context, this.after);
    context.restore();
    const ratio = window.devicePixelRatio || 1;
    context.fillStyle = "#fff";
    context.shadowColor = "#000a";
    context.shadowBlur = 4 * ratio;
    context.fillRect(x - ratio, 0, 2 * ratio, canvas.height);
    context.beginPath();
    context.arc(x, canvas.height / 2, HANDLE * ratio * 0.75, 0, 2 * Math.PI);
    context.fill();
    context.shadowBlur = 0;
    context.fillStyle = "#333";
    context.font = `${14 * ratio}px sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText("◂ ▸", x, canvas.height / 2);
  }

  paintDifference() {
    const { context, canvas } = this;
    const layer = new OffscreenCanvas(canvas.width, canvas.height);
    const inner = layer.getContext("2d");
    this.place(inner, this.before);
    inner.globalCompositeOperation = "difference";
    this.place(inner, this.after);
    inner.globalCompositeOperation = "lighter";
    for (let gain = 1; gain < this.gain; gain *= 2) inner.drawImage(layer, 0, 0);
    context.drawImage(layer, 0, 0);
  }

  atDivider([x]) {
    const near = HANDLE * (window.devicePixelRatio || 1);
    return this.after && this.mode === "split" && Math.abs(x - this.divider * this.canvas.width) < near;
  }

  down(event) {
    if (!this.before) return;
    this.canvas.setPointerCapture(event.pointerId);
    const device = this.deviceAt(event);
    this.pointers.set(event.pointerId, device);
    if (this.pointers.size > 1) { // two fingers zoom, whatever the first was doing
      this.holding?.up?.();
      this.holding = null;
      return;
    }
    const point = this.toImage(...device);
    this.holding = event.button === 0 && !event.altKey
      ? this.tools.find((tool) => tool.down(point, event)) ?? null : null;
    if (!this.holding && this.atDivider(device)) {
      this.holding = { move: (_, [x]) => this.setDivider(x / this.canvas.width) };
    }
  }

  move(event) {
    const device = this.deviceAt(event);
    const last = this.pointers.get(event.pointerId);
    if (!last) {
      const tool = this.tools.find((t) => t.cursor?.(this.toImage(...device)));
      this.canvas.style.cursor = tool?.cursor(this.toImage(...device)) ?? (this.atDivider(device) ? "ew-resize" : "grab");
      return;
    }
    if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const distance = ([x, y]) => Math.hypot(x - other[0], y - other[1]);
      this.zoomBy(distance(device) / Math.max(distance(last), 1), other);
    } else if (this.holding) this.holding.move(this.toImage(...device), device);
    else this.panBy(device[0] - last[0], device[1] - last[1]);
    this.pointers.set(event.pointerId, device);
  }

  up(event) {
    this.pointers.delete(event.pointerId);
    this.holding?.up?.();
    this.holding = null;
  }

  setDivider(share) {
    this.divider = Math.min(Math.max(share, 0), 1);
    this.draw();
  }
}
