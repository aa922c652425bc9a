// Parts of one piece of work on several threads; what they make does not depend on how many.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "clock.hpp"

namespace tape {

// From this many arcs on, what can be done side by side is.
constexpr int MANY_ARCS = 20'000;

// Thrown in a thread where another one stopped.
struct Halted {};

// What long work asks now and then whether to go on: the thread that was called asks the clock, the others that one.
class Pulse {
  public:
    explicit Pulse(Clock &clock) : clock_(&clock) {}
    explicit Pulse(const std::atomic<bool> &halted) : halted_(&halted) {}

    void tick(std::size_t steps) {
        if (clock_) clock_->tick(steps);
        else if (halted_->load(std::memory_order_relaxed)) throw Halted{};
    }

  private:
    Clock *clock_ = nullptr;
    const std::atomic<bool> *halted_ = nullptr;
};

// Does `part(0)`..`part(count - 1)` on as many threads as are given.
template <class Part> void side_by_side(int count, int threads, Clock &clock, Part &&part) {
    threads = std::max(1, std::min(threads, count));
    if (threads == 1) {
        for (int i = 0; i < count; ++i) part(i, Pulse(clock));
        return;
    }
    std::atomic<bool> halted{false};
    std::exception_ptr failure;  // the last one of a thread that is not the caller's
    std::mutex failing;
    const auto share = [&](int first, Pulse pulse) {
        for (int i = first; i < count; i += threads) part(i, pulse);
    };
    std::vector<std::thread> others;
    const auto end = [&] {
        for (std::thread &other : others) other.join();
    };
    int begun = 1;
    try {
        for (; begun < threads; ++begun)
            others.emplace_back([&, begun] {
                try {
                    share(begun, Pulse(halted));
                } catch (const Halted &) {
                } catch (...) {
                    const std::lock_guard<std::mutex> lock(failing);
                    failure = std::current_exception();
                }
            });
    } catch (const std::exception &) {  // no more threads to be had
    }
    try {
        share(0, Pulse(clock));
        for (; begun < threads; ++begun) share(begun, Pulse(clock));
    } catch (...) {
        halted = true;
        end();
        throw;
    }
    end();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace tape
