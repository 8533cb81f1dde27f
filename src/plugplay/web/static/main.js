// The page: an image comes in, the form says what happened to it, a job restores it.
import * as api from "./api.js";
import { Brush } from "./brush.js";
import { $, $$, choose, chosen, clearErrors, debounced, say, showError, takesFile } from "./dom.js";
import { Lens } from "./lens.js";
import { copyText, hideRun, showResult, showRunning } from "./runview.js";
import * as session from "./session.js";
import { TaskForm } from "./taskform.js";
import { startTheme } from "./theme.js";
import { Viewer } from "./viewer.js";

const state = { file: null, page: 0, job: null, previews: 0, stopWatching: () => {} };
const viewer = new Viewer($("#canvas"), showZoom);
const form = new TaskForm(formChanged);
const brush = new Brush(viewer, () => lens.stale(true), debounced(() => attempt(keepMask), 250));
const lens = new Lens(viewer, question, (problem) => problem ? showError(problem) : clearErrors());

function screen(name) {
  document.body.dataset.screen = name;
  const editing = name === "edit";
  $("#quick").hidden = !editing;
  lens.active = editing;
  brush.active = editing && chosen("kind") === "inpaint";
  for (const input of $$("#form input, #form select, #form button")) input.disabled = name === "run";
  if (name !== "run") form.refresh();
  const comparing = name === "run" || name === "result";
  for (const input of $$("#modes input")) input.disabled = !comparing;
  showMode(comparing ? "split" : "before");
  viewer.resize();
}

function question() {
  const task = form.task();
  if (!state.file || !task || !viewer.before) return null;
  if (task.kind === "inpaint" && !task.mask_file && !state.file.missing) return null;
  const { reference_file: _, ...rest } = task; // what the truth is does not change the preview
  return { file: state.file.id, task: rest, page: state.page };
}

async function attempt(action) {
  try {
    await action();
  } catch (problem) {
    if (problem.name === "AbortError") return;
    busy(null);
    if (!(problem instanceof api.Problem)) console.error(problem);
    showError(problem instanceof api.Problem ? problem : new api.Problem("Something went wrong on this page. Reload it."));
  }
}

function busy(text) {
  $("#busy").hidden = !text;
  $("#busy-text").textContent = text ?? "";
  if (text) say(text);
}

// An image comes in.

async function takeImage(blob) {
  clearErrors();
  say(`Uploading ${blob.name}`);
  $("#drop").classList.add("over");
  if (state.file) busy("Reading…");
  try {
    const file = await api.upload(blob, "image");
    await open(file, {});
  } finally {
    $("#drop").classList.remove("over");
    busy(null);
  }
}

async function takeExample(name) {
  clearErrors();
  say("Making the example");
  for (const button of $$("#examples button")) button.disabled = true;
  try {
    const { file, task } = await api.example(name);
    await open(file, task);
  } finally {
    for (const button of $$("#examples button")) button.disabled = false;
  }
}

async function open(file, task) {
  leaveJob();
  state.file = file;
  state.page = 0;
  for (const role of ["kernel", "mask", "reference"]) {
    const id = task[`${role}_file`];
    form.setFile(role, id ? await api.fileInfo(id) : null);
  }
  const suggested = file.kind === "photons" ? "photon" : file.missing ? "inpaint" : null;
  if (task.kind || suggested) form.show({ kind: suggested, ...task });
  else for (const input of $$("input[name=kind]")) input.checked = false;
  const cube = file.kind === "photons" || /\.npy$/i.test(file.name);
  $('input[name=kind][value=photon]').closest("label").hidden = !cube;
  for (const input of $$("input[name=kind]")) {
    input.closest("label").hidden = input.value === "photon" ? !cube : file.kind === "photons" && !file.width;
  }
  lens.centre = [0.5, 0.5];
  lens.clear();
  session.save({ file: file.id, job: null, page: 0, task: form.task() });
  screen("edit");
  showFacts();
  $("#main").focus({ preventScroll: true }); // at once: whoever chooses meanwhile keeps the focus
  viewer.setAfter(null);
  form.refresh();
  await showBefore();
  brush.reset(viewer.width, viewer.height);
  if (form.files.mask && chosen("kind") === "inpaint") await showMask();
  say(`${file.name} is open. Say what happened to it.`);
  lens.refresh();
}

function showFacts() {
  const { file } = state;
  const depth = { uint8: "8 bits", uint16: "16 bits", float32: "32-bit floats", float64: "64-bit floats" }[file.dtype] ?? file.dtype;
  const facts = file.width ? [`${file.width} × ${file.height}`, file.channels > 1 ? "colour" : "gray", depth] : ["photon cube"];
  if (file.pages > 1) facts.push(`${file.pages} ${file.kind === "photons" ? "frames" : "pages"}`);
  if (file.missing) facts.push(`${file.missing} missing values`);
  $("#file-name").textContent = file.name;
  $("#file-name").title = file.name;
  $("#file-facts").textContent = facts.join(" · ");
}

function pagesShown() {
  return chosen("kind") === "photon" ? 1 : state.file?.pages ?? 1;
}

function showPages() {
  const pages = pagesShown();
  $("#pages").hidden = pages < 2;
  $("#page").max = pages;
  $("#page").value = state.page + 1;
  $("#page-out").textContent = `${state.page + 1}/${pages}`;
}

async function showBefore({ keep = false } = {}) {
  const photon = chosen("kind") === "photon";
  if (state.page >= pagesShown()) state.page = 0;
  showPages();
  const { file } = state;
  if (file.kind === "photons" && !file.width && !photon) return;
  if (!keep) busy("Reading…");
  try {
    const image = await api.image(api.viewPath(file, photon ? 0 : state.page, photon ? form.task() : null));
    if (file !== state.file) return;
    viewer.setBefore(image, photon ? { keep: keep && image.width === viewer.width } : { width: file.width, height: file.height, keep });
    clearErrors();
  } finally {
    busy(null);
  }
}

// The form.

let lastKind = null;
const showPhotons = debounced(() => attempt(async () => {
  await showBefore({ keep: true });
  lens.refresh();
}), 300);

function formChanged(input) {
  clearErrors();
  const kind = chosen("kind");
  brush.active = document.body.dataset.screen === "edit" && kind === "inpaint";
  session.save({ task: form.task() });
  if (document.body.dataset.screen === "result") backToEditing();
  const photonChanged = kind === "photon" ? input.name === "kind" || input.id.startsWith("p-") : lastKind === "photon";
  lastKind = kind;
  if (photonChanged) showPhotons();
  else lens.refresh();
  viewer.draw();
}

async function takeCompanion(role, blob) {
  clearErrors();
  say(`Uploading ${blob.name}`);
  const file = await api.upload(blob, role).catch((problem) => {
    throw problem.field === role ? Object.assign(problem, { field: `${role}_file` }) : problem;
  });
  if (role === "mask" && chosen("kind") === "inpaint" && (file.width !== viewer.width || file.height !== viewer.height)) {
    api.forgetFile(file.id);
    throw new api.Problem(`The mask has ${file.width} × ${file.height} pixels, but the image has ${viewer.width} × ${viewer.height}.`, "mask_file");
  }
  form.setFile(role, file);
  session.save({ task: form.task() });
  if (role === "mask") await showMask();
  if (role !== "reference") lens.refresh();
  say(`${file.name} is used as ${role}.`);
}

async function showMask() {
  await brush.show(await api.image(api.viewPath(form.files.mask, 0)));
}

// Sends the painted mask, so that the preview and the job can use it.
async function keepMask() {
  const blob = await brush.file();
  const old = form.files.mask;
  form.setFile("mask", blob ? await api.upload(blob, "mask", "mask.png") : null);
  if (old) api.forgetFile(old.id);
  session.save({ task: form.task() });
  clearErrors();
  lens.refresh();
}

// Jobs.

async function restore() {
  clearErrors();
  const task = form.task();
  const job = await api.submit(state.file.id, task);
  session.save({ job: job.id });
  follow(job);
}

function follow(job) {
  state.job = job;
  state.previews = 0;
  lens.stop();
  viewer.setAfter(null);
  screen("run");
  showRunning(job);
  say("Restoring");
  state.stopWatching();
  state.stopWatching = api.watch(job.id, (record) => attempt(() => hear(record)), () => {
    showError(new api.Problem("The connection to the server is lost. Is plugplay serve still running?"));
  });
}

async function hear(job) {
  state.job = job;
  if (job.status === "queued" || job.status === "running") {
    showRunning(job);
    if (job.preview > state.previews) {
      state.previews = job.preview;
      const image = await api.image(`/api/jobs/${job.id}/preview?n=${job.preview}`);
      if (state.job?.id === job.id && document.body.dataset.screen === "run") viewer.setAfter(image, job.task.factor ?? 1);
    }
  } else if (job.status === "done") await finish(job);
  else {
    leaveJob();
    screen("edit");
    if (job.status === "failed") showError(new api.Problem(job.error.message, job.error.field));
    else say("Cancelled");
    lens.refresh();
  }
}

async function finish(job) {
  screen("result");
  showResult(job, state.page);
  await showAfter();
  say("The image is restored.");
  $("#result-title").focus({ preventScroll: true });
}

async function showAfter() {
  const { job } = state;
  const image = await api.image(`/api/jobs/${job.id}/after?page=${job.task.kind === "photon" ? 0 : state.page}`);
  if (state.job !== job) return;
  viewer.setAfter(image, job.task.factor ?? 1);
}

function leaveJob() {
  state.stopWatching();
  state.stopWatching = () => {};
  state.job = null;
  session.save({ job: null });
  viewer.setAfter(null);
  hideRun();
}

function backToEditing() {
  leaveJob();
  screen("edit");
  lens.refresh();
}

// The viewer's controls.

function showMode(mode) {
  choose("mode", mode);
  viewer.mode = mode;
  viewer.draw();
}

function showZoom() {
  $("#zoom").textContent = `${Math.round(100 * viewer.zoom / viewer.scale)} %`;
  const split = viewer.after && viewer.mode === "split";
  $("#divider-row").hidden = !split;
  $("#tag-before").hidden = $("#tag-after").hidden = !split;
  $("#gain-box").hidden = !(viewer.after && viewer.mode === "difference");
  if (split) $("#divider").value = 100 * viewer.divider;
}

function onCanvasKey(event) {
  const step = event.shiftKey ? 40 : 10;
  const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
  if (event.key in moves) {
    const [dx, dy] = moves[event.key];
    if (lens.active && question()) lens.moveBy(dx, dy);
    else viewer.panBy(-4 * dx, -4 * dy);
  } else if (event.key === "+" || event.key === "=") viewer.zoomBy(1.25);
  else if (event.key === "-") viewer.zoomBy(0.8);
  else if (event.key === "0") viewer.fit();
  else if (event.key === "1") viewer.actualSize();
  else return;
  event.preventDefault();
}

function wire() {
  startTheme(() => viewer.draw());
  const take = (blob) => attempt(() => takeImage(blob));
  takesFile($("#drop"), $("#image-input"), take);
  takesFile($("#frame"), $("#image-again"), take);
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => event.preventDefault());
  for (const role of ["kernel", "mask", "reference"]) {
    takesFile($(`[data-drop=${role}]`), $(`#${role}-input`), (blob) => attempt(() => takeCompanion(role, blob)));
  }
  for (const button of $$("[data-example]")) button.addEventListener("click", () => attempt(() => takeExample(button.dataset.example)));
  $("#home").addEventListener("click", () => session.forget());
  $("#form").addEventListener("submit", (event) => { event.preventDefault(); attempt(restore); });
  $("#page").addEventListener("input", () => {
    state.page = Number($("#page").value) - 1;
    session.save({ page: state.page });
    attempt(async () => {
      await showBefore({ keep: true });
      if (state.job?.status === "done") { showResult(state.job, state.page); await showAfter(); }
      lens.refresh();
    });
  });
  for (const input of $$("input[name=tool]")) input.addEventListener("change", () => { brush.tool = chosen("tool"); });
  $("#brush").addEventListener("input", () => { brush.size = Number($("#brush").value); });
  $("#mask-clear").addEventListener("click", () => { brush.reset(viewer.width, viewer.height); attempt(keepMask); });
  $("#reference-clear").addEventListener("click", () => { form.setFile("reference", null); session.save({ task: form.task() }); });
  $("#cancel").addEventListener("click", () => attempt(async () => {
    $("#run-text").textContent = "Cancelling…";
    await api.cancel(state.job.id);
  }));
  $("#adjust").addEventListener("click", backToEditing);
  for (const button of $$("[data-copy]")) button.addEventListener("click", () => copyText(button, $(`#${button.dataset.copy}`).textContent));
  for (const input of $$("input[name=mode]")) input.addEventListener("change", () => { viewer.mode = chosen("mode"); viewer.draw(); });
  $("#gain").addEventListener("change", () => { viewer.gain = Number($("#gain").value); viewer.draw(); });
  $("#divider").addEventListener("input", () => viewer.setDivider(Number($("#divider").value) / 100));
  $("#zoom-in").addEventListener("click", () => viewer.zoomBy(1.5));
  $("#zoom-out").addEventListener("click", () => viewer.zoomBy(1 / 1.5));
  $("#zoom-fit").addEventListener("click", () => viewer.fit());
  $("#zoom-one").addEventListener("click", () => viewer.actualSize());
  $("#canvas").addEventListener("keydown", onCanvasKey);
}

// A reload finds its image and its job again.
async function resume() {
  const { file: id, job: jobId, task, page } = session.load();
  if (!id) return;
  let file, job = null;
  try {
    file = await api.fileInfo(id);
    if (jobId) job = await api.job(jobId);
  } catch (problem) {
    if (problem.status !== 404) throw problem;
    if (!file) {
      session.forget();
      return;
    }
  }
  await open(file, job?.task ?? task ?? {});
  state.page = Math.min(page ?? 0, pagesShown() - 1);
  if (state.page) await showBefore();
  session.save({ page: state.page });
  if (!job) return;
  session.save({ job: job.id });
  follow(job);
}

async function listDenoisers() {
  const { denoisers } = await api.about();
  const before = $("#denoiser").value;
  $("#denoiser").replaceChildren(...Object.entries(denoisers).map(([name, text]) => new Option(`${name}: ${text}`, name)));
  $("#denoiser").value = before;
}

wire();
attempt(async () => {
  await listDenoisers();
  await resume();
});
