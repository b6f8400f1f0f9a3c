// The service's own description, made readable.

import { h } from "/static/dom.js";

function fields(schema) {
  const rows = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const kinds = (field.anyOf ?? [field]).map((kind) => kind.type ?? kind.$ref?.split("/").pop() ?? "any");
    const required = schema.required?.includes(name) ? ", required" : "";
    const meaning = field.description ? `: ${field.description}` : "";
    return [h("dt", {}, name), h("dd", {}, `${kinds.join(" or ")}${required}${meaning}`)];
  });
  return h("dl", {}, rows);
}

function example(path, schema) {
  const first = schema.examples?.[0];
  if (!first) return null;
  const call = `curl -s ${location.origin}${path} -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(first)}'`;
  return h("pre", { tabIndex: 0 }, call);
}

function operation(path, method, about, all) {
  const reference = about.requestBody?.content?.["application/json"]?.schema?.$ref;
  const schema = reference ? all.components.schemas[reference.split("/").pop()] : null;
  const answers = Object.entries(about.responses).map(([code, answer]) => `${code} ${answer.description}`);
  return h(
    "section",
    {},
    h("h2", {}, h("span", { className: "method" }, method.toUpperCase()), h("span", {}, path)),
    h("p", {}, about.description ?? about.summary ?? ""),
    schema ? [fields(schema), example(path, schema)] : null,
    h("p", { className: "quiet" }, answers.join(" · ")),
  );
}

const all = await (await fetch("/openapi.json")).json();
const sections = Object.entries(all.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, about]) => operation(path, method, about, all)),
);
document.getElementById("operations").replaceChildren(...sections);
