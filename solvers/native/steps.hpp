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

// A pass: what each step and node weighs on the best way to the end, what arriving there takes included.
struct Pass {
    Amounts price;
    Cost payment = 0;  // of all budgets
    Costs paid;        // [slots]
    Costs far;         // see `Steps::place`

    Cost bound() const { return far[0] - payment; }
};

// The network's useful nodes and slots.
class Steps {
  public:
    // `use`: [slots] which to keep; `to_go`, `from`: fewest moves from and to each node.
    Steps(const Network &network, const Problem &problem, const std::vector<std::uint8_t> &use, const Indices &from, const Indices &to_go)
        : network_(network), problem_(problem), rank_(network.nodes, -1), begin_{0} {
        for (int v = 0; v < network.nodes; ++v)
            if (from[v] + to_go[v] <= network.horizon) {
                rank_[v] = std::int32_t(nodes_.size());
                nodes_.push_back(v);
            }
        head_.reserve(network.heads.size());
        slot_.reserve(network.heads.size());
        for (const auto v : nodes_) {
            if (network.terminal[v]) ends_.push_back(rank_[v]);
            for (int slot = network.offset[v]; slot < network.offset[v + 1]; ++slot)
                if (const int head = rank_[network.heads[slot]]; use[slot] && head >= 0) {
                    head_.push_back(head);
                    slot_.push_back(slot);
                }
            begin_.push_back(std::int32_t(head_.size()));
        }
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
        for (int k = 0; k < K; ++k) {
            if (price[k] == 0) continue;
            pass.payment += price[k] * network_.budgets[k];
            for (std::size_t slot = 0; slot < pass.paid.size(); ++slot) pass.paid[slot] += price[k] * network_.costs[slot * K + k];
        }
        Costs paid(slot_.size());
        for (std::size_t a = 0; a < paid.size(); ++a) paid[a] = pass.paid[slot_[a]];
        pass.far.assign(1 + m * std::size_t(horizon), FAR);
        for (int step = horizon; step > 0; --step) {
            clock.tick(head_.size() + m);
            Cost *const here = pass.far.data() + 1 + std::size_t(step - 1) * m;
            const Cost *const next = here + m, *const arrive = arrive_.data() + (arrive_.size() > m ? std::size_t(step - 1) * m : 0);
            for (const auto i : ends_) here[i] = -network_.stay(step, nodes_[i]);
            const std::int32_t *const heads = head_.data(), *const begin = begin_.data();
            const Cost *const toll = paid.data();
            for (std::size_t i = 0; i < m; ++i) {
                Cost best = here[i];
                for (int a = begin[i], end = step < horizon ? begin[i + 1] : a; a < end; ++a) {
                    const Cost through = next[heads[a]] + toll[a];
                    best = through < best ? through : best;
                }
                here[i] = best + arrive[i];
            }
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
        for (int a = begin_[i]; a < begin_[i + 1]; ++a) what(slot_[a], head_[a]);
    }

    int rank(int v) const { return rank_[v]; }

  private:
    // The place of a rank at a step >= 1 in the table of a pass; the start at step 0 comes first of all.
    std::size_t place(int step, int rank) const { return 1 + std::size_t(step - 1) * nodes_.size() + std::size_t(rank); }

    const Network &network_;
    const Problem &problem_;
    Indices nodes_;
    Indices rank_;   // [nodes] the place of each in `nodes_`; -1 where no path passes
    Indices begin_;  // the slots of rank i are head_, slot_[begin_[i]..begin_[i + 1]]
    Indices head_, slot_;
    Indices ends_;   // ranks of terminals
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
inline std::vector<std::uint8_t> slots_within(const Network &network, const Links &onwards, const std::vector<Amounts> &need,
                                              Clock &clock) {
    std::vector<std::uint8_t> use(network.heads.size(), 1);
    for (int k = 0; k < network.resources; ++k) {
        const Amounts so_far = least_use(network, onwards, {network.start}, k, clock);
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
