"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const bits = (mask) => { const found = []; for (let at = 0; at < 31; at++) if (mask & (1 << at)) found.push(at); return found; };
  const make = (tag, said = {}, ...inside) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(said)) made.setAttribute(name, value);
    made.append(...inside);
    return made;
  };
  let quiet = 0;
  const say = (text) => {
    const place = document.getElementById("said");
    place.textContent = text;
    clearTimeout(quiet);
    quiet = setTimeout(() => { place.textContent = ""; }, 4000);
  };

  // The bar: theme, clipboard, printer.
  document.querySelector(".tools").hidden = false;
  const themes = [...document.querySelectorAll("[data-theme-to]")];
  const look = (theme) => {
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    for (const one of themes) one.setAttribute("aria-pressed", String(one.dataset.themeTo === theme));
  };
  for (const one of themes) one.addEventListener("click", () => look(one.dataset.themeTo));
  let screenTheme = "auto";
  let folded = [];
  addEventListener("beforeprint", () => {
    screenTheme = root.dataset.theme || "auto";
    root.dataset.theme = "light";
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => {
    look(screenTheme);
    for (const one of folded) one.open = false;
  });
  document.getElementById("print").addEventListener("click", () => print());
  document.getElementById("copy").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(data.markdown);
    } catch {
      const field = make("textarea", { "aria-label": "Markdown" });
      field.value = data.markdown;
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    say("Copied as Markdown");
  });

  // Findings: one button a severity that occurs, where there are several.
  for (const list of document.querySelectorAll(".findings")) {
    const items = [...list.children];
    const kinds = [...new Set(items.map((one) => one.dataset.severity))];
    if (kinds.length < 2) continue;
    const bar = make("div", { class: "filter", role: "group", "aria-label": "Show findings" });
    for (const kind of kinds) {
      const those = items.filter((one) => one.dataset.severity === kind);
      const button = make("button", { type: "button", "aria-pressed": "true" }, `${kind} ${those.length}`);
      button.addEventListener("click", () => {
        const shown = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(shown));
        for (const one of those) one.hidden = !shown;
      });
      bar.append(button);
    }
    list.before(bar);
  }

  // Tables with a column of few values: all rows, or those of one value.
  for (const table of document.querySelectorAll("table[data-by]")) {
    const rows = [...table.querySelectorAll("tr[data-of]")];
    const kinds = [...new Set(rows.map((one) => one.dataset.of))];
    if (kinds.length < 2) continue;
    const bar = make("div", { class: "filter", role: "group", "aria-label": `Show rows, ${table.dataset.by}` });
    for (const kind of ["", ...kinds]) {
      const those = kind ? rows.filter((one) => one.dataset.of === kind) : rows;
      const button = make("button", { type: "button", "aria-pressed": String(!kind) }, `${kind || "all"} ${those.length}`);
      button.addEventListener("click", () => {
        for (const one of bar.children) one.setAttribute("aria-pressed", String(one === button));
        for (const one of rows) one.hidden = kind !== "" && one.dataset.of !== kind;
        say(`${those.length} of ${rows.length} rows shown`);
      });
      bar.append(button);
    }
    table.parentElement.before(bar);
  }

  const articles = [...document.querySelectorAll("article.report")];
  articles.forEach((article, number) => {
    const facts = data.reports[number];
    if (!facts) return;
    const pairs = new Map(facts.pairs.map((one) => [`${one[0]}-${one[1]}`, one]));
    const keys = new Map(facts.keys.map(([a, b, key]) => [`${a}-${b}`, key]));
    const of = (map, a, b) => map.get(a < b ? `${a}-${b}` : `${b}-${a}`);
    const names = (those) => those.map((at) => facts.devices[at]).join(", ");
    const figure = article.querySelector(".figure");
    const groups = new Map();
    for (const group of figure ? figure.querySelectorAll("g[data-ids]") : []) {
      for (const id of group.dataset.ids.split(" ")) {
        const at = facts.devices.indexOf(id);
        if (at < 0) continue;
        if (!groups.has(at)) groups.set(at, []);
        groups.get(at).push(group);
      }
    }
    const isDevice = (group) => /-is-device$/.test(group.getAttribute("class").split(" ")[0]);
    const light = (those) => {
      for (const one of article.querySelectorAll("g.hot")) one.classList.remove("hot");
      for (const at of those) for (const one of groups.get(at) || []) if (isDevice(one)) one.classList.add("hot");
    };
    const level = (pair) => make("span", { class: pair[3] ? `level ${pair[3].toLowerCase()}` : "dim" }, pair[2]);
    const told = (pair) => [
      make("b", {}, `${facts.devices[pair[0]]} \u2013 ${facts.devices[pair[1]]} `), level(pair),
      make("ul", {}, ...pair[4].map((line) => make("li", {}, facts.lines[line]))),
    ];

    // The matrix: each crossing tells its pair, under the pointer and by the arrow keys.
    article.querySelectorAll("table.matrix").forEach((table, place) => {
      const heads = [...table.tHead.rows[0].cells].slice(1);
      if (heads.length > facts.devices.length) return;
      const labels = heads.map((one) => one.textContent);
      const panel = make("div", { class: "pair", id: `pair-${number}-${place}` }, "Point at a crossing, or go there with the arrow keys.");
      table.parentElement.after(panel);
      table.setAttribute("role", "grid");
      table.setAttribute("aria-label", "Levels of pairs");
      const rows = [...table.tBodies[0].rows];
      const show = (cell) => {
        const row = labels.indexOf(cell.parentElement.cells[0].textContent), column = cell.cellIndex - 1;
        for (const one of table.querySelectorAll(".at")) one.classList.remove("at");
        for (const one of [cell, cell.parentElement.cells[0], heads[column]]) one.classList.add("at");
        const pair = of(pairs, row, column);
        light(pair ? [row, column] : [row]);
        if (pair) panel.replaceChildren(...told(pair)); else panel.textContent = row === column ? `${labels[row]} itself` : "nothing known of this pair";
      };
      rows.forEach((row) => [...row.cells].slice(1).forEach((cell) => {
        cell.tabIndex = -1;
        cell.setAttribute("aria-describedby", panel.id);
        cell.addEventListener("pointerenter", () => show(cell));
        cell.addEventListener("focus", () => show(cell));
      }));
      if (rows.length) rows[0].cells[Math.min(2, rows[0].cells.length - 1)].tabIndex = 0;
      table.addEventListener("keydown", (event) => {
        const cell = event.target.closest("td");
        const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -99], End: [0, 99] };
        if (!cell || !steps[event.key]) return;
        event.preventDefault();
        const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
        const row = rows[clamp(rows.indexOf(cell.parentElement) + steps[event.key][0], 0, rows.length - 1)];
        const next = row.cells[clamp(cell.cellIndex + steps[event.key][1], 1, row.cells.length - 1)];
        cell.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
      });
    });

    // Sets of GPUs.
    const ask = figure && figure.querySelector(".ask");
    if (!ask || facts.count < 2) return;
    ask.hidden = false;
    const picked = new Set(facts.asked);
    const buttons = new Map();
    const answer = make("div", { role: "status" });
    ask.append(make("h3", {}, "What if a job gets these GPUs?"));
    for (const room of facts.rooms) {
      const field = make("fieldset", {}, make("legend", {}, room.title));
      for (const at of room.gpus) {
        const button = make("button", { type: "button", "aria-pressed": "false" }, facts.devices[at]);
        button.addEventListener("click", () => toggle(at));
        buttons.set(at, button);
        field.append(button);
      }
      ask.append(field);
    }
    const clear = make("button", { type: "button" }, "Clear");
    clear.addEventListener("click", () => pick([]));
    const pointed = make("div", { class: "rest" });
    ask.append(make("div", { class: "more" }, clear), answer, pointed);
    if (facts.rests.length) {
      ask.append(make("details", {}, make("summary", {}, "What the GB/s rest on"),
        make("ul", {}, ...facts.rests.map((text) => make("li", {}, text)))));
    }

    const roomsOf = (those) => facts.rooms.map((room) => room.gpus.filter((at) => those.includes(at)).length).filter(Boolean);
    const known = facts.rooms.every((room) => room.title !== "place not known");
    const sets = (those) => {
      const all = [];
      those.forEach((a, place) => those.slice(place + 1).forEach((b) => all.push([a, b])));
      return all;
    };
    const weakest = (those) => {
      let found = null;
      for (const [a, b] of sets(those)) {
        const key = of(keys, a, b);
        if (!key) return null;
        if (!found || key[0] < found.key[0] || (key[0] === found.key[0] && key[1] < found.key[1])) found = { a, b, key };
      }
      if (found) {
        found.pair = of(pairs, found.a, found.b);
        found.alike = sets(those).filter(([a, b]) => of(pairs, a, b)[2] === found.pair[2]).length;
      }
      return found;
    };
    const where = (those) => {
      const parts = roomsOf(those).sort((a, b) => b - a);
      const what = facts.rooms[0].socket ? "sockets" : "NUMA nodes";
      if (!known) return "sockets and NUMA nodes are not in this evidence";
      if (parts.length > 1) return `crosses ${what} (${parts.join("+")})`;
      return `one ${what.slice(0, -1)}`;
    };
    const see = (those) => {
      const found = { those, where: where(those), parts: known ? roomsOf(those).length : null, weakest: weakest(those) };
      const mask = those.reduce((sum, at) => sum | (1 << at), 0);
      const rate = facts.rates.find((one) => one[2].includes(mask));
      found.rate = rate ? rate[0] : "";
      found.basis = rate ? rate[1] : "";
      const best = facts.best[those.length];
      found.best = best || null;
      found.isBest = best ? best.sets.includes(mask) : null;
      found.leaves = facts.islands.filter((island) => (island & mask) && (island & ~mask) && (mask & ~island)).map(bits);
      return found;
    };
    const verdict = (seen) => {
      if (!seen.best) return ["info", "Too many sets of this size to say here which is best."];
      if (!seen.best.decided) return ["info", "The evidence leaves open which set of this size is best."];
      if (seen.isBest) return ["good", seen.parts > 1 ? `Nothing of this size is better, though it ${seen.where}.` : "Nothing of this size is better."];
      const best = see(bits(seen.best.sets[0]));
      const far = seen.weakest && best.weakest && (best.weakest.key[0] > seen.weakest.key[0] || (best.weakest.key[0] === seen.weakest.key[0] && best.weakest.key[1] > seen.weakest.key[1]));
      if (far) return ["warning", `Warning: ${seen.parts > 1 ? `it ${seen.where}, and ` : ""}its weakest pair is ${seen.weakest.pair[2]} where ${best.weakest.pair[2]} is possible.`];
      if (seen.parts > best.parts) return ["info", `It ${seen.where} where one could do; its weakest pair is as near as any.`];
      return ["info", "Another set of this size has fewer far pairs."];
    };
    const draw = () => {
      const those = [...picked].sort((a, b) => a - b);
      for (const [at, button] of buttons) button.setAttribute("aria-pressed", String(picked.has(at)));
      figure.classList.toggle("has-picks", those.length > 0);
      for (let at = 0; at < facts.count; at++) {
        for (const one of groups.get(at) || []) if (isDevice(one)) one.classList.toggle("picked", picked.has(at));
      }
      if (those.length < 2) {
        answer.replaceChildren(make("p", { class: "dim" }, those.length ? "One GPU sends to nobody: pick another." : "Pick two or more, here or in the picture."));
        return;
      }
      const seen = see(those);
      const [kind, text] = verdict(seen);
      const list = make("dl");
      const line = (name, ...value) => { if (value.some(Boolean)) list.append(make("dt", {}, name), make("dd", {}, ...value)); };
      line("Set", names(those));
      line("Place", seen.where);
      if (seen.weakest) {
        const all = sets(those).length;
        if (seen.weakest.alike === all && all > 1) line("Weakest pair", "every pair ", level(seen.weakest.pair));
        else line("Weakest pair", `${facts.devices[seen.weakest.a]} \u2013 ${facts.devices[seen.weakest.b]} `, level(seen.weakest.pair), all > 1 ? `, ${seen.weakest.alike} of ${all} pairs` : "");
      } else {
        line("Weakest pair", "not decided by this evidence");
      }
      line("All-reduce, bus bandwidth", seen.rate && make("b", {}, seen.rate), seen.basis && make("span", { class: "basis" }, seen.basis));
      for (const island of seen.leaves.slice(0, 2)) line("Leaves the NVLink island", names(island));
      if (seen.best && !seen.isBest && seen.best.decided) {
        const other = see(bits(seen.best.sets[0]));
        const button = make("button", { type: "button" }, "Pick it");
        button.addEventListener("click", () => { pick(other.those); clear.focus(); });
        const more = seen.best.sets.length > 1 ? `, and ${seen.best.sets.length - 1} as good` : "";
        line(`Best set of ${those.length}`, `${names(other.those)}${more}: ${other.where}, weakest pair `, other.weakest ? level(other.weakest.pair) : "?",
          other.rate ? `, ${other.rate} ` : " ", button);
      }
      answer.replaceChildren(make("p", { class: `verdict ${kind}` }, text), list);
      if (those.length === 2) answer.append(make("div", { class: "pair" }, ...told(of(pairs, those[0], those[1]))));
    };
    const pick = (those) => { picked.clear(); for (const at of those) picked.add(at); draw(); };
    const toggle = (at) => { if (!picked.delete(at)) picked.add(at); draw(); };
    for (let at = 0; at < facts.count; at++) {
      for (const one of groups.get(at) || []) {
        if (!isDevice(one)) continue;
        one.dataset.gpu = at;
        one.addEventListener("click", () => toggle(at));
      }
    }
    for (const group of figure.querySelectorAll("g[data-ids]")) {
      const those = group.dataset.ids.split(" ").map((id) => facts.devices.indexOf(id));
      const pair = those.length === 2 && those.every((at) => at >= 0) ? of(pairs, ...those) : null;
      if (!pair) continue;
      group.addEventListener("pointerenter", () => { group.classList.add("hot"); pointed.replaceChildren(make("div", { class: "pair" }, ...told(pair))); });
      group.addEventListener("pointerleave", () => { group.classList.remove("hot"); pointed.replaceChildren(); });
    }
    draw();
  });
})();
