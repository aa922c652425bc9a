// The page of one episode.

const MOST_SIBLINGS = 12;

class EpisodePage {
  constructor(number, record) {
    this.number = number;
    this.episode = index.episodes[number];
    this.record = record;
    this.at = 0;
    this.element = el("article.episode", {}, this.head(), this.body());
  }

  head() {
    const { episode, number } = this;
    const to = (n, words, label) => (n >= 0 && n < index.episodes.length
      ? el("a.quiet", { href: `#/episode/${n}`, "aria-label": label, title: label }, words) : el("span.quiet.off", {}, words));
    return el("header.episode-head", {},
      index.alone ? null : el("nav.crumbs", { "aria-label": "Episodes" }, el("a.back", { href: "#/" }, "‹ All episodes"), el("span.grow"),
        to(number - 1, "‹ Previous", "Previous episode"), to(number + 1, "Next ›", "Next episode")),
      el("div.headline", {}, el("h1", { tabindex: -1 }, named(episode)),
        el("p.status", {}, endState(episode), el("span", {}, [episode.agent, episode.model].filter(Boolean).join(", ")),
          episode.levels ? el("span", {}, episode.levels) : null)),
      this.siblings());
  }

  siblings() {
    const numbers = bySubject.get(this.episode.subject);
    if (numbers.length < 2 || numbers.length > MOST_SIBLINGS) return null;
    return el("nav.siblings", { "aria-label": "The same task, played otherwise" }, numbers.map((n) => {
      const other = index.episodes[n];
      const name = [two ? LETTERS[other.source] : "", other.configuration || other.task].filter(Boolean).join(": ");
      return el("a.chip", { href: `#/episode/${n}`, "aria-current": n === this.number ? "page" : null }, el("span", {}, name), endState(other),
        el("span.count", {}, plural(other.steps, "step")));
    }));
  }

  body() {
    const { record, episode } = this;
    if (!record) return [el("p.notice", {}, `${episode.problem} There is nothing more to show.`), this.asked(), el("p.fine", {}, numbersOf(episode))];
    this.graphView = new GraphView(record);
    this.list = timeline(record, (i) => this.go(i, true));
    this.strip = budgetStrip(record, (step) => this.go(this.momentOf(step), true));
    this.stage = el("div.moment-body");
    this.title = el("h2.moment-head");
    this.before = el("button.quiet", { type: "button", onclick: () => this.go(this.at - 1), "aria-label": "Previous moment" }, "‹");
    this.after = el("button.quiet", { type: "button", onclick: () => this.go(this.at + 1), "aria-label": "Next moment" }, "›");
    this.place = el("span.fine", { "aria-live": "polite" });
    return [episode.problem ? el("p.notice", {}, episode.problem) : null,
      el("div.summary", {}, this.asked(), this.strip),
      el("div.workspace", {}, el("nav.side-list", { "aria-label": "Timeline" }, this.list),
        el("section.stage", {}, el("div.stepper", {}, this.before, this.title, this.place, this.after), this.graphView.element, this.stage))];
  }

  asked() {
    const { record, episode } = this;
    const question = record?.task || episode.question;
    const answer = record && record.answer !== undefined ? record.answer : episode.answer;
    const detail = episode.ok ? "" : record?.detail || episode.detail;
    const parts = [
      question ? [el("h2", {}, "Task"), el("p.pre", {}, question)] : null,
      answer !== undefined && answer !== "" ? [el("h2", {}, "Answer"), typeof answer === "object" ? el("pre", {}, JSON.stringify(answer, null, 1))
        : el(String(answer).length < 60 ? "p.pre.answer" : "p.pre", {}, answer)] : null,
      detail ? [el("h2", {}, "How it ended"), el("p.pre", {}, detail), record ? explanation(record.explanation) : null] : null];
    return parts.some(Boolean) ? el("section.card.asked", {}, parts) : null;
  }

  momentOf(step) {
    const found = this.record.moments.findIndex((moment) => moment.sort === "step" && moment.step === step);
    return found < 0 ? 0 : found;
  }

  go(i, scroll) {
    const { record } = this;
    if (!record || i < 0 || i >= record.moments.length) return;
    this.at = i;
    for (const item of this.list.querySelectorAll(".moment")) {
      const here = Number(item.dataset.moment) === i;
      if (here) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
      if (here) keepInView(item);
    }
    const moment = record.moments[i];
    this.title.textContent = shown(headOf(record, moment));
    this.place.textContent = `${i + 1} of ${record.moments.length}`;
    this.before.disabled = i === 0;
    this.after.disabled = i === record.moments.length - 1;
    const { round, key } = contextOf(record, i);
    this.graphView.show(round, key);
    this.stage.replaceChildren(details(record, i, round && round.graph !== undefined ? this.graphView : null));
    markBars(this.strip, stepIn(record, i));
    history.replaceState(null, "", `#/episode/${this.number}/${i}`);
    if (scroll && window.innerWidth < 720) this.title.scrollIntoView({ block: "start", behavior: "smooth" });
  }
}

// Scrolls the list itself, never the page.
function keepInView(item) {
  const list = item.closest(".side-list");
  const [box, own] = [list.getBoundingClientRect(), item.getBoundingClientRect()];
  if (own.top < box.top) list.scrollTop += own.top - box.top - 8;
  else if (own.bottom > box.bottom) list.scrollTop += own.bottom - box.bottom + 8;
}
