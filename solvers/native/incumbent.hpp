// The best walks found so far, best first: greater score, then the smallest edges.
#pragma once

#include <algorithm>
#include <cstddef>

#include "types.hpp"

namespace tape {

struct Walk {
    Score score = NEVER;
    Indices slots;  // slots of one node are in the order of their edges, so slots compare as edges do
    bool operator<(const Walk &other) const {
        return score != other.score ? score > other.score : slots < other.slots;
    }
};

class Incumbents {
  public:
    explicit Incumbents(std::size_t wanted) : wanted_(wanted) {}

    // What a walk must score, at least, to be of interest. With `beyond`, equal to the last is not enough.
    Score floor(bool beyond = false) const { return full() ? walks_.back().score + beyond : worst_; }

    // No walk scores less. What cannot score even that is on no walk that keeps the budgets.
    void set_worst(Score worst) { worst_ = worst; }

    bool full() const { return walks_.size() == wanted_; }
    std::size_t wanted() const { return wanted_; }
    const std::vector<Walk> &walks() const { return walks_; }

    void offer(Walk walk) {
        const auto place = std::lower_bound(walks_.begin(), walks_.end(), walk);
        if (place != walks_.end() && place->score == walk.score && place->slots == walk.slots) return;
        moves_ += double(walk.slots.size());
        walks_.insert(place, std::move(walk));
        if (walks_.size() <= wanted_) return;
        moves_ -= double(walks_.back().slots.size());
        walks_.pop_back();
    }

    double bytes() const { return 2.0 * sizeof(Walk) * double(walks_.size()) + sizeof(std::int32_t) * moves_; }

  private:
    std::size_t wanted_;
    Score worst_ = NEVER;
    double moves_ = 0;  // of all walks
    std::vector<Walk> walks_;
};

}  // namespace tape
