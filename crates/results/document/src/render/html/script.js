"use strict";
(() => {
  const root = document.documentElement;
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const toggle = document.getElementById("theme");
  const name = () => { toggle.textContent = dark() ? "Light" : "Dark"; };
  const asked = location.hash.slice(1);
  if (asked === "dark" || asked === "light") root.dataset.theme = asked;
  toggle.hidden = false;
  toggle.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  name();

  const copy = document.getElementById("copy");
  if (navigator.clipboard && isSecureContext) {
    copy.hidden = false;
    copy.addEventListener("click", () => navigator.clipboard
      .writeText(document.getElementById("command").textContent)
      .then(() => { copy.textContent = "Copied"; }, () => { copy.textContent = "Could not copy"; }));
  }

  // A closed <details> would be missing on paper.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));

  const make = (svg, tag, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    return svg.appendChild(element);
  };
  const span = (text, kind) => {
    const element = document.createElement("span");
    element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };

  for (const data of document.querySelectorAll("script.stops")) {
    const chart = JSON.parse(data.textContent);
    const figure = document.getElementById(chart.id);
    const svg = figure.querySelector("svg");
    const readout = figure.querySelector("output");
    const height = svg.viewBox.baseVal.height;
    let drawn = [];
    readout.replaceChildren(span("Point at the chart to read its values.", "where"));
    let at = -1;

    const show = (index) => {
      if (index === at || !chart.stops[index]) return;
      at = index;
      drawn.forEach((element) => element.remove());
      const stop = chart.stops[index];
      drawn = [make(svg, "line", { class: "cursor", x1: stop.x, x2: stop.x, y1: 18, y2: height - 30 })];
      for (const p of stop.p) {
        drawn.push(make(svg, "circle", { class: `dot c${p.s}`, cx: stop.x, cy: p.y, r: 4.5 }));
      }
      readout.replaceChildren(span(stop.l, "where"), span(stop.p.length ? ": " : "", "where"), span(stop.p.map((p) => p.t).join(" · ")));
    };

    const nearest = (x, y) => {
      let best = 0, least = Infinity;
      chart.stops.forEach((stop, index) => {
        // Where series have stops of their own, height shows which one is meant.
        const dy = Math.min(...stop.p.map((p) => Math.abs(p.y - y)), Infinity);
        const distance = Math.abs(stop.x - x) + (Number.isFinite(dy) ? dy * 0.2 : 0);
        if (distance < least) { least = distance; best = index; }
      });
      return best;
    };

    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      show(nearest((event.clientX - box.left) * scale, (event.clientY - box.top) * scale));
    });
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      show(Math.max(0, Math.min(chart.stops.length - 1, at + step)));
    });
  }
})();
