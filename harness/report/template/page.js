// Adds to a page that can be read without it: sorting, filtering, names on hovering, details on a click.
"use strict";
(() => {
  const jobs = JSON.parse(document.getElementById("jobs").textContent);
  const table = document.querySelector("#table ~ table");
  if (!table) return;
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const rows = [...table.querySelectorAll("tbody tr[id]")];
  const pointsOf = new Map(rows.map((row) => [row.id, []]));
  for (const point of document.querySelectorAll(".plot a[href^='#job-']")) {
    pointsOf.get(point.getAttribute("href").slice(1))?.push(point);
  }

  // Sorting, inside each dataset: what differs in the data is not compared.
  const heads = [...table.querySelectorAll("thead th")];
  const valueOf = (row, column) => {
    const cell = row.children[column];
    const value = parseFloat(cell.dataset.value);
    return Number.isNaN(value) ? cell.textContent.trim() : value;
  };
  const compare = (a, b) => {
    if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b);
    return typeof a === "number" ? -1 : 1;
  };
  const sortBy = (column, order) => {
    for (const body of table.tBodies) {
      const sorted = rows.filter((row) => row.parentNode === body);
      if (column !== null) sorted.sort((a, b) => order * compare(valueOf(a, column), valueOf(b, column)));
      body.append(...sorted);
    }
    heads.forEach((head, number) =>
      number === column ? head.setAttribute("aria-sort", order > 0 ? "ascending" : "descending") : head.removeAttribute("aria-sort"));
  };
  heads.forEach((head, column) => {
    const button = make("button", { type: "button", class: "sort" }, ...head.childNodes);
    button.addEventListener("click", () => sortBy(column, head.getAttribute("aria-sort") === "ascending" ? -1 : 1));
    head.append(button);
  });

  // Filtering: every word must be found, and every chosen property be there.
  const search = make("input", { type: "search", id: "search", placeholder: "model, dataset, …", autocomplete: "off" });
  const count = make("output", { for: "search" });
  const form = make("form", { class: "filters", role: "search" }, make("label", { for: "search" }, "Filter "), search);
  form.addEventListener("submit", (event) => event.preventDefault());
  const properties = { dataset: "dataset", board: "board", numbers: "number format" };
  const choices = Object.entries(properties).flatMap(([name, title]) => {
    const values = [...new Set(rows.map((row) => row.dataset[name]))];
    if (values.length < 2) return [];
    const select = make("select", { name, "aria-label": title }, make("option", { value: "" }, `every ${title}`),
      ...values.map((value) => make("option", { value }, value)));
    form.append(select);
    return [select];
  });
  // On a phone rows are cards and there are no headings to click.
  const order = make("select", { class: "phone", "aria-label": "sort by" }, make("option", { value: "" }, "as measured"),
    ...heads.map((head, column) => make("option", { value: column }, `by ${head.firstChild.firstChild.textContent}`)));
  order.addEventListener("change", (event) => {
    event.stopPropagation();
    sortBy(order.value ? Number(order.value) : null, 1);
  });
  form.append(order, count);
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = `${row.dataset.dataset} ${row.dataset.board} ${row.cells[0].textContent}`.toLowerCase();
      const fits = words.every((word) => text.includes(word)) &&
        choices.every((select) => !select.value || row.dataset[select.name] === select.value);
      row.hidden = !fits;
      shown += fits;
      pointsOf.get(row.id).forEach((point) => point.classList.toggle("out", !fits));
    }
    for (const body of table.tBodies) body.hidden = !body.querySelector("tr[id]:not([hidden])");
    count.textContent = shown === rows.length ? "" : `${shown} of ${rows.length} rows`;
  };
  form.addEventListener("input", filter);
  form.addEventListener("change", filter);
  table.before(form);

  // Details of one job.
  const dialog = make("dialog", { "aria-labelledby": "job-name" });
  document.body.append(dialog);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  const list = (pairs) => make("dl", {}, ...pairs.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  const grouped = (value) => value.toLocaleString("en").replaceAll(",", "\u202f");
  const stages = (found) => {
    const most = Math.max(...found.map((stage) => stage.cycles));
    const lines = found.map((stage) => {
      const bar = make("span", { class: "bar" });
      bar.style.width = `${(100 * stage.cycles) / most}%`;
      return make("tr", {}, make("th", { scope: "row" }, stage.name, make("small", {}, stage.what)),
        make("td", {}, grouped(stage.cycles)), make("td", {}, stage.floor ? grouped(stage.floor) : "–"),
        make("td", { class: "wide" }, bar));
    });
    const head = make("tr", {}, ...["stage", "cycles", "floor", ""].map((text) => make("th", { scope: "col" }, text)));
    return make("table", { class: "stages" }, make("caption", {}, "Where the cycles go, as predicted from the model"),
      make("thead", {}, head), make("tbody", {}, ...lines));
  };
  const confusion = ({ labels, cells }) => {
    const counts = labels.map(() => labels.map(() => 0));
    for (const [truth, found, count] of cells) counts[truth][found] = count;
    const head = make("tr", {}, make("th", { scope: "col" }, "true \\ found"), ...labels.map((label) => make("th", { scope: "col" }, label)));
    const lines = counts.map((line, truth) => {
      const total = line.reduce((sum, value) => sum + value, 0) || 1;
      return make("tr", {}, make("th", { scope: "row" }, labels[truth]), ...line.map((value, found) => {
        const cell = make("td", { class: truth === found ? "right" : "wrong" }, value ? String(value) : "");
        cell.style.setProperty("--share", value / total);
        return cell;
      }));
    });
    const matrix = make("table", { class: "confusion" },
      make("caption", {}, "Which classes it takes for which"), make("thead", {}, head), make("tbody", {}, ...lines));
    // What scrolls must be reachable by the keyboard.
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "confusion matrix" }, matrix);
  };
  const mistakes = ({ mistakes, classes }) => {
    const head = make("tr", {}, ...["true", "found", "samples"].map((text) => make("th", { scope: "col" }, text)));
    const lines = mistakes.map(([truth, found, count]) =>
      make("tr", {}, ...[truth, found, String(count)].map((text) => make("td", {}, text))));
    const caption = make("caption", {}, `The commonest mistakes; ${classes} classes are too many for a matrix`);
    return make("table", {}, caption, make("thead", {}, head), make("tbody", {}, ...lines));
  };
  const show = (anchor) => {
    const job = jobs[anchor];
    const close = make("button", { type: "button", class: "close", autofocus: "" }, "Close");
    close.addEventListener("click", () => dialog.close());
    dialog.replaceChildren(make("h2", { id: "job-name" }, job.name), close);
    if (job.status) dialog.append(make("p", { class: "warning" }, job.status));
    dialog.append(list(job.figures));
    if (job.stages.length) dialog.append(stages(job.stages));
    if (job.confusion.labels) dialog.append(confusion(job.confusion));
    if (job.confusion.mistakes?.length) dialog.append(mistakes(job.confusion));
    if (job.about.length) dialog.append(list(job.about));
    dialog.showModal();
  };

  // Names on hovering and on focus; a click or Enter opens the details.
  const tip = make("div", { class: "tip", role: "tooltip", id: "tip", hidden: "" });
  document.body.append(tip);
  const mark = (row, on) => [row, ...pointsOf.get(row.id)].forEach((element) => element.classList.toggle("marked", on));
  for (const row of rows) for (const point of pointsOf.get(row.id)) {
    const job = jobs[row.id];
    const enter = () => {
      tip.replaceChildren(make("strong", {}, job.name), list(job.figures.slice(0, 6)));
      tip.hidden = false;
      const box = point.getBoundingClientRect();
      const left = Math.min(box.right + 8, innerWidth - tip.offsetWidth - 8);
      const below = box.bottom + 8 + tip.offsetHeight < innerHeight;
      tip.style.left = `${Math.max(8, left) + scrollX}px`;
      tip.style.top = `${(below ? box.bottom + 8 : box.top - 8 - tip.offsetHeight) + scrollY}px`;
      mark(row, true);
    };
    const leave = () => {
      tip.hidden = true;
      mark(row, false);
    };
    point.setAttribute("aria-describedby", "tip");
    point.addEventListener("pointerenter", enter);
    point.addEventListener("focus", enter);
    point.addEventListener("pointerleave", leave);
    point.addEventListener("blur", leave);
    point.addEventListener("click", (event) => {
      event.preventDefault();
      leave();
      show(row.id);
    });
  }

  // A plot is one stop of the Tab key; inside it arrows go from point to point, from left to right.
  for (const plot of document.querySelectorAll(".plot")) {
    const points = [...plot.querySelectorAll("a[href^='#job-']")];
    const across = (point) => point.getBoundingClientRect().left;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    points.forEach((point, number) => point.setAttribute("tabindex", number ? "-1" : "0"));
    plot.addEventListener("keydown", (event) => {
      const sorted = points.filter((point) => !point.classList.contains("out")).sort((a, b) => across(a) - across(b));
      const here = sorted.indexOf(document.activeElement);
      if (!(event.key in step) || here < 0) return;
      event.preventDefault();
      const next = sorted[(here + step[event.key] + sorted.length) % sorted.length];
      points.forEach((point) => point.setAttribute("tabindex", point === next ? "0" : "-1"));
      next.focus();
    });
  }
  for (const row of rows) {
    const name = row.cells[0];
    const button = make("button", { type: "button", class: "open", "aria-haspopup": "dialog" }, ...name.childNodes);
    button.addEventListener("click", () => show(row.id));
    name.append(button);
  }
})();
