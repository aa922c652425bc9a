// The time-expanded graph: states (step, node) that lie on some way from the start to a terminal, and their arcs.
#pragma once

#include <functional>
#include <new>
#include <queue>

#include "network.hpp"

namespace tape {

struct Expanded {
    Indices layer;   // [horizon + 2] the first state of each step; state 0 is the start
    Indices first;   // [states + 1] the first arc of a state
    Indices node;    // [states]
    Scores gain;     // [states] score of the move that arrives here
    Scores finish;   // [states] score of staying here to the end; NEVER where the node is no terminal
    Indices head;    // [arcs] a state of the next step
    Indices slot;    // [arcs] ascending within a state, so that arcs are in the order of their edges

    int states() const { return int(node.size()); }
    std::size_t arcs() const { return head.size(); }
    double bytes() const {
        return bytes_of(layer) + bytes_of(first) + bytes_of(node) + bytes_of(gain) + bytes_of(finish) + bytes_of(head) +
               bytes_of(slot);
    }
};

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

// The states that lie on some way from the start to a terminal within the horizon, without those to which even the
// thriftiest way leaves too little of some resource. No states at all if no terminal can be reached in time.
// need: [resources][nodes] the `least_to_go`.
inline Expanded expand(const Network &network, const std::vector<Amounts> &need, const Indices &to_go, Clock &clock) {
    Expanded graph;
    const int horizon = network.horizon, K = network.resources;
    clock.require(double(horizon + 2) * sizeof(std::int32_t));
    graph.layer.assign(horizon + 2, 0);
    if (to_go[network.start] > horizon) {
        graph.first.assign(1, 0);
        return graph;
    }
    const std::size_t n = network.nodes;
    Amounts left;  // [states x resources] the most that can be left there
    Indices at(n, -1);  // the state of a node in the layer that is being made
    const auto add = [&](int step, int v) {
        graph.node.push_back(v);
        graph.gain.push_back(step ? network.move(step - 1, v) : 0);
        graph.finish.push_back(network.terminal[v] ? network.stay(step, v) : NEVER);
        for (int k = 0; k < K; ++k) left.push_back(step ? -1 : network.budgets[k]);
    };
    add(0, network.start);
    for (int step = 0; step <= horizon; ++step) {
        const int begin = graph.layer[step], end = graph.states();
        if (begin == end) {  // nothing goes on
            std::fill(graph.layer.begin() + step + 1, graph.layer.end(), end);
            break;
        }
        graph.layer[step + 1] = end;
        for (int s = begin; s < end; ++s) {
            graph.first.push_back(std::int32_t(graph.head.size()));
            if (step == horizon) continue;
            const int v = graph.node[s];
            clock.tick(8 + network.offset[v + 1] - network.offset[v]);
            for (int slot = network.offset[v]; slot < network.offset[v + 1]; ++slot) {
                const int w = network.heads[slot];
                if (to_go[w] + step + 1 > horizon) continue;
                const Amount *cost = network.cost(slot);
                bool fits = true;
                for (int k = 0; k < K; ++k) fits &= left[std::size_t(s) * K + k] - cost[k] >= need[k][w];
                if (!fits) continue;
                if (at[w] < end) {
                    at[w] = graph.states();
                    add(step + 1, w);
                }
                for (int k = 0; k < K; ++k) {
                    Amount &most = left[std::size_t(at[w]) * K + k];
                    most = std::max(most, left[std::size_t(s) * K + k] - cost[k]);
                }
                graph.head.push_back(at[w]);
                graph.slot.push_back(slot);
            }
            if (graph.head.size() > std::size_t(INT32_MAX)) throw TooLarge{graph.bytes()};  // indices would not fit
        }
        clock.require(2 * (graph.bytes() + bytes_of(left)));  // as they grow, they are copied
    }
    graph.first.push_back(std::int32_t(graph.head.size()));
    return graph;
}

// Drops arcs, and the states that no path passes any more. keep: [arcs]. Returns the old index of each new state.
inline Indices compact(Expanded &graph, const std::vector<std::uint8_t> &keep, Clock &clock) {
    const int states = graph.states();
    std::vector<std::uint8_t> useful(states, 0), live(states, 0);
    for (int s = states; s-- > 0;) {
        clock.tick(1 + graph.first[s + 1] - graph.first[s]);
        useful[s] = graph.finish[s] > REACHABLE;
        for (int a = graph.first[s]; a < graph.first[s + 1]; ++a) useful[s] |= keep[a] & useful[graph.head[a]];
    }
    Indices fresh(states, -1), old;
    live[0] = 1;
    std::int32_t arcs = 0;
    Indices first;
    for (int s = 0; s < states; ++s) {
        clock.tick(1 + graph.first[s + 1] - graph.first[s]);
        if (!live[s] || (s && !useful[s])) continue;
        fresh[s] = std::int32_t(old.size());
        old.push_back(s);
        first.push_back(arcs);
        for (int a = graph.first[s]; a < graph.first[s + 1]; ++a)
            if (keep[a] && useful[graph.head[a]]) {
                live[graph.head[a]] = 1;
                graph.head[arcs] = graph.head[a];
                graph.slot[arcs++] = graph.slot[a];
            }
    }
    first.push_back(arcs);
    graph.head.resize(arcs);
    graph.slot.resize(arcs);
    for (auto &head : graph.head) head = fresh[head];
    graph.first = std::move(first);
    std::size_t next = 0;
    for (auto &begin : graph.layer) {
        while (next < old.size() && old[next] < begin) ++next;
        begin = std::int32_t(next);
    }
    for (std::size_t s = 0; s < old.size(); ++s) {
        graph.node[s] = graph.node[old[s]];
        graph.gain[s] = graph.gain[old[s]];
        graph.finish[s] = graph.finish[old[s]];
    }
    graph.node.resize(old.size());
    graph.gain.resize(old.size());
    graph.finish.resize(old.size());
    return old;
}

// Carries what is known of each state over a `compact`.
template <class T> void carry(std::vector<T> &values, const Indices &old) {
    for (std::size_t s = 0; s < old.size(); ++s) values[s] = values[old[s]];
    values.resize(old.size());
}

}  // namespace tape
