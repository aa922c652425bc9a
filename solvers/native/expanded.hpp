// The time-expanded graph: states (step, node) that lie on some way from the start to a terminal, and their arcs.
#pragma once

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
};

// Fewest moves from each node to a terminal; horizon + 1 where there is no way.
inline Indices moves_to_go(const Network &network) {
    const int beyond = network.horizon + 1;
    Indices count(network.nodes + 1, 0), tails(network.heads.size()), distance(network.nodes, beyond), queue;
    for (const auto head : network.heads) ++count[head + 1];
    std::partial_sum(count.begin(), count.end(), count.begin());
    Indices next(count.begin(), count.end() - 1);
    for (int v = 0; v < network.nodes; ++v)
        for (int slot = network.offset[v]; slot < network.offset[v + 1]; ++slot) tails[next[network.heads[slot]]++] = v;
    for (int v = 0; v < network.nodes; ++v)
        if (network.terminal[v]) {
            distance[v] = 0;
            queue.push_back(v);
        }
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const int v = queue[i];
        for (int j = count[v]; j < count[v + 1]; ++j)
            if (distance[tails[j]] == beyond && distance[v] + 1 < beyond) {
                distance[tails[j]] = distance[v] + 1;
                queue.push_back(tails[j]);
            }
    }
    return distance;
}

// No states at all if no terminal can be reached within the horizon.
inline Expanded expand(const Network &network) {
    Expanded graph;
    const Indices to_go = moves_to_go(network);
    const int horizon = network.horizon;
    graph.layer.assign(horizon + 2, 0);
    if (to_go[network.start] > horizon) {
        graph.first.assign(1, 0);
        return graph;
    }
    const std::size_t n = network.nodes;
    Indices at(n, -1);  // the state of a node in the layer that is being made
    const auto add = [&](int step, int v) {
        graph.node.push_back(v);
        graph.gain.push_back(step ? network.move[std::size_t(step - 1) * n + v] : 0);
        graph.finish.push_back(network.terminal[v] ? network.stay[std::size_t(step) * n + v] : NEVER);
    };
    add(0, network.start);
    for (int step = 0; step <= horizon; ++step) {
        const int begin = graph.layer[step], end = graph.states();
        graph.layer[step + 1] = end;
        for (int s = begin; s < end; ++s) {
            graph.first.push_back(std::int32_t(graph.head.size()));
            if (step == horizon) continue;
            const int v = graph.node[s];
            for (int slot = network.offset[v]; slot < network.offset[v + 1]; ++slot) {
                const int w = network.heads[slot];
                if (to_go[w] + step + 1 > horizon) continue;
                if (at[w] < end) {
                    at[w] = graph.states();
                    add(step + 1, w);
                }
                graph.head.push_back(at[w]);
                graph.slot.push_back(slot);
            }
        }
    }
    graph.first.push_back(std::int32_t(graph.head.size()));
    return graph;
}

// Drops arcs, and the states that no walk passes any more. keep: [arcs]. Returns the old index of each new state.
inline Indices compact(Expanded &graph, const std::vector<std::uint8_t> &keep) {
    const int states = graph.states();
    std::vector<std::uint8_t> useful(states, 0), live(states, 0);
    for (int s = states; s-- > 0;) {
        useful[s] = graph.finish[s] > REACHABLE;
        for (int a = graph.first[s]; a < graph.first[s + 1]; ++a) useful[s] |= keep[a] & useful[graph.head[a]];
    }
    Indices fresh(states, -1), old;
    live[0] = 1;
    std::int32_t arcs = 0;
    Indices first;
    for (int s = 0; s < states; ++s) {
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
