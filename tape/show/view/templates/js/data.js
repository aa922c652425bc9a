// The index is small and read at once; every episode is unpacked when it is opened.

const index = JSON.parse(document.getElementById("index").textContent);
const LETTERS = ["A", "B"];
const two = index.sources.length === 2;

const parsed = document.readyState === "loading"
  ? new Promise((done) => document.addEventListener("DOMContentLoaded", done, { once: true }))
  : Promise.resolve();

const MOST_HELD = 6;
const held = new Map();

async function loadEpisode(number) {
  const { block } = index.episodes[number];
  if (block === undefined) return null;
  if (!held.has(block)) {
    if (typeof DecompressionStream === "undefined") {
      throw new Error("this browser cannot unpack the episodes (it has no DecompressionStream); any current one can");
    }
    await parsed;
    const packed = atob(document.getElementById(`episode-${block}`).textContent.trim());
    const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    held.set(block, JSON.parse(await new Response(stream).text()));
    if (held.size > MOST_HELD) held.delete(held.keys().next().value);
  }
  return held.get(block);
}

// The same task and repeat, played by another configuration or in the other run; of single traces, the same question.
const bySubject = new Map();
index.episodes.forEach((episode, number) => {
  const subject = episode.digest ? `${episode.digest}|${episode.repeat ?? 0}` : episode.question || `${episode.source}|${episode.key}`;
  if (!bySubject.has(subject)) bySubject.set(subject, []);
  bySubject.get(subject).push(number);
  episode.subject = subject;
});

const TONES = [
  [/^success$/, "good", "✓"],
  [/^(failure|not_certified|infeasible|replan_limit|budget:.*)$/, "warn", "–"],
  [/^unfinished$|^interrupted$/, "plain", "…"],
  [/./, "bad", "✗"],
];

function endState(episode) {
  const [, tone, mark] = TONES.find(([pattern]) => pattern.test(episode.end));
  return el(`span.badge.${tone}`, {}, el("span.mark", { "aria-hidden": "true" }, mark), wordsOf(episode.end));
}

function wordsOf(end) {
  const [state, kind] = end.split(":");
  return kind ? `out of ${kind.replace(/_/g, " ")}` : state.replace(/_/g, " ");
}

function named(episode) {
  return episode.repeat ? `${episode.task} · repeat ${episode.repeat}` : episode.task;
}
