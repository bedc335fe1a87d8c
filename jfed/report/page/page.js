"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const items = new Map(JSON.parse(document.getElementById("items").textContent).map((item) => [item.target_id, item]));
  const drawn = new Map(); // documents of the figures by the ids of their elements
  const hidden = new Set(); // series that the reader has hidden

  // ---------------------------------------------------------------------------------------------- figures

  const color = (role) => getComputedStyle(document.documentElement).getPropertyValue(`--${role}`).trim();
  const tag = (model, name) => model.tags.find((one) => String(one).startsWith(`${name}:`))?.slice(name.length + 1);

  function paint(model) {
    const role = tag(model, "color");
    if (role) {
      const glyph = model.glyph ?? model;
      const [line, fill] = role === "hollow" ? [color("neutral"), color("paper")] : [color(role), color(role)];
      if ("line_color" in glyph.properties) glyph.line_color = line;
      if ("fill_color" in glyph.properties) glyph.fill_color = fill;
    }
    if (model.type.endsWith("Axis") || model.type === "ColorBar") {
      const [muted, thin] = [color("muted"), color("line")];
      const looks = {
        axis_label_text_color: muted, major_label_text_color: muted, group_text_color: muted, title_text_color: muted,
        axis_line_color: thin, major_tick_line_color: model.type === "ColorBar" ? color("paper") : thin,
        bar_line_color: null, background_fill_color: null,
      };
      for (const [name, value] of Object.entries(looks)) if (name in model.properties) model[name] = value;
    }
    if (model.type === "Grid") model.grid_line_color = color("grid");
    const series = tag(model, "series");
    if (series !== undefined) model.visible = !hidden.has(series);
  }

  const repaint = () => drawn.forEach((doc) => doc._all_models.forEach(paint));

  async function draw(element) {
    const item = items.get(element.id);
    if (!item || drawn.has(element.id)) return;
    drawn.set(element.id, { _all_models: new Map() });
    const [view] = await Bokeh.embed.embed_item(item);
    drawn.set(element.id, view.model.document);
    view.model.document._all_models.forEach(paint);
    if (matchMedia("(pointer: fine)").matches) { // a finger scrolls the page instead
      const zoom = view.model.toolbar.tools.find((tool) => tool.type === "BoxZoomTool");
      if (zoom) zoom.active = true;
    }
    readout(element, view);
    element.dataset.drawn = "";
  }

  // Values of all shown curves at the pointer, or at the point that arrow keys choose. Bokeh's own tooltips would be
  // one for each curve, on top of each other.
  function readout(element, view) {
    const plot = view.model;
    const curves = () => plot.renderers.filter((one) => one.name && one.visible);
    if (curves().length === 0) return;
    const box = document.createElement("div"), rule = document.createElement("div");
    [box.className, rule.className] = ["readout", "rule"];
    box.setAttribute("role", "status");
    element.append(rule, box);
    let at = -1;
    const places = (curve) => [...curve.data_source.data[curve.glyph.x.field]];

    function show(x) {
      box.replaceChildren();
      const rows = curves().map((curve) => {
        const { mean, low, high } = curve.data_source.data, xs = places(curve);
        const i = xs.reduce((best, one, j) => (Math.abs(one - x) < Math.abs(xs[best] - x) ? j : best), 0);
        return { curve, x: xs[i], mean: mean[i], ends: low ? ` (${short(low[i])} to ${short(high[i])})` : "" };
      }).filter((row) => Number.isFinite(row.mean)).sort((a, b) => b.mean - a.mean);
      element.toggleAttribute("data-read", rows.length > 0);
      if (rows.length === 0) return;
      const head = document.createElement("p");
      head.textContent = `${plot.below[0].axis_label} ${short(rows[0].x)}`;
      box.append(head, ...rows.map((row) => {
        const line = document.createElement("p"), mark = document.createElement("i"), value = document.createElement("b");
        mark.style.background = color(tag(row.curve, "color"));
        value.textContent = short(row.mean);
        line.append(mark, `${row.curve.name} `, value, row.ends);
        return line;
      }));
      const left = view.frame.x_scale.compute(rows[0].x);
      rule.style.left = `${left}px`;
      Object.assign(rule.style, { top: `${view.frame.bbox.top}px`, height: `${view.frame.bbox.height}px` });
      const beyond = left > element.clientWidth / 2;
      box.style.left = beyond ? "" : `${left + 10}px`;
      box.style.right = beyond ? `${element.clientWidth - left + 10}px` : "";
      box.style.top = `${view.frame.bbox.top + 4}px`;
    }

    const hide = () => element.removeAttribute("data-read");
    plot.on_event("mousemove", (event) => {
      const { left, right, top, bottom } = view.frame.bbox;
      const inside = event.sx >= left && event.sx <= right && event.sy >= top && event.sy <= bottom;
      if (inside) show(event.x); else hide();
    });
    plot.on_event("mouseleave", hide);
    element.tabIndex = 0;
    element.addEventListener("blur", hide);
    element.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step || curves().length === 0) return;
      const xs = places(curves()[0]);
      at = Math.min(Math.max(at + step, 0), xs.length - 1);
      show(xs[at]);
      event.preventDefault();
    });
  }

  function short(value) {
    return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en").replaceAll(",", "\u2009") : String(Number(value.toPrecision(4)));
  }

  const drawOpen = () => all(".plot").filter((plot) => !plot.closest("details:not([open])")).forEach(draw);
  all("details.part").forEach((part) => part.addEventListener("toggle", drawOpen));
  drawOpen();

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  const notes = all("details.notes");
  const printing = (on) => {
    document.documentElement.toggleAttribute("data-print", on);
    notes.forEach((one) => { one.open = on; }); // paper cannot be opened
    repaint();
  };
  addEventListener("beforeprint", () => printing(true));
  addEventListener("afterprint", () => printing(false));

  // ---------------------------------------------------------------------------------------------- series

  document.addEventListener("click", (event) => {
    const series = event.target.closest?.("button[data-series]")?.dataset.series;
    if (series === undefined) return;
    if (!hidden.delete(series)) hidden.add(series);
    all(`button[data-series="${series}"]`).forEach((one) => one.setAttribute("aria-pressed", String(!hidden.has(series))));
    repaint();
  });

  // ---------------------------------------------------------------------------------------------- tables

  const text = (row, j) => row.cells[j].textContent.trim();
  function number(cell) { // of "<1e-4", "[0.1, 0.2]", "96 %" or "3 ± 1"; nothing for "-" and "n >= 7"
    const found = /^[<>[]*\s*(-?[\d.]+(?:e[-+]?\d+)?)/i.exec(cell.replaceAll("\u2212", "-"));
    return found ? Number(found[1]) : NaN;
  }

  function sort(head) {
    const table = head.closest("table"), j = head.cellIndex, body = table.tBodies[0];
    const falls = head.getAttribute("aria-sort") === "ascending";
    const numeric = head.classList.contains("r");
    const compare = (a, b) => {
      if (!numeric) return text(a, j).localeCompare(text(b, j), "en", { numeric: true }) * (falls ? -1 : 1);
      const [x, y] = [number(text(a, j)), number(text(b, j))];
      if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y); // cells without a number stay last
      return falls ? y - x : x - y;
    };
    body.append(...[...body.rows].sort(compare));
    all("th", table).forEach((one) => one.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", falls ? "descending" : "ascending");
  }
  all("th button").forEach((button) => button.addEventListener("click", () => sort(button.closest("th"))));

  // ---------------------------------------------------------------------------------------------- data

  const quoted = (value) => {
    const word = typeof value === "number" ? (Number.isFinite(value) ? String(Number(value.toPrecision(7))) : "") : String(value);
    return /[",\n]/.test(word) ? `"${word.replaceAll('"', '""')}"` : word;
  };

  function csv(doc) {
    const sources = [...doc._all_models.values()].filter((one) => one.type === "ColumnDataSource" && one.name);
    const lines = [];
    let before = "";
    for (const { name, data } of sources) {
      const columns = data instanceof Map ? [...data] : Object.entries(data);
      const head = ["data", ...columns.map(([key]) => key)].map(quoted).join(",");
      if (head !== before) lines.push(head);
      before = head;
      const values = columns.map(([, column]) => [...column]);
      for (let i = 0; i < (values[0]?.length ?? 0); i++) lines.push([name, ...values.map((one) => one[i])].map(quoted).join(","));
    }
    return lines.join("\n") + "\n";
  }

  all("button[data-of]").forEach((button) => button.addEventListener("click", () => {
    const doc = drawn.get(button.dataset.of);
    if (!doc) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv(doc)], { type: "text/csv" }));
    link.download = button.dataset.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }));
})();
