// worker/callers.h over kernels that are made up here: y[i] = x[i] + 1, and what each has to say of its callers.
#include "worker/callers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kElements = 5;
constexpr uint64_t kOffset = 64;  // bytes, of the first element from the base pointer

// What a kernel here keeps for all its callers, as a real one must not.
struct Seen {
  std::atomic<int> states = 0, plans = 0, launches = 0, threads = 0;
  std::mutex mutex;
  std::vector<std::vector<float>> inputs;  // of the first launches
  std::vector<uintptr_t> places;           // of y's first element
  std::vector<std::vector<float>> before;  // y as it was found
};
Seen* seen = nullptr;

struct Plan {
  int launches = 0;
};

void* create(assay_device, const char**) {
  ++seen->states;
  return new char;
}
void destroy(void* state) {
  --seen->states;
  delete static_cast<char*>(state);
}
const char* prepare(void*, const assay_call* call, void** plan) {
  if (call->tensor_count != 2 || std::strcmp(call->tensors[1].name, "y") != 0) return "another call than the worker's";
  ++seen->plans;
  *plan = new Plan;
  return nullptr;
}
void release(void*, void* plan) {
  --seen->plans;
  delete static_cast<Plan*>(plan);
}

const float* in(void* const* pointers) {
  return reinterpret_cast<float*>(static_cast<std::byte*>(pointers[0]) + kOffset);
}
float* out(void* const* pointers) { return reinterpret_cast<float*>(static_cast<std::byte*>(pointers[1]) + kOffset); }

const char* launch(const void*, void*, void* const* pointers) {
  const float* x = in(pointers);
  float* y = out(pointers);
  const std::lock_guard lock(seen->mutex);
  seen->inputs.emplace_back(x, x + kElements);
  seen->before.emplace_back(y, y + kElements);
  seen->places.push_back(reinterpret_cast<uintptr_t>(y));
  for (int64_t i = 0; i < kElements; ++i) y[i] = x[i] + 1;
  ++seen->launches;
  return nullptr;
}

// Bytes that change from the second launch of a plan on.
const char* fickle(const void* plan, void* stream, void* const* pointers) {
  launch(plan, stream, pointers);
  Plan& own = *static_cast<Plan*>(const_cast<void*>(plan));
  if (++own.launches > 1) out(pointers)[kElements - 1] = -1;
  return nullptr;
}

class CallersTest : public ::testing::Test {
 protected:
  CallersTest() {
    seen = &seen_;
    for (size_t i = 0; i < kElements; ++i) x_[kOffset / sizeof(float) + i] = static_cast<float>(i);
    y_.fill(7);
    kernel_.create = create;
    kernel_.destroy = destroy;
    kernel_.prepare = prepare;
    kernel_.release = release;
    kernel_.launch = launch;
  }

  // Until each has launched and there is enough; what they said of it.
  std::string call(
      int count, bool* differ = nullptr, const std::function<bool()>& is_enough = [] { return true; }) {
    const auto tensor = [](const char* name, int role) {
      return nlohmann::json{
          {"name", name},           {"dtype", "f32"},         {"shape", {kElements}}, {"strides", {1}},
          {"bytes", 4 * kElements}, {"byte_offset", kOffset}, {"alignment", 4},       {"role", role}};
    };
    const nlohmann::json message{{"op", "made_up"},
                                 {"fields", nlohmann::json::array()},
                                 {"tensors", {tensor("x", 0), tensor("y", 1)}},
                                 {"threads", 1}};
    const Region region{.length = 4096, .base = 0, .first = kOffset, .bytes = 4 * kElements};
    Callers callers(kernel_, {1, 0}, message, {region, region, {}}, {has_x_ ? x_.data() : nullptr, y_.data(), nullptr},
                    count);
    const Clock::time_point begin = Clock::now();
    while (!is_enough() && seconds_since(begin) < 60) std::this_thread::yield();
    callers.end();
    if (differ != nullptr) *differ = callers.differ();
    return callers.error();
  }

  std::function<bool()> after(int launches) {
    return [this, launches] { return seen_.launches >= launches; };
  }

  bool has_x_ = true;
  Seen seen_;
  alignas(64) std::array<float, 32> x_{}, y_{};
  assay_kernel kernel_{};
};

TEST_F(CallersTest, EachHasAStateAPlanAndMemoryOfItsOwnWithTheElementsReversed) {
  bool differ = true;
  EXPECT_EQ(call(3, &differ, after(30)), "");
  EXPECT_FALSE(differ);
  EXPECT_EQ(seen_.states, 0) << "all are given back";
  EXPECT_EQ(seen_.plans, 0);
  for (const auto& x : seen_.inputs) EXPECT_THAT(x, ElementsAre(4, 3, 2, 1, 0));
  for (const auto& y : seen_.before) EXPECT_THAT(y, ElementsAre(7, 7, 7, 7, 7)) << "as it was before each launch";
  std::sort(seen_.places.begin(), seen_.places.end());
  seen_.places.erase(std::unique(seen_.places.begin(), seen_.places.end()), seen_.places.end());
  EXPECT_EQ(seen_.places.size(), 3u);
  for (const uintptr_t place : seen_.places) {
    EXPECT_EQ(place % 4096, (reinterpret_cast<uintptr_t>(y_.data()) + kOffset) % 4096);
  }
  EXPECT_THAT(std::vector<float>(y_.begin(), y_.end()), ::testing::Each(7)) << "the judged launch's is left alone";
}

// A launch that gets its turn only when nobody else wants it.
TEST_F(CallersTest, TheyLeaveOffForWhoWaitsForThem) {
  kernel_.launch = [](const void*, void*, void* const*) -> const char* {
    ++seen->launches;
    return nullptr;
  };
  Clock::time_point last = Clock::now();
  int launches = 0;
  bool is_quiet = false;
  const auto wait = [&] {
    if (std::exchange(launches, seen_.launches) != seen_.launches) last = Clock::now();
    return is_quiet = seconds_since(last) > 0.5;
  };
  EXPECT_EQ(call(2, nullptr, wait), "");
  EXPECT_TRUE(is_quiet);
  EXPECT_GT(launches, 2) << "and again, until then";
}

// Of whom one never gets its turn while another goes on.
TEST_F(CallersTest, EachWaitsForTheOthersFirstLaunch) {
  kernel_.launch = [](const void*, void*, void* const*) -> const char* {
    thread_local const bool is_last = seen->threads++ == 1;
    if (!is_last) return ++seen->launches > 1000 ? "again, and another has not begun" : nullptr;
    for (int quiet = 0, before = seen->launches; quiet < 100; before = seen->launches) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      quiet = seen->launches == before ? quiet + 1 : 0;
    }
    seen->launches = -1'000'000'000;
    return nullptr;
  };
  EXPECT_EQ(call(2), "");
}

TEST_F(CallersTest, WhoseBytesChangeIsSeen) {
  kernel_.launch = fickle;
  bool differ = false;
  EXPECT_EQ(call(2, &differ, after(10)), "");
  EXPECT_TRUE(differ);
}

// A tensor without memory comes before one that has some.
TEST_F(CallersTest, WhatHasNoMemoryIsPassedOver) {
  has_x_ = false;
  kernel_.launch = [](const void*, void*, void* const* pointers) -> const char* {
    if (pointers[0] != nullptr) return "x is somewhere";
    std::fill_n(out(pointers), kElements, 3.0f);
    ++seen->launches;
    return nullptr;
  };
  bool differ = true;
  EXPECT_EQ(call(2, &differ, after(10)), "");
  EXPECT_FALSE(differ);
}

TEST_F(CallersTest, AStateAPlanOrALaunchThatFailsIsTold) {
  kernel_.launch = [](const void*, void*, void* const*) { return "in use"; };
  EXPECT_EQ(call(2), "its launch: in use");
  kernel_.prepare = [](void*, const assay_call*, void**) { return ""; };
  EXPECT_EQ(call(2), "its plan: no reason given");
  kernel_.create = [](assay_device, const char** error) -> void* {
    *error = "one a process";
    return nullptr;
  };
  EXPECT_EQ(call(2), "its state: one a process");
  EXPECT_EQ(seen_.plans, 0);
}

TEST_F(CallersTest, AnExceptionEndsNobodyElse) {
  kernel_.launch = [](const void*, void*, void* const*) -> const char* { throw std::runtime_error("as planted"); };
  EXPECT_THAT(call(2), HasSubstr("as planted"));
}

}  // namespace
}  // namespace assay
