// Resource windows: an arc of which even the thriftiest path breaks a budget is on no feasible path.
#pragma once

#include "chance.hpp"
#include "clock.hpp"
#include "passes.hpp"

namespace tape {

// The least of each resource, by itself, before and after each state. [resources][states]
struct Windows {
    std::vector<Amounts> behind, ahead;
};

inline void measure(const Network &network, const Expanded &graph, Windows &windows, Clock &clock) {
    windows.behind.resize(network.resources);
    windows.ahead.resize(network.resources);
    for (int k = 0; k < network.resources; ++k) {
        least_behind(network, graph, k, windows.behind[k], clock);
        least_ahead(network, graph, k, windows.ahead[k], clock);
    }
}

// Removes what breaks a budget by itself, until nothing more does (each removal can raise the least of another
// resource). Further rounds are taken only while they pay. `carried` are values of states to keep in step.
inline void tighten(const Network &network, Expanded &graph, Windows &windows, std::vector<Scores *> carried,
                    Clock &clock) {
    const int K = network.resources;
    std::vector<std::uint8_t> keep;
    Amounts used(K), rest(K);
    for (int round = 0; round < 4 && graph.states(); ++round) {
        measure(network, graph, windows, clock);
        keep.assign(graph.arcs(), 1);
        std::size_t removed = 0;
        for (int s = 0; s < graph.states(); ++s) {
            clock.tick(1 + graph.first[s + 1] - graph.first[s]);
            for (int a = graph.first[s]; a < graph.first[s + 1]; ++a) {
                const Amount *cost = network.cost(graph.slot[a]);
                bool fits = true;
                for (int k = 0; k < K; ++k) {
                    used[k] = windows.behind[k][s] + cost[k];
                    rest[k] = windows.ahead[k][graph.head[a]];
                    fits &= used[k] + rest[k] <= network.budgets[k];
                }
                if (!fits || (!network.chances.empty() && !keeps_chances(network, used.data(), rest.data()))) {
                    keep[a] = 0;
                    ++removed;
                }
            }
        }
        if (!removed) return;
        const std::size_t before = graph.arcs();
        const Indices old = compact(graph, keep, clock);
        for (Scores *values : carried) carry(*values, old);
        for (auto *side : {&windows.behind, &windows.ahead})
            for (auto &least : *side) carry(least, old);
        if (removed * 20 < before) break;  // the windows are still valid, only a little wide
    }
}

}  // namespace tape
