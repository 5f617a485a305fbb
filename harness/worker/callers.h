// Others who call a kernel while a launch of it is judged, as a server's threads do: each with a state, a plan and
// memory of its own, which is all that the interface asks of them (assay/abi.h). What a kernel keeps in one place for
// all of them then shows, in the launch under judgement or in theirs.
#pragma once

#include <assay/abi.h>

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "device/layout.h"

namespace assay {

class Callers {
 public:
  // `call` as the worker was given it; `pointers` and `regions` are those of the launch under judgement, one a tensor
  // and last the workspace. The others' tensors have the same bytes in the reverse order of elements, at addresses that
  // are aligned alike. Returns when each of the `count` has launched, or failed.
  Callers(const assay_kernel& kernel, assay_device device, const nlohmann::json& call,
          const std::vector<Region>& regions, const std::vector<void*>& pointers, int count);
  ~Callers() { end(); }
  Callers(const Callers&) = delete;
  Callers& operator=(const Callers&) = delete;

  // Until end() they launch again and again, for a second at most: whoever shares a lock that is not fair with them, as
  // OpenBLAS's callers do, may wait for as long as they go on.
  void end();
  // After it:
  const std::string& error() const { return error_; }  // the first of a state, a plan or a launch; empty: none
  bool differ() const { return differ_; }              // one had other bytes than its own first launch

 private:
  struct Buffer {
    const std::byte* begin;  // of the launch under judgement
    size_t bytes, element;
    ptrdiff_t base;  // of the pointer that the kernel is given, from `begin`
    bool is_tensor;
  };
  void wait_for_all();  // to have begun, or for end()
  void call_again_and_again(const assay_kernel& kernel, assay_device device, const nlohmann::json& call,
                            const std::vector<Buffer>& buffers);
  void fail(const char* where, const char* error);

  std::vector<std::thread> threads_;
  std::atomic<bool> ends_ = false, differ_ = false;
  const int count_;
  std::atomic<int> begun_ = 0;  // how many have launched, or never will
  std::mutex mutex_;
  std::string error_;
};

}  // namespace assay
