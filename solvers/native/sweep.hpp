// Label setting, layer by layer, with a beam: one sweep from the start to the horizon.
#pragma once

#include <memory>

#include "dominance.hpp"
#include "table.hpp"

namespace tape {

// All that is known of completions.
struct Knowledge {
    const Network &network;
    const Expanded &graph;
    const Windows &windows;
    const Pool &pool;
    const std::vector<std::unique_ptr<Table>> &tables;

    double bytes() const {
        double sum = graph.bytes() + pool.bytes() + 8.0 * double(graph.states()) * 2 * network.resources;
        for (const auto &table : tables) sum += table->bytes();
        return sum;
    }
};

// The tightest bound on the score of a path that reaches h by a slot, and has `score` before that move and `slack`
// after it; testing stops once the bound is below `enough`.
template <int Fixed>
Score bound_at(const Knowledge &known, int h, Score score, const Amount *slack, Score enough, std::size_t from) {
    const int K = Fixed ? Fixed : known.network.resources;
    Score least = Score{1} << 62;
    const auto &bounds = known.pool.bounds();
    for (std::size_t b = from; b < bounds.size(); ++b) {
        Score bound = score + bounds[b].value[h];
        for (int k = 0; k < K; ++k) bound += bounds[b].prices[k] * slack[k];
        least = std::min(least, bound);
        if (least < enough) return least;
    }
    for (const auto &table : known.tables) {
        least = std::min(least, score + table->ahead(h, slack, K));
        if (least < enough) return least;
    }
    return least;
}

// A label that the bounds say most of.
struct Promise {
    Viewpoint from;
    Score bound;
};

struct SweepResult {
    bool finished = true;   // in time
    Score dropped = NEVER;  // the greatest bound of a label that the beam dropped
    std::size_t labels = 0; // extended
    std::vector<Promise> promising;
};

template <int Fixed> class Sweep {
  public:
    // `ordered`: find the path of smallest edges too: labels that can only equal the incumbent stay.
    Sweep(const Knowledge &known, Incumbents &incumbents, Clock &clock, bool ordered)
        : known_(known), network_(known.network), graph_(known.graph), incumbents_(incumbents), clock_(clock),
          beyond_(!ordered), K_(Fixed ? Fixed : known.network.resources),
          held_(known.bytes()), dominance_(incumbents.wanted(), ordered, clock) {
        ahead_.resize(std::size_t(graph_.states()) * K_);
        for (int k = 0; k < K_; ++k)
            for (int s = 0; s < graph_.states(); ++s) ahead_[std::size_t(s) * K_ + k] = known.windows.ahead[k][s];
    }

    // Keeps at most `width` labels a layer, those of the greatest bounds. A sweep that dropped nothing above the
    // incumbents' floor has proved them.
    SweepResult run(std::size_t width) {
        SweepResult result;
        const Bound &main = known_.pool.best();
        Labels now;
        now.score.push_back(0);
        now.priced.push_back(main.budget);
        now.used.assign(K_, 0);
        now.state.push_back(0);
        past_.clear();
        past_.push_back({{-1}, {-1}});
        if (graph_.finish[0] > REACHABLE) offer(0, -1, -1, 0, graph_.finish[0]);
        double kept = 0;  // bytes of `past_`
        for (int step = 0; step < network_.horizon && !now.state.empty(); ++step) {
            result.labels += now.state.size();
            if (clock_.passed() || !extend(now, step)) {
                result.finished = false;
                return result;
            }
            if (!select(step + 1, width, result)) {
                result.finished = false;
                return result;
            }
            std::swap(now, next_);
            kept += 2.0 * sizeof(std::int32_t) * double(now.state.size());
            clock_.require(held_ + kept + grown_.bytes() + now.bytes() + next_.bytes() + incumbents_.bytes());
        }
        return result;
    }

  private:
    // The labels of one step, in the lexicographic order of their edges.
    struct Labels {
        Scores score, priced, bound;  // priced: score less the price of what is used, plus that of the budgets
        Amounts used;
        Indices state, parent, slot;
        double bytes() const {
            return bytes_of(score) + bytes_of(priced) + bytes_of(bound) + bytes_of(used) + bytes_of(state) +
                   bytes_of(parent) + bytes_of(slot);
        }
        void clear() {
            score.clear(), priced.clear(), bound.clear(), used.clear(), state.clear(), parent.clear(), slot.clear();
        }
    };
    struct Past {
        Indices parent, slot;
    };

    void offer(int step, std::int32_t parent, std::int32_t slot, Score score, Score finish) {
        if (score + finish < incumbents_.floor(beyond_)) return;
        incumbents_.offer({score + finish, way(step, parent, slot)});
    }

    // The slots of a label that is at `step`, by its parent and the slot by which it came.
    Indices way(int step, std::int32_t parent, std::int32_t slot) const {
        Indices slots;
        if (slot >= 0) slots.push_back(slot);
        for (int layer = step - 1; layer > 0; --layer) {
            slots.push_back(past_[layer].slot[parent]);
            parent = past_[layer].parent[parent];
        }
        std::reverse(slots.begin(), slots.end());
        return slots;
    }

    bool extend(const Labels &now, int step) {
        const Bound &main = known_.pool.best();
        grown_.clear();
        Amount used[MOST_RESOURCES], slack[MOST_RESOURCES];
        for (std::size_t i = 0; i < now.state.size(); ++i) {
            const int s = now.state[i];
            clock_.tick(8 * std::size_t(1 + graph_.first[s + 1] - graph_.first[s]));
            if ((i & 1023) == 1023) clock_.require(held_ + 2 * grown_.bytes());
            const Amount *before = now.used.data() + i * K_;
            Score floor = incumbents_.floor(beyond_);
            for (int a = graph_.first[s]; a < graph_.first[s + 1]; ++a) {
                const int h = graph_.head[a], slot = graph_.slot[a];
                Score bound = now.priced[i] - main.paid[slot] + main.value[h];
                if (bound < floor) continue;
                const Amount *cost = network_.costs.data() + std::size_t(slot) * K_;
                const Amount *rest = ahead_.data() + std::size_t(h) * K_;
                bool fits = true;
                for (int k = 0; k < K_; ++k) {
                    used[k] = before[k] + cost[k];
                    slack[k] = network_.budgets[k] - used[k];
                    fits &= rest[k] <= slack[k];
                }
                if (!fits || (!network_.chances.empty() && !keeps_chances(network_, used, rest))) continue;
                bound = std::min(bound, bound_at<Fixed>(known_, h, now.score[i], slack, floor, 1));
                if (bound < floor) continue;
                const Score score = now.score[i] + graph_.gain[h];
                grown_.score.push_back(score);
                grown_.priced.push_back(now.priced[i] - main.paid[slot] + graph_.gain[h]);
                grown_.bound.push_back(bound);
                grown_.used.insert(grown_.used.end(), used, used + K_);
                grown_.state.push_back(h);
                grown_.parent.push_back(std::int32_t(i));
                grown_.slot.push_back(slot);
                if (graph_.finish[h] > REACHABLE &&
                    (network_.chances.empty() || keeps_chances(network_, used, nullptr))) {
                    offer(step + 1, std::int32_t(i), slot, score, graph_.finish[h]);
                    floor = incumbents_.floor(beyond_);
                }
            }
        }
        return true;
    }

    // From `grown_` to `next_`: without the hopeless, the dominated, and what the beam drops. False if out of time.
    bool select(int step, std::size_t width, SweepResult &result) {
        const std::size_t count = grown_.state.size();
        const Score floor = incumbents_.floor(beyond_);
        const int base = graph_.layer[step], states = graph_.layer[step + 1] - base;
        keep_.assign(count, 1);
        begin_.assign(states + 1, 0);
        for (std::size_t i = 0; i < count; ++i) {
            keep_[i] = grown_.bound[i] >= floor;
            begin_[grown_.state[i] - base + 1] += keep_[i];
        }
        std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
        order_.resize(begin_[states]);
        fill_.assign(begin_.begin(), begin_.end() - 1);
        for (std::size_t i = 0; i < count; ++i)
            if (keep_[i]) order_[fill_[grown_.state[i] - base]++] = std::int32_t(i);
        const LabelView view{grown_.score.data(), grown_.used.data(), K_};
        for (int s = 0; s < states; ++s) {
            const std::size_t group = begin_[s + 1] - begin_[s];
            if (!dominance_.filter(view, order_.data() + begin_[s], group, keep_.data())) return false;
        }
        order_.clear();
        for (std::size_t i = 0; i < count; ++i)
            if (keep_[i]) order_.push_back(std::int32_t(i));
        if (order_.size() > width) {
            const auto greater = [&](std::int32_t a, std::int32_t b) {
                clock_.tick();
                return grown_.bound[a] != grown_.bound[b] ? grown_.bound[a] > grown_.bound[b] : a < b;
            };
            // Half of the beam is for the best label of each state: those of one state are much alike.
            best_.assign(states, -1);
            for (const auto i : order_)
                if (auto &best = best_[grown_.state[i] - base]; best < 0 || greater(i, best)) best = i;
            const auto begin = order_.begin();
            const auto others = std::partition(
                begin, order_.end(), [&](std::int32_t i) { return best_[grown_.state[i] - base] == i; });
            const auto half = begin + std::min<std::ptrdiff_t>(others - begin, std::ptrdiff_t(width / 2));
            std::nth_element(begin, half, others, greater);
            std::nth_element(half, begin + std::ptrdiff_t(width), order_.end(), greater);
            for (std::size_t i = width; i < order_.size(); ++i)
                result.dropped = std::max(result.dropped, grown_.bound[order_[i]]);
            order_.resize(width);
            std::sort(order_.begin(), order_.end());
        }
        if (step % (network_.horizon / 12 + 1) == 0) {
            const std::size_t kept = order_.size();
            for (std::size_t i = 0; i < std::min<std::size_t>(3, kept); ++i) note(step, order_[i * kept / 3], result);
        }
        next_.clear();
        past_.emplace_back();
        for (const auto i : order_) {
            next_.score.push_back(grown_.score[i]);
            next_.priced.push_back(grown_.priced[i]);
            next_.state.push_back(grown_.state[i]);
            next_.used.insert(next_.used.end(), grown_.used.begin() + std::ptrdiff_t(i) * K_,
                              grown_.used.begin() + (std::ptrdiff_t(i) + 1) * K_);
            past_.back().parent.push_back(grown_.parent[i]);
            past_.back().slot.push_back(grown_.slot[i]);
        }
        return true;
    }

    void note(int step, std::int32_t i, SweepResult &result) const {
        const Path before{grown_.score[i], way(step, grown_.parent[i], grown_.slot[i])};
        Promise label{{grown_.state[i], network_.budgets, before}, grown_.bound[i]};
        for (int k = 0; k < K_; ++k) label.from.slack[k] -= grown_.used[std::size_t(i) * K_ + k];
        result.promising.push_back(std::move(label));
    }

    const Knowledge &known_;
    const Network &network_;
    const Expanded &graph_;
    Incumbents &incumbents_;
    Clock &clock_;
    bool beyond_;
    int K_;
    double held_;  // bytes of all that is known
    Dominance dominance_;
    Amounts ahead_;  // [states x resources]
    Labels grown_, next_;
    std::vector<Past> past_;
    std::vector<std::uint8_t> keep_;
    std::vector<std::int32_t> begin_, fill_;
    Indices order_, best_;
};

}  // namespace tape
