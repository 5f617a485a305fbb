// A laboratory on a GPU against the host's: the same contents, and the same answers about them, to the bit. Each answer
// is also asked where there is something to find. Needs a device: label gpu.
#include <gtest/gtest.h>

#include <random>

#include "core/device_memory.h"
#include "record/json.h"
#include "worker/laboratory_cuda.h"
#include "worker/laboratory_host.h"

namespace assay {
namespace {

class Laboratories : public testing::Test {
 protected:
  void SetUp() override { ASSERT_GT(cuda_devices(), 0) << "this test needs a CUDA device"; }

  static uint64_t bytes_of(const TensorSpec& spec) {
    return static_cast<uint64_t>(spec.span_elements()) * size_of(spec.dtype);
  }
  // The same content in both, made by `make`.
  struct Pair {
    Content host, device;
  };
  template <class Make>
  Pair made(const TensorSpec& spec, const Make& make) {
    Pair pair{host_->hold(bytes_of(spec)), device_->hold(bytes_of(spec))};
    make(*host_, pair.host);
    make(*device_, pair.device);
    return pair;
  }
  Pair filled(const TensorSpec& spec, uint64_t seed) {
    return made(spec, [&](Laboratory& laboratory, Content& content) {
      laboratory.poison(spec, Poison::first, content);
      laboratory.fill(spec, seed, content);
    });
  }
  static void set_byte(Pair& pair, uint64_t at, std::byte value) {
    pair.host.data()[at] = value;
    copy_to_device(pair.device.data() + at, &value, 1);
  }
  static void expect_same_bytes(const TensorSpec& spec, const Pair& pair) {
    std::vector<std::byte> device(pair.device.size());
    copy_to_host(device.data(), pair.device.data(), device.size());
    EXPECT_TRUE(std::equal(device.begin(), device.end(), pair.host.bytes().begin())) << name_of(spec.dtype);
  }
  // What both say, once it is seen to be the same.
  template <class Ask>
  auto both(const Ask& ask, const Pair& a, const Pair& b) {
    const auto host = ask(*host_, a.host, b.host);
    EXPECT_EQ(ask(*device_, a.device, b.device), host);
    return host;
  }

  OracleCache oracles_{{}, ""};
  std::unique_ptr<Laboratory> host_ = make_host_laboratory(oracles_), device_ = make_cuda_laboratory();
};

// Of every type, packed and with padding.
std::vector<TensorSpec> specs() {
  std::vector<TensorSpec> all;
  for (size_t t = 0; t < kDTypeNames.size(); ++t) {
    for (const int64_t pad : {0, 5}) {
      const std::vector<int64_t> shape{3, 37, 50};
      all.push_back(
          {.name = "y", .dtype = static_cast<DType>(t), .shape = shape, .strides = row_major(shape, pad), .fill = {}});
    }
  }
  return all;
}

TEST_F(Laboratories, MakeTheSameContents) {
  for (const TensorSpec& spec : specs()) {
    Pair pair = filled(spec, 7);
    expect_same_bytes(spec, pair);
    if (!is_float(spec.dtype)) continue;
    const Slice slice = slice_of(spec, 1, 5);
    EXPECT_EQ(device_->number_in(slice, spec, pair.device), host_->number_in(slice, spec, pair.host));
    host_->set_nan(spec, slice, pair.host);
    device_->set_nan(spec, slice, pair.device);
    EXPECT_EQ(host_->number_in(slice, spec, pair.host), kNowhere);
    EXPECT_EQ(device_->number_in(slice, spec, pair.device), kNowhere);
    host_->scale(spec, 2, pair.host);
    device_->scale(spec, 2, pair.device);
    expect_same_bytes(spec, pair);
  }
}

TEST_F(Laboratories, ReverseAndPutAmongZerosAlike) {
  for (const TensorSpec& spec : specs()) {
    Pair pair = filled(spec, 7);
    for (int axis = 0; axis < 3; ++axis) {
      const std::vector<std::byte> before(pair.host.bytes().begin(), pair.host.bytes().end());
      host_->reverse(spec, axis, pair.host);
      device_->reverse(spec, axis, pair.device);
      expect_same_bytes(spec, pair);
      EXPECT_FALSE(std::equal(before.begin(), before.end(), pair.host.bytes().begin())) << axis;
    }
    TensorSpec larger = spec;
    larger.shape = {3, 42, 51};
    larger.strides = row_major(larger.shape, 3);
    const Pair among = made(larger, [&](Laboratory& l, Content& content) {
      l.poison(larger, Poison::first, content);
      l.put_among_zeros(spec, &l == host_.get() ? pair.host : pair.device, larger, content);
    });
    expect_same_bytes(larger, among);
    EXPECT_EQ(host_->element(larger, among.host, 50), 0u);
    EXPECT_EQ(host_->element(larger, among.host, 51), host_->element(spec, pair.host, 50));
  }
}

TEST_F(Laboratories, HashElementsAndMajoritiesAlike) {
  for (const TensorSpec& spec : specs()) {
    const Pair pair = filled(spec, 7);
    EXPECT_EQ(device_->hash(spec, pair.device, 3), host_->hash(spec, pair.host, 3));
    EXPECT_EQ(device_->hash_by_chunks(spec, pair.device, 3), host_->hash_by_chunks(spec, pair.host, 3));
    EXPECT_EQ(device_->element(spec, pair.device, 4321), host_->element(spec, pair.host, 4321));
    EXPECT_EQ(device_->majority(spec, pair.device), host_->majority(spec, pair.host));
    for (const char* generator : {"zeros", "ones", "signed_zeros", "mask_random"}) {
      TensorSpec other = spec;
      other.fill.generator = generator;
      const Pair same = filled(other, 7);
      const Majority majority = host_->majority(other, same.host);
      EXPECT_EQ(device_->majority(other, same.device), majority) << generator << " " << name_of(spec.dtype);
      EXPECT_GT(majority.count, 0) << generator;
    }
  }
}

// Bits of each length around those of stripes, words and chunks, flipped one by one.
TEST_F(Laboratories, HashByChunksAlike) {
  std::mt19937_64 random(41);
  for (const int64_t bytes : {1, 3, 4, 8, 31, 32, 37, 16383, 16384, 16385, 100003}) {
    const TensorSpec spec{.name = "y", .dtype = DType::u8, .shape = {bytes}, .strides = {1}, .fill = {"int8_full"}};
    Pair pair = filled(spec, 7);
    const auto hash = [&](Laboratory& l, const Content& x, const Content&) { return l.hash_by_chunks(spec, x, 0); };
    const uint64_t whole = both(hash, pair, pair);
    for (int draw = 0; draw < 20; ++draw) {
      const uint64_t at = draw == 0 ? static_cast<uint64_t>(bytes) - 1 : random() % static_cast<uint64_t>(bytes);
      const std::byte before = pair.host.data()[at];
      set_byte(pair, at, before ^ std::byte{static_cast<unsigned char>(1 << random() % 8)});
      EXPECT_NE(both(hash, pair, pair), whole) << bytes << " bytes, at " << at;
      set_byte(pair, at, before);
    }
  }
}

// Part after part of a sweep, by right and by wrong answers: every figure, the truth and the hash.
TEST_F(Laboratories, JudgePartsOfASweepAlike) {
  const OpRegistry ops = make_op_registry();
  const Op& op = ops.named("bias_gelu");
  Contract contract;
  contract.arithmetic.accumulator = ASSAY_ACC_F32;
  for (const char* fields : {"rows=64,cols=1024,form=erf,dtype=f32", "rows=64,cols=1024,form=tanh,dtype=bf16",
                             "rows=37,cols=111,form=erf,dtype=f32"}) {
    const Case c = ops.parse_case(std::string("bias_gelu:") + fields + ",fill=every");
    const std::vector<TensorSpec> specs = op.tensors(c);
    const TensorSpec &x = specs[0], &bias = specs[1], &y = specs[2];
    TruthBuilder of_host(true), of_device(true);
    uint64_t hash = 0, hash_on_device = 0;
    for (const uint64_t seed : {1u, 16256u, 16264u, 31500u, 40000u}) {
      const Pair xs = filled(x, seed), biases = filled(bias, seed);
      Pair ys =
          filled({.name = "x", .dtype = y.dtype, .shape = y.shape, .strides = y.strides, .fill = {"every"}}, seed);
      const auto judged = [&](Laboratory& l, Content Pair::*of, TruthBuilder& truth, uint64_t& chain) {
        const Content* const contents[] = {&(xs.*of), &(biases.*of), nullptr};
        Record record;
        record.errors = l.judge_once(op, c, seed, 2, contents, {&(ys.*of), 1}, contract, truth, chain);
        return to_json(record).at("errors").dump();
      };
      EXPECT_EQ(judged(*device_, &Pair::device, of_device, hash_on_device), judged(*host_, &Pair::host, of_host, hash))
          << fields << " seed " << seed;
      EXPECT_EQ(hash_on_device, hash) << fields << " seed " << seed;
    }
    EXPECT_EQ(of_device.finish(), of_host.finish()) << fields;
  }
}

// What nobody holds any more serves again, and nothing that somebody holds.
TEST_F(Laboratories, HoldNothingTwice) {
  Content first = device_->hold(4096);
  const Content second = device_->hold(4096);
  std::byte* const at = first.data();
  EXPECT_NE(second.data(), at);
  first = {};
  const Content third = device_->hold(8192), fourth = device_->hold(4096);
  EXPECT_EQ(fourth.data(), at);
  EXPECT_NE(third.data(), at);
}

TEST_F(Laboratories, FindTheSameDifferences) {
  for (const TensorSpec& spec : specs()) {
    const Pair a = filled(spec, 7);
    Pair b = filled(spec, 7);
    const auto difference = [&](Laboratory& l, const Content& x, const Content& y) {
      return describe(spec, l.difference(spec, x, y));
    };
    const auto outside = [&](Laboratory& l, const Content& x, const Content& y) {
      return l.changed_outside(slice_of(spec, 1, 5), spec, x, y);
    };
    const auto part = [&](Laboratory& l, const Content& x, const Content& y) {
      TensorSpec first = spec;
      first.shape[0] = 1;
      return l.changed_in_leading_part(spec, x, first, y);
    };
    EXPECT_EQ(both(difference, a, b), "");
    EXPECT_EQ(both(outside, a, b), kNowhere);
    EXPECT_EQ(both(part, a, b), kNowhere);
    const auto change = [&](int64_t i) {
      const auto at = static_cast<uint64_t>(offset_of(spec, i)) * size_of(spec.dtype);
      set_byte(b, at, b.host.data()[at] ^ std::byte{1});
    };
    change(5 * 50 + 3);  // in the slice
    EXPECT_NE(both(difference, a, b), "");
    EXPECT_EQ(both(outside, a, b), kNowhere);
    EXPECT_EQ(both(part, a, b), 5 * 50 + 3);
    change(2 * 37 * 50 + 4);
    EXPECT_EQ(both(outside, a, b), 2 * 37 * 50 + 4);
  }
}

TEST_F(Laboratories, FindTheSameBrokenScaling) {
  for (const TensorSpec& spec : specs()) {
    if (!is_float(spec.dtype)) continue;
    const Pair a = filled(spec, 7);
    Pair b = filled(spec, 7);
    host_->scale(spec, 2, b.host);
    device_->scale(spec, 2, b.device);
    const auto broken = [&](Laboratory& l, const Content& x, const Content& y) {
      const Scaling found = l.scaling(spec, 2, x, y);
      return std::pair(found.broken, found.broken == kNowhere ? found.looked_at : 0);
    };
    const auto [nowhere, looked_at] = both(broken, a, b);
    EXPECT_EQ(nowhere, kNowhere);
    if (spec.dtype != DType::e4m3 && spec.dtype != DType::f16) {
      EXPECT_GT(looked_at, 0);
    }
    for (uint64_t at = 0; at < b.host.size(); at += size_of(spec.dtype)) set_byte(b, at, std::byte{0x55});
    EXPECT_EQ(both(broken, a, b).first != kNowhere, looked_at > 0);
  }
}

TEST_F(Laboratories, FindTheSameUnwrittenElementsAndStrayBytes) {
  for (const TensorSpec& spec : specs()) {
    const auto poisoned = [&](Poison poison) {
      return made(spec, [&](Laboratory& l, Content& content) { l.poison(spec, poison, content); });
    };
    const Pair a = poisoned(Poison::first), b = poisoned(Poison::second);
    for (const bool single_bytes : {false, true}) {
      const auto unwritten = [&](Laboratory& l, const Content& x, const Content& y) {
        return describe(spec, l.unwritten(spec, x, y, single_bytes));
      };
      EXPECT_NE(both(unwritten, a, b), "");
      const Pair written = filled(spec, 7);
      EXPECT_EQ(both(unwritten, written, written), "");
    }
    if (spec.span_elements() == spec.elements()) continue;
    const auto strays = [&](Laboratory& l, const Content& x, const Content&) {
      return describe(spec, l.padding(spec, x, Poison::first));
    };
    Pair c = filled(spec, 7);
    EXPECT_EQ(both(strays, c, c), "");
    set_byte(c, 51 * size_of(spec.dtype), std::byte{0x33});  // within the first row's padding
    set_byte(c, 52 * size_of(spec.dtype), std::byte{0x33});
    EXPECT_NE(both(strays, c, c).find("2 stray bytes"), std::string::npos);
  }
}

}  // namespace
}  // namespace assay
