// The tie-break: of all paths of the least cost, the one with the lexicographically smallest edges.
#pragma once

#include <optional>

#include "labels.hpp"

namespace tape {

// Depth first, smallest edges first, along what the bounds still allow; states that failed are remembered with what
// they cost and used, and fail again for whoever comes with no less. Gives up after `patience` moves.
inline std::optional<Indices> smallest_edges(const Problem &problem, const Pruner &pruner, Cost least, std::size_t patience,
                                             Clock &clock) {
    const Graph &graph = problem.graph;
    const int K = problem.moves.resources;
    const std::vector<View> &views = pruner.views;
    struct Frame {
        int node, arc;
        Cost cost;
    };
    std::vector<Frame> stack;
    Amounts used(K, 0), ahead(K);  // `used`: K amounts a frame
    std::vector<Costs> failed_cost(graph.nodes);
    std::vector<Amounts> failed_used(graph.nodes);
    stack.push_back({graph.source, graph.out[graph.source], 0});
    for (std::size_t moves = 0; !stack.empty();) {
        Frame &top = stack.back();
        const std::size_t here = (stack.size() - 1) * K;
        if (top.arc == graph.out[top.node] && graph.ends(top.node) && top.cost + graph.finish[top.node] == least &&
            problem.keeps(used.data() + here)) {
            Indices edges;
            for (std::size_t i = 0; i + 1 < stack.size(); ++i) edges.push_back(problem.moves.edge[graph.move[stack[i].arc - 1]]);
            return edges;
        }
        if (top.arc == graph.out[top.node + 1]) {
            failed_cost[top.node].push_back(top.cost);
            failed_used[top.node].insert(failed_used[top.node].end(), used.begin() + std::ptrdiff_t(here),
                                         used.begin() + std::ptrdiff_t(here) + K);
            used.resize(here);
            stack.pop_back();
            continue;
        }
        if (++moves > patience || ((moves & 4095) == 0 && clock.passed())) return std::nullopt;
        if ((moves & 4095) == 0) clock.require(graph.bytes() + double(moves) * 2 * (sizeof(Cost) + K * sizeof(Amount)));
        const int a = top.arc++, h = graph.head[a];
        const Amount *const more = problem.moves.used(graph.move[a]);
        used.resize(here + 2 * std::size_t(K));
        Amount *const now = used.data() + here + K;
        bool fits = true;
        for (int k = 0; k < K; ++k) {
            now[k] = used[here + k] + more[k];
            ahead[k] = (*pruner.need(k))[h];
            fits &= now[k] + ahead[k] <= problem.upper[k];
        }
        const Cost cost = top.cost + problem.moves.cost[graph.move[a]] + graph.arrive[h];
        for (std::size_t i = 0; fits && i < views.size(); ++i) {  // no completion that keeps the limits is cheaper
            Cost over = views[i].key(h, cost) - views[i].unit * least - views[i].payment;
            for (int k = 0; k < K; ++k) over += views[i].price[k] * now[k];
            fits = over <= 0;
        }
        fits = fits && problem.keeps_chances(now, ahead.data());
        for (std::size_t i = 0; fits && i < failed_cost[h].size(); ++i) {
            bool worse = cost >= failed_cost[h][i];
            for (int k = 0; k < K; ++k) worse &= failed_used[h][i * K + k] <= now[k];
            fits = !worse;
        }
        if (fits) stack.push_back({h, graph.out[h], cost});
        else used.resize(here + K);
    }
    return std::nullopt;
}

}  // namespace tape
