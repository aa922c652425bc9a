// Numbers that every part of the compiled search shares.
#pragma once

#include <cstdint>
#include <vector>

#if defined(__GNUC__) && defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
#define TAPE_VECTORISED __attribute__((target_clones("avx2", "default")))
#else
#define TAPE_VECTORISED
#endif

namespace tape {

// An exact integer: factor * objective in units - moves, where the factor is more than any number of moves. Equal scores
// mean equal objectives and equally many moves, so one number carries the first two rules of the order; only the lexicographic one is left.
using Score = std::int64_t;

// No score is further from 0 than this.
constexpr Score LARGEST_SCORE = Score{1} << 58;

// An integer count of a resource.
using Amount = std::int64_t;

// More than any budget; sums of three stay within an int64.
constexpr Amount BEYOND = Amount{1} << 60;

// No price may ask more than this for a whole budget, all resources together.
constexpr Score LARGEST_PAYMENT = Score{1} << 57;

constexpr int MOST_RESOURCES = 16;
constexpr Amount LARGEST_BUDGET = Amount{1} << 58;

// No budget and no `square` of a chance constraint is more than this.
constexpr Amount LARGEST_AT_RISK = Amount{1} << 50;

using Scores = std::vector<Score>;
using Amounts = std::vector<Amount>;
using Indices = std::vector<std::int32_t>;

}  // namespace tape
