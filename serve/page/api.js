// The service's own description, made readable.

function element(name, text, className) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

function fields(schema, all) {
  const list = element("dl");
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const kinds = (field.anyOf ?? [field]).map((kind) => kind.type ?? kind.$ref?.split("/").pop() ?? "any");
    const required = schema.required?.includes(name) ? ", required" : "";
    list.append(
      element("dt", name),
      element("dd", `${kinds.join(" or ")}${required}${field.description ? ": " + field.description : ""}`),
    );
  }
  return list;
}

function operation(path, method, about, all) {
  const section = element("section");
  const head = element("h2");
  head.append(element("span", method.toUpperCase(), "method"), element("span", path));
  section.append(head, element("p", about.description ?? about.summary ?? ""));
  const reference = about.requestBody?.content?.["application/json"]?.schema?.$ref;
  if (reference) {
    const schema = all.components.schemas[reference.split("/").pop()];
    section.append(fields(schema, all));
    const example = schema.examples?.[0];
    if (example) {
      const call = `curl -s ${location.origin}${path} -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(example)}'`;
      section.append(element("pre", call));
    }
  }
  const answers = Object.entries(about.responses).map(([code, answer]) => `${code} ${answer.description}`);
  section.append(element("p", answers.join(" · "), "quiet"));
  return section;
}

const all = await (await fetch("/openapi.json")).json();
const sections = Object.entries(all.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, about]) => operation(path, method, about, all)),
);
document.getElementById("operations").replaceChildren(...sections);
