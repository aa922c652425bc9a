// A bound on completions, from a pass in which resources are paid for at a price, and the paths that it suggests.
#pragma once

#include "incumbent.hpp"
#include "windows.hpp"

namespace tape {

// For a path that is at state s and has `slack` left to spend, no completion that keeps the budgets brings its score
// above  score before s + value[s] + prices @ slack  (weak duality).
struct Bound {
    Scores prices;     // [resources] score per unit
    Scores paid;       // [slots]
    Scores value;      // [states], see `backward`
    Score budget = 0;  // the price of all budgets together

    Score limit() const { return value.empty() ? NEVER : value[0] + budget; }

    // The bound on what can still be earned from s, the gain of arriving there included.
    Score ahead(int s, const Amount *slack) const {
        Score sum = value[s];
        for (std::size_t k = 0; k < prices.size(); ++k) sum += prices[k] * slack[k];
        return sum;
    }
};

// Where to look at the rest of the way from: a state, what is left of each resource there, and the way there.
struct Viewpoint {
    int state = 0;
    Amounts slack;
    Path before = {0, {}};  // its score includes the gain of arriving at the state
};

inline Bound make_bound(const Network &network, const Expanded &graph, Scores prices, Clock &clock) {
    Bound bound;
    bound.prices = std::move(prices);
    for (int k = 0; k < network.resources; ++k) bound.budget += bound.prices[k] * network.budgets[k];
    bound.paid = payments(network, bound.prices);
    backward(graph, bound.paid, bound.value, clock);
    return bound;
}

struct Dive {
    Path path;  // the whole of it, from the start
    Amounts used;
    bool ended = false;  // at a terminal
    bool keeps = false;  // every budget
};

// Follows the bound from a viewpoint, always to the best looking next state, the smallest edge first. With `windows` it
// looks ahead: it never moves to where one of the budgets could no longer be kept, though all together may not be.
inline Dive dive(const Network &network, const Expanded &graph, const Bound &bound, const Viewpoint &from,
                 const Windows *windows, Clock &clock) {
    const int K = network.resources;
    Dive found;
    found.used.resize(K);
    for (int k = 0; k < K; ++k) found.used[k] = network.budgets[k] - from.slack[k];
    Amounts used(K), rest(K);
    found.path = from.before;
    Score score = from.before.score;
    for (int s = from.state;;) {
        int choice = -1;
        Score best = graph.finish[s] > REACHABLE ? graph.finish[s] : NEVER - 1;
        clock.tick(1 + graph.first[s + 1] - graph.first[s]);
        for (int a = graph.first[s]; a < graph.first[s + 1]; ++a) {
            const Score through = bound.value[graph.head[a]] - bound.paid[graph.slot[a]];
            if (through <= best) continue;
            if (windows) {
                const Amount *cost = network.cost(graph.slot[a]);
                bool fits = true;
                for (int k = 0; k < K; ++k) {
                    used[k] = found.used[k] + cost[k];
                    rest[k] = windows->ahead[k][graph.head[a]];
                    fits &= used[k] + rest[k] <= network.budgets[k];
                }
                if (!fits || !keeps_chances(network, used.data(), rest.data())) continue;
            }
            best = through;
            choice = a;
        }
        if (choice < 0) {
            found.ended = graph.finish[s] > REACHABLE;
            if (found.ended) score += graph.finish[s];
            break;
        }
        const Amount *cost = network.cost(graph.slot[choice]);
        for (int k = 0; k < K; ++k) found.used[k] = std::min(found.used[k] + cost[k], BEYOND);  // many whole budgets
        found.path.slots.push_back(graph.slot[choice]);
        s = graph.head[choice];
        score += graph.gain[s];
    }
    found.path.score = score;
    found.keeps = found.ended && keeps_chances(network, found.used.data(), nullptr);
    for (int k = 0; k < K; ++k) found.keeps &= found.used[k] <= network.budgets[k];
    return found;
}

}  // namespace tape
