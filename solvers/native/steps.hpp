// Passes over the network itself, step by step: bounds and first paths before anything is expanded.
#pragma once

#include "bounds.hpp"
#include "expanded.hpp"

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

// here[i] = min(here[i], next[head[i]] + paid[i])
TAPE_VECTORISED inline void follow(Cost *__restrict here, const Cost *__restrict next, const std::int32_t *__restrict head,
                                   const Cost *__restrict paid, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const Cost through = next[head[i]] + paid[i];
        here[i] = here[i] < through ? here[i] : through;
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

// A pass: what each step and node weighs on the best way to the end, what arriving there takes included.
struct Pass {
    Amounts price;
    Cost payment = 0;  // of all budgets
    Costs paid;        // [slots]
    Costs far;         // see `Steps::place`

    Cost bound() const { return far[0] - payment; }
};

// The network's useful nodes and slots, laid out so that a pass is a few long loops without surprises: nodes by falling
// number of slots; then the first slots of all nodes, the second slots of those that have two, and so on.
class Steps {
  public:
    // `use`: [slots] which to keep; `to_go`, `from`: fewest moves from and to each node.
    Steps(const Network &network, const Problem &problem, const std::vector<std::uint8_t> &use, const Indices &from, const Indices &to_go)
        : network_(network), problem_(problem), rank_(network.nodes, -1) {
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
        arrive_.reserve(rows * nodes_.size());
        for (std::size_t step = 0; step < rows; ++step)
            for (const auto v : nodes_) arrive_.push_back(-network.move(int(step), v));
    }

    // need: [resources][nodes] the least of each that is used from each node on; dives look ahead with it.
    void set_need(const std::vector<Amounts> *need) { need_ = need; }

    // Whether there is a way to an end at all.
    static bool reaches(const Pass &pass) { return pass.far[0] < FAR / 2; }

    // The weight of the rest of the way by a move to a node of this rank, made at a step.
    Cost ahead(const Pass &pass, int step, int rank) const { return pass.far[place(step + 1, rank)]; }

    Pass pass(const Amounts &price, Clock &clock) const {
        Pass pass;
        pass.price = price;
        pass.paid.assign(network_.heads.size(), 0);
        const std::size_t m = nodes_.size();
        const int horizon = network_.horizon, K = network_.resources;
        Costs paid(head_.size(), 0);
        for (int k = 0; k < K; ++k) {
            if (price[k] == 0) continue;
            pass.payment += price[k] * network_.budgets[k];
            for (std::size_t slot = 0; slot < pass.paid.size(); ++slot) pass.paid[slot] += price[k] * network_.costs[slot * K + k];
            for (std::size_t a = 0; a < paid.size(); ++a) paid[a] += price[k] * costs_[k][a];
        }
        pass.far.assign(1 + m * std::size_t(horizon), FAR);
        for (int step = horizon; step > 0; --step) {
            clock.tick(head_.size() + m);
            Cost *here = pass.far.data() + 1 + std::size_t(step - 1) * m;
            for (const auto i : ends_) here[i] = -network_.stay(step, nodes_[i]);
            if (step < horizon)
                for (std::size_t row = 0; row + 1 < begin_.size(); ++row)
                    follow(here, here + m, head_.data() + begin_[row], paid.data() + begin_[row],
                           std::size_t(begin_[row + 1] - begin_[row]));
            const Cost *arrive = arrive_.data() + (arrive_.size() > m ? std::size_t(step - 1) * m : 0);
            for (std::size_t i = 0; i < m; ++i) here[i] += arrive[i];
        }
        Cost best = network_.terminal[network_.start] ? -network_.stay(0, network_.start) : FAR;
        each(network_.start, [&](int slot, int head) { best = std::min(best, pass.far[place(1, head)] + pass.paid[slot]); });
        pass.far[0] = best;
        return pass;
    }

    // As `Pruner::dive`, from the start; careful, it looks ahead with what each node needs of each resource.
    Dive dive(const Pass &pass, bool careful, Clock &clock) const {
        const int K = network_.resources;
        Dive found{{}, Amounts(std::size_t(K), 0), false};
        Amounts used(K), rest(K);
        for (int step = 0, v = network_.start;; ++step) {
            Cost best = network_.terminal[v] ? -network_.stay(step, v) : FAR / 2;
            int choice = -1;
            clock.tick(1 + network_.offset[v + 1] - network_.offset[v]);
            if (step < network_.horizon)
                each(v, [&](int slot, int head) {
                    const Cost through = ahead(pass, step, head) + pass.paid[slot];
                    if (through >= best) return;
                    if (careful) {
                        const Amount *cost = network_.cost(slot);
                        bool fits = true;
                        for (int k = 0; k < K; ++k) {
                            used[k] = found.used[k] + cost[k];
                            rest[k] = (*need_)[k][network_.heads[slot]];
                            fits &= used[k] + rest[k] <= network_.budgets[k];
                        }
                        if (!fits || !problem_.keeps_chances(used.data(), rest.data())) return;
                    }
                    best = through;
                    choice = slot;
                });
            if (choice < 0) {
                found.path.cost -= network_.terminal[v] ? network_.stay(step, v) : 0;
                found.keeps = network_.terminal[v] && problem_.keeps(found.used.data());
                return found;
            }
            const Amount *cost = network_.cost(choice);
            for (int k = 0; k < K; ++k) found.used[k] = std::min(found.used[k] + cost[k], BEYOND);
            found.path.edges.push_back(network_.edge_ids[choice]);
            v = network_.heads[choice];
            found.path.cost -= network_.move(step, v);
        }
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

    int rank(int v) const { return rank_[v]; }

  private:
    // The place of a rank at a step >= 1 in the table of a pass; the start at step 0 comes first of all.
    std::size_t place(int step, int rank) const { return 1 + std::size_t(step - 1) * nodes_.size() + std::size_t(rank); }

    const Network &network_;
    const Problem &problem_;
    Indices nodes_;  // by falling number of slots
    Indices rank_;   // [nodes] the place of each in `nodes_`; -1 where no path passes
    Indices begin_;  // row r, the r-th slots of the nodes that have so many, is begin_[r] .. begin_[r + 1]
    Indices head_, slot_;
    Indices ends_;   // ranks of terminals
    std::vector<Amounts> costs_;  // [resources][arcs]
    Costs arrive_;   // at each node; with a discount for each step
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

// The arcs on which some path weighs no more than `limit` at the prices of a pass.
struct Within {
    const Network &network;
    const Steps &steps;
    const Pass &pass;
    Cost limit;
    Costs there;  // [states] the least weight of the way there

    void made() { there.push_back(there.empty() ? 0 : FAR); }
    bool admits(int step, int state, int slot) const {
        const int rank = steps.rank(network.heads[slot]);
        return rank >= 0 && std::min(there[state], FAR / 2) + pass.paid[slot] + steps.ahead(pass, step, rank) <= limit;
    }
    void reached(const Graph &graph, int state, int to, int slot) {
        const Cost move = graph.arrivals ? graph.arrive[to] : -network.move(0, network.heads[slot]);
        there[to] = std::min(there[to], there[state] + pass.paid[slot] + move);
    }
};

}  // namespace tape
