// The time-expanded graph: states (step, node) that lie on some way from the start to a terminal, and their arcs.
#pragma once

#include <functional>
#include <queue>

#include "network.hpp"

namespace tape {

// The slots that lead into each node.
struct Reversed {
    Indices offset, slots, tails;

    explicit Reversed(const Network &network)
        : offset(network.nodes + 1, 0), slots(network.heads.size()), tails(network.heads.size()) {
        for (const auto head : network.heads) ++offset[head + 1];
        std::partial_sum(offset.begin(), offset.end(), offset.begin());
        Indices next(offset.begin(), offset.end() - 1);
        for (int v = 0; v < network.nodes; ++v)
            for (int slot = network.offset[v]; slot < network.offset[v + 1]; ++slot) {
                const auto place = next[network.heads[slot]]++;
                slots[place] = slot;
                tails[place] = v;
            }
    }
};

// Fewest moves from each node to a terminal; horizon + 1 where there is no way.
inline Indices moves_to_go(const Network &network, const Reversed &reversed, Clock &clock) {
    const int beyond = network.horizon + 1;
    Indices distance(network.nodes, beyond), queue;
    for (int v = 0; v < network.nodes; ++v)
        if (network.terminal[v]) {
            distance[v] = 0;
            queue.push_back(v);
        }
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const int v = queue[i];
        clock.tick(1 + reversed.offset[v + 1] - reversed.offset[v]);
        for (int j = reversed.offset[v]; j < reversed.offset[v + 1]; ++j)
            if (distance[reversed.tails[j]] == beyond && distance[v] + 1 < beyond) {
                distance[reversed.tails[j]] = distance[v] + 1;
                queue.push_back(reversed.tails[j]);
            }
    }
    return distance;
}

// The least of resource k that is used from each node to a terminal, in any number of moves; BEYOND if there is no way.
inline Amounts least_to_go(const Network &network, const Reversed &reversed, int k, Clock &clock) {
    using Entry = std::pair<Amount, int>;
    const int K = network.resources;
    Amounts least(network.nodes, BEYOND);
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
    for (int v = 0; v < network.nodes; ++v)
        if (network.terminal[v]) {
            least[v] = 0;
            queue.push({0, v});
        }
    while (!queue.empty()) {
        const auto [amount, v] = queue.top();
        queue.pop();
        if (amount > least[v]) continue;
        clock.tick(8 + reversed.offset[v + 1] - reversed.offset[v]);
        for (int j = reversed.offset[v]; j < reversed.offset[v + 1]; ++j) {
            const Amount there = amount + network.costs[std::size_t(reversed.slots[j]) * K + k];
            if (there < least[reversed.tails[j]]) {
                least[reversed.tails[j]] = there;
                queue.push({there, reversed.tails[j]});
            }
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
// need: [resources][nodes] the `least_to_go`.
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
