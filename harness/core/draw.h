// Numbers drawn at random, the same on every machine for one seed (SplitMix64: Steele, Lea and Flood, Fast splittable
// pseudorandom number generators, 2014).
#pragma once

#include <cstdint>
#include <vector>

namespace assay {

class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}
  // 0 to end - 1.
  uint64_t below(uint64_t end) {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % end;
  }
  // True once in `n` times.
  bool one_in(uint64_t n) { return below(n) == 0; }
  // 1 to 2^bits - 1, each binade as likely as the others.
  int64_t log_uniform(int bits) {
    const uint64_t binade = uint64_t{1} << below(static_cast<uint64_t>(bits));
    return static_cast<int64_t>(binade + below(binade));
  }
  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }

 private:
  uint64_t state_;
};

}  // namespace assay
