// Small charts: precision against recall, and bars.

import { signPath } from "./panels.js";
import { element, grouped, percent, shape } from "./words.js";

// `curves`: [{s, points: [{threshold, precision, recall}], now: {precision, recall}}]; `pick(threshold)` where one clicks.
export function curveChart(curves, pick) {
  const width = 460, height = 340, left = 44, top = 14, right = 14, bottom = 40;
  const all = curves.flatMap(({ points, now }) => [...points, now]);
  const floor = (name) => Math.max(0, Math.min(0.9, Math.floor(Math.min(...all.map((point) => point[name])) * 10) / 10));
  const lowX = floor("recall"), lowY = floor("precision");
  const x = (recall) => left + ((recall - lowX) / (1 - lowX)) * (width - left - right);
  const y = (precision) => height - bottom - ((precision - lowY) / (1 - lowY)) * (height - top - bottom);
  const picture = shape("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Precision against recall" });
  for (const [low, along] of [[lowX, "x"], [lowY, "y"]]) {
    const step = 1 - low > 0.5 ? 0.2 : 0.1 / (1 - low > 0.25 ? 1 : 2);
    for (let value = low; value < 1 + 1e-9; value += step) {
      const d = along === "x" ? `M${x(value)},${top}V${height - bottom}` : `M${left},${y(value)}H${width - right}`;
      const at = along === "x" ? { x: x(value), y: height - bottom + 16, "text-anchor": "middle" } : { x: left - 6, y: y(value) + 4, "text-anchor": "end" };
      picture.append(shape("path", { class: "lines", d }), shape("text", { class: "tick", ...at }, percent(value, 0)));
    }
  }
  picture.append(
    shape("text", { class: "axis", x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, "recall"),
    shape("text", { class: "axis", transform: `translate(12,${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, "precision"),
  );
  for (const { s, points, now } of curves) {
    const kind = `system-${s % 5}`;
    if (points.length) picture.append(shape("path", { class: `pr ${kind}`, d: "M" + points.map((point) => `${x(point.recall).toFixed(1)},${y(point.precision).toFixed(1)}`).join("L") }));
    picture.append(shape("path", { class: `now ${kind}`, d: signPath(s), transform: `translate(${x(now.recall)},${y(now.precision)}) scale(1.25)` }));
  }
  picture.addEventListener("click", (event) => {
    const frame = picture.getBoundingClientRect(), scale = width / frame.width;
    const px = (event.clientX - frame.left) * scale, py = (event.clientY - frame.top) * scale;
    let best = null, nearest = 30 * 30;
    for (const { points } of curves) {
      for (const point of points) {
        const distance = (x(point.recall) - px) ** 2 + (y(point.precision) - py) ** 2;
        if (distance < nearest) [nearest, best] = [distance, point.threshold];
      }
    }
    if (best !== null) pick(best);
  });
  return picture;
}

// `groups`: labels of the axis; `series`: [{s, name, values}], s null for gold.
export function barChart(groups, series, label) {
  const width = 460, height = 250, left = 44, top = 12, bottom = 38;
  const shares = series.map(({ values }) => {
    const total = values.reduce((a, b) => a + b, 0) || 1;
    return values.map((value) => value / total);
  });
  const most = Math.max(0.1, ...shares.flat());
  const y = (share) => height - bottom - (share / most) * (height - top - bottom);
  const picture = shape("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const step = most > 0.5 ? 0.2 : 0.1;
  for (let value = 0; value <= most + 1e-9; value += step) {
    picture.append(shape("path", { class: "lines", d: `M${left},${y(value)}H${width - 8}` }), shape("text", { class: "tick", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, percent(value, 0)));
  }
  const room = (width - left - 8) / groups.length, bar = Math.min(22, (room * 0.78) / series.length);
  groups.forEach((group, g) => {
    const start = left + g * room + (room - bar * series.length) / 2;
    series.forEach(({ s, name, values }, k) => {
      const from = y(shares[k][g]);
      const rect = shape("rect", { class: s === null ? "bar gold" : `bar system-${s % 5}`, x: start + k * bar + 0.5, y: from, width: Math.max(1, bar - 1.5), height: Math.max(0, height - bottom - from), rx: 1.5 });
      rect.append(shape("title", {}, `${name}: ${grouped(values[g])} words take ${group}, ${percent(shares[k][g])} per cent`));
      picture.append(rect);
    });
    picture.append(shape("text", { class: "tick", x: left + (g + 0.5) * room, y: height - bottom + 16, "text-anchor": "middle" }, group));
  });
  picture.append(shape("text", { class: "axis", x: (left + width) / 2, y: height - 5, "text-anchor": "middle" }, "links of a word"));
  picture.append(shape("text", { class: "axis", transform: `translate(12,${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, "per cent of words"));
  return picture;
}

export function scoreTable(columns, rows, kind = null) {
  return element(
    "table",
    { class: kind },
    element("thead", {}, element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...rows),
  );
}
