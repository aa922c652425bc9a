// What a sequence of related problems shares: bounds by steps to go, repaired where the graph changed.
//
// Without a discount, what can be earned from a node depends on the steps to go and not on the step, and neither on the
// start nor on the budgets (only on prices). So a table made for one problem serves the next one, whose start has moved
// on, whose horizon and budgets are shorter, and whose graph differs in a few edges.
#pragma once

#include "bound.hpp"

namespace tape {

class Memory {
  public:
    // Takes in the problem: the first time, or where it is not of the same kind, everything is forgotten. Afterwards
    // every table is true for this problem.
    void follow(Problem &problem, Clock &clock) {
        std::vector<std::uint8_t> stale;
        const bool whole = whole_;
        whole_ = false;
        if (!whole || !same_kind(problem)) {
            forget(problem);
            adopt(problem);
        } else if (!useless_) {
            stale = changes(problem);
        }
        problem.factor = factor_;
        horizon_ = problem.horizon;  // it only ever shrinks: what lies beyond is not needed again
        ++age_;
        if (!tables_.empty()) {
            drop_unaffordable(problem);
            for (Priced &table : tables_) repair(table, stale, clock);
            for (int k = 0; k < resources_; ++k) repair_least(k, stale, clock);
        }
        whole_ = true;
    }

    bool empty() const { return tables_.empty(); }

    bool busy = false;  // a solve is using it

    // Whether tables are worth making, after a search of a graph of so many arcs. A table covers all edges at all
    // steps: too much where few of them can be reached. How good the remembered prices are is seen by the share of arcs
    // that they left; where that is poor, new ones are tried now and then.
    bool wants(std::size_t arcs, double cap) {
        const double all = double(heads_.size()) * horizon_;
        if (8.0 * double(nodes()) * (horizon_ + 1) * (3 + resources_) > cap / 4) return false;
        if (empty()) return arcs > 0 && !(useless_ = useless_ || all > 6.0 * double(arcs));
        return age_ >= 3 && double(arcs) > 0.2 * all;
    }

    // Makes tables for zero prices and for these (per unit of the problem's own resources).
    void learn(const std::vector<Scores> &prices, Clock &clock) {
        age_ = 0;
        whole_ = false;
        tables_.clear();
        std::vector<std::uint8_t> all(std::size_t(nodes()), 1);
        tables_.push_back(blank(Scores(resources_, 0)));
        for (const Scores &one : prices) tables_.push_back(blank(one));
        for (Priced &table : tables_) repair(table, all, clock);
        least_.assign(resources_, std::vector<Amounts>(horizon_ + 1, Amounts(nodes(), -1)));
        for (int k = 0; k < resources_; ++k) repair_least(k, all, clock);
        whole_ = true;
    }

    // A move of the last path: where it led, and what it cost.
    struct Move {
        int tail, head;
        Amounts cost;
    };

    void remember(const Problem &problem, const Network &network, const Path &path) {
        path_.clear();
        for (const auto slot : path.slots) {
            const auto e = std::size_t(network.edge_ids[slot]);
            const auto cost = problem.costs.begin() + std::ptrdiff_t(e) * resources_;
            path_.push_back({problem.tails[e], problem.heads[e], Amounts(cost, cost + resources_)});
        }
    }

    const std::vector<Move> &path() const { return path_; }

    struct Priced {
        Scores prices;              // per unit of the problem's own resources
        std::vector<Scores> value;  // [steps to go][node], the gain of arriving not included
    };

    const std::vector<Priced> &tables() const { return tables_; }
    Amount least(int k, int to_go, int v) const { return least_[k][to_go][v]; }

  private:
    int nodes() const { return int(offset_.size()) - 1; }

    bool same_kind(const Problem &problem) const {
        if (problem.scale != scale_ || problem.resources != resources_ ||
            problem.horizon > horizon_ || problem.nodes < nodes())
            return false;
        double largest = 0;  // the factor was chosen for another horizon: the scores must still fit
        for (const double reward : problem.rewards) largest = std::max(largest, std::abs(reward));
        return largest * problem.scale * double(problem.horizon) * double(factor_) <= double(LARGEST_SCORE);
    }

    void forget(const Problem &problem) {
        tables_.clear();
        least_.clear();
        path_.clear();
        useless_ = false;
        horizon_ = problem.horizon;
        factor_ = problem.horizon + 1;
        scale_ = problem.scale;
        resources_ = problem.resources;
    }

    // Drops tables whose prices were made for budgets so much smaller that these ones at that price would overflow. The
    // first, with zero prices, stays.
    void drop_unaffordable(const Problem &problem) {
        const auto unaffordable = [&](const Priced &table) {
            double whole = 0;
            for (int k = 0; k < resources_; ++k) whole += double(table.prices[k]) * double(problem.budgets[k]);
            return whole > double(LARGEST_PAYMENT);
        };
        tables_.erase(std::remove_if(tables_.begin(), tables_.end(), unaffordable), tables_.end());
    }

    // Which nodes may be worth something else than before, by what leaves them or by where that leads.
    std::vector<std::uint8_t> changes(const Problem &problem) {
        const int before = nodes();
        const Indices old_offset = std::move(offset_), old_heads = std::move(heads_);
        const Amounts old_costs = std::move(costs_);
        const Scores old_units = std::move(units_);
        const std::vector<std::uint8_t> old_terminal = std::move(terminal_);
        adopt(problem);
        const int K = resources_;
        std::vector<std::uint8_t> stale(problem.nodes, 0), revalued(problem.nodes, 0);
        for (int v = 0; v < problem.nodes; ++v) {
            if (v >= before) {
                stale[v] = 1;
                continue;
            }
            revalued[v] = units_[v] != old_units[v];
            const int count = offset_[v + 1] - offset_[v];
            bool same = !revalued[v] && terminal_[v] == old_terminal[v] && count == old_offset[v + 1] - old_offset[v];
            for (int i = 0; same && i < count; ++i) {
                const std::size_t now = std::size_t(offset_[v] + i), then = std::size_t(old_offset[v] + i);
                same = heads_[now] == old_heads[then] &&
                       std::equal(costs_.begin() + now * K, costs_.begin() + (now + 1) * K, old_costs.begin() + then * K);
            }
            stale[v] = !same;
        }
        for (int v = 0; v < problem.nodes; ++v)
            for (int slot = offset_[v]; slot < offset_[v + 1]; ++slot) stale[v] |= revalued[heads_[slot]];
        for (Priced &table : tables_)
            for (Scores &row : table.value) row.resize(problem.nodes, NEVER);
        for (auto &table : least_)
            for (Amounts &row : table) row.resize(problem.nodes, BEYOND);
        return stale;
    }

    // All edges by tail, in the order of their indices, whatever they cost.
    void adopt(const Problem &problem) {
        const int K = problem.resources;
        offset_.assign(problem.nodes + 1, 0);
        for (const auto tail : problem.tails) ++offset_[tail + 1];
        std::partial_sum(offset_.begin(), offset_.end(), offset_.begin());
        heads_.resize(problem.heads.size());
        costs_.resize(problem.costs.size());
        Indices next(offset_.begin(), offset_.end() - 1);
        for (std::size_t e = 0; e < problem.heads.size(); ++e) {
            const std::size_t slot = std::size_t(next[problem.tails[e]]++);
            heads_[slot] = problem.heads[e];
            std::copy_n(problem.costs.begin() + std::ptrdiff_t(e) * K, K, costs_.begin() + std::ptrdiff_t(slot) * K);
        }
        units_.resize(problem.nodes);
        for (int v = 0; v < problem.nodes; ++v)
            units_[v] = Score(std::nearbyint(problem.rewards[v] * problem.scale)) * factor_;
        terminal_ = problem.terminal;
        into_offset_.assign(problem.nodes + 1, 0);
        for (const auto head : heads_) ++into_offset_[head + 1];
        std::partial_sum(into_offset_.begin(), into_offset_.end(), into_offset_.begin());
        into_.resize(heads_.size());
        next.assign(into_offset_.begin(), into_offset_.end() - 1);
        for (int v = 0; v < problem.nodes; ++v)
            for (int slot = offset_[v]; slot < offset_[v + 1]; ++slot) into_[next[heads_[slot]]++] = v;
    }

    Priced blank(const Scores &prices) const {
        return {prices, std::vector<Scores>(horizon_ + 1, Scores(nodes(), NEVER - 1))};
    }

    // Recomputes stale nodes at every step, and those before a node whose value changed at the step before.
    template <class Value, class Row, class Compute>
    void propagate(std::vector<Row> &rows, const std::vector<std::uint8_t> &stale, Clock &clock, Compute compute) {
        Indices fixed, changed, todo;
        for (int v = 0; v < nodes(); ++v)
            if (stale[v]) fixed.push_back(v);
        std::vector<int> seen(nodes(), -1);
        for (int t = 0; t <= horizon_; ++t) {
            todo = fixed;
            for (const auto v : fixed) seen[v] = t;
            clock.tick(todo.size() + changed.size());
            for (const auto h : changed)
                for (int i = into_offset_[h]; i < into_offset_[h + 1]; ++i)
                    if (seen[into_[i]] != t) {
                        seen[into_[i]] = t;
                        todo.push_back(into_[i]);
                    }
            changed.clear();
            for (const auto v : todo) {
                clock.tick(1 + offset_[v + 1] - offset_[v]);
                const Value value = compute(t, v);
                if (value != rows[t][v]) {
                    rows[t][v] = value;
                    changed.push_back(v);
                }
            }
        }
    }

    void repair(Priced &table, const std::vector<std::uint8_t> &stale, Clock &clock) {
        const int K = resources_;
        Scores paid(heads_.size(), 0);
        for (std::size_t slot = 0; slot < paid.size(); ++slot)
            for (int k = 0; k < K; ++k)
                if (table.prices[k]) {  // an edge dearer than any budget is on no path: what it pays need not be exact
                    const Amount cost = costs_[slot * K + k];
                    paid[slot] += cost > LARGEST_PAYMENT / (table.prices[k] * K) ? LARGEST_PAYMENT / K : cost * table.prices[k];
                }
        propagate<Score>(table.value, stale, clock, [&](int t, int v) {
            Score best = terminal_[v] ? Score(t) * units_[v] : NEVER;
            if (t)
                for (int slot = offset_[v]; slot < offset_[v + 1]; ++slot) {
                    const int h = heads_[slot];
                    best = std::max(best, table.value[t - 1][h] + units_[h] - 1 - paid[slot]);
                }
            return std::max(best, NEVER);
        });
    }

    void repair_least(int k, const std::vector<std::uint8_t> &stale, Clock &clock) {
        const int K = resources_;
        auto &rows = least_[k];
        propagate<Amount>(rows, stale, clock, [&](int t, int v) {
            Amount best = terminal_[v] ? 0 : BEYOND;
            if (t)
                for (int slot = offset_[v]; slot < offset_[v + 1]; ++slot)
                    best = std::min(best, rows[t - 1][heads_[slot]] + costs_[std::size_t(slot) * K + k]);
            return std::min(best, BEYOND);
        });
    }

    double scale_ = 0;
    Score factor_ = 0;
    int resources_ = 0, horizon_ = 0;
    std::vector<Move> path_;
    bool whole_ = false;  // not if an exception cut `follow` or `learn` short: what is there then may be wrong
    bool useless_ = false;
    int age_ = 0;  // problems since the tables were made
    Indices offset_, heads_, into_offset_, into_;
    Amounts costs_;
    Scores units_;  // [nodes] the score of a stay
    std::vector<std::uint8_t> terminal_;
    std::vector<Priced> tables_;
    std::vector<std::vector<Amounts>> least_;  // [resources][steps to go][node]
};

}  // namespace tape
