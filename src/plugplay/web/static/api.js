// Talks to the server. Every failure becomes a Problem with a message for people and the field that is to blame.

export class Problem extends Error {
  constructor(message, field = null, status = 0) {
    super(message);
    this.field = field;
    this.status = status;
  }
}

async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The server does not answer. Is plugplay serve still running?");
  }
  if (response.ok) return response;
  let problem = {};
  try {
    problem = (await response.json()).error;
  } catch { /* not from our server */ }
  throw new Problem(problem.message ?? `The server answered ${response.status}.`, problem.field ?? null, response.status);
}

const json = (body) => ({
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
});

export const about = async () => (await request("/api")).json();
export const example = async (name) => (await request(`/api/examples/${name}`, { method: "POST" })).json();
export const fileInfo = async (id) => (await request(`/api/files/${id}`)).json();
export const submit = async (file, task) => (await request("/api/jobs", json({ file, task }))).json();
export const job = async (id) => (await request(`/api/jobs/${id}`)).json();
export const cancel = async (id) => (await request(`/api/jobs/${id}/cancel`, { method: "POST" })).json();
export const forgetFile = (id) => request(`/api/files/${id}`, { method: "DELETE" }).catch(() => {});

export async function upload(blob, role, name = blob.name) {
  const form = new FormData();
  form.append("file", blob, name);
  return (await request(`/api/files?role=${role}`, { method: "POST", body: form })).json();
}

// Resolves to { image, box }: the restored crop, and where it lies in the image.
export async function preview(question, signal) {
  const response = await request("/api/preview", { ...json(question), signal });
  const box = JSON.parse(response.headers.get("x-crop"));
  return { image: await createImageBitmap(await response.blob()), box };
}

// Loads an image; rejects with what the server says is wrong.
export async function image(path, signal) {
  const response = await request(path, { signal });
  return createImageBitmap(await response.blob());
}

export const viewPath = (file, page, task) =>
  `/api/files/${file.id}/view?page=${page}` + (task ? `&task=${encodeURIComponent(JSON.stringify(task))}` : "");

// Calls `hear` with the job whenever it changes; the browser reconnects by itself if the line breaks.
export function watch(id, hear, lost) {
  const source = new EventSource(`/api/jobs/${id}/events`);
  source.addEventListener("job", (event) => {
    const record = JSON.parse(event.data);
    if (!["queued", "running"].includes(record.status)) source.close();
    hear(record);
  });
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) lost(); };
  return () => source.close();
}
