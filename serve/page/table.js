// Tables, and the same as CSV. A column is {name, unit, number, prose, wraps, text(value)}; a row is its values in order.

import { h, save } from "/static/dom.js";
import { figure } from "/static/figures.js";
import { explained, term } from "/static/terms.js";

const MOST_ROWS = 400;

const titled = (column) => (column.unit ? `${column.name}, ${column.unit}` : column.name);

function shown(column, value) {
  if (value instanceof Node) return value;
  if (column.text) return column.text(value);
  if (value === null || value === undefined) return "–";
  return column.number ? figure(value) : explained(String(value));
}

// A table with its CSV; `grid` is the table alone.
export const table = (columns, rows, caption) =>
  h(
    "div",
    {},
    grid(columns, rows, caption),
    rows.length
      ? h(
          "p",
          { className: "tools below" },
          h(
            "button",
            {
              type: "button",
              className: "plain",
              ariaLabel: `CSV of: ${caption}`,
              onclick: () => saveCsv(caption, columns, rows),
            },
            "CSV",
          ),
        )
      : null,
  );

const kind = ({ number, prose, wraps, name }) =>
  number ? "number" : prose ? "prose" : !wraps && /interval|day$/.test(name) ? "within" : "";

export function grid(columns, rows, caption) {
  const cells = (row) =>
    row.map((value, i) =>
      h(
        "td",
        { className: kind(columns[i]) },
        shown(columns[i], value),
      ),
    );
  const head = columns.map((column) =>
    h(
      "th",
      { scope: "col", className: column.number ? "number" : "" },
      column.term ?? term(column.name, titled(column)),
    ),
  );
  return h(
    "div",
    { className: "scroll", tabIndex: 0, role: "region", ariaLabel: `Table: ${caption}` },
    h(
      "table",
      {},
      h("caption", { className: "unseen" }, caption),
      h("thead", {}, h("tr", {}, head)),
      h(
        "tbody",
        {},
        rows.slice(0, MOST_ROWS).map((row) => h("tr", {}, cells(row))),
      ),
    ),
    rows.length > MOST_ROWS
      ? h("p", { className: "quiet" }, `The first ${MOST_ROWS} of ${rows.length} rows; the CSV has all.`)
      : null,
  );
}

function csv(columns, rows) {
  const cell = (value) => {
    const shown = value === null || value === undefined ? "" : String(value instanceof Node ? value.textContent : value);
    // A spreadsheet takes a text that begins so for a formula, unless a quote stands before it.
    const text = /^[=+\-@\t\r\n']/.test(shown) && !/^[-+]?\d[\d.,]*( %)?$/.test(shown) ? `'${shown}` : shown;
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns.map(titled), ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

export const saveCsv = (title, columns, rows) => save(title, "csv", "text/csv", csv(columns, rows));
