// What is asked of a search, and how it may end.
#pragma once

#include "graph.hpp"

namespace tape {

// TooLarge: for the memory; TooWide: numbers, for their integers.
enum class Ending { Proved, OutOfTime, Unreachable, Infeasible, Unbounded, TooLarge, TooWide };

// A chance constraint on two resources, a mean and a variance: mean + factor * sqrt(variance) <= budget, in integers
// square * variance <= 2^20 * (budget - mean)^2.
struct Chance {
    int mean, variance;
    Amount budget, square;
};

struct Path {
    Cost cost = 0;
    Indices edges;   // in order
    int claim = -1;  // where it is still to be written out: for `Labels`
};

struct Problem {
    Graph graph;
    Moves moves;
    Amounts lower, upper;  // of each resource, at the end; NO_LIMIT
    std::vector<Chance> chances;
    std::size_t wanted = 1;
    bool simple = false;   // no node twice, though circles may pay
    bool ties = false;     // of equal costs the smallest edges are wanted; they have equally many moves
    bool finest = false;   // costs are large enough for prices to be whole numbers beside them
    int threads = 1;
    Cost enough = -FAR;    // a path of at most this cost ends the search
    Cost ceiling = FAR;    // paths of this cost or more are of no interest

    bool limits(int k) const { return upper[k] < NO_LIMIT; }
    bool any_lower() const {
        return std::any_of(lower.begin(), lower.end(), [](Amount amount) { return amount > 0; });
    }

    // Whether `used`, plus what must at least still be used, can keep every chance constraint. Variances are below 2^62,
    // the rest is at most `LARGEST_AT_RISK`: both sides are exact in 128 bits.
    template <class Number> bool keeps_chances(const Number *used, const Amount *ahead) const {
        for (const Chance &chance : chances) {
            const Amount mean = Amount(used[chance.mean]) + (ahead ? ahead[chance.mean] : 0);
            const Amount variance = Amount(used[chance.variance]) + (ahead ? ahead[chance.variance] : 0);
            if (mean > chance.budget) return false;
            const __int128 room = chance.budget - mean;
            if (__int128(chance.square) * variance > room * room * (__int128(1) << 20)) return false;
        }
        return true;
    }

    // Whether a whole path that uses so much is allowed.
    bool keeps(const Amount *used) const {
        for (int k = 0; k < moves.resources; ++k)
            if ((limits(k) && used[k] > upper[k]) || used[k] < lower[k]) return false;
        return keeps_chances(used, nullptr);
    }
};

// The best paths found so far.
class Found {
  public:
    explicit Found(const Problem &problem) : problem_(problem) {}

    const std::vector<Path> &paths() const { return paths_; }
    std::vector<Path> &paths() { return paths_; }
    bool full() const { return paths_.size() >= problem_.wanted; }

    // A path of this cost or more is of no interest; FAR where any is. With `ties` one of just this cost may be.
    Cost ceiling() const { return full() ? paths_.back().cost : problem_.ceiling; }

    // The greatest cost of interest to those who look for the best, or for all that may be as good.
    Cost interest(bool ties) const { return ceiling() - !(ties && full()); }

    // Takes a path in where it is among the best.
    void offer(Path path, bool ties = false) {
        if (path.cost > interest(ties)) return;
        const auto place = std::find_if(paths_.begin(), paths_.end(), [&](const Path &other) {
            return path.cost < other.cost || (ties && path.cost == other.cost && path.edges <= other.edges);
        });
        if (ties && place != paths_.end() && place->edges == path.edges) return;
        paths_.insert(place, std::move(path));
        if (paths_.size() > problem_.wanted) paths_.pop_back();
    }

  private:
    const Problem &problem_;
    std::vector<Path> paths_;
};

}  // namespace tape
