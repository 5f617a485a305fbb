// Other work on the machine while a kernel runs: threads that stream through memory until this object ends.
// Races that a quiet machine hides show when threads are held up at odd moments.
#pragma once

#include <algorithm>
#include <stop_token>
#include <thread>
#include <vector>

namespace assay {

class Load {
 public:
  // At most one thread a core: more would hold up themselves.
  explicit Load(int threads) {
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    for (int i = 0; i < std::min(threads, cores); ++i) {
      threads_.emplace_back([](const std::stop_token& stop) {
        std::vector<unsigned> memory(size_t{1} << 20, 1);
        for (size_t at = 0; !stop.stop_requested(); at = (at + 4099) % memory.size()) memory[at] = memory[at] * 3 + 1;
      });
    }
  }

 private:
  std::vector<std::jthread> threads_;  // stopped and joined on destruction
};

}  // namespace assay
