// Threads and what they wait for. A target without threads (WebAssembly in a tab) has the same
// names: its one thread never waits for another, and no thread can be started.
#pragma once

#include <mutex>

#ifdef __STDCPP_THREADS__
#include <condition_variable>
#include <thread>
#endif

namespace zf {

#ifdef __STDCPP_THREADS__

using Condition = std::condition_variable;
using Mutex = std::mutex;
using Thread = std::thread;

#else

class Mutex {
  public:
    void lock() {}
    void unlock() {}
};

class Condition {
  public:
    void notify_one() {}
    void notify_all() {}
    // Nobody else could make it ready.
    template <class Lock, class Duration, class Ready>
    bool wait_for(Lock&, const Duration&, Ready ready) {
        return ready();
    }
};

class Thread {
  public:
    bool joinable() const { return false; }
    void join() {}
};

#endif

}  // namespace zf
