"use strict";
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const toggle = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const nameToggle = () => { toggle.textContent = isDark() ? "Light" : "Dark"; };
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameToggle();
  });
  system.addEventListener("change", nameToggle);
  nameToggle();

  // What has no number stays last, whichever way the others go.
  const order = (isNumber, falling) => (a, b) => {
    if (a.key === "" || b.key === "") return (a.key === "") - (b.key === "");
    const difference = isNumber ? Number(a.key) - Number(b.key) : a.key.localeCompare(b.key);
    return falling ? -difference : difference;
  };
  const sortBy = (table, head) => {
    const isNumber = head.classList.contains("number");
    const current = head.getAttribute("aria-sort");
    const falling = current === "none" ? isNumber : current === "ascending";
    for (const other of head.parentElement.children) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => {
      const cell = row.cells[head.cellIndex];
      return { row, key: cell ? cell.dataset.key || "" : "" };
    });
    body.append(...rows.sort(order(isNumber, falling)).map((entry) => entry.row));
  };
  for (const table of document.querySelectorAll("table")) {
    for (const head of table.tHead.rows[0].cells) {
      head.querySelector("button").addEventListener("click", () => sortBy(table, head));
    }
  }

  for (const bar of document.querySelectorAll(".filter")) {
    const body = bar.parentElement.querySelector("tbody");
    const input = bar.querySelector("input"), choices = [...bar.querySelectorAll("select")];
    const told = bar.querySelector("output");
    const choose = () => {
      const wanted = input.value.toLowerCase();
      const asked = choices.filter((one) => one.value).map((one) => [one.dataset.place, one.value]);
      let shown = 0;
      for (const row of body.rows) {
        const isNamed = row.cells[0].textContent.toLowerCase().includes(wanted);
        row.hidden = !isNamed || asked.some(([place, value]) => row.cells[place].textContent !== value);
        shown += !row.hidden;
      }
      told.textContent = wanted || asked.length ? `${shown} of ${body.rows.length}` : "";
    };
    bar.addEventListener("input", choose);
  }

  const links = new Map([...document.querySelectorAll("nav li a")].map((a) => [a.hash.slice(1), a]));
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const id of links.keys()) watcher.observe(document.getElementById(id));

  const contents = document.querySelector("nav details");
  if (matchMedia("(max-width: 1099px)").matches) contents.open = false;
  contents.addEventListener("click", (event) => {
    if (event.target.closest("a") && matchMedia("(max-width: 1099px)").matches) contents.open = false;
  });

  // Paper has no hidden rows.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("main details:not([open])")];
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of folded) one.open = false; });
})();
