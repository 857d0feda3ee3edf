// Where a run is under way, load the page's content anew when the server says that there is news.
// Without this script the page is the same, and the browser's reload does it.
"use strict";
const main = document.querySelector("main[data-live]");
if (main) {
  const news = new EventSource(main.dataset.live);
  let loading = false, again = false;
  const load = async () => {
    if (loading) { again = true; return; }
    loading = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok || answer.redirected) { news.close(); return; }
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
      const typing = main.contains(document.activeElement) && document.activeElement.matches("input");
      if (!fresh || typing) return;
      for (const shown of main.querySelectorAll("details[id]")) {
        const same = fresh.querySelector("#" + CSS.escape(shown.id));
        if (same) same.open = shown.open;
      }
      const focused = document.activeElement && document.activeElement.id;
      main.replaceChildren(...fresh.childNodes);
      if (focused && focused !== "main") document.getElementById(focused)?.focus();
    } finally {
      loading = false;
      if (again) { again = false; load(); }
    }
  };
  news.addEventListener("news", load);
  news.addEventListener("end", () => { news.close(); load(); });
}
