// One pass over all arcs: the best score, or the least cost, from a state to the end or from the start to a state.
#pragma once

#include "expanded.hpp"

namespace tape {

// What each slot costs at some prices.
inline Scores payments(const Network &network, const Scores &prices) {
    Scores paid(network.heads.size(), 0);
    const int K = network.resources;
    for (int k = 0; k < K; ++k)
        if (prices[k])
            for (std::size_t slot = 0; slot < paid.size(); ++slot) paid[slot] += prices[k] * network.costs[slot * K + k];
    return paid;
}

// Backward: value[s] = gain of arriving at s, plus the best that can then be earned, less what is paid for.
inline void backward(const Expanded &graph, const Scores &paid, Scores &value, Clock &clock) {
    value.resize(graph.states());
    for (int s = graph.states(); s-- > 0;) {
        clock.tick(1 + graph.first[s + 1] - graph.first[s]);
        Score best = graph.finish[s];
        const int end = graph.first[s + 1];
        for (int a = graph.first[s]; a < end; ++a) {
            const Score through = value[graph.head[a]] - paid[graph.slot[a]];
            best = through > best ? through : best;
        }
        value[s] = std::max(best, NEVER) + graph.gain[s];
    }
}

// Forward: value[s] = the best that can be earned on the way to s, its gain included, less what is paid for.
inline void forward(const Expanded &graph, const Scores &paid, Scores &value, Clock &clock) {
    value.assign(graph.states(), NEVER);
    if (value.empty()) return;
    value[0] = 0;
    for (int s = 0; s < graph.states(); ++s) {
        clock.tick(1 + graph.first[s + 1] - graph.first[s]);
        const Score here = std::max(value[s], NEVER);  // paid far beyond every budget: an upper bound all the same
        for (int a = graph.first[s]; a < graph.first[s + 1]; ++a) {
            const int h = graph.head[a];
            const Score there = here - paid[graph.slot[a]] + graph.gain[h];
            value[h] = there > value[h] ? there : value[h];
        }
    }
}

// The least that any path scores, whatever it costs.
inline Score worst_path(const Expanded &graph, Clock &clock) {
    Scores value(graph.states());
    for (int s = graph.states(); s-- > 0;) {
        clock.tick(1 + graph.first[s + 1] - graph.first[s]);
        Score least = graph.finish[s] > REACHABLE ? graph.finish[s] : -NEVER;
        for (int a = graph.first[s]; a < graph.first[s + 1]; ++a) least = std::min(least, value[graph.head[a]]);
        value[s] = std::min(least, -NEVER) + graph.gain[s];
    }
    return value[0];
}

// The least of resource k that is used from each state to the end.
inline void least_ahead(const Network &network, const Expanded &graph, int k, Amounts &least, Clock &clock) {
    const int K = network.resources;
    least.resize(graph.states());
    for (int s = graph.states(); s-- > 0;) {
        clock.tick(1 + graph.first[s + 1] - graph.first[s]);
        Amount best = graph.finish[s] > REACHABLE ? 0 : BEYOND;
        for (int a = graph.first[s]; a < graph.first[s + 1]; ++a)
            best = std::min(best, least[graph.head[a]] + network.costs[std::size_t(graph.slot[a]) * K + k]);
        least[s] = std::min(best, BEYOND);
    }
}

// The least of resource k that is used from the start to each state.
inline void least_behind(const Network &network, const Expanded &graph, int k, Amounts &least, Clock &clock) {
    const int K = network.resources;
    least.assign(graph.states(), BEYOND);
    if (least.empty()) return;
    least[0] = 0;
    for (int s = 0; s < graph.states(); ++s) {
        clock.tick(1 + graph.first[s + 1] - graph.first[s]);
        for (int a = graph.first[s]; a < graph.first[s + 1]; ++a) {
            Amount &there = least[graph.head[a]];
            there = std::min(there, least[s] + network.costs[std::size_t(graph.slot[a]) * K + k]);
        }
    }
}

}  // namespace tape
