// Arc fixing: an arc through which even the bound stays below the incumbent is on no path worth finding.
#pragma once

#include "dual.hpp"

namespace tape {

// Removes such arcs with the tightest bound of the pool; paths as good as the last incumbent stay, for the tie-break.
// Returns the share of arcs that went.
inline double fix_arcs(const Network &network, Expanded &graph, Windows &windows, Pool &pool,
                       const Incumbents &incumbents, Clock &clock) {
    if (!incumbents.full() || !graph.arcs()) return 0;
    const Bound &bound = pool.best();
    const Score floor = incumbents.floor();
    Scores reached;
    forward(graph, bound.paid, reached, clock);
    std::vector<std::uint8_t> keep(graph.arcs());
    std::size_t removed = 0;
    for (int s = 0; s < graph.states(); ++s) {
        clock.tick(1 + graph.first[s + 1] - graph.first[s]);
        const Score here = reached[s] + bound.budget;
        for (int a = graph.first[s]; a < graph.first[s + 1]; ++a) {
            keep[a] = here - bound.paid[graph.slot[a]] + bound.value[graph.head[a]] >= floor;
            removed += !keep[a];
        }
    }
    const double share = double(removed) / double(graph.arcs());
    if (share < 0.02) return 0;
    const Indices old = compact(graph, keep, clock);
    for (Scores *values : pool.values()) carry(*values, old);
    tighten(network, graph, windows, pool.values(), clock);
    return share;
}

}  // namespace tape
