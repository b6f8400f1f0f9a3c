// Asking the service: JSON in and out, refusals as errors with the service's own words, a token when it wants one.

const KEY = "etalon-token";

export class Refusal extends Error {
  constructor(problem) {
    super(problem.detail || problem.title || "the service refused");
    this.field = problem.field;
  }
}

export async function ask(path, question, method = "POST") {
  let response = await send(path, question, method);
  while (response.status === 401) {
    await newToken();
    response = await send(path, question, method);
  }
  const body = await response.json();
  if (!response.ok) throw new Refusal(body);
  return body;
}

function send(path, question, method = "POST") {
  const headers = {};
  const token = sessionStorage.getItem(KEY);
  if (token) headers.Authorization = `Bearer ${token}`;
  if (question === undefined) return fetch(path, { headers });
  headers["Content-Type"] = "application/json";
  return fetch(path, { method, headers, body: JSON.stringify(question) });
}

let asking = null;

function newToken() {
  asking ??= new Promise((resolve) => {
    const dialog = document.getElementById("token");
    dialog.addEventListener(
      "close",
      async () => {
        // What a header cannot hold is in no token.
        sessionStorage.setItem(KEY, document.getElementById("token-value").value.trim().replaceAll(/[^!-~]/g, "?"));
        asking = null;
        await send("/session", {});
        resolve();
      },
      { once: true },
    );
    // Whoever has sent a token and is asked again sent one that is not known.
    document.getElementById("token-refused").hidden = !sessionStorage.getItem(KEY);
    dialog.showModal();
  });
  return asking;
}
