// The address holds the question: #/view?key=value&…

export function current() {
  const [view, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: view || "overview", params: new URLSearchParams(query ?? "") };
}

export function address(view, params) {
  const kept = Object.entries(params).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const query = new URLSearchParams(kept).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

// The address follows what is asked, without a new step in the browser's history.
export function keep(view, params) {
  history.replaceState(null, "", address(view, params));
}

// The keys of a question as written in one field: engines=7, growth_pct=20.
export function keys(text) {
  // A comma that no key follows belongs to the value, as between the steps of a plan.
  const pairs = text
    .split(/,(?=[^,=]*=)/)
    .map((pair) => pair.split("=").map((part) => part.trim()))
    .filter(([key]) => key);
  return Object.fromEntries(
    pairs.map(([key, value]) => [key, value !== "" && !Number.isNaN(Number(value)) ? Number(value) : (value ?? "")]),
  );
}

// A question without some of its keys.
export const without = (at, ...left) => Object.fromEntries(Object.entries(at).filter(([key]) => !left.includes(key)));
