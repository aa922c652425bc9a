// The best paths found so far, best first: greater score, then the smallest edges.
#pragma once

#include <algorithm>
#include <cstddef>

#include "types.hpp"

namespace tape {

struct Path {
    Score score = NEVER;
    Indices slots;  // slots of one node are in the order of their edges, so slots compare as edges do
    bool operator<(const Path &other) const {
        return score != other.score ? score > other.score : slots < other.slots;
    }
};

class Incumbents {
  public:
    explicit Incumbents(std::size_t wanted) : wanted_(wanted) {}

    // What a path must score, at least, to be of interest. With `beyond`, equal to the last is not enough.
    Score floor(bool beyond = false) const { return full() ? paths_.back().score + beyond : worst_; }

    // No path scores less. What cannot score even that is on no path that keeps the budgets.
    void set_worst(Score worst) { worst_ = worst; }

    bool full() const { return paths_.size() == wanted_; }
    std::size_t wanted() const { return wanted_; }
    const std::vector<Path> &paths() const { return paths_; }

    void offer(Path path) {
        const auto place = std::lower_bound(paths_.begin(), paths_.end(), path);
        if (place != paths_.end() && place->score == path.score && place->slots == path.slots) return;
        moves_ += double(path.slots.size());
        paths_.insert(place, std::move(path));
        if (paths_.size() <= wanted_) return;
        moves_ -= double(paths_.back().slots.size());
        paths_.pop_back();
    }

    double bytes() const { return 2.0 * sizeof(Path) * double(paths_.size()) + sizeof(std::int32_t) * moves_; }

  private:
    std::size_t wanted_;
    Score worst_ = NEVER;
    double moves_ = 0;  // of all paths
    std::vector<Path> paths_;
};

}  // namespace tape
