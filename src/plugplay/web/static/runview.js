// A job as the user sees it: how far it is, what it has reached, and what came of it.
import { $, say } from "./dom.js";
import { drawCurve } from "./curve.js";

const seconds = (value) => value < 1 ? "less than a second" : value < 90 ? `${Math.round(value)} s` : `${Math.round(value / 60)} min`;
let spoken = 0;

export function showRunning(job) {
  $("#run").hidden = false;
  $("#result").hidden = true;
  const waiting = job.status === "queued";
  $("#run-title").textContent = waiting ? "Waiting" : "Restoring";
  const bar = $("#bar");
  const { iteration, expected, sigma, seconds_left: left, page, pages, share, again } = job.progress;
  if (share === undefined) bar.removeAttribute("value");
  else bar.value = share;
  let text = waiting ? (job.position > 1 ? `${job.position - 1} before this one` : "Next in the queue")
    : iteration ? `Iteration ${iteration} of about ${expected} · sigma ${sigma.toFixed(4)} · ${seconds(left)} left` : "Preparing…";
  if (again) text = `Again with other noise · ${text}`; // which the first run has shown
  if (pages > 1) text = `Page ${page + 1} of ${pages} · ${text}`;
  $("#run-text").textContent = text;
  drawCurve(job.curve, job.progress.tol);
  if (Date.now() - spoken > 5000) { // a screen reader should not be told ten times a second
    spoken = Date.now();
    say(text);
  }
}

export function hideRun() {
  $("#run").hidden = true;
  $("#result").hidden = true;
  $("#curve").hidden = true;
}

export function showResult(job, page) {
  $("#run").hidden = true;
  $("#result").hidden = false;
  const told = job.pages[page] ?? job.pages[0];
  const times = `${told.iterations} iteration${told.iterations === 1 ? "" : "s"}, ${job.seconds.toFixed(1)} s`;
  const noise = told.parameters.noise;
  const level = typeof noise === "number" && told.parameters.chosen.includes("noise") ? ` · noise estimated at ${noise.toPrecision(2)}` : "";
  $("#result-text").textContent = `${job.width} × ${job.height} · ${times}${level}`;
  $("#download").href = `/api/jobs/${job.id}/result`;
  $("#download").setAttribute("download", job.output);
  $("#parameters").href = `/api/jobs/${job.id}/parameters`;
  $("#parameters").setAttribute("download", `${job.output}.json`);
  $("#command").textContent = job.command;
  $("#python").textContent = job.python;
  const notes = [...job.warnings, ...told.warnings];
  if (["diverged", "doubtful"].includes(told.status)) notes.unshift(told.advice);
  $("#warnings").replaceChildren(...notes.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  showQuality(told);
  drawCurve(told.curve, told.parameters.tol);
}

function showQuality({ quality, quality_before: before }) {
  const place = $("#quality");
  place.hidden = !quality;
  if (!quality) return;
  const rows = [["PSNR", "psnr", (v) => `${v.toFixed(2)} dB`], ["SSIM", "ssim", (v) => v.toFixed(4)]];
  place.replaceChildren(...rows.filter(([, key]) => quality[key] !== null).map(([name, key, text]) => {
    const box = document.createElement("div");
    const label = Object.assign(document.createElement("small"), { textContent: name });
    const value = Object.assign(document.createElement("b"), { textContent: text(quality[key]) });
    box.append(label, value);
    if (before && before[key] !== null) {
      box.append(Object.assign(document.createElement("span"), { className: "up", textContent: `before ${text(before[key])}` }));
    }
    return box;
  }));
}

export async function copyText(button, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // not allowed on plain HTTP from another machine
    const area = Object.assign(document.createElement("textarea"), { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const before = button.textContent;
  button.textContent = "Copied";
  say("Copied");
  setTimeout(() => { button.textContent = before; }, 1500);
}
