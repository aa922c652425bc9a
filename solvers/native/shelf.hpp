// Where labels lie at their node, so that a processor compares many of them at once.
#pragma once

#include "graph.hpp"

namespace tape {

// Labels lie side by side in blocks of so many, resource by resource, for the processor to compare many at once.
constexpr int LANES = 16;

// What the labels at a node have used and cost.
template <class Use> struct Shelf {
    std::vector<Use> used;    // block by block: K x LANES; lanes without a label hold more than anything
    Costs cost;  // of each label
    Indices label;
    int count = 0;
    int lucky = 0;            // the block in which a better label was found last
};

// The first block from `block` on, before `end`, in which some lane is nowhere above the bars, and in `fine` which lanes;
// `end` if there is none. `rows` of a block count.
#define TAPE_SCAN(Use)                                                                                               \
    TAPE_VECTORISED inline int scan(const Use *blocks, int block, int end, int K, const int *rows, int count,              \
                              const Use *bars, Use *fine) {                                                          \
        for (; block < end; ++block) {                                                                               \
            const Use *const here = blocks + std::size_t(block) * K * LANES;                                         \
            Use worse[LANES] = {};                                                                                   \
            for (int i = 0; i < count; ++i) {                                                                        \
                const Use *const lanes = here + std::size_t(rows[i]) * LANES, bar = bars[rows[i]];                   \
                for (int l = 0; l < LANES; ++l) worse[l] |= Use(-(lanes[l] > bar));                                  \
            }                                                                                                        \
            Use all = -1;                                                                                            \
            for (int l = 0; l < LANES; ++l) all &= worse[l];                                                         \
            if (all) continue;                                                                                       \
            for (int l = 0; l < LANES; ++l) fine[l] = !worse[l];                                                     \
            return block;                                                                                            \
        }                                                                                                            \
        return end;                                                                                                  \
    }
TAPE_SCAN(std::int32_t)
TAPE_SCAN(std::int64_t)
#undef TAPE_SCAN

}  // namespace tape
