// What the page does more when scripts run: times in the viewer's zone, views that keep
// up to date, and forms that are sent once. Without it everything is there as well.
"use strict";

// localTimes writes times in the viewer's zone. Their UTC stands in the title.
function localTimes(root) {
  for (const el of root.querySelectorAll("time")) {
    const at = new Date(el.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const time = {hour: "numeric", minute: "2-digit", second: "2-digit"};
    const date = {month: "short", day: "numeric"};
    if (at.getFullYear() !== new Date().getFullYear()) date.year = "numeric";
    el.textContent = el.dataset.form === "clock" ? at.toLocaleTimeString(undefined, time) : at.toLocaleString(undefined, {...date, ...time});
  }
}

// replace shows a part that the service has rendered, and keeps the focus where it was.
function replace(el, html) {
  const focused = el.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  el.innerHTML = html; // escaped by the service, and the page's policy runs no script in it
  localTimes(el);
  if (!focused) return;
  for (const a of el.querySelectorAll("a")) {
    if (a.getAttribute("href") === focused) {
      a.focus();
      return;
    }
  }
}

// say tells progress to those who do not see it, not more often than they can hear it.
const say = {next: "", timer: 0};
function announce(el, text) {
  say.next = text;
  if (say.timer) return;
  say.timer = setTimeout(() => {
    say.timer = 0;
    if (el.textContent !== say.next) el.textContent = say.next;
  }, 3000);
}

// follow keeps a view up to date. The browser asks again by itself when the stream ends;
// one that was refused is asked for again after a while.
function follow(address) {
  const events = new EventSource(address);
  events.onmessage = (event) => {
    for (const [id, html] of Object.entries(JSON.parse(event.data))) {
      const el = document.getElementById(id);
      if (!el) continue;
      if (id === "live-say") announce(el, html);
      else replace(el, html);
    }
  };
  events.onerror = () => {
    if (events.readyState === EventSource.CLOSED) setTimeout(follow, 15000, address);
  };
  addEventListener("pagehide", () => events.close(), {once: true});
}

localTimes(document);
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const foot = document.getElementById("zone");
if (foot && zone !== "UTC") foot.textContent = `Times are in the zone ${zone}; hold the pointer over one to see UTC.`;
for (const form of document.querySelectorAll("form[data-once]")) {
  form.addEventListener("submit", () => {
    for (const button of form.querySelectorAll("button")) button.disabled = true;
  });
}
if (document.body.dataset.live) {
  follow(document.body.dataset.live);
  addEventListener("pageshow", (event) => { if (event.persisted) follow(document.body.dataset.live); });
}
