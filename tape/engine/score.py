"""AnnotateGraph, the nodes (TAPE section 3.1; algorithm 1, line 6): scores of states, and the rewards made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tape.engine.context import RoleContext
from tape.engine.episode import Episode
from tape.engine.graph import GOAL_SCORE, HOPELESS, PlanGraph
from tape.engine.predict import Memory
from tape.errors import GraphError
from tape.protocols import Score, Scorer, State
from tape.protocols.parts import GoalTest, Outcomes, Progress
from tape.protocols.prompt_format import option_values

ScoreMode: TypeAlias = Literal["ends", "argmax", "expected"]
"""``TapeConfig.score``."""

_END = 1e-4
"""Weight of the mean score of an open end: no number of stays there outweighs one at a goal (below 10,000 moves)."""

_SAVED = 1e-3
"""What all edges of a graph together may take off an end: less than the scores of any two ends differ by."""

_DEPTH = 1e-7
"""Weight of a step towards an end that cannot be paid for as far as is known."""


class LmScorer:
    """Scores from the model's own probabilities of the score's options; each state once per episode."""

    def __init__(self, context: RoleContext) -> None:
        self._context = context
        self._known: dict[str, Score] = {}

    async def score(self, states: Sequence[State], remaining: Mapping[str, int]) -> list[Score]:
        """Score states; ``remaining`` is not part of a state's score (the solver keeps budgets)."""
        del remaining
        key = self._context.domain.key
        fresh = {key(state): state for state in states if key(state) not in self._known}
        asked = [self._context.prompt_format.score_request(state) for state in fresh.values()]
        # States that read alike are asked about once; what an answer is worth may differ all the same.
        distinct = list(dict.fromkeys(request for request, _ in asked))
        answers = dict(zip(distinct, await self._context.lm.score_options(distinct), strict=True))
        for name, (request, values) in zip(fresh, asked, strict=True):
            weights, _ = answers[request]
            scores = option_values(request, values)
            if not any(weights):
                # What cannot be read tells nothing about the state.
                self._context.count_malformed("score", "the answer is none of the options")
                self._known[name] = Score(0.0, 0.0)
                continue
            mean = sum(w * v for w, v in zip(weights, scores, strict=True))
            self._known[name] = Score(scores[weights.index(max(weights))], mean)
        return [self._known[key(state)] for state in states]


async def put_rewards(graph: PlanGraph, episode: Episode, scorer: Scorer, memory: Memory) -> None:
    """Put on every node what arriving there earns, and whether it is a goal; edges have their costs by then.

    The environment has not called the states in ``memory`` a success, whatever the model thinks of them.

    Raises:
        GraphError: Costs are to be saved, and one of them is unknown.
    """
    domain = episode.env.domain
    if domain.outcomes is not None:
        await _reward_ends(graph, episode, scorer, domain.outcomes)
        return
    rule = _rule(episode)
    scores = await scorer.score([graph.state(node) for node in graph.nodes], episode.remaining())
    for node, score in zip(_places(graph, episode, memory), scores, strict=True):
        reward, goal = rule(node, score)
        graph.set_reward(node.key, reward, goal=goal)


@dataclass(frozen=True)
class Place:
    """A node as its reward depends on it.

    A plan may end there, it may have been visited, and what leads to it is more or less likely. ``depth`` is its
    distance from the current node as a share of the largest; None where no path leads there.
    """

    key: str
    state: State
    end: bool
    visited: bool
    likelihood: float
    depth: float | None


Rule: TypeAlias = Callable[[Place, Score], tuple[float, bool]]
"""The reward of a node, and whether it is a goal."""


def _places(graph: PlanGraph, episode: Episode, memory: Memory) -> list[Place]:
    start = episode.key(episode.state)
    depths = graph.depths(start)
    furthest = max(depths.values()) or 1
    visited = {start, *(episode.key(after) for _, _, after in memory.transitions)}
    found = []
    for node in graph.nodes:
        attributes, depth = graph.attributes(node), depths.get(node)
        share = None if depth is None else depth / furthest
        likelihood = attributes.get("likelihood", 1.0)
        place = Place(node, graph.state(node), bool(attributes["plan_end"]), node in visited, likelihood, share)
        found.append(place)
    return found


def _rule(episode: Episode) -> Rule:
    """The rule of an episode: by scores alone, or by a goal test where the domain has one."""
    config, domain = episode.config, episode.env.domain
    test, mode = domain.goal_test, config.score
    if test is None:
        return lambda node, score: by_score(node, score, mode)
    declared = test if config.goal_test == "declared" else None
    progress = domain.progress if mode == "ends" else None
    return lambda node, score: by_goal(node, score, mode, declared, progress)


def by_score(node: Place, score: Score, mode: ScoreMode) -> tuple[float, bool]:
    """A node is worth its score; enough of it makes a goal."""
    reward = node.likelihood * value_of(node, score, mode)
    return reward, reward >= GOAL_SCORE


def by_goal(
    node: Place, score: Score, mode: ScoreMode, test: GoalTest | None, progress: Progress | None
) -> tuple[float, bool]:
    """A node at the goal is worth 1, and short of it only the end of a plan is worth anything.

    A model's steps left would else reward going round. Without a ``test`` the score says what is a goal; ``progress``
    says what the end of a plan is worth.
    """
    reward = value_of(node, score, mode)
    if not node.visited and (test.satisfied(node.state) if test else reward >= GOAL_SCORE):
        return node.likelihood, True
    reward = min(reward, _END if node.end else 0.0)
    if progress is not None and reward >= 0 and node.end and node.depth is not None and not node.visited:
        credit = min(max(progress.worth(node.state), 0.0), 1.0)
        reward = (reward + _END * (credit + node.depth)) / 3
    return node.likelihood * reward, False


def value_of(node: Place, score: Score, mode: ScoreMode) -> float:
    """What a score says of a node, as ``TapeConfig.score`` has it; of a state that was seen nothing good."""
    reward = score.mean if mode == "expected" else score.likely
    if node.visited:
        return min(reward, 0.0)
    if mode == "ends" and node.end and HOPELESS < reward < GOAL_SCORE:
        # Never below 0: else a path would spend the budget on putting off its end.
        return _END * max(score.mean, 0.0)
    return reward


async def _reward_ends(graph: PlanGraph, episode: Episode, scorer: Scorer, declared: Outcomes) -> None:
    """Put rewards on the ends of a domain that declares outcomes, where all that counts is what a path ends with.

    No other node is an end of a path. Where no end can be paid for, a partial path goes as far as it can.
    """
    domain, mode = episode.env.domain, episode.config.score
    depths = graph.depths(episode.key(episode.state))
    deepest = max(depths.values()) + 1
    ends = [node for node in graph.nodes if declared.is_end(graph.state(node))]
    for node in set(graph.nodes) - set(ends):
        graph.no_end(node)
        reward = _on_the_way(graph.state(node), depths.get(node, 0), deepest, domain.progress)
        graph.set_reward(node, reward, goal=False)
    scores = await scorer.score([graph.state(node) for node in ends], episode.remaining())
    for node, score in zip(ends, scores, strict=True):
        reward = score.likely if mode == "argmax" else score.mean
        if mode == "ends":
            reward *= graph.attributes(node)["support"] / len(graph.plans)
        graph.set_reward(node, max(reward, _END), goal=True)
    if domain.saves is not None:
        save(graph, domain.saves)


def _on_the_way(state: State, depth: int, deepest: int, progress: Progress | None) -> float:
    """What a node short of an end is worth: how far it is, and then what the domain says."""
    if progress is None:
        return _DEPTH * depth
    return (depth + (1 + progress.worth(state)) / 2) / (2 * deepest)


def save(graph: PlanGraph, kind: str) -> None:
    """Let every edge take off what it may cost of a resource, so that of ends of equal worth the cheapest is best.

    Raises:
        GraphError: What an edge costs of it is not known.
    """
    graph.objective = "save"
    counts = {edge.id: edge.cost[kind] for edge in graph.edges()}
    if None in counts.values():
        unknown = next(edge.action for edge in graph.edges() if counts[edge.id] is None)
        raise GraphError(f"{unknown}: what it costs in {kind} is not known, so the cheapest path is not either")
    weight = _SAVED / (1 + sum(count or 0 for count in counts.values()))
    for number, count in counts.items():
        graph.set_edge_reward(number, -weight * (count or 0))
