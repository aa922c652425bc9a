// The Lagrangian dual: the prices at which the bound is tightest, by Kelley's cutting planes with an in-out step.
#pragma once

#include "bound.hpp"
#include "master.hpp"

namespace tape {

constexpr std::size_t POOL = 6, VIEWS = 40;

// The most that a whole budget may be priced at, in best paths: enough to show that budgets cannot be kept together.
constexpr double CAP = 1e5;

// Good bounds, the tightest at the start first, then those that are tight at some other viewpoint. Labels are held
// against all of them: each is the best one somewhere.
class Pool {
  public:
    const std::vector<Bound> &bounds() const { return bounds_; }
    const Bound &best() const { return bounds_.front(); }
    bool empty() const { return bounds_.empty(); }

    void add(Bound bound) {
        const Score limit = bound.limit();
        const auto end = bounds_.begin() + std::ptrdiff_t(at_start_);
        const auto place = std::find_if(bounds_.begin(), end, [&](const Bound &other) { return limit < other.limit(); });
        bounds_.insert(place, std::move(bound));
        if (++at_start_ > POOL) bounds_.erase(bounds_.begin() + std::ptrdiff_t(--at_start_));
    }

    // A bound for another viewpoint; the oldest of that kind makes room.
    void add_view(Bound bound, std::size_t most) {
        if (most == 0) return;
        if (bounds_.size() >= at_start_ + std::min(most, VIEWS)) bounds_.erase(bounds_.begin() + std::ptrdiff_t(at_start_));
        bounds_.push_back(std::move(bound));
    }

    double bytes() const {
        double sum = 0;
        for (const Bound &bound : bounds_) sum += bytes_of(bound.value) + bytes_of(bound.paid);
        return sum;
    }

    std::vector<Scores *> values() {
        std::vector<Scores *> all;
        for (Bound &bound : bounds_) all.push_back(&bound.value);
        return all;
    }

  private:
    std::vector<Bound> bounds_;
    std::size_t at_start_ = 0;
};

// Where passes and dives are made: here the expanded graph, the network itself in `Steps`.
struct Ground {
    const Network &network;
    const Expanded &graph;
    const Windows &windows;

    Bound bound(Scores prices, Clock &clock) const { return make_bound(network, graph, std::move(prices), clock); }
    Dive dive(const Bound &bound, const Viewpoint &from, bool careful, Clock &clock) const {
        return tape::dive(network, graph, bound, from, careful ? &windows : nullptr, clock);
    }
    Score gain(int state) const { return graph.gain[state]; }
};

// Kelley's cutting planes for one viewpoint: paths seen become columns of the master, whose prices are tried next.
template <class Where> class Dual {
  public:
    Dual(const Where &ground, Viewpoint from)
        : ground_(ground), network_(ground.network), from_(std::move(from)), K_(network_.resources), unit_(K_), most_(K_),
          slack_(K_), master_(K_, std::vector<double>(K_)) {
        const Network &network = network_;
        for (int k = 0; k < K_; ++k) most_[k] = LARGEST_PAYMENT / K_ / (network.budgets[k] + 1);
    }

    // Takes in a bound; false if it suggests no path (it never looks better than not to end). Paths that keep the budgets
    // go to `incumbents`.
    bool take(const Bound &bound, Incumbents &incumbents, Clock &clock) {
        const Score limit = bound.ahead(from_.state, from_.slack.data());
        const Dive seen = ground_.dive(bound, from_, false, clock);
        if (seen.keeps) incumbents.offer(seen.path);
        else if (Dive other = ground_.dive(bound, from_, true, clock); other.keeps) incumbents.offer(other.path);
        if (scale_ == 0) {
            scale_ = std::max(1.0, std::abs(double(limit)));
            std::vector<double> caps(K_);
            for (int k = 0; k < K_; ++k) {
                unit_[k] = scale_ / double(std::max<Amount>(1, from_.slack[k]));  // score per unit, at price 1
                caps[k] = std::min(CAP, double(most_[k]) / unit_[k]);
            }
            master_ = Master(K_, caps);
        }
        if (!seen.ended) return false;
        for (int k = 0; k < K_; ++k)
            slack_[k] = double(network_.budgets[k] - seen.used[k]) / double(std::max<Amount>(1, from_.slack[k]));
        const Score ahead = seen.path.score - from_.before.score + ground_.gain(from_.state);
        master_.add(double(ahead) / scale_, slack_);
        improved_ = limit < limit_;
        if (improved_) {
            limit_ = limit;
            best_ = bound.prices;
        }
        return true;
    }

    Score limit() const { return limit_; }
    double scale() const { return scale_; }

    // The prices to try next; nothing if the rest of the way down is less than `enough`.
    bool next(double enough, Scores &prices) {
        if (best_.empty()) return false;
        const double low = master_.solve(wish_) * scale_;
        if (double(limit_) - low <= std::max(enough, 1e-12 * scale_)) return false;
        // In-out: part of the way from the best prices to the master's, all of it if that did not help before.
        const double part = K_ == 1 || !improved_ ? 1.0 : 0.6;
        prices.assign(K_, 0);
        for (int k = 0; k < K_; ++k) {
            const double here = double(best_[k]), there = wish_[k] * unit_[k];
            prices[k] = std::clamp<Amount>(Amount(std::llround(here + part * (there - here))), 0, most_[k]);
        }
        return true;
    }

  private:
    const Where &ground_;
    const Network &network_;
    Viewpoint from_;
    int K_;
    double scale_ = 0;
    std::vector<double> unit_;
    Amounts most_;
    std::vector<double> slack_, wish_;
    Master master_;
    Score limit_ = Score{1} << 62;
    Scores best_;
    bool improved_ = false;
};

// Lowers the dual value at the start, from the prices in the pool or from zero. Stops where the rest of the way is a
// small part of the gap to the incumbent.
template <class Where>
void lower_dual(const Where &ground, Pool &pool, Incumbents &incumbents, int passes, Clock &clock) {
    Dual<Where> dual(ground, {0, ground.network.budgets, {0, {}}});
    for (const Bound &bound : pool.bounds()) dual.take(bound, incumbents, clock);
    Scores prices;
    for (int pass = 0; pass < passes && !clock.passed(); ++pass) {
        const Score limit = pool.best().limit();
        if (limit < incumbents.floor(true)) return;
        const double gap = incumbents.full() ? double(limit - incumbents.floor()) : 0.02 * dual.scale();
        if (!dual.next(0.01 * gap, prices)) return;
        Bound bound = ground.bound(prices, clock);
        const bool goes_on = dual.take(bound, incumbents, clock);
        pool.add(std::move(bound));
        if (!goes_on) return;
    }
}

// Adds to the pool the bound that is tightest at another viewpoint, if it is much tighter there than those in the pool.
// The paths that are seen on the way go to `incumbents`.
inline void look_from(const Network &network, const Expanded &graph, const Windows &windows, Pool &pool,
                      const Viewpoint &from, Incumbents &incumbents, double gap, int passes, Clock &clock) {
    const Ground ground{network, graph, windows};
    Dual<Ground> dual(ground, from);
    for (const Bound &bound : pool.bounds()) dual.take(bound, incumbents, clock);
    const Score before = dual.limit();
    Score least = before;
    Bound best;
    Scores prices;
    for (int pass = 0; pass < passes && !clock.passed(); ++pass) {
        if (!dual.next(0.02 * gap, prices)) break;
        Bound bound = ground.bound(prices, clock);
        const bool goes_on = dual.take(bound, incumbents, clock);
        if (dual.limit() < least) {
            least = dual.limit();
            best = std::move(bound);
        }
        if (!goes_on) break;
    }
    if (double(before - least) > 0.02 * gap) {
        const double each = 8.0 * double(graph.states());
        pool.add_view(std::move(best), std::size_t(clock.cap() / 4 / each));
    }
}

}  // namespace tape
