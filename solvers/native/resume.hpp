// A search that begins with what a `Memory` knows: paths, prices, and only those arcs that could still matter.
#pragma once

#include "memory.hpp"

namespace tape {

class Resumed {
  public:
    Resumed(const Problem &problem, const Network &network, const Memory &memory)
        : problem_(problem), network_(network), memory_(memory), K_(network.resources) {
        for (const Memory::Priced &table : memory.tables()) {
            View view{&table, Scores(K_), Scores(), 0};
            std::vector<std::uint8_t> kept(problem.resources, 0);
            for (int k = 0; k < K_; ++k) {
                kept[network.origin[k]] = 1;
                view.prices[k] = table.prices[network.origin[k]] * network.divisors[k];
                view.budget += view.prices[k] * network.budgets[k];
            }
            for (int k = 0; k < problem.resources; ++k)
                if (!kept[k] && table.prices[k]) view.budget += table.prices[k] * problem.budgets[k];
            view.paid = payments(network, view.prices);
            views_.push_back(std::move(view));
        }
    }

    bool reachable() const { return views_[0].table->value[network_.horizon][network_.start] > REACHABLE; }

    // Prices that were good before, in the network's units.
    std::vector<Scores> prices() const {
        std::vector<Scores> all;
        for (std::size_t i = 1; i < views_.size(); ++i) all.push_back(views_[i].prices);
        return all;
    }

    // Paths that keep the budgets: dives along each table, from the start and from as far as the last path still goes.
    void dive_into(Incumbents &incumbents, Clock &clock) const {
        const Indices rest = rest_of_last_path();
        for (const View &view : views_) {
            dive(view, {}, incumbents, clock);
            if (!rest.empty()) dive(view, rest, incumbents, clock);
        }
    }

    // The time-expanded graph without what cannot reach `floor`, or breaks a budget by itself.
    Expanded expand(Score floor, Clock &clock) const {
        const View *main = &views_[0];
        for (const View &view : views_)
            if (limit(view) < limit(*main)) main = &view;
        Expanded graph;
        const int horizon = network_.horizon;
        graph.layer.assign(horizon + 2, 0);
        Indices at(network_.nodes, -1);
        Scores reached;
        Amounts left;
        const auto add = [&](int step, int v) {
            graph.node.push_back(v);
            graph.gain.push_back(step ? move(v) : 0);
            graph.finish.push_back(network_.terminal[v] ? stay(v, horizon - step) : NEVER);
            reached.push_back(step ? NEVER : 0);
            for (int k = 0; k < K_; ++k) left.push_back(step ? -1 : network_.budgets[k]);
        };
        add(0, network_.start);
        for (int step = 0; step <= horizon; ++step) {
            const int begin = graph.layer[step], end = graph.states(), to_go = horizon - step;
            graph.layer[step + 1] = end;
            for (int s = begin; s < end; ++s) {
                graph.first.push_back(std::int32_t(graph.head.size()));
                const int v = graph.node[s];
                clock.tick(8 + network_.offset[v + 1] - network_.offset[v]);
                for (int slot = network_.offset[v]; to_go && slot < network_.offset[v + 1]; ++slot) {
                    const int w = network_.heads[slot];
                    const Score there = std::max(reached[s], NEVER) - main->paid[slot] + move(w);
                    if (there + main->table->value[to_go - 1][w] + main->budget < floor) continue;
                    if (!fits(slot, to_go - 1, left.data() + std::size_t(s) * K_)) continue;
                    if (at[w] < end) {
                        at[w] = graph.states();
                        add(step + 1, w);
                    }
                    const int h = at[w];
                    reached[h] = std::max(reached[h], there);
                    for (int k = 0; k < K_; ++k) {
                        Amount &most = left[std::size_t(h) * K_ + k];
                        most = std::max(most, left[std::size_t(s) * K_ + k] - network_.cost(slot)[k]);
                    }
                    graph.head.push_back(h);
                    graph.slot.push_back(slot);
                }
            }
            clock.require(2 * (graph.bytes() + bytes_of(reached) + bytes_of(left)));
        }
        graph.first.push_back(std::int32_t(graph.head.size()));
        return graph;
    }

  private:
    struct View {
        const Memory::Priced *table;
        Scores prices, paid;
        Score budget;  // the price of all budgets together
    };

    // The slots of the last path from where it passed the start, until one is no longer there.
    Indices rest_of_last_path() const {
        Indices rest;
        const auto &path = memory_.path();
        std::size_t next = 0;
        while (next < path.size() && path[next].tail != network_.start) ++next;
        for (int v = network_.start; next < path.size(); ++next) {
            const Memory::Move &move = path[next];
            int slot = network_.offset[v];
            for (; slot < network_.offset[v + 1]; ++slot) {
                const auto cost = problem_.costs.begin() + std::ptrdiff_t(network_.edge_ids[slot]) * problem_.resources;
                if (network_.heads[slot] == move.head && std::equal(move.cost.begin(), move.cost.end(), cost)) break;
            }
            if (slot == network_.offset[v + 1]) break;
            rest.push_back(slot);
            v = move.head;
        }
        return rest;
    }

    // Takes the `forced` moves until one does not fit, then the best looking ones: after another move the rest of the
    // forced ones would start elsewhere.
    void dive(const View &view, const Indices &forced, Incumbents &incumbents, Clock &clock) const {
        Path path;
        Amounts left = network_.budgets;
        int v = network_.start;
        path.score = 0;
        bool on = true;
        for (int to_go = network_.horizon;; --to_go) {
            clock.tick(1 + network_.offset[v + 1] - network_.offset[v]);
            const Score finish = network_.terminal[v] ? stay(v, to_go) : NEVER;
            Score best = finish;
            int choice = -1;
            on = on && path.slots.size() < forced.size() && to_go &&
                 fits(forced[path.slots.size()], to_go - 1, left.data());
            if (on) choice = forced[path.slots.size()];
            for (int slot = network_.offset[v]; !on && to_go && slot < network_.offset[v + 1]; ++slot) {
                const int w = network_.heads[slot];
                const Score through = view.table->value[to_go - 1][w] + move(w) - view.paid[slot];
                if (through > best && fits(slot, to_go - 1, left.data())) {
                    best = through;
                    choice = slot;
                }
            }
            if (choice < 0) {
                if (!network_.terminal[v]) return;
                path.score += finish;
                incumbents.offer(path);
                return;
            }
            for (int k = 0; k < K_; ++k) left[k] -= network_.cost(choice)[k];
            v = network_.heads[choice];
            path.score += move(v);
            path.slots.push_back(choice);
        }
    }

    Score limit(const View &view) const { return view.table->value[network_.horizon][network_.start] + view.budget; }

    // The scores of a network do not depend on the step here: there is no discount.
    Score move(int v) const { return network_.move(0, v); }
    Score stay(int v, int to_go) const { return network_.stay(network_.horizon - to_go, v); }

    // Whether a terminal can be reached in time, and within each budget by itself, from where a slot leads.
    bool fits(int slot, int to_go, const Amount *left) const {
        const int w = network_.heads[slot];
        if (views_[0].table->value[to_go][w] <= REACHABLE) return false;
        const Amount *cost = network_.cost(slot);
        for (int k = 0; k < K_; ++k)
            if (cost[k] + memory_.least(network_.origin[k], to_go, w) / network_.divisors[k] > left[k]) return false;
        return true;
    }

    const Problem &problem_;
    const Network &network_;
    const Memory &memory_;
    int K_;
    std::vector<View> views_;
};

}  // namespace tape
