// Charts over time: one cursor and one zoom for all of them.
for (const data of document.querySelectorAll("script.axis")) {
  const { length, tracks, series, marks } = JSON.parse(data.textContent);
  const box = data.closest(".lanes");
  const find = (what) => box.querySelector(what);
  const svgs = [...box.querySelectorAll("svg")];
  const [width, height] = [svgs[0].viewBox.baseVal.width, svgs[0].viewBox.baseVal.height];
  const [readout, ticks, over] = [find("output"), find(".ticks"), find(".over")];
  const [cursor, selected, chosen] = [find(".cursor"), find(".selected"), find("select")];
  const whole = ticks.innerHTML;
  let view = [0, length], at = null, anchor = null;

  // Begin and end of every point, in seconds.
  const times = tracks.map((steps) => {
    const points = { from: [], to: [] };
    let now = 0;
    for (let i = 0; i < steps.length; i += 2) {
      points.from.push((now += steps[i]) / 100);
      points.to.push((now += steps[i + 1]) / 100);
    }
    return points;
  });
  const longest = times.reduce((a, b) => (b.from.length > a.from.length ? b : a));

  // The first point that ends after an instant.
  const after = (points, t) => {
    let [low, high] = [0, points.to.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (points.to[middle] <= t) low = middle + 1; else high = middle;
    }
    return low;
  };

  const digits = (v) => v >= 99.95 || v === 0 ? Math.round(v).toLocaleString("en-US") : v.toPrecision(3);
  const scaled = (v, step, units) => {
    let unit = 0;
    while (v >= step * 0.9995 && unit + 1 < units.length) { v /= step; unit += 1; }
    return `${digits(v)} ${units[unit]}`;
  };
  const words = {
    "per-second": digits,
    "percent": (v) => `${v.toFixed(1)} %`,
    "us": (v) => scaled(v, 1000, ["µs", "ms", "s"]),
    "KiB-per-second": (v) => scaled(v, 1024, ["KiB/s", "MiB/s", "GiB/s", "TiB/s"]),
  };
  const seconds = (t, step) => t.toLocaleString("en-US", { maximumFractionDigits: step < 1 ? 3 : step < 10 ? 1 : 0 });

  const isShown = (one) => !chosen || chosen.value === "" || one.subject === undefined || String(one.subject) === chosen.value;
  const said = (one, t) => {
    const points = times[one.track];
    const i = after(points, t);
    const value = i < points.from.length && points.from[i] <= t ? one.v[i] : null;
    if (value === null || value === undefined) return null;
    const least = one.least?.[i], most = one.most?.[i];
    const around = least === null || least === undefined || least === most ? ""
      : ` (${words[one.unit](least)} to ${words[one.unit](most)})`;
    return words[one.unit](value) + around;
  };
  const near = (t) => {
    const reach = (view[1] - view[0]) / 200;
    return marks.filter(([from, to]) => from / 100 - reach <= t && t <= to / 100 + reach);
  };

  const showValues = () => {
    if (at === null) return;
    const all = [];
    for (const key of box.querySelectorAll(".entry")) {
      const own = series.filter((one) => one.lane === +key.dataset.lane && one.key === +key.dataset.key && isShown(one));
      const values = own.map((one) => said(one, at)).filter((value) => value !== null);
      key.querySelector("b").textContent = ` ${values.join(" · ") || "–"}`;
      all.push(`${key.parentElement.firstElementChild.textContent} ${key.textContent}`);
    }
    const selection = anchor === null ? "" : `, ${seconds(Math.abs(at - anchor), 0)} s selected`;
    const events = near(at).map(([, , kind, what]) => `${kind}: ${what}`);
    readout.textContent = [`${seconds(at, 0)} s${selection}`, ...events].join(" · ");
    // The values are in the legends, where a screen reader does not follow the cursor.
    const spoken = readout.appendChild(document.createElement("span"));
    spoken.className = "spoken";
    spoken.textContent = ` ${all.join(", ")}`;
  };
  const left = (t) => `${((t - view[0]) / (view[1] - view[0])) * 100}%`;
  const draw = () => {
    over.hidden = false;
    cursor.hidden = at === null || at < view[0] || at > view[1];
    selected.hidden = anchor === null;
    if (at !== null) cursor.style.left = left(at);
    if (anchor !== null && at !== null) {
      selected.style.left = left(Math.max(view[0], Math.min(at, anchor)));
      selected.style.right = `calc(100% - ${left(Math.min(view[1], Math.max(at, anchor)))})`;
    }
  };
  const put = (t) => { at = Math.max(0, Math.min(length, t)); showValues(); draw(); };

  const label = () => {
    const [from, to] = view;
    if (from === 0 && to === length) { ticks.innerHTML = whole; return; }
    const raw = (to - from) / 8, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw);
    ticks.replaceChildren();
    for (let i = Math.ceil(from / step); i * step <= to; i += 1) {
      const tick = ticks.appendChild(document.createElement("span"));
      tick.textContent = `${seconds(i * step, step)} s`;
      tick.style.left = left(i * step);
    }
  };
  const show = (from, to) => {
    svgs.forEach((svg) => svg.setAttribute("viewBox", `${(from / length) * width} 0 ${((to - from) / length) * width} ${height}`));
  };
  // A zoom is part of the address, so that a link shows it again.
  const zoom = (from, to) => {
    const least = Math.min(length, Math.max(length / 2000, 0.1));
    const middle = (from + to) / 2, half = Math.max(to - from, least) / 2;
    view = [Math.max(0, middle - half), Math.min(length, middle + half)];
    anchor = null;
    show(...view);
    label();
    draw();
    showValues();
    const isWhole = view[0] === 0 && view[1] === length;
    history.replaceState(null, "", isWhole ? "#over-time" : `#over-time=${view.map((t) => +t.toFixed(2)).join("-")}`);
  };
  const by = (factor) => {
    const [from, to] = view, t = at !== null && at >= from && at <= to ? at : (from + to) / 2;
    zoom(t - (t - from) * factor, t + (to - t) * factor);
  };
  const select = () => { if (anchor !== null && anchor !== at) zoom(Math.min(anchor, at), Math.max(anchor, at)); };
  const reset = () => zoom(0, length);

  const step = (direction, selects) => {
    if (selects && anchor === null) anchor = at ?? view[0];
    if (!selects) anchor = null;
    const i = at === null ? after(longest, view[0]) : after(longest, at) + direction;
    const point = Math.max(0, Math.min(longest.from.length - 1, i));
    put((longest.from[point] + longest.to[point]) / 2);
    if (at < view[0] || at > view[1]) {
      const half = (view[1] - view[0]) / 2, kept = anchor;
      zoom(at - half, at + half);
      anchor = kept;
      put(at);
    }
  };
  const begins = [...new Set(marks.map(([from]) => from / 100))].sort((a, b) => a - b);
  const event = (direction) => {
    const t = at ?? (direction > 0 ? -1 : length + 1);
    const next = direction > 0 ? begins.find((one) => one > t) : begins.findLast((one) => one < t);
    if (next !== undefined) { anchor = null; put(next); }
  };

  const instant = (pointer) => {
    const room = over.getBoundingClientRect();
    const share = (pointer.clientX - room.left) / room.width;
    return view[0] + Math.max(0, Math.min(1, share)) * (view[1] - view[0]);
  };
  const stage = find(".stage");
  stage.addEventListener("pointermove", (pointer) => { readout.ariaLive = "off"; put(instant(pointer)); });
  stage.addEventListener("pointerdown", (pointer) => {
    if (pointer.button !== 0) return;
    stage.setPointerCapture(pointer.pointerId);
    anchor = instant(pointer);
  });
  stage.addEventListener("pointerup", (pointer) => {
    const far = anchor !== null && Math.abs(instant(pointer) - anchor) > (view[1] - view[0]) / 100;
    put(instant(pointer));
    if (far) select(); else { anchor = null; draw(); }
  });
  stage.addEventListener("pointercancel", () => { anchor = null; draw(); });
  stage.addEventListener("dblclick", reset);

  const keys = {
    ArrowLeft: (key) => step(-1, key.shiftKey), ArrowRight: (key) => step(1, key.shiftKey),
    Home: () => put(view[0]), End: () => put(view[1]),
    Enter: select, Escape: reset, "+": () => by(0.5), "=": () => by(0.5), "-": () => by(2),
    n: () => event(1), p: () => event(-1),
  };
  box.addEventListener("keydown", (key) => {
    if (key.target !== box || key.ctrlKey || key.metaKey || key.altKey || !keys[key.key]) return;
    key.preventDefault();
    readout.ariaLive = "polite";
    keys[key.key](key);
  });
  const tools = { in: () => by(0.5), out: () => by(2), reset };
  for (const button of box.querySelectorAll("[data-do]")) button.addEventListener("click", tools[button.dataset.do]);
  chosen?.addEventListener("change", () => {
    for (const path of box.querySelectorAll("path[data-subject]")) {
      path.classList.toggle("away", chosen.value !== "" && path.dataset.subject !== chosen.value);
    }
    showValues();
  });
  find(".tools").hidden = false;

  // On paper the whole run.
  addEventListener("beforeprint", () => { show(0, length); ticks.innerHTML = whole; });
  addEventListener("afterprint", () => { show(...view); label(); });
  const linked = /^#over-time=([\d.]+)-([\d.]+)$/.exec(location.hash);
  if (linked) { zoom(+linked[1], +linked[2]); box.scrollIntoView(); }
}
