// Chance constraints: exact tests on (mean, variance), on top of linear resources that relax them.
#pragma once

#include "network.hpp"

namespace tape {

// Whether `used` (means and variances among it), plus what must at least still be used, can keep every chance
// constraint. Variances are below 2^62, the rest is at most `LARGEST_AT_RISK`: both sides are exact in 128 bits.
inline bool keeps_chances(const Network &network, const Amount *used, const Amount *ahead) {
    for (const Chance &chance : network.chances) {
        const Amount mean = used[chance.mean] + (ahead ? ahead[chance.mean] : 0);
        const Amount variance = used[chance.variance] + (ahead ? ahead[chance.variance] : 0);
        if (mean > chance.budget) return false;
        const __int128 room = chance.budget - mean;
        if (__int128(chance.square) * variance > room * room * (__int128(1) << 20)) return false;
    }
    return true;
}

}  // namespace tape
