// When to stop: the time limit, or the caller's wish (Ctrl-C).
#pragma once

#include <chrono>
#include <functional>

namespace tape {

// Thrown when `interrupted` says so; the caller has set the Python error.
struct Interrupted {};

class Clock {
  public:
    // seconds < 0: no limit. `interrupted` is asked at most every 20 ms.
    Clock(double seconds, std::function<bool()> interrupted)
        : limited_(seconds >= 0), interrupted_(std::move(interrupted)), began_(now()), asked_(began_),
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

    double seconds() const { return std::chrono::duration<double>(now() - began_).count(); }

  private:
    using Time = std::chrono::steady_clock::time_point;
    static Time now() { return std::chrono::steady_clock::now(); }

    bool limited_;
    std::function<bool()> interrupted_;
    Time began_, asked_, end_;
};

}  // namespace tape
