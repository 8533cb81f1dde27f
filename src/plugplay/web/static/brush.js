// A mask painted on the image. White is observed, black is missing, as everywhere in plugplay.

export class Brush {
  constructor(viewer, began, changed) {
    this.viewer = viewer;
    this.began = began; // called when a stroke begins
    this.changed = changed; // called when a stroke has ended
    this.size = 9;
    this.tool = "paint";
    this.active = false;
    this.layer = null; // opaque where pixels are missing
    this.last = null;
    this.empty = true;
    viewer.overlays.push((context) => this.draw(context));
    viewer.tools.push(this);
  }

  reset(width, height) {
    this.layer = new OffscreenCanvas(Math.max(width, 1), Math.max(height, 1));
    this.ink = this.layer.getContext("2d", { willReadFrequently: true });
    this.empty = true;
    this.viewer.draw();
  }

  // Shows a mask that was dropped, so that it can be painted on.
  async show(image) {
    this.reset(this.viewer.width, this.viewer.height);
    this.ink.drawImage(image, 0, 0, this.layer.width, this.layer.height);
    const data = this.ink.getImageData(0, 0, this.layer.width, this.layer.height);
    for (let i = 0; i < data.data.length; i += 4) {
      const missing = data.data[i] < 128;
      data.data.set([255, 0, 90, missing ? 255 : 0], i);
    }
    this.ink.putImageData(data, 0, 0);
    this.empty = false;
    this.viewer.draw();
  }

  draw(context) {
    if (!this.layer || !this.active || this.empty) return;
    context.globalAlpha = 0.55;
    this.viewer.place(context, this.layer);
    context.globalAlpha = 1;
  }

  cursor() {
    return this.active && this.tool !== "move" ? "crosshair" : null;
  }

  down(point) {
    if (!this.active || this.tool === "move" || !this.layer) return false;
    this.began();
    this.last = point;
    this.stroke(point);
    return true;
  }

  move(point) {
    this.stroke(point);
  }

  up() {
    this.last = null;
    this.changed();
  }

  stroke(point) {
    const { ink } = this;
    ink.globalCompositeOperation = this.tool === "erase" ? "destination-out" : "source-over";
    ink.strokeStyle = "rgb(255 0 90)";
    ink.lineWidth = this.size;
    ink.lineCap = ink.lineJoin = "round";
    ink.beginPath();
    ink.moveTo(...(this.last ?? point));
    ink.lineTo(point[0] + 0.01, point[1]);
    ink.stroke();
    this.last = point;
    this.empty = false;
    this.viewer.draw();
  }

  // The mask as a PNG file, or null if nothing is painted.
  async file() {
    const { width, height } = this.layer;
    const data = this.ink.getImageData(0, 0, width, height);
    let missing = 0;
    for (let i = 0; i < data.data.length; i += 4) {
      const gone = data.data[i + 3] > 127;
      missing += gone;
      data.data.set(gone ? [0, 0, 0, 255] : [255, 255, 255, 255], i);
    }
    if (!missing) return null;
    const canvas = new OffscreenCanvas(width, height);
    canvas.getContext("2d").putImageData(data, 0, 0);
    return canvas.convertToBlob({ type: "image/png" });
  }
}
