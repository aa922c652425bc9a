// The problem as the algorithm sees it: usable edges ("slots") sorted by tail, binding resources, exact scores.
#pragma once

#include "problem.hpp"

namespace tape {

// A problem as it was given. `costs` has edges x resources amounts; those above BEYOND count as BEYOND.
struct PathProblem {
    int nodes = 0, resources = 0, start = 0, horizon = 0;
    Indices tails, heads;
    std::vector<double> rewards, weights;  // weights[l]: the discount of step l + 1; empty for no discount
    double scale = 1;                      // units per objective
    Score factor = 0;                      // score per unit, more than the horizon
    Scores rest;                           // [nodes] units of staying after the horizon; empty for none
    Amounts costs, budgets;
    std::vector<std::uint8_t> terminal;
    std::vector<Chance> chances;
};

struct Network {
    int nodes = 0, resources = 0, start = 0, horizon = 0;
    Indices offset;    // [nodes + 1] the first slot of a node
    Indices heads;     // [slots]
    Indices edge_ids;  // [slots] ascending within a node: the first of equal slots is the smallest edge
    Amounts costs;     // [slots x resources]
    Amounts budgets;   // [resources]
    std::vector<std::uint8_t> terminal;
    std::vector<Chance> chances;
    Score factor = 0;
    double scale = 1;
    std::vector<double> rewards, weights;  // as the problem's
    Scores unit;    // [nodes] without a discount: the score of a node's reward
    Scores rest;    // [nodes] score of staying after the horizon
    Indices place;  // [nodes] with a discount: a terminal's column of `stays`
    Scores stays;   // [(horizon + 1) x terminals] with a discount: score of staying from step l to the end

    const Amount *cost(int slot) const { return costs.data() + std::size_t(slot) * resources; }

    // The score of a node's reward at step l + 1.
    Score earned(int step, int v) const {
        return weights.empty() ? unit[v] : Score(std::nearbyint(weights[step] * rewards[v] * scale)) * factor;
    }

    // The score of arriving at a node by move l.
    Score move(int step, int v) const { return earned(step, v) - 1; }

    // The score of staying at a terminal from step l to the end.
    Score stay(int step, int v) const {
        if (weights.empty()) return Score(horizon - step) * unit[v] + rest[v];
        return stays[std::size_t(step) * (stays.size() / std::size_t(horizon + 1)) + place[v]];
    }
};

// The scores of `network`, from the rewards rounded once to the grid of `problem.scale`.
inline void set_scores(const PathProblem &problem, Network &network, Clock &clock) {
    const std::size_t n = problem.nodes, horizon = problem.horizon;
    network.scale = problem.scale;
    network.rewards = problem.rewards;
    network.weights = problem.weights;
    network.rest.assign(n, 0);
    for (std::size_t v = 0; v < problem.rest.size(); ++v) network.rest[v] = problem.rest[v] * problem.factor;
    if (problem.weights.empty()) {
        network.unit.resize(n);
        for (std::size_t v = 0; v < n; ++v)
            network.unit[v] = Score(std::nearbyint(problem.rewards[v] * problem.scale)) * problem.factor;
        return;
    }
    Indices ends;
    network.place.assign(n, -1);
    for (std::size_t v = 0; v < n; ++v)
        if (problem.terminal[v]) {
            network.place[v] = std::int32_t(ends.size());
            ends.push_back(std::int32_t(v));
        }
    const std::size_t count = ends.size();
    clock.require(double(horizon + 1) * double(count) * sizeof(Score));
    network.stays.resize((horizon + 1) * count);
    for (std::size_t i = 0; i < count; ++i) network.stays[horizon * count + i] = network.rest[ends[i]];
    for (std::size_t step = horizon; step-- > 0;) {
        clock.tick(count);
        for (std::size_t i = 0; i < count; ++i)
            network.stays[step * count + i] = network.stays[(step + 1) * count + i] + network.earned(int(step), ends[i]);
    }
}

// Leaves out edges that cost more than a whole budget, and resources of which even `horizon` times the dearest edge
// keeps the budget; divides by the greatest common divisor. Resources of chance constraints stay as they are.
inline Network build_network(const PathProblem &problem, Clock &clock) {
    const int all = problem.resources;
    const std::size_t edges = problem.tails.size();
    std::vector<std::uint8_t> chained(all, 0);
    for (const Chance &chance : problem.chances) chained[chance.mean] = chained[chance.variance] = 1;
    Indices usable;
    for (std::size_t e = 0; e < edges; ++e) {
        clock.tick(all + 1);
        bool fits = true;
        for (int k = 0; k < all; ++k) fits &= problem.costs[e * all + k] <= problem.budgets[k];
        if (fits) usable.push_back(std::int32_t(e));
    }
    Network network;
    Indices kept;
    std::vector<int> place(all, -1);
    Amounts divisors;
    for (int k = 0; k < all; ++k) {
        Amount dearest = 0, divisor = 0;
        for (const auto e : usable) {
            clock.tick();
            dearest = std::max(dearest, problem.costs[std::size_t(e) * all + k]);
            if (divisor != 1) divisor = std::gcd(divisor, problem.costs[std::size_t(e) * all + k]);
        }
        if (!chained[k] && dearest <= problem.budgets[k] / problem.horizon) continue;
        if (chained[k] || divisor == 0) divisor = 1;
        place[k] = int(kept.size());
        kept.push_back(k);
        divisors.push_back(divisor);
        network.budgets.push_back(problem.budgets[k] / divisor);
    }
    network.nodes = problem.nodes;
    network.resources = int(kept.size());
    network.start = problem.start;
    network.horizon = problem.horizon;
    network.terminal = problem.terminal;
    network.factor = problem.factor;
    for (Chance chance : problem.chances) {
        chance.mean = place[chance.mean];
        chance.variance = place[chance.variance];
        network.chances.push_back(chance);
    }
    network.offset.assign(problem.nodes + 1, 0);
    for (const auto e : usable) ++network.offset[problem.tails[e] + 1];
    std::partial_sum(network.offset.begin(), network.offset.end(), network.offset.begin());
    network.heads.resize(usable.size());
    network.edge_ids.resize(usable.size());
    network.costs.resize(usable.size() * kept.size());
    Indices next(network.offset.begin(), network.offset.end() - 1);
    for (const auto e : usable) {
        clock.tick(kept.size() + 1);
        const auto slot = next[problem.tails[e]]++;
        network.heads[slot] = problem.heads[e];
        network.edge_ids[slot] = e;
        for (std::size_t k = 0; k < kept.size(); ++k)
            network.costs[slot * kept.size() + k] = problem.costs[std::size_t(e) * all + kept[k]] / divisors[k];
    }
    set_scores(problem, network, clock);
    return network;
}

}  // namespace tape
