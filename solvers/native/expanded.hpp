// The time-expanded graph: states (step, node) that lie on some way from the start to a terminal, and their arcs.
#pragma once

#include "network.hpp"
#include "passes.hpp"

namespace tape {

// The slots that lead from each node to others, or with `back` into it: of node v those of offset[v]..offset[v + 1].
struct Links {
    Indices offset, slots, ends;

    Links(const Network &network, bool back) : offset(network.offset), slots(network.heads.size()), ends(network.heads) {
        std::iota(slots.begin(), slots.end(), 0);
        if (!back) return;
        offset.assign(network.nodes + 1, 0);
        for (const auto head : network.heads) ++offset[head + 1];
        std::partial_sum(offset.begin(), offset.end(), offset.begin());
        Indices next(offset.begin(), offset.end() - 1);
        for (int v = 0; v < network.nodes; ++v)
            for (int slot = network.offset[v]; slot < network.offset[v + 1]; ++slot) {
                const auto place = next[network.heads[slot]]++;
                slots[place] = slot;
                ends[place] = v;
            }
    }
};

// Fewest moves along links from some nodes to each; horizon + 1 where there is no way.
inline Indices fewest_moves(const Network &network, const Links &links, Indices queue, Clock &clock) {
    const int beyond = network.horizon + 1;
    Indices distance(network.nodes, beyond);
    for (const auto v : queue) distance[v] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const int v = queue[i];
        clock.tick(1 + links.offset[v + 1] - links.offset[v]);
        for (int j = links.offset[v]; j < links.offset[v + 1]; ++j)
            if (int &there = distance[links.ends[j]]; there == beyond && distance[v] + 1 < beyond) {
                there = distance[v] + 1;
                queue.push_back(links.ends[j]);
            }
    }
    return distance;
}

// The least of resource k that is used along links from some nodes to each, in any number of moves; BEYOND if there is no
// way within the budget.
inline Amounts least_use(const Network &network, const Links &links, const Indices &from, int k, Clock &clock) {
    Amounts least(network.nodes, BEYOND);
    Heap heap;
    for (const auto v : from) heap.push(least[v] = 0, v);
    while (!heap.empty()) {
        const auto [amount, v] = heap.pop();
        if (amount > least[v]) continue;
        clock.tick(8 + links.offset[v + 1] - links.offset[v]);
        for (int j = links.offset[v]; j < links.offset[v + 1]; ++j) {
            const Amount there = amount + network.cost(links.slots[j])[k];
            if (there < least[links.ends[j]] && there <= network.budgets[k]) heap.push(least[links.ends[j]] = there, links.ends[j]);
        }
    }
    return least;
}

// The moves of a network, as they cost where no step counts more than another.
inline Moves moves_of(const Network &network) {
    Moves moves;
    moves.resources = network.resources;
    moves.use = network.costs;
    moves.edge = network.edge_ids;
    moves.cost.assign(network.heads.size(), 0);
    if (network.weights.empty())
        for (std::size_t slot = 0; slot < moves.cost.size(); ++slot) moves.cost[slot] = -network.move(0, network.heads[slot]);
    return moves;
}

// Which arcs are expanded: all, or those that another class of this form admits. It is told of each state that is made,
// and of each arc from a state to another.
struct Everything {
    static void made() {}
    static bool admits(int, int, int) { return true; }
    static void reached(const Graph &, int, int, int) {}
};

// The states that lie on some way from the start to a terminal within the horizon, without those to which even the
// thriftiest way leaves too little of some resource. No states at all if no terminal can be reached in time.
// need: [resources][nodes] the least that is used from each node on.
template <class Which>
Graph expand(const Network &network, const std::vector<Amounts> &need, const Indices &to_go, Clock &clock, Which which) {
    Graph graph;
    graph.shared = true;
    graph.arrivals = !network.weights.empty();
    const int horizon = network.horizon, K = network.resources;
    if (to_go[network.start] > horizon) {
        graph.out.assign(1, 0);
        return graph;
    }
    const std::size_t n = network.nodes;
    Amounts left;  // [states x resources] the most that can be left there
    Indices at(n, -1), node;  // the state of a node in the layer that is being made
    const auto add = [&](int step, int v) {
        node.push_back(v);
        graph.arrive.push_back(step && graph.arrivals ? -network.move(step - 1, v) : 0);
        graph.finish.push_back(network.terminal[v] ? -network.stay(step, v) : FAR);
        for (int k = 0; k < K; ++k) left.push_back(step ? -1 : network.budgets[k]);
        which.made();
    };
    add(0, network.start);
    int begin = 0;
    for (int step = 0; step <= horizon && begin < int(node.size()); ++step) {
        const int end = int(node.size());
        for (int s = begin; s < end; ++s) {
            graph.out.push_back(std::int32_t(graph.head.size()));
            if (step == horizon) continue;
            const int v = node[s];
            clock.tick(8 + network.offset[v + 1] - network.offset[v]);
            for (int slot = network.offset[v]; slot < network.offset[v + 1]; ++slot) {
                const int w = network.heads[slot];
                if (to_go[w] + step + 1 > horizon) continue;
                const Amount *cost = network.cost(slot);
                bool fits = true;
                for (int k = 0; k < K; ++k) fits &= left[std::size_t(s) * K + k] - cost[k] >= need[k][w];
                if (!fits || !which.admits(step, s, slot)) continue;
                if (at[w] < end) {
                    at[w] = int(node.size());
                    add(step + 1, w);
                }
                for (int k = 0; k < K; ++k) {
                    Amount &most = left[std::size_t(at[w]) * K + k];
                    most = std::max(most, left[std::size_t(s) * K + k] - cost[k]);
                }
                which.reached(graph, s, at[w], slot);
                graph.head.push_back(at[w]);
                graph.move.push_back(slot);
            }
            if (graph.head.size() > std::size_t(INT32_MAX)) throw TooLarge{graph.bytes()};  // indices would not fit
        }
        begin = end;
        clock.require(2 * (graph.bytes() + bytes_of(left) + bytes_of(node)));  // as they grow, they are copied
    }
    graph.out.push_back(std::int32_t(graph.head.size()));
    graph.nodes = int(node.size());
    graph.name = std::move(node);
    return graph;
}

}  // namespace tape
