// Which page is shown, and the keys.

const main = document.getElementById("main");
let page = null;
let listScroll = 0;
let asked = 0;

document.getElementById("title").textContent = shown(index.title);
document.documentElement.classList.add("ready");

async function navigate() {
  // The page of one trace opens on its episode.
  const where = index.alone && !location.hash ? "#/episode/0" : location.hash;
  const [, number, moment] = /^#\/episode\/(\d+)(?:\/(\d+))?$/.exec(where) || [];
  const turn = (asked += 1);
  if (number === undefined || !index.episodes[number]) {
    page = null;
    main.replaceChildren(overview());
    window.scrollTo(0, listScroll);
    return;
  }
  if (page && page.number === Number(number)) {
    page.go(Number(moment || 0));
    return;
  }
  if (!page) listScroll = window.scrollY;
  try {
    const record = await loadEpisode(Number(number));
    if (turn !== asked) return; // another page was asked for meanwhile
    page = new EpisodePage(Number(number), record);
    main.replaceChildren(page.element);
    page.go(Number(moment ?? firstMoment(record)));
    window.scrollTo(0, 0);
    page.element.querySelector("h1").focus({ preventScroll: true });
  } catch (error) {
    main.replaceChildren(el("p.notice", {}, `The episode cannot be shown: ${error.message}`), el("a", { href: "#/" }, "All episodes"));
    throw error;
  }
}

// An episode opens at its first plan, where it has one.
function firstMoment(record) {
  if (!record) return 0;
  const plan = record.moments.findIndex((moment) => moment.sort === "plan" || moment.schedule);
  return plan < 0 ? 0 : plan;
}

window.addEventListener("hashchange", navigate);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  if (event.key === "/" && !page) {
    event.preventDefault();
    document.getElementById("search")?.focus();
  }
  if (!page) return;
  if (event.key === "j" || event.key === "ArrowRight") page.go(page.at + 1);
  else if (event.key === "k" || event.key === "ArrowLeft") page.go(page.at - 1);
  else if (event.key === "Escape") location.hash = "#/";
});

let width = window.innerWidth;
window.addEventListener("resize", () => {
  const turned = (width < 720) !== (window.innerWidth < 720);
  width = window.innerWidth;
  if (turned && page && page.graphView && page.graphView.shownRound) {
    page.graphView.shownRound = null;
    page.go(page.at);
  }
});

navigate();
