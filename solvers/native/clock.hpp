// When to stop: the time limit, the caller's wish (Ctrl-C), the memory cap.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace tape {

// Thrown when `interrupted` says so; the caller has set the Python error.
struct Interrupted {};

// Thrown in the middle of a pass when the time is up: what the pass was making is not to be used.
struct Late {};

// Thrown before more memory is taken than the cap allows.
struct TooLarge {
    double bytes;  // what would have been needed, at least
};

class Clock {
  public:
    // seconds < 0: no limit. `interrupted` is asked at most every 20 ms. `cap`: bytes that a solve may take.
    Clock(double seconds, std::function<bool()> interrupted, double cap)
        : limited_(seconds >= 0), interrupted_(std::move(interrupted)), cap_(cap), began_(now()), asked_(began_),
          end_(began_ + std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(
                   limited_ && seconds < 1e9 ? seconds : 1e9))) {}

    // Whether the time is up. Cheap enough for every few thousand basic steps.
    bool passed() {
        const Time time = now();
        if (time - asked_ > std::chrono::milliseconds(20)) {
            asked_ = time;
            if (interrupted_()) throw Interrupted{};
        }
        return limited_ && time >= end_;
    }

    // As `passed`, for long passes: asked for every few basic steps, it looks at the time now and then.
    void tick(std::size_t steps = 1) {
        if (steps < ticks_) {
            ticks_ -= steps;
            return;
        }
        ticks_ = EVERY;
        if (passed()) throw Late{};
    }

    // To be asked before so many bytes are taken, those already held included.
    void require(double bytes) const {
        if (bytes > cap_) throw TooLarge{bytes};
    }

    double cap() const { return cap_; }
    double seconds() const { return std::chrono::duration<double>(now() - began_).count(); }

  private:
    using Time = std::chrono::steady_clock::time_point;
    static Time now() { return std::chrono::steady_clock::now(); }
    static constexpr std::size_t EVERY = 1 << 14;

    bool limited_;
    std::function<bool()> interrupted_;
    double cap_;
    Time began_, asked_, end_;
    std::size_t ticks_ = EVERY;
};

template <class T> double bytes_of(const std::vector<T> &values) { return double(values.capacity()) * sizeof(T); }

}  // namespace tape
