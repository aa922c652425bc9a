// Passes over the network itself, step by step: bounds and first paths before anything is expanded.
#pragma once

#include "dual.hpp"

namespace tape {

// No more than this share of the memory cap is taken for the table of one pass.
constexpr double STEPS_SHARE = 1.0 / 32;

// The least share of all pairs of a step and a node that some path can pass: below, the expanded graph is small. One pass
// instead of the expansion pays sooner than all that the dual takes.
constexpr double FILLED_FOR_ONE = 0.3, FILLED_FOR_ALL = 0.42;

// So few pairs of a step and a slot are expanded sooner than anything is found out about them.
constexpr double FEW_STEPS = 1000;

// Budgets of at least this share of what paths of so many moves use on average leave room for the unbudgeted optimum; one
// below so many times the thriftiest use leaves so few paths that the expanded graph is small.
constexpr double ROOMY = 0.9, TIGHT = 1.1;

// here[i] = max(here[i], next[head[i]] - paid[i])
TAPE_VECTORISED inline void follow(Score *__restrict here, const Score *__restrict next,
                                   const std::int32_t *__restrict head, const Score *__restrict paid, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const Score through = next[head[i]] - paid[i];
        here[i] = here[i] > through ? here[i] : through;
    }
}

// Fewest moves from the start to each node; horizon + 1 where there is no way.
inline Indices moves_from_start(const Network &network, Clock &clock) {
    const int beyond = network.horizon + 1;
    Indices distance(network.nodes, beyond), queue{network.start};
    distance[network.start] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const int v = queue[i];
        clock.tick(1 + network.offset[v + 1] - network.offset[v]);
        for (int slot = network.offset[v]; slot < network.offset[v + 1]; ++slot)
            if (int &there = distance[network.heads[slot]]; there == beyond && distance[v] + 1 < beyond) {
                there = distance[v] + 1;
                queue.push_back(network.heads[slot]);
            }
    }
    return distance;
}

// The least of resource k that is used from the start to each node, in any number of moves; BEYOND if there is no way.
inline Amounts least_so_far(const Network &network, int k, Clock &clock) {
    using Entry = std::pair<Amount, int>;
    const int K = network.resources;
    Amounts least(network.nodes, BEYOND);
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
    least[network.start] = 0;
    queue.push({0, network.start});
    while (!queue.empty()) {
        const auto [amount, v] = queue.top();
        queue.pop();
        if (amount > least[v]) continue;
        clock.tick(8 + network.offset[v + 1] - network.offset[v]);
        for (int slot = network.offset[v]; slot < network.offset[v + 1]; ++slot) {
            const Amount there = amount + network.costs[std::size_t(slot) * K + k];
            if (there < least[network.heads[slot]] && there <= network.budgets[k]) {
                least[network.heads[slot]] = there;
                queue.push({there, network.heads[slot]});
            }
        }
    }
    return least;
}

// The network's useful nodes and slots, laid out so that a pass is a few long loops without surprises: nodes by falling
// number of slots; then the first slots of all nodes, the second slots of those that have two, and so on.
class Steps {
  public:
    const Network &network;

    // `use`: [slots] which to keep; `to_go`, `from`: fewest moves from and to each node.
    Steps(const Network &network, const std::vector<std::uint8_t> &use, const Indices &from, const Indices &to_go)
        : network(network), rank_(network.nodes, -1) {
        const int horizon = network.horizon, K = network.resources;
        const auto lies = [&](int v) { return from[v] + to_go[v] <= horizon; };
        Indices slots(network.nodes, 0), sizes;
        for (int v = 0; v < network.nodes; ++v) {
            if (!lies(v)) continue;
            for (int slot = network.offset[v]; slot < network.offset[v + 1]; ++slot)
                slots[v] += use[slot] && lies(network.heads[slot]);
            if (std::size_t(slots[v]) >= sizes.size()) sizes.resize(std::size_t(slots[v]) + 1, 0);
            ++sizes[slots[v]];
        }
        if (sizes.empty()) return;
        Indices next(sizes.size(), 0);  // where nodes of that many slots go
        for (std::size_t size = sizes.size() - 1; size-- > 0;) next[size] = next[size + 1] + sizes[size + 1];
        nodes_.resize(std::size_t(next[0] + sizes[0]));
        for (int v = 0; v < network.nodes; ++v)
            if (lies(v)) {
                rank_[v] = next[slots[v]]++;
                nodes_[rank_[v]] = v;
            }
        begin_.push_back(0);
        for (std::size_t size = 1; size < sizes.size(); ++size)  // by now next[size]: the nodes of that many or more
            begin_.push_back(begin_.back() + next[size]);
        head_.resize(begin_.back());
        slot_.resize(begin_.back());
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            std::size_t row = 0;
            for (int slot = network.offset[nodes_[i]]; slot < network.offset[nodes_[i] + 1]; ++slot)
                if (const int head = rank_[network.heads[slot]]; use[slot] && head >= 0) {
                    head_[begin_[row] + i] = head;
                    slot_[begin_[row++] + i] = slot;
                }
            if (network.terminal[nodes_[i]]) ends_.push_back(std::int32_t(i));
        }
        costs_.resize(K);
        for (int k = 0; k < K; ++k)
            for (const auto slot : slot_) costs_[k].push_back(network.costs[std::size_t(slot) * K + k]);
        const std::size_t rows = network.weights.empty() ? 1 : network.weights.size();
        gain_.reserve(rows * nodes_.size());
        for (std::size_t step = 0; step < rows; ++step)
            for (const auto v : nodes_) gain_.push_back(network.move(int(step), v));
    }

    // need: [resources][nodes] the least of each that is used from each node on; dives look ahead with it.
    void set_need(const std::vector<Amounts> *need) { need_ = need; }

    std::size_t arcs() const { return head_.size() * std::size_t(network.horizon); }

    int rank(int v) const { return rank_[v]; }

    // The place of a rank at a step >= 1 in the tables of a pass; the start at step 0 comes first of all.
    std::size_t place(int step, int rank) const { return 1 + std::size_t(step - 1) * nodes_.size() + std::size_t(rank); }

    Score gain(int) const { return 0; }  // of arriving at the start

    // As `make_bound` for the expanded graph: `value` has a place for each step and node.
    Bound bound(Scores prices, Clock &clock) const {
        Bound bound;
        bound.prices = std::move(prices);
        for (int k = 0; k < network.resources; ++k) bound.budget += bound.prices[k] * network.budgets[k];
        bound.paid = payments(network, bound.prices);
        const std::size_t m = nodes_.size();
        const int horizon = network.horizon;
        Scores paid(head_.size(), 0);
        for (int k = 0; k < network.resources; ++k)
            if (bound.prices[k])
                for (std::size_t a = 0; a < paid.size(); ++a) paid[a] += bound.prices[k] * costs_[k][a];
        bound.value.assign(1 + m * std::size_t(horizon), NEVER);
        for (int step = horizon; step > 0; --step) {
            clock.tick(head_.size() + m);
            Score *here = bound.value.data() + 1 + std::size_t(step - 1) * m;
            for (const auto i : ends_) here[i] = network.stay(step, nodes_[i]);
            if (step < horizon)
                for (std::size_t row = 0; row + 1 < begin_.size(); ++row)
                    follow(here, here + m, head_.data() + begin_[row], paid.data() + begin_[row],
                           std::size_t(begin_[row + 1] - begin_[row]));
            const Score *gain = gain_.data() + (gain_.size() > m ? std::size_t(step - 1) * m : 0);
            for (std::size_t i = 0; i < m; ++i) here[i] += gain[i];
        }
        Score best = network.terminal[network.start] ? network.stay(0, network.start) : NEVER;
        each(network.start, [&](int slot, int head) {
            best = std::max(best, bound.value[place(1, head)] - bound.paid[slot]);
        });
        bound.value[0] = best;
        return bound;
    }

    // As the one for the expanded graph, from the start; it looks ahead with what each node needs of each resource.
    Dive dive(const Bound &bound, const Viewpoint &, bool careful, Clock &clock) const {
        const int K = network.resources;
        Dive found;
        found.used.assign(K, 0);
        found.path.score = 0;
        Amounts used(K), rest(K);
        for (int step = 0, v = network.start;; ++step) {
            Score best = network.terminal[v] ? network.stay(step, v) : NEVER - 1;
            int choice = -1;
            clock.tick(1 + network.offset[v + 1] - network.offset[v]);
            if (step < network.horizon)
                each(v, [&](int slot, int head) {
                    const Score value = bound.value[place(step + 1, head)];
                    if (value <= REACHABLE || value - bound.paid[slot] <= best) return;
                    if (careful) {
                        const Amount *cost = network.cost(slot);
                        bool fits = true;
                        for (int k = 0; k < K; ++k) {
                            used[k] = found.used[k] + cost[k];
                            rest[k] = (*need_)[k][network.heads[slot]];
                            fits &= used[k] + rest[k] <= network.budgets[k];
                        }
                        if (!fits || !keeps_chances(network, used.data(), rest.data())) return;
                    }
                    best = value - bound.paid[slot];
                    choice = slot;
                });
            if (choice < 0) {
                found.ended = network.terminal[v];
                if (found.ended) found.path.score += network.stay(step, v);
                break;
            }
            const Amount *cost = network.cost(choice);
            for (int k = 0; k < K; ++k) found.used[k] = std::min(found.used[k] + cost[k], BEYOND);
            found.path.slots.push_back(choice);
            v = network.heads[choice];
            found.path.score += network.move(step, v);
        }
        found.keeps = found.ended && keeps_chances(network, found.used.data(), nullptr);
        for (int k = 0; k < K; ++k) found.keeps &= found.used[k] <= network.budgets[k];
        return found;
    }

    // Calls `what(slot, rank of its head)` for a node's slots, in their order.
    template <class What> void each(int v, const What &what) const {
        const std::size_t i = std::size_t(rank_[v]);
        for (std::size_t row = 0; row + 1 < begin_.size(); ++row) {
            const std::size_t a = std::size_t(begin_[row]) + i;
            if (a >= std::size_t(begin_[row + 1])) break;
            what(slot_[a], head_[a]);
        }
    }

  private:
    Indices nodes_;  // by falling number of slots
    Indices rank_;   // [nodes] the place of each in `nodes_`; -1 where no path passes
    Indices begin_;  // row r, the r-th slots of the nodes that have so many, is begin_[r] .. begin_[r + 1]
    Indices head_, slot_;
    Indices ends_;   // ranks of terminals
    std::vector<Amounts> costs_;  // [resources][arcs]
    Scores gain_;    // of arriving at each; with a discount for each step
    const std::vector<Amounts> *need_ = nullptr;
};

// The share of all pairs of a step and a node that some path can pass, as far as numbers of moves tell; 0 where there are
// few of them, or a table of them would be too large.
inline double filled(const Network &network, const Indices &from, const Indices &to_go, const Clock &clock) {
    double pairs = 0, nodes = 0;
    for (int v = 0; v < network.nodes; ++v)
        if (const int spare = network.horizon - from[v] - to_go[v]; spare >= 0) {
            pairs += spare + 1;
            ++nodes;
        }
    const double all = nodes * (network.horizon + 1.0);
    if (double(network.heads.size()) * network.horizon < FEW_STEPS) return 0;
    return all * sizeof(Score) < STEPS_SHARE * clock.cap() ? pairs / std::max(1.0, all) : 0;
}

inline bool roomy(const Network &network) {
    const int K = network.resources;
    for (int k = 0; k < K; ++k) {
        double sum = 0;
        for (std::size_t at = std::size_t(k); at < network.costs.size(); at += std::size_t(K)) sum += double(network.costs[at]);
        const double mean = sum / std::max(1.0, double(network.heads.size()));
        if (double(network.budgets[k]) < ROOMY * mean * network.horizon) return false;
    }
    return true;
}

// The slots that some path may take which keeps each budget by itself.
inline std::vector<std::uint8_t> slots_within(const Network &network, const std::vector<Amounts> &need, Clock &clock) {
    std::vector<std::uint8_t> use(network.heads.size(), 1);
    for (int k = 0; k < network.resources; ++k) {
        const Amounts so_far = least_so_far(network, k, clock);
        for (int v = 0; v < network.nodes; ++v)
            for (int slot = network.offset[v]; slot < network.offset[v + 1]; ++slot)
                use[slot] &= so_far[v] + network.cost(slot)[k] + need[k][network.heads[slot]] <= network.budgets[k];
    }
    return use;
}

// The time-expanded graph without what cannot reach `floor` by the tightest bound, or breaks a budget by itself; the
// bounds of the pool are told for its states.
inline Expanded expand_within(const Steps &steps, const std::vector<Amounts> &need, Pool &pool, Score floor, Clock &clock) {
    const Network &network = steps.network;
    const Bound &main = pool.best();
    const int horizon = network.horizon, K = network.resources;
    Expanded graph;
    clock.require(double(horizon + 2) * sizeof(std::int32_t));
    graph.layer.assign(horizon + 2, 0);
    Indices at(network.nodes, -1), states;
    Scores reached;
    Amounts left;
    const auto add = [&](int step, int v) {
        graph.node.push_back(v);
        graph.gain.push_back(step ? network.move(step - 1, v) : 0);
        graph.finish.push_back(network.terminal[v] ? network.stay(step, v) : NEVER);
        reached.push_back(step ? NEVER : main.budget);
        for (int k = 0; k < K; ++k) left.push_back(step ? -1 : network.budgets[k]);
    };
    add(0, network.start);
    for (int step = 0; step <= horizon; ++step) {
        const int begin = graph.layer[step], end = graph.states();
        graph.layer[step + 1] = end;
        for (int s = begin; s < end; ++s) {
            graph.first.push_back(std::int32_t(graph.head.size()));
            if (step == horizon) continue;
            const int v = graph.node[s];
            clock.tick(8 + network.offset[v + 1] - network.offset[v]);
            steps.each(v, [&](int slot, int rank) {
                const int w = network.heads[slot];
                const Score value = main.value[steps.place(step + 1, rank)];
                const Score there = std::max(reached[s], NEVER) - main.paid[slot];
                if (value <= REACHABLE || there + value < floor) return;
                const Amount *cost = network.cost(slot);
                for (int k = 0; k < K; ++k)
                    if (left[std::size_t(s) * K + k] - cost[k] < need[k][w]) return;
                if (at[w] < end) {
                    at[w] = graph.states();
                    add(step + 1, w);
                }
                const int h = at[w];
                reached[h] = std::max(reached[h], there + graph.gain[h]);
                for (int k = 0; k < K; ++k) {
                    Amount &most = left[std::size_t(h) * K + k];
                    most = std::max(most, left[std::size_t(s) * K + k] - cost[k]);
                }
                graph.head.push_back(h);
                graph.slot.push_back(slot);
            });
            if (graph.head.size() > std::size_t(INT32_MAX)) throw TooLarge{graph.bytes()};  // indices would not fit
        }
        clock.require(pool.bytes() + 2 * (graph.bytes() + bytes_of(reached) + bytes_of(left)));
    }
    graph.first.push_back(std::int32_t(graph.head.size()));
    for (Scores *values : pool.values()) {
        Scores told{values->front()};
        told.reserve(std::size_t(graph.states()));
        for (int step = 1; step <= horizon; ++step)
            for (int s = graph.layer[step]; s < graph.layer[step + 1]; ++s)
                told.push_back((*values)[steps.place(step, steps.rank(graph.node[s]))]);
        *values = std::move(told);
    }
    return graph;
}

}  // namespace tape
