// What is asked of a search for resource-constrained paths, and how it may end.
#pragma once

#include "rcsp_graph.hpp"

namespace tape::rcsp {

// TooLarge: for the memory; TooWide: numbers, for their integers.
enum class Ending { Proved, OutOfTime, Unreachable, Infeasible, Unbounded, TooLarge, TooWide };

struct Path {
    Score cost = 0;
    Indices ids;     // of the arcs, in order
    int claim = -1;  // where it is still to be written out: for `Labels`
};

struct Problem {
    Graph graph;
    Amounts lower, upper;  // of each resource, at the target; NO_LIMIT
    std::size_t wanted = 1;
    bool simple = false;  // no node twice, though circles may pay
    int threads = 1;
    Score enough = -FAR;   // a path of at most this cost ends the search
    Score ceiling = FAR;   // paths of this cost or more are of no interest
    std::size_t most_labels = std::size_t(-1);

    bool limits(int k) const { return upper[k] < NO_LIMIT; }
    bool any_lower() const {
        return std::any_of(lower.begin(), lower.end(), [](Amount amount) { return amount > 0; });
    }
};

}  // namespace tape::rcsp
