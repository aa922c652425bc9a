// One resource kept exact, in a table over the amounts that each state can still have left; the others are priced.
#pragma once

#include "dual.hpp"

namespace tape {

// into[j] = max(into[j], from[j] + shift)
TAPE_VECTORISED inline void raise(Score *__restrict into, const Score *__restrict from, std::size_t count, Score shift) {
    for (std::size_t j = 0; j < count; ++j) {
        const Score through = from[j] + shift;
        into[j] = into[j] > through ? into[j] : through;
    }
}

// A bound like `Bound`, but with what is left of resource k, in grains, as a coordinate. Amounts are rounded down to
// grains, a relaxation. With grain 1 resource k is exact and its price is 0; if there is no other resource the bound
// is what can really be earned.
class Table {
  public:
    Table(const Network &network, const Expanded &graph, const Windows &windows, const Scores &prices, int k,
          Amount grain, Clock &clock)
        : k_(k), grain_(grain), prices_(prices) {
        if (grain == 1) prices_[k] = 0;
        const Scores paid = payments(network, prices_);
        const int K = network.resources, states = graph.states();
        Amounts grains(network.heads.size());
        for (std::size_t slot = 0; slot < grains.size(); ++slot) grains[slot] = network.costs[slot * K + k] / grain;
        low_.resize(states);
        begin_.resize(states + 1);
        std::size_t cells = 0;
        for (int s = states; s-- > 0;) {
            clock.tick(1 + graph.first[s + 1] - graph.first[s]);
            Amount need = graph.finish[s] > REACHABLE ? 0 : BEYOND;
            for (int a = graph.first[s]; a < graph.first[s + 1]; ++a)
                need = std::min(need, low_[graph.head[a]] + grains[graph.slot[a]]);
            low_[s] = need;
        }
        for (int s = 0; s < states; ++s) {
            begin_[s] = cells;
            cells += std::size_t(std::max<Amount>(0, (network.budgets[k] - windows.behind[k][s]) / grain - low_[s] + 1));
        }
        begin_[states] = cells;
        clock.require(graph.bytes() + 8.0 * double(cells));
        cells_.assign(cells, NEVER);
        for (int s = states; s-- > 0;) {
            Score *here = cells_.data() + begin_[s];
            const Amount count = size(s);
            if (graph.finish[s] > REACHABLE) std::fill(here, here + count, graph.finish[s]);
            for (int a = graph.first[s]; a < graph.first[s + 1]; ++a) {
                const int h = graph.head[a];
                const Amount first = low_[h] + grains[graph.slot[a]] - low_[s];  // where the head's lowest cell lands
                const Amount there = std::min(size(h), count - first);
                if (there <= 0) continue;
                const Score shift = -paid[graph.slot[a]];
                const Score *from = cells_.data() + begin_[h];
                clock.tick(std::size_t(count - first) / 8);
                raise(here + first, from, std::size_t(there), shift);
                for (Amount j = first + there; j < count; ++j) here[j] = std::max(here[j], from[there - 1] + shift);
            }
            for (Amount j = 0; j < count; ++j) here[j] = std::max(here[j], NEVER) + graph.gain[s];
        }
    }

    // The best that can come from here on, like `Bound::value` plus the price of what is left.
    Score ahead(int s, const Amount *slack, int K) const {
        const Amount j = slack[k_] / grain_ - low_[s], count = size(s);
        if (j < 0 || count <= 0) return NEVER;
        Score sum = cells_[begin_[s] + std::size_t(std::min(j, count - 1))];
        for (int i = 0; i < K; ++i) sum += prices_[i] * slack[i];
        return sum;
    }

    // An upper bound on the score of any path.
    Score limit(const Network &network) const { return ahead(0, network.budgets.data(), network.resources); }

    bool exact(int K) const { return K == 1 && grain_ == 1; }

    double bytes() const { return bytes_of(low_) + bytes_of(begin_) + bytes_of(cells_); }

  private:
    Amount size(int s) const { return Amount(begin_[s + 1] - begin_[s]); }

    int k_;
    Amount grain_;
    Scores prices_;
    Amounts low_;  // [states] grains of resource k that are needed from a state on
    std::vector<std::size_t> begin_;
    Scores cells_;
};

// Basic steps that a table of resource k with grain 1 takes.
inline double table_steps(const Network &network, const Expanded &graph, const Windows &windows, int k) {
    double steps = 0;
    for (int s = 0; s < graph.states(); ++s) {
        const Amount width = network.budgets[k] - windows.behind[k][s] - windows.ahead[k][s] + 1;
        steps += double(std::max<Amount>(0, width)) * (1 + graph.first[s + 1] - graph.first[s]);
    }
    return steps;
}

}  // namespace tape
