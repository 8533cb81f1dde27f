// What a tab remembers over a reload. Another tab has a session of its own.

const KEY = "plugplay";

export function load() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}

export function save(change) {
  sessionStorage.setItem(KEY, JSON.stringify({ ...load(), ...change }));
}

export function forget() {
  sessionStorage.removeItem(KEY);
}
