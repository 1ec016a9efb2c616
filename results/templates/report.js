// Values under the pointer, series that can be switched, the same by keyboard. The page reads without it.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("js");
  const charts = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  tip.setAttribute("aria-live", "polite");
  document.body.append(tip);

  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const digits = (value) => value.toFixed(Math.abs(value) < 9.995 ? 2 : Math.abs(value) < 99.95 ? 1 : 0);
  const grouped = (value) => value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) < 10 ? 2 : 0 });
  const duration = (ms) =>
    ms === 0 ? "0 ms"
      : ms < 0.9995 ? `${(ms * 1000).toFixed(0)} µs`
      : ms < 999.5 ? `${digits(ms)} ms`
      : ms < 120000 ? `${digits(ms / 1000)} s`
      : `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
  const shown = (value, unit) => (unit === "ms" ? duration(value) : `${grouped(value)}${unit ? ` ${unit}` : ""}`);
  const clock = (s) => `${s < 0 ? "−" : ""}${Math.abs(s).toFixed(Math.abs(s) < 1000 ? 2 : 0)} s`;
  const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

  // A chart's picture for this screen, where its plot lies in it, and how its pixels map to the screen's.
  const view = (chart) => {
    const svg = [...chart.querySelectorAll("svg")].find((svg) => svg.getClientRects().length > 0);
    if (!svg) return null;
    const [left, top, right, bottom] = svg.dataset.plot.split(" ").map(Number);
    const box = svg.getBoundingClientRect();
    return { svg, left, top, right, bottom, box, scale: box.width / svg.viewBox.baseVal.width };
  };
  // Shows once more what the keyboard has asked for, where the page has been scrolled to since.
  let again = null;
  const clear = () => {
    tip.hidden = true;
    document.querySelectorAll(".cross, .spot").forEach((drawn) => drawn.remove());
    document.querySelectorAll(".mark.on").forEach((mark) => mark.classList.remove("on"));
  };
  const hide = () => {
    again = null;
    clear();
  };
  const place = (x, y) => {
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const left = x + 16 + width < innerWidth - 6 ? x + 16 : Math.max(6, x - 16 - width);
    tip.style.left = `${left}px`;
    tip.style.top = `${clamp(y - height / 2, 6, Math.max(6, innerHeight - height - 6))}px`;
  };
  const draw = (svg, name, attributes, className) => {
    const made = document.createElementNS(SVG, name);
    made.setAttribute("class", className);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    svg.append(made);
  };
  const cross = (at, x) => draw(at.svg, "line", { x1: x, x2: x, y1: at.top, y2: at.bottom }, "cross");
  const onScreen = (at, x, y) => [at.box.left + x * at.scale, at.box.top + y * at.scale];
  const hiddenLook = (look) => root.classList.contains(`off${look}`);

  // What strategies measured at one moment.
  const showTime = (chart, data, column) => {
    const at = view(chart);
    if (!at) return;
    const count = data.series[0].values.length;
    chart.column = clamp(column, 0, count - 1);
    const start = data.first + chart.column * data.step;
    const x = at.left + ((start + data.step / 2 - data.from) / (data.to - data.from)) * (at.right - at.left);
    clear();
    cross(at, clamp(x, at.left, at.right));
    const table = element("table");
    const keys = ["p50", "p99", "max"].filter((key) => data.series.some((of) => of.key === key) && !chart.classList.contains(`hide-${key}`));
    const head = element("tr");
    head.append(element("th", data.step > 0.11 ? `${clock(start)} to ${clock(start + data.step)}, highest` : `at ${clock(start)}`));
    (keys.length ? keys : [""]).forEach((key) => head.append(element("th", key)));
    table.append(head);
    const looks = [...new Set(data.series.map((of) => of.look))].filter((look) => !hiddenLook(look));
    looks.forEach((look) => {
      const own = data.series.filter((of) => of.look === look);
      const row = element("tr");
      const name = element("td");
      name.append(element("i", undefined, charts.patches[look]), own[0].name);
      row.append(name);
      (keys.length ? keys : [""]).forEach((key) => {
        const of = own.find((of) => of.key === key);
        const value = of ? of.values[chart.column] : null;
        row.append(element("td", value === null || value === undefined ? "–" : shown(value, of.unit)));
      });
      table.append(row);
    });
    tip.replaceChildren(table);
    const [left, top] = onScreen(at, x, (at.top + at.bottom) / 2);
    place(left, top);
  };

  // Who did what with a task at one moment.
  const DOES = ["runs it", "restores it", "learns it", "has learned it", "stands by"];
  const showLane = (chart, data, time, lane, mark) => {
    const at = view(chart);
    if (!at) return;
    chart.time = clamp(time, data.from, data.to);
    chart.lane = clamp(lane, 0, data.tasks.length - 1);
    const ms = chart.time * 1000;
    const lines = [];
    const within = (from, to) => from <= ms && ms < to;
    // What lasts a few milliseconds must be found by who points near it.
    const near = ((data.to - data.from) * 1000 * 2.5) / (at.right - at.left);
    data.pauses
      .filter((of) => of[0] === chart.lane && of[3] - near <= ms && ms <= of[4] + near)
      .forEach(([, from, to, start, end]) =>
        lines.push(`stands still for ${duration(end - start)}: ${data.members[from]} → ${to === null ? "nobody" : data.members[to]}`));
    data.spans
      .filter((of) => of[0] === chart.lane && within(of[3], of[4]))
      .forEach(([, member, role, from, to]) => lines.push(`${data.members[member]} ${DOES[role]}${role ? ` (${duration(to - from)})` : ""}`));
    if (!lines.length) lines.push("nobody has it");
    const x = at.left + ((chart.time - data.from) / (data.to - data.from)) * (at.right - at.left);
    const y = at.top + ((chart.lane + 0.5) / data.tasks.length) * (at.bottom - at.top);
    clear();
    cross(at, x);
    const half = (at.bottom - at.top) / data.tasks.length / 2;
    draw(at.svg, "circle", { cx: x, cy: y, r: Math.min(half, 7) }, "spot");
    tip.replaceChildren(element("b", `${data.tasks[chart.lane]} at ${chart.time.toFixed(3)} s`));
    lines.forEach((line) => tip.append(element("div", line)));
    if (mark) {
      mark.classList.add("on");
      tip.append(element("div", mark.dataset.tip));
    }
    place(...onScreen(at, x, y));
  };

  const showMark = (chart, mark) => {
    clear();
    chart.mark = mark;
    mark.classList.add("on");
    tip.replaceChildren(element("span", mark.dataset.tip));
    const box = mark.getBoundingClientRect();
    place(box.left + box.width / 2, box.top + box.height / 2);
  };

  document.querySelectorAll(".mark").forEach((mark) => {
    const title = mark.querySelector("title");
    if (title) {
      mark.dataset.tip = title.textContent;
      title.remove();
    }
  });

  const STEP = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -1e9, End: 1e9 };
  document.querySelectorAll(".chart").forEach((chart) => {
    const data = charts.data[chart.id];
    if (!data) return;
    const pointed = (event) => {
      const at = view(chart);
      if (!at) return null;
      const x = (event.clientX - at.box.left) / at.scale;
      const y = (event.clientY - at.box.top) / at.scale;
      const share = (x - at.left) / (at.right - at.left);
      const inside = share >= -0.01 && share <= 1.01 && y >= at.top - 30 && y <= at.bottom + 80;
      return { share: clamp(share, 0, 1), down: (y - at.top) / (at.bottom - at.top), inside };
    };
    const follow = (event) => {
      again = null;
      const mark = event.target.closest(".mark");
      if (data.kind === "marks") return mark ? showMark(chart, mark) : clear();
      const at = pointed(event);
      if (!at || !at.inside) return clear();
      const time = data.from + at.share * (data.to - data.from);
      if (data.kind === "time") showTime(chart, data, Math.floor((time - data.first) / data.step));
      else showLane(chart, data, time, Math.floor(at.down * data.tasks.length), mark);
    };
    chart.addEventListener("pointermove", follow);
    chart.addEventListener("pointerdown", follow);
    chart.addEventListener("pointerleave", hide);
    chart.tabIndex = 0;
    chart.setAttribute("role", "group");
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return hide();
      const updown = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      const step = STEP[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (step === undefined && (updown === undefined || data.kind !== "lanes")) return;
      event.preventDefault();
      if (data.kind === "time") {
        showTime(chart, data, chart.column === undefined ? 0 : chart.column + step * (event.shiftKey ? 10 : 1));
        again = () => showTime(chart, data, chart.column);
      } else if (data.kind === "lanes") {
        const unit = (data.to - data.from) / (event.shiftKey ? 20 : 200);
        const known = chart.time !== undefined;
        showLane(chart, data, known ? chart.time + (step || 0) * unit : 0, known ? chart.lane + (updown || 0) : 0);
        again = () => showLane(chart, data, chart.time, chart.lane);
      } else {
        const at = view(chart);
        const marks = [...at.svg.querySelectorAll(".mark")].filter((mark) => mark.getClientRects().length > 0);
        if (!marks.length) return;
        const last = marks.indexOf(chart.mark);
        showMark(chart, marks[last < 0 ? 0 : clamp(last + step, 0, marks.length - 1)]);
        again = () => showMark(chart, chart.mark);
      }
    });
  });
  addEventListener("scroll", () => (again ? again() : clear()), { passive: true });

  const toggle = (button, apply) => button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") === "false";
    button.setAttribute("aria-pressed", String(on));
    apply(on);
  });
  document.querySelectorAll("button[data-look]").forEach((button) =>
    toggle(button, (on) => {
      document.querySelectorAll(`button[data-look="${button.dataset.look}"]`).forEach((same) => same.setAttribute("aria-pressed", String(on)));
      root.classList.toggle(`off${button.dataset.look}`, !on);
    }));
  document.querySelectorAll("button[data-curve]").forEach((button) =>
    toggle(button, (on) => document.getElementById(button.dataset.of).classList.toggle(`hide-${button.dataset.curve}`, !on)));
})();
