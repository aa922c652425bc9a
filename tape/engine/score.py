"""AnnotateGraph, the nodes (TAPE section 3.1; algorithm 1, line 6): scores of states, and the rewards they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tape.choice.graph import GOAL_SCORE, HOPELESS, PlanGraph
from tape.engine.context import RoleContext
from tape.engine.episode import Episode
from tape.engine.predict import Memory
from tape.errors import GraphError
from tape.protocols import Score, Scorer, State
from tape.protocols.parts import GoalTest, Outcomes, Progress
from tape.protocols.prompt_format import option_values

ScoreMode: TypeAlias = Literal["agreement", "ends", "argmax", "expected"]
"""``TapeConfig.score``."""

_END = 1e-4
"""Weight of the mean score of an open end: below 10,000 moves, staying there never outweighs one stay at a goal."""

_SAVED = 1e-3
"""The most that all edges together take off the reward of an end; the scores of two ends differ by more."""

_DEPTH = 1e-7
"""Weight of a step towards an end that is not known to be affordable."""


class LmScorer:
    """Scores from the model's own probabilities of the score's options; each state once per episode."""

    def __init__(self, context: RoleContext) -> None:
        self._context = context
        self._known: dict[str, Score] = {}

    async def score(self, states: Sequence[State], remaining: Mapping[str, int]) -> list[Score]:
        """Score states; ``remaining`` does not change a score, because the solver keeps the budgets."""
        del remaining
        key = self._context.domain.key
        fresh = {key(state): state for state in states if key(state) not in self._known}
        asked = [self._context.prompt_format.score_request(state) for state in fresh.values()]
        # States with equal prompts share one request; the values of its options may still differ.
        distinct = list(dict.fromkeys(request for request, values in asked if len(values) > 1))
        answers = dict(zip(distinct, await self._context.lm.score_options(distinct), strict=True)) if distinct else {}
        for name, (request, values) in zip(fresh, asked, strict=True):
            weights = answers[request][0] if request in answers else (1.0,)  # of one option nothing is asked
            scores = option_values(request, values)
            if not any(weights):
                self._context.count_malformed("score", "the answer is none of the options")
                self._known[name] = Score(0.0, 0.0)
                continue
            mean = sum(w * v for w, v in zip(weights, scores, strict=True))
            self._known[name] = Score(scores[weights.index(max(weights))], mean)
        return [self._known[key(state)] for state in states]


async def annotate_nodes(graph: PlanGraph, episode: Episode, scorer: Scorer, memory: Memory) -> None:
    """AnnotateGraph: set the reward of every node, and whether it is a goal; edges must have their costs.

    The states in ``memory`` were observed without success, so they are no goals, whatever the model's score.

    Raises:
        GraphError: The objective is "save", and a cost is unknown.
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
class ScoredNode:
    """The facts about a node on which its reward depends.

    ``end``: a plan ends there. ``visited``: its state was observed. ``likelihood``: of the assumptions on the way to
    it. ``depth``: its distance from the current node as a share of the largest; None if no path leads there.
    """

    key: str
    state: State
    end: bool
    visited: bool
    likelihood: float
    depth: float | None


Rule: TypeAlias = Callable[[ScoredNode, Score], tuple[float, bool]]
"""The reward of a node, and whether it is a goal."""


def _places(graph: PlanGraph, episode: Episode, memory: Memory) -> list[ScoredNode]:
    start = episode.key(episode.state)
    depths = graph.depths(start)
    furthest = max(depths.values()) or 1
    hooks = episode.hooks
    same = hooks.outcome_key if hooks.uncertain else episode.key
    visited = {same(state) for state in (episode.state, *(after for _, _, after in memory.transitions))}
    nodes = []
    for node in graph.nodes:
        attributes, depth = graph.attributes(node), depths.get(node)
        share = None if depth is None else depth / furthest
        likelihood = attributes.get("likelihood", 1.0)
        # Where outcomes have chances a path may end anywhere, for instance before a doubtful step.
        state, end = graph.state(node), bool(attributes["plan_end"]) or hooks.uncertain
        nodes.append(ScoredNode(node, state, end, same(state) in visited, likelihood, share))
    return nodes


def _rule(episode: Episode) -> Rule:
    """The rule of an episode: by the goal test if the domain has one, else by scores alone."""
    config, domain = episode.config, episode.env.domain
    test, mode = domain.goal_test, config.ablations.score or "ends"
    if test is None:
        return lambda node, score: by_score(node, score, mode)
    declared = test if config.ablations.goal_test == "declared" else None
    progress = domain.progress if mode == "ends" else None
    unit = 1.0 if episode.hooks.uncertain else _END
    return lambda node, score: by_goal(node, score, mode, declared, progress, unit)


def by_score(node: ScoredNode, score: Score, mode: ScoreMode) -> tuple[float, bool]:
    """The reward is the score; from :data:`GOAL_SCORE` on the node is a goal."""
    reward = node.likelihood * value_of(node, score, mode)
    return reward, reward >= GOAL_SCORE


def by_goal(
    node: ScoredNode,
    score: Score,
    mode: ScoreMode,
    test: GoalTest | None,
    progress: Progress | None,
    unit: float = _END,
) -> tuple[float, bool]:
    """A goal earns 1; of the other nodes only ends of plans earn anything.

    Otherwise scores that estimate the steps left would reward moving in circles. Without a ``test`` the score decides
    what is a goal. ``progress`` gives partial credit to the end of a plan. ``unit``: of open ends; 1 where chances say
    how likely they are reached, else so little that a goal within reach always comes first.
    """
    reward = value_of(node, score, mode)
    if not node.visited and (test.satisfied(node.state) if test else reward >= GOAL_SCORE):
        return node.likelihood, True
    reward = min(reward, _END if node.end else 0.0)
    if progress is not None and reward >= 0 and node.end and node.depth is not None and not node.visited:
        credit = min(max(progress.value(node.state), 0.0), 1.0)
        reward = (reward + _END * (credit + node.depth)) / 3
    return node.likelihood * reward * unit / _END, False


def value_of(node: ScoredNode, score: Score, mode: ScoreMode) -> float:
    """The value of a score under ``TapeConfig.score``; at most 0 for a visited state."""
    reward = score.mean if mode == "expected" else score.likely
    if node.visited:
        return min(reward, 0.0)
    if mode == "ends" and node.end and HOPELESS < reward < GOAL_SCORE:
        # Never below 0: else the best path would spend the budget on arriving late.
        return _END * max(score.mean, 0.0)
    return reward


async def _reward_ends(graph: PlanGraph, episode: Episode, scorer: Scorer, declared: Outcomes) -> None:
    """Set the rewards in a domain with declared outcomes, where only the end of a path counts.

    A path may end at declared ends only. If none is affordable, a partial path goes as far as it can.
    """
    domain, mode = episode.env.domain, episode.config.ablations.score or "ends"
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
        if mode == "ends" and declared.voted:
            reward *= graph.attributes(node)["support"] / len(graph.plans)
        graph.set_reward(node, max(reward, _END), goal=True)
    if domain.saves is not None:
        save(graph, domain.saves)
    elif any(declared.quality(edge.action) < 1 for edge in graph.edges()):
        for edge in graph.edges():  # a better variant of a call is worth more, and no other state
            graph.set_chance(edge.id, declared.quality(edge.action))
        graph.objective = "expect"


def _on_the_way(state: State, depth: int, deepest: int, progress: Progress | None) -> float:
    """The reward of a node short of an end: its distance first, then the domain's partial credit."""
    if progress is None:
        return _DEPTH * depth
    return (depth + (1 + progress.value(state)) / 2) / (2 * deepest)


def save(graph: PlanGraph, kind: str) -> None:
    """Reduce the reward of every edge by its cost in a resource, so that of equally good ends the cheapest is best.

    Raises:
        GraphError: The cost of an edge in this resource is unknown.
    """
    graph.objective = "save"
    counts = {edge.id: edge.cost[kind] for edge in graph.edges()}
    if None in counts.values():
        unknown = next(edge.action for edge in graph.edges() if counts[edge.id] is None)
        raise GraphError(f"{unknown}: its cost in {kind} is unknown, so the cheapest path is unknown too")
    weight = _SAVED / (1 + sum(count or 0 for count in counts.values()))
    for number, count in counts.items():
        graph.set_edge_reward(number, -weight * (count or 0))
