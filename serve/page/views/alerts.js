// Alerts: what nights found, by cause, with its state; each can be acknowledged with a note, closed or opened again.

import { ask } from "/static/client.js";
import { h, refusal, section } from "/static/dom.js";
import { counted, minute } from "/static/figures.js";
import { address } from "/static/route.js";

const STATES = [
  ["open", "Open"],
  ["acknowledged", "Acknowledged"],
  ["closed", "Closed"],
];

export async function alerts(body, { params }) {
  const { alerts: found } = await ask("/v1/alerts");
  const by = Object.groupBy(found, (alert) => alert.state);
  const shown = STATES.filter(([state]) => state !== "closed" || params.has("closed"));
  body.append(
    h(
      "p",
      { className: "quiet" },
      "A night opens an alert for each cause that it finds, and closes it once the cause is gone. All times are UTC.",
    ),
    ...shown.map(([state, title]) =>
      section(
        title,
        by[state]?.length
          ? h("ul", { className: "alerts" }, by[state].map((alert) => item(alert, body, params)))
          : h("p", { className: "quiet" }, `No ${state} alert.`),
      ),
    ),
    params.has("closed")
      ? null
      : h("p", {}, h("a", { href: address("alerts", { closed: "yes" }) }, counted(by.closed?.length ?? 0, "closed alert"))),
  );
}

function item(alert, body, params) {
  const problem = h("div", { ariaLive: "polite" });
  const change = async (state, note) => {
    try {
      await ask(`/v1/alerts/${alert.id}`, { state, note });
      body.replaceChildren();
      await alerts(body, { params });
    } catch (error) {
      problem.replaceChildren(refusal(error));
    }
  };
  const button = (label, state, note = () => "") =>
    h("button", { type: "button", className: "plain", onclick: () => change(state, note()) }, label);
  const note = h("input", { type: "text", value: alert.note, maxLength: 1000 });
  const actions =
    alert.state === "closed"
      ? [button("Open again", "open")]
      : [
          h("label", {}, "Note ", note),
          h("button", { type: "button", onclick: () => change("acknowledged", note.value) }, "Acknowledge"),
          alert.state === "acknowledged" ? button("Open again", "open") : null,
          button("Close", "closed"),
        ];
  const since = `${alert.severity} · since ${minute(alert.opened)} · last found ${minute(alert.seen)}`;
  const who = alert.note || alert.by ? ` · ${[alert.note, alert.by].filter(Boolean).join(" – ")}` : "";
  return h(
    "li",
    {},
    h("p", {}, h("strong", {}, alert.text), h("br", {}), h("span", { className: "quiet" }, since + who)),
    alert.details.length
      ? h(
          "details",
          {},
          h("summary", {}, `${counted(alert.details.length, "finding")} of the same cause`),
          h("ul", {}, alert.details.map((line) => h("li", {}, line))),
        )
      : null,
    h("form", { className: "row", ariaLabel: `Alert ${alert.id}`, onsubmit: (event) => event.preventDefault() }, actions),
    problem,
  );
}
