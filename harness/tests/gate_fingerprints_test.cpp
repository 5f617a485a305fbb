// Which fingerprints a run records: those of whole variants, and none that a stop or a refusal cut short.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gate/fingerprints.h"
#include "gate_fakes.h"

namespace assay {
namespace {

// Two variants of two probes each.
class ProbedOp : public FakeOp {
 public:
  ProbedOp() : FakeOp("gemm") {}
  std::vector<ProbeSet> probes() const override {
    std::vector<ProbeSet> sets;
    for (const char* dtype : {"f32", "bf16"}) {
      ProbeSet& set = sets.emplace_back(ProbeSet{std::string("dtype=") + dtype, {}});
      for (const char* m : {"1", "2"}) {
        set.probes.push_back(
            {.reveals = Reveals::values, .c = make({{"m", m}, {"n", "1"}, {"dtype", dtype}}), .output = "x"});
      }
    }
    return sets;
  }
};

using Answering = std::function<Probed(const Case&)>;

class ProbedJudge : public FakeJudge {
 public:
  ProbedJudge(JudgeScript& script, Answering answer) : FakeJudge(script), answer_(std::move(answer)) {}
  Probed probe(const KernelInfo&, const Case& c, const std::string&, bool) override { return answer_(c); }

 private:
  Answering answer_;
};

Probed bytes() { return {std::vector<std::byte>(4), "", ""}; }

class Fingerprints : public ::testing::Test {
 protected:
  // Whether it came to its end; what was recorded is in taken_.
  bool take(const Answering& answer) {
    std::vector<std::unique_ptr<Op>> all;
    all.push_back(std::make_unique<ProbedOp>());
    const OpRegistry ops(std::move(all));
    FingerprintJob job;
    job.kernels = {fake_kernel("gemm", "simd")};
    job.ops = &ops;
    job.start_judge = [&] { return std::make_unique<ProbedJudge>(script_, answer); };
    job.each = [&](const Fingerprint& fingerprint) { taken_.push_back(fingerprint); };
    job.stop_asked = [&] { return stop_; };
    return take_fingerprints(job);
  }
  std::vector<std::string> variants() const {
    std::vector<std::string> names;
    for (const Fingerprint& one : taken_) names.push_back(one.variant);
    return names;
  }

  JudgeScript script_;
  bool stop_ = false;
  std::vector<Fingerprint> taken_;
};

TEST_F(Fingerprints, AreRecordedVariantByVariant) {
  EXPECT_TRUE(take([](const Case&) { return bytes(); }));
  EXPECT_EQ(variants(), (std::vector<std::string>{"dtype=f32", "dtype=bf16"}));
  EXPECT_TRUE(taken_.at(0).complete);
}

TEST_F(Fingerprints, OfAVariantThatAStopCutShortAreNotRecorded) {
  EXPECT_FALSE(take([&](const Case& c) {
    if (c.word("dtype") == "f32") return bytes();
    stop_ = true;  // what it does to the judge looks like a failure of the kernel's
    return Probed{{}, "", "the worker died by SIGINT"};
  }));
  EXPECT_EQ(variants(), std::vector<std::string>{"dtype=f32"});
}

TEST_F(Fingerprints, AreNotBegunOnceAStopIsAskedFor) {
  stop_ = true;
  int asked = 0;
  EXPECT_FALSE(take([&](const Case&) { return ++asked, bytes(); }));
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE(taken_.empty());
}

TEST_F(Fingerprints, OfAKernelThatFailsAreIncompleteAndItsNextVariantIsAsked) {
  EXPECT_TRUE(take([&](const Case& c) {
    return c.word("dtype") == "f32" ? Probed{{}, "", "the worker died by SIGSEGV"} : bytes();
  }));
  ASSERT_EQ(taken_.size(), 2u);
  EXPECT_FALSE(taken_[0].complete);
  EXPECT_TRUE(taken_[1].complete);
}

TEST_F(Fingerprints, OfAVariantThatIsRefusedThereAreNone) {
  EXPECT_TRUE(take([&](const Case& c) { return c.word("dtype") == "f32" ? Probed{{}, "no f32 here", ""} : bytes(); }));
  EXPECT_EQ(variants(), std::vector<std::string>{"dtype=bf16"});
}

}  // namespace
}  // namespace assay
