// The form: what happened to the image, as the server takes it.
import { $, $$, choose, chosen } from "./dom.js";

const UNITS = { "k-sigma": " px", "k-radius": " px", "k-length": " px", "k-angle": "°", brush: " px" };

export class TaskForm {
  constructor(changed) {
    this.files = {}; // kernel, mask, reference: what the server knows about them
    this.changed = changed;
    for (const input of $$("#form input:not([type=file]):not([name=tool]), #form select")) {
      if (["page", "brush"].includes(input.id)) continue;
      input.addEventListener("input", () => { this.refresh(); changed(input); });
    }
    $("#brush").addEventListener("input", () => this.refresh());
    this.refresh();
  }

  kernelWords() {
    switch (chosen("shape")) {
      case "gaussian": return `gaussian:${$("#k-sigma").value}`;
      case "disk": return `disk:${$("#k-radius").value}`;
      case "motion": return `motion:${$("#k-length").value},${$("#k-angle").value}`;
      default: return null;
    }
  }

  // The task, or null as long as nothing was chosen or something is missing.
  task() {
    const kind = chosen("kind");
    if (!kind) return null;
    const task = { kind };
    if (kind === "deblur") {
      const words = this.kernelWords();
      if (words) task.kernel = words;
      else if (this.files.kernel) task.kernel_file = this.files.kernel.id;
      else return null;
    }
    if (kind === "upscale") task.factor = Number(chosen("factor"));
    if (["inpaint", "photon"].includes(kind) && this.files.mask) task.mask_file = this.files.mask.id;
    if (kind === "photon") task.photon = photonOptions();
    else if (Number($("#noise").value) > 0) task.noise = `${$("#noise").value}/255`;
    if ($("#denoiser").value !== "bm3d") task.denoiser = $("#denoiser").value;
    if (this.files.reference) task.reference_file = this.files.reference.id;
    return task;
  }

  show(task) {
    if (task.kind) choose("kind", task.kind);
    const [word, rest] = (task.kernel ?? "").split(":");
    const numbers = (rest ?? "").split(",");
    const ids = { gaussian: ["k-sigma"], disk: ["k-radius"], motion: ["k-length", "k-angle"] }[word];
    if (ids) {
      choose("shape", word);
      ids.forEach((id, index) => { $(`#${id}`).value = numbers[index]; });
    } else if (task.kernel_file) choose("shape", "file");
    if (task.factor) choose("factor", task.factor);
    if (task.photon) {
      $("#p-oversampling").value = task.photon.oversampling ?? 1;
      $("#p-threshold").value = task.photon.threshold ?? 1;
      $("#p-packed").value = task.photon.packed_axis ?? "";
      $("#p-order").value = task.photon.bit_order ?? "big";
      $("#p-gain").value = task.photon.gain ?? "";
      $("#p-shape").value = task.photon.frame_shape?.join(" x ") ?? "";
    }
    $("#noise").value = task.noise?.endsWith?.("/255") ? parseFloat(task.noise) : 0;
    $("#denoiser").value = task.denoiser ?? "bm3d";
    this.refresh();
  }

  setFile(role, file) {
    this.files[role] = file;
    const texts = {
      kernel: file ? `${file.name}, ${file.width} × ${file.height}` : "Drop a PSF image here, or choose one",
      mask: file ? file.name : "Drop a mask here, or choose one",
      reference: file ? `Reference: ${file.name}` : "Drop the true image here to measure PSNR and SSIM",
    };
    $(`#${role}-name`).textContent = texts[role];
    if (role === "reference") $("#reference-clear").hidden = !file;
    this.refresh();
  }

  // Shows what goes with the kind, and the numbers beside the sliders.
  refresh() {
    const kind = chosen("kind");
    for (const part of $$("[data-for]")) part.hidden = part.dataset.for !== kind;
    for (const part of $$("[data-not]")) part.hidden = part.dataset.not === kind;
    for (const part of $$("[data-shape]")) part.hidden = part.dataset.shape !== chosen("shape");
    for (const slider of $$("#form input[type=range]")) {
      const output = $(`output[for="${slider.id}"]`);
      if (slider.id === "page") continue;
      output.textContent = slider.id === "noise"
        ? (Number(slider.value) ? `${slider.value}/255` : "auto") : slider.value + (UNITS[slider.id] ?? "");
      slider.setAttribute("aria-valuetext", output.textContent);
    }
    const words = this.kernelWords();
    const address = words ? `/api/kernel?words=${encodeURIComponent(words)}`
      : this.files.kernel ? `/api/kernel?file=${this.files.kernel.id}` : null;
    $("#kernel-image").hidden = !address;
    if (address && kind === "deblur" && $("#kernel-image").getAttribute("src") !== address) $("#kernel-image").src = address;
    $("#restore").disabled = !this.task();
  }
}

function photonOptions() {
  const options = { oversampling: Number($("#p-oversampling").value) || 1, threshold: Number($("#p-threshold").value) || 1 };
  if ($("#p-packed").value !== "") options.packed_axis = Number($("#p-packed").value);
  if ($("#p-order").value !== "big") options.bit_order = $("#p-order").value;
  if (Number($("#p-gain").value) > 0) options.gain = Number($("#p-gain").value);
  const sides = $("#p-shape").value.match(/\d+/g);
  if (sides?.length === 2) options.frame_shape = sides.map(Number);
  return options;
}
