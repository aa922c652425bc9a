// The problem as the algorithm sees it: usable edges ("slots") sorted by tail, binding resources, exact scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "types.hpp"

namespace tape {

// mean + factor * sqrt(variance) <= budget, in integers: square * variance <= 2^20 * (budget - mean)^2.
// Mean and variance are two of the network's resources.
struct Chance {
    int mean, variance;
    Amount budget, square;
};

// A problem as it was given. `costs` has edges x resources amounts; those above BEYOND count as BEYOND.
struct Problem {
    int nodes = 0, resources = 0, start = 0, horizon = 0;
    Indices tails, heads;
    std::vector<double> rewards, weights;  // weights[l]: the discount of step l + 1
    double scale = 1;                      // units per objective
    Score factor = 0;                      // score per unit, more than the horizon
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
    Indices origin;    // [resources] which of the problem's resources each is
    Amounts divisors;  // [resources] by which its amounts were divided
    std::vector<std::uint8_t> terminal;
    std::vector<Chance> chances;
    Score factor = 0;
    Scores move;  // [horizon x nodes] score of arriving at a node by move l
    Scores stay;  // [(horizon + 1) x nodes] score of staying at a node from step l to the end

    const Amount *cost(int slot) const { return costs.data() + std::size_t(slot) * resources; }
};

// The scores of `network`, from the rewards rounded once to the grid of `problem.scale`.
inline void set_scores(const Problem &problem, Network &network) {
    const std::size_t n = problem.nodes, horizon = problem.horizon;
    network.move.resize(horizon * n);
    network.stay.assign((horizon + 1) * n, 0);
    for (std::size_t step = horizon; step-- > 0;)
        for (std::size_t v = 0; v < n; ++v) {
            const double units = std::nearbyint(problem.weights[step] * problem.rewards[v] * problem.scale);
            const Score score = Score(units) * problem.factor;
            network.move[step * n + v] = score - 1;
            network.stay[step * n + v] = network.stay[(step + 1) * n + v] + score;
        }
}

// Leaves out edges that cost more than a whole budget, and resources of which even `horizon` times the dearest edge
// keeps the budget; divides by the greatest common divisor. Resources of chance constraints stay as they are.
inline Network build_network(const Problem &problem) {
    const int all = problem.resources;
    const std::size_t edges = problem.tails.size();
    std::vector<std::uint8_t> chained(all, 0);
    for (const Chance &chance : problem.chances) chained[chance.mean] = chained[chance.variance] = 1;
    Indices usable;
    for (std::size_t e = 0; e < edges; ++e) {
        bool fits = true;
        for (int k = 0; k < all; ++k) fits &= problem.costs[e * all + k] <= problem.budgets[k];
        if (fits) usable.push_back(std::int32_t(e));
    }
    Network network;
    Indices &kept = network.origin;
    std::vector<int> place(all, -1);
    Amounts &divisors = network.divisors;
    for (int k = 0; k < all; ++k) {
        Amount dearest = 0, divisor = 0;
        for (const auto e : usable) {
            dearest = std::max(dearest, problem.costs[std::size_t(e) * all + k]);
            divisor = std::gcd(divisor, problem.costs[std::size_t(e) * all + k]);
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
        const auto slot = next[problem.tails[e]]++;
        network.heads[slot] = problem.heads[e];
        network.edge_ids[slot] = e;
        for (std::size_t k = 0; k < kept.size(); ++k)
            network.costs[slot * kept.size() + k] = problem.costs[std::size_t(e) * all + kept[k]] / divisors[k];
    }
    set_scores(problem, network);
    return network;
}

}  // namespace tape
