(() => {
  const table = document.querySelector(".matrix table"), heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, i) => head.querySelector("button")?.addEventListener("click", () => {
    const sign = head.ariaSort === "ascending" ? -1 : 1;
    heads.forEach(h => h.removeAttribute("aria-sort"));
    head.ariaSort = sign > 0 ? "ascending" : "descending";
    for (const body of table.tBodies) {
      const value = row => row.cells[i].dataset.v === "" ? NaN : +row.cells[i].dataset.v;
      const rows = [...body.rows].slice(1);
      rows.sort((a, b) => { const x = value(a), y = value(b); return isNaN(x) - isNaN(y) || sign * (x - y) || 0; });
      body.append(...rows);
    }
  }));
  const panel = document.getElementById("command"), text = panel.querySelector("pre"), [copy, close] = panel.querySelectorAll("button");
  table.addEventListener("click", event => {
    const cell = event.target.closest("a[data-m]");
    if (!cell) return;
    event.preventDefault();
    const row = cell.closest("tr");
    panel.querySelector("b").textContent = row.cells[0].firstChild.textContent + ": " + heads[cell.parentNode.cellIndex].textContent + " = " + cell.textContent;
    text.textContent = row.dataset.run + " " + cell.dataset.m;
    panel.hidden = false;
  });
  copy.addEventListener("click", () => {
    const range = document.createRange();
    range.selectNodeContents(text);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    navigator.clipboard?.writeText(text.textContent);
  });
  close.addEventListener("click", () => { panel.hidden = true; });
})();
