#include "worker/callers.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/clock.h"
#include "worker/wire.h"

namespace assay {
namespace {

constexpr size_t kPage = 4096;
constexpr std::chrono::seconds kLongest{1};

// A buffer of one caller's own: a page of room before and after it, and the same place within its page.
class Own {
 public:
  Own(const std::byte* like, size_t bytes) : memory_(new std::byte[bytes + 3 * kPage]), bytes_(bytes) {
    const auto place = [](const std::byte* p) { return reinterpret_cast<uintptr_t>(p) % kPage; };
    begin_ = memory_.get() + kPage;
    begin_ += (place(like) + kPage - place(begin_)) % kPage;
  }
  std::byte* begin() const { return begin_; }
  size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::byte* begin_;
  size_t bytes_;
};

std::vector<std::byte> reversed(const std::byte* from, size_t bytes, size_t element) {
  std::vector<std::byte> to(bytes);
  const size_t whole = bytes / element * element;
  for (size_t at = 0; at < whole; at += element) std::memcpy(&to[whole - element - at], from + at, element);
  std::copy(from + whole, from + bytes, to.begin() + static_cast<ptrdiff_t>(whole));
  return to;
}

}  // namespace

Callers::Callers(const assay_kernel& kernel, assay_device device, const nlohmann::json& call,
                 const std::vector<Region>& regions, const std::vector<void*>& pointers, int count)
    : count_(count) {
  const WireCall wire(call, device);
  std::vector<Buffer> buffers;
  for (size_t i = 0; i < regions.size(); ++i) {
    const bool is_tensor = i < wire.get().tensor_count;
    const auto base = static_cast<ptrdiff_t>(regions[i].first - regions[i].base);
    const size_t bits =
        is_tensor ? size_t{wire.get().tensors[i].dl.dtype.bits} * wire.get().tensors[i].dl.dtype.lanes : 8;
    buffers.push_back({pointers[i] == nullptr ? nullptr : static_cast<const std::byte*>(pointers[i]) + base,
                       regions[i].bytes, std::max<size_t>(bits / 8, 1), -base, is_tensor});
  }
  const auto run = [this, &kernel, device, call, buffers] {
    try {
      call_again_and_again(kernel, device, call, buffers);
    } catch (const std::exception& e) {
      fail("an exception", e.what());
    }
    ++begun_;
    begun_.notify_all();
  };
  try {
    for (int i = 0; i < count; ++i) threads_.emplace_back(run);
  } catch (...) {  // no more threads to be had: nobody else joins those that there are
    end();
    throw;
  }
  wait_for_all();
}

// Each counts once when it has launched, and once more when it ends.
void Callers::wait_for_all() {
  for (int begun = begun_; begun < count_ && !ends_; begun = begun_) begun_.wait(begun);
}

void Callers::end() {
  ends_ = true;
  ++begun_;
  begun_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Callers::fail(const char* where, const char* error) {
  const std::lock_guard lock(mutex_);
  if (error_.empty())
    error_ = std::string(where) + ": " + (error == nullptr || *error == '\0' ? "no reason given" : error);
}

void Callers::call_again_and_again(const assay_kernel& kernel, assay_device device, const nlohmann::json& call,
                                   const std::vector<Buffer>& buffers) {
  std::vector<Own> memory;
  std::vector<std::vector<std::byte>> before, after(buffers.size());
  std::vector<void*> pointers;
  for (const Buffer& buffer : buffers) {
    memory.emplace_back(buffer.begin, buffer.bytes);
    before.push_back(buffer.begin == nullptr ? std::vector<std::byte>()
                                             : reversed(buffer.begin, buffer.bytes, buffer.element));
    pointers.push_back(buffer.begin == nullptr ? nullptr : memory.back().begin() + buffer.base);
  }
  const char* why = nullptr;
  const std::unique_ptr<void, void (*)(void*)> state(kernel.create(device, &why), kernel.destroy);
  if (!state) return fail("its state", why);
  const WireCall own(call, device);
  void* made = nullptr;
  if (const char* refusal = kernel.prepare(state.get(), &own.get(), &made)) return fail("its plan", refusal);
  const auto release = [&](void* plan) { kernel.release(state.get(), plan); };
  const std::unique_ptr<void, decltype(release)> plan(made, release);
  Clock::time_point last_begin;
  for (bool is_first = true; is_first || (!ends_ && Clock::now() < last_begin); is_first = false) {
    for (size_t i = 0; i < memory.size(); ++i) std::copy(before[i].begin(), before[i].end(), memory[i].begin());
    if (const char* error = kernel.launch(plan.get(), nullptr, pointers.data())) return fail("its launch", error);
    for (size_t i = 0; i < memory.size(); ++i) {
      if (!buffers[i].is_tensor || buffers[i].begin == nullptr) continue;
      const std::byte* got = memory[i].begin();
      if (is_first) {
        after[i].assign(got, got + memory[i].bytes());
      } else if (!std::equal(after[i].begin(), after[i].end(), got)) {
        differ_ = true;
      }
    }
    if (!is_first) continue;
    ++begun_;
    begun_.notify_all();
    wait_for_all();  // who has not launched yet wants its turn too
    last_begin = Clock::now() + kLongest;
  }
}

}  // namespace assay
