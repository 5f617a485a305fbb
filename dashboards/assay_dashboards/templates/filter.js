// Filters rows that carry data-text, and data-verdicts where they have any, by the page's two controls, and says how many
// are left.
"use strict";
(() => {
  const text = document.getElementById("filter-text");
  const verdict = document.getElementById("filter-verdict");
  const count = document.getElementById("filter-count");
  const rows = Array.from(document.querySelectorAll("[data-text]"));
  const apply = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = verdict.value;
    let shown = 0;
    for (const row of rows) {
      const has = row.dataset.text.toLowerCase();
      const keep = words.every((w) => has.includes(w)) &&
          (wanted === "" || (row.dataset.verdicts ?? wanted).split(" ").includes(wanted));
      row.hidden = !keep;
      if (keep) shown += 1;
    }
    count.textContent = shown === rows.length ? "" : `${shown} of ${rows.length} rows`;
  };
  if (text && verdict) {
    text.addEventListener("input", apply);
    verdict.addEventListener("change", apply);
    apply();
  }
  // Paper has no clicks: everything is open on it.
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1200);
    });
  }
})();
