// The convergence curve: the change of each iteration on a logarithmic scale.
import { $ } from "./dom.js";

const WIDTH = 600, HEIGHT = 150, NS = "http://www.w3.org/2000/svg";

export function drawCurve(points, tolerance) {
  const svg = $("#curve-svg");
  const changes = points.map(([, delta]) => delta).filter((delta) => delta > 0);
  $("#curve").hidden = changes.length < 2;
  if (changes.length < 2) return;
  const limit = tolerance > 0 && tolerance < Math.max(...changes) ? tolerance : null;
  const all = limit ? [...changes, limit] : changes;
  const low = Math.floor(Math.log10(Math.min(...all))), high = Math.ceil(Math.log10(Math.max(...all)) + 1e-9);
  const y = (value) => HEIGHT * (high - Math.log10(value)) / Math.max(high - low, 1);
  const x = (index) => WIDTH * index / (changes.length - 1);
  svg.replaceChildren();
  for (let power = low; power <= high; power++) svg.append(line("grid", y(10 ** power)));
  if (limit) svg.append(line("limit", y(limit)));
  const curve = document.createElementNS(NS, "polyline");
  curve.setAttribute("class", "line");
  curve.setAttribute("points", changes.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`).join(" "));
  svg.append(curve);
  const told = `${changes.length} iterations, from ${changes[0].toPrecision(2)} to ${changes.at(-1).toPrecision(2)}`
    + (limit ? `; it ends at ${limit.toPrecision(2)}, the dashed line.` : ".");
  svg.setAttribute("aria-label", `Convergence curve: ${told}`);
  $("#curve-text").textContent = told;
}

function line(kind, height) {
  const element = document.createElementNS(NS, "line");
  for (const [name, value] of Object.entries({ class: kind, x1: 0, x2: WIDTH, y1: height, y2: height })) element.setAttribute(name, value);
  return element;
}
