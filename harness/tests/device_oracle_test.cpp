// Fills, oracles, bounds and checks on a CUDA device against the same on the host: every byte, every double, every
// figure of a summary. Needs a device: label gpu.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "check/accuracy.h"
#include "check/bytes.h"
#include "check/device_bytes.h"
#include "check/device_freivalds.h"
#include "check/device_references.h"
#include "check/poison.h"
#include "core/error.h"
#include "core/matrix_product.h"
#include "fill/device_fill.h"

namespace assay {
namespace {

constexpr int kHostThreads = 16;
constexpr size_t kPlenty = size_t{4} << 30;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class OnDevice : public testing::Test {
 protected:
  void SetUp() override { ASSERT_GT(cuda_devices(), 0) << "this test needs a CUDA device"; }
};
class DeviceFill : public OnDevice {};
class DeviceOracles : public OnDevice {};
class DeviceBytes : public OnDevice {};

using Buffer = std::vector<std::byte>;

Buffer poisoned(const TensorSpec& spec) {
  Buffer buffer(static_cast<size_t>(spec.span_elements()) * size_of(spec.dtype));
  fill_poison(buffer.data(), buffer.size(), 0, spec.dtype, Poison::first);
  return buffer;
}

DeviceMemory uploaded(const Buffer& buffer) {
  DeviceMemory memory(buffer.size());
  copy_to_device(memory.data(), buffer.data(), buffer.size());
  return memory;
}

Buffer downloaded(const DeviceMemory& memory) {
  Buffer buffer(memory.bytes());
  copy_to_host(buffer.data(), memory.data(), buffer.size());
  return buffer;
}

// ---- fills ----

void expect_same_fill(const TensorSpec& spec, uint64_t seed) {
  Buffer host = poisoned(spec);
  const DeviceMemory device = uploaded(host);
  fill_tensor(spec, seed, host.data());
  fill_on_device(spec, seed, device.data());
  EXPECT_TRUE(downloaded(device) == host) << spec.name << " " << name_of(spec.dtype) << " " << spec.fill.generator;
}

TEST_F(DeviceFill, EveryGeneratorInEveryTypeIsTheHosts) {
  for (const std::string& generator : generator_names()) {
    for (size_t t = 0; t < kDTypeNames.size(); ++t) {
      for (const int axis : {-1, 1}) {
        for (const auto& [scale, shift] : {std::pair{1.0, 0.0}, {-0.75, 3.5}}) {
          if (generator == "every" && scale != 1) continue;  // refused
          const std::vector<int64_t> shape{3, 37, 50};
          expect_same_fill({.name = "t",
                            .dtype = static_cast<DType>(t),
                            .shape = shape,
                            .strides = row_major(shape, 5),
                            .fill = {generator, scale, shift, axis}},
                           7);
        }
      }
    }
  }
}

TEST_F(DeviceFill, ASupportLeavesWhatItLeavesOnTheHost) {
  const std::vector<int64_t> shape{3, 37, 50};
  for (const DType dtype : {DType::f64, DType::bf16, DType::i8}) {
    for (const IndexRanges& kept : {IndexRanges{}, IndexRanges{{}}, IndexRanges{{0, 0}, {7, 61}, {5549, 5549}},
                                    IndexRanges{{5000, 9000}}, IndexRanges{{5550, 5551}}}) {
      expect_same_fill({.name = "t",
                        .dtype = dtype,
                        .shape = shape,
                        .strides = row_major(shape, 5),
                        .fill = {.scale = 2, .shift = 3, .support = kept}},
                       7);
    }
  }
}

TEST_F(DeviceFill, EveryKeepsThePayloadsOfNaNs) {
  const auto every = [](DType t, std::vector<int64_t> shape) -> TensorSpec {
    return {.name = "x", .dtype = t, .shape = shape, .strides = row_major(shape), .fill = {"every"}};
  };
  for (const uint64_t seed : {1u, 2u, 70000u}) {
    expect_same_fill(every(DType::f16, {64, 1024}), seed);
    expect_same_fill(every(DType::bf16, {64, 1024}), seed);
  }
  for (const uint64_t seed : {1u, 2041u, 2045u, 4089u, 4096u, 4097u})
    expect_same_fill(every(DType::f32, {1024, 1024}), seed);
}

TEST_F(DeviceFill, AnySeedAndNameAndAnEmptyTensor) {
  const FillSpec normal{};
  expect_same_fill({.name = "a", .shape = {1 << 20}, .strides = {1}, .fill = normal}, 1);
  expect_same_fill({.name = "b", .shape = {1 << 20}, .strides = {1}, .fill = normal}, 123456789);
  expect_same_fill({.name = "scalar", .shape = {}, .strides = {}, .fill = normal}, 1);
  expect_same_fill({.name = "empty", .shape = {0, 4}, .strides = {4, 1}, .fill = normal}, 1);
}

// ---- oracles ----

// One case on host and device, inputs filled.
struct Problem {
  Problem(const Op& op, const Case& c, uint64_t seed) : op(op), c(c), specs(op.tensors(c)) {
    for (const TensorSpec& spec : specs) {
      host.push_back(poisoned(spec));
      device.push_back(uploaded(host.back()));
      if (spec.role == Role::output) continue;
      fill_tensor(spec, seed, host.back().data(), kHostThreads);
      fill_on_device(spec, seed, device.back().data());
      EXPECT_TRUE(downloaded(device.back()) == host.back()) << c.id() << ": fill of " << spec.name;
    }
    for (size_t i = 0; i < specs.size(); ++i) {
      const bool holds = specs[i].role != Role::output;
      views.push_back({&specs[i], holds ? host[i].data() : nullptr});
      device_views.push_back({&specs[i], holds ? device[i].data() : nullptr});
      if (specs[i].role != Role::input) outputs.push_back(i);
    }
  }

  const Op& op;
  const Case& c;
  std::vector<TensorSpec> specs;
  std::vector<Buffer> host;
  std::vector<DeviceMemory> device;
  std::vector<TensorView> views;
  std::vector<DeviceTensor> device_views;
  std::vector<size_t> outputs;
};

// Empty, or the first value that differs in its bits.
std::string difference(const char* what, const std::vector<double>& host, const std::vector<double>& device) {
  if (host.size() != device.size()) return std::string(what) + ": other sizes";
  for (size_t i = 0; i < host.size(); ++i) {
    if (std::bit_cast<uint64_t>(host[i]) == std::bit_cast<uint64_t>(device[i])) continue;
    char text[160];
    std::snprintf(text, sizeof text, "%s[%zu]: %a on the host, %a on the device", what, i, host[i], device[i]);
    return text;
  }
  return {};
}

std::string difference(const std::vector<Reference>& host, const std::vector<Reference>& device) {
  if (host.size() != device.size()) return "other outputs";
  for (size_t o = 0; o < host.size(); ++o) {
    const Reference &h = host[o], &d = device[o];
    if (h.tensor != d.tensor || h.dtype != d.dtype || h.bitwise != d.bitwise) return h.tensor + ": another tensor";
    std::string found =
        difference("hi", h.hi, d.hi) + difference("lo", h.lo, d.lo) + difference("e_ref", h.e_ref, d.e_ref);
    if (h.conditions.size() != d.conditions.size()) found += "other conditions";
    for (size_t k = 0; k < h.conditions.size() && found.empty(); ++k) {
      found += difference(("condition " + std::to_string(k)).c_str(), h.conditions[k], d.conditions[k]);
    }
    if (!found.empty()) return h.tensor + ": " + found;
  }
  return {};
}

bool same_number(double a, double b) {  // a NaN's payload does not survive conversions
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

void expect_same(const ErrorSummary& host, const ErrorSummary& device, const std::string& where) {
  EXPECT_EQ(host.tensor, device.tensor) << where;
  EXPECT_EQ(host.elements, device.elements) << where;
  EXPECT_EQ(host.exact, device.exact) << where;
  EXPECT_EQ(host.rigorous, device.rigorous) << where;
  EXPECT_EQ(host.weak, device.weak) << where;
  EXPECT_EQ(host.vacuous, device.vacuous) << where;
  EXPECT_EQ(host.no_evidence, device.no_evidence) << where;
  EXPECT_EQ(host.failures, device.failures) << where;
  EXPECT_EQ(host.worst_index, device.worst_index) << where;
  EXPECT_EQ(host.histogram, device.histogram) << where;
  const auto expect_number = [&](const char* what, double a, double b) {
    EXPECT_TRUE(same_number(a, b)) << where << ": " << what << " " << a << " and " << b;
  };
  expect_number("max_q", host.max_q, device.max_q);
  expect_number("rms_q", host.rms_q, device.rms_q);
  expect_number("mean_signed_q", host.mean_signed_q, device.mean_signed_q);
  expect_number("misrounded", host.misrounded, device.misrounded);
  expect_number("mean_signed_ulps", host.mean_signed_ulps, device.mean_signed_ulps);
  expect_number("worst_got", host.worst_got, device.worst_got);
  expect_number("worst_want", host.worst_want, device.worst_want);
  expect_number("worst_bound", host.worst_bound, device.worst_bound);
}

std::vector<Contract> contracts() {
  Contract plain{.interface_version = 1, .owner = "test", .domain = "true"};
  plain.arithmetic = {
      .accumulator = ASSAY_ACC_F32, .depth_divisor = 32, .depth_constant = 16, .exp_kind = ASSAY_EXP_ACCURATE};
  Contract unknown_depth = plain;
  unknown_depth.arithmetic.depth_divisor = 0;
  unknown_depth.arithmetic.accumulator = ASSAY_ACC_F64;
  unknown_depth.arithmetic.intermediate = ASSAY_ACC_F32;
  Contract flushing = plain;
  flushing.arithmetic.flushes_subnormals = 1;
  flushing.arithmetic.exp_kind = ASSAY_EXP_FAST;
  flushing.arithmetic.rescales_online = 1;
  flushing.arithmetic.split_k = 4;
  flushing.arithmetic.partial_type = ASSAY_ACC_BF16;
  flushing.nan_policy = ASSAY_NAN_UNSPECIFIED;
  Contract tensor = plain;
  tensor.arithmetic.accumulator = ASSAY_ACC_TENSOR;
  tensor.arithmetic.tensor_terms = 16;
  tensor.arithmetic.tensor_fraction = 25;
  tensor.arithmetic.tensor_precision = 23;
  return {plain, unknown_depth, flushing, tensor};
}

// What a kernel that is right would write, and with `harm` what a wrong one might: an element in 50 is off by a few
// places or by much, is a NaN, an infinity or a zero.
Buffer output_for(const TensorSpec& spec, const Reference& reference, bool harm) {
  Buffer out = poisoned(spec);
  with_dtype(spec.dtype, [&](auto type) {
    constexpr DType T = decltype(type)::value;
    for (int64_t i = 0; i < spec.elements(); ++i) {
      const auto at = static_cast<size_t>(i);
      uint64_t bits = encode(T, reference.hi[at] + reference.lo[at]);
      const uint64_t draw = fill_detail::hash(99, at);
      if (harm && draw % 50 == 0) {
        const double others[] = {std::nan(""), kInfinity, -kInfinity, 0.0, -0.0, 1e30, -reference.hi[at]};
        bits = draw >> 32 & 1 ? bits ^ (draw >> 40 & 7) : encode(T, others[(draw >> 40) % std::size(others)]);
      }
      store_bits(T, out.data(), offset_of(spec, i), bits);
    }
  });
  return out;
}

void expect_same_judgement(const Problem& p, const std::vector<Reference>& references, DeviceReferences& on_device,
                           bool harm) {
  std::vector<Buffer> got;
  std::vector<DeviceMemory> got_on_device;
  std::vector<DeviceTensor> tensors;
  for (size_t o = 0; o < references.size(); ++o) {
    got.push_back(output_for(p.specs[p.outputs[o]], references[o], harm));
    got_on_device.push_back(uploaded(got.back()));
    tensors.push_back({&p.specs[p.outputs[o]], got_on_device.back().data()});
  }
  for (const Contract& contract : contracts()) {
    const std::vector<ErrorSummary> device = on_device.judge(tensors, contract);
    ASSERT_EQ(device.size(), references.size());
    for (size_t o = 0; o < references.size(); ++o) {
      const ErrorSummary host = judge_accuracy(p.specs[p.outputs[o]], got[o].data(), references[o],
                                               p.op.bounds(p.c, contract, references[o]), contract);
      expect_same(host, device[o], p.c.id() + (harm ? ", harmed" : ""));
    }
  }
}

// The least memory that works: the case in many chunks.
std::unique_ptr<DeviceReferences> in_chunks(const Problem& p) {
  for (size_t memory = 4096;; memory *= 2) {
    try {
      return device_references(p.c, p.device_views, memory);
    } catch (const Error& e) {
      if (memory > kPlenty || std::string(e.what()).find("one row takes") == std::string::npos) throw;
    }
  }
}

bool is_moderate(const Op& op, const Case& c) {
  int64_t elements = 0;
  for (const TensorSpec& spec : op.tensors(c)) elements += spec.span_elements();
  const int64_t depth = c.has("k") ? std::max<int64_t>(c.integer("k"), 1) : 1;
  return elements <= 1 << 20 && elements * depth <= int64_t{1} << 28;
}

class EveryOp : public DeviceOracles, public testing::WithParamInterface<std::string> {};

TEST_P(EveryOp, AgreesWithTheHostOnItsCases) {
  const OpRegistry ops = make_op_registry();
  const Op& op = ops.named(GetParam());
  int seen = 0, left_out = 0, chunked = 0;
  for (const Case& c : op.cases(Tier::ci)) {
    if (!is_moderate(op, c)) {
      ++left_out;
      continue;
    }
    const Problem p(op, c, static_cast<uint64_t>(c.integer("seed")));
    const std::vector<Reference> host = op.oracle(c, p.views, kHostThreads);
    const auto device = device_references(c, p.device_views, kPlenty);
    ASSERT_NE(device, nullptr) << "no oracle on the device";
    ASSERT_EQ(difference(host, device->download()), "") << c.id();
    TruthBuilder host_truth, device_truth;
    for (const Reference& r : host) host_truth.add(r);
    device->add_to(device_truth);
    EXPECT_EQ(host_truth.finish(), device_truth.finish()) << c.id();
    for (const bool harm : {false, true}) expect_same_judgement(p, host, *device, harm);
    if (seen++ % 8 == 0) {
      const auto parts = in_chunks(p);
      chunked += parts->rows_at_once() < device->rows_at_once() ? 1 : 0;
      ASSERT_EQ(difference(host, parts->download()), "") << c.id() << " in chunks";
      TruthBuilder truth, again;
      for (const Reference& r : host) again.add(r);
      parts->add_to(truth);
      EXPECT_EQ(truth.finish(), again.finish()) << c.id() << " in chunks";
      expect_same_judgement(p, host, *parts, true);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(seen, 20);
  EXPECT_GT(chunked, 0);
  std::printf("%s: %d cases compared, %d larger ones left out\n", GetParam().c_str(), seen, left_out);
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  const OpRegistry ops = make_op_registry();
  for (const auto& op : ops.all()) names.emplace_back(op->name());
  return names;
}
INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, testing::ValuesIn(op_names()), [](const auto& info) { return info.param; });

TEST_F(DeviceOracles, AWrongElementFails) {
  const OpRegistry ops = make_op_registry();
  const Case c = ops.parse_case("gemm:m=65,n=70,k=33,dtype=bf16");
  const Problem p(ops.named("gemm"), c, 1);
  const std::vector<Reference> host = p.op.oracle(c, p.views, 1);
  const TensorSpec& spec = p.specs[p.outputs[0]];
  Buffer got = output_for(spec, host[0], false);
  DeviceMemory memory = uploaded(got);
  const auto references = device_references(c, p.device_views, kPlenty);
  const DeviceTensor output{&spec, memory.data()};
  EXPECT_EQ(references->judge({&output, 1}, contracts()[0])[0].failures, 0);
  store_bits(DType::bf16, got.data(), 4000, load_bits(DType::bf16, got.data(), 4000) + 2);
  copy_to_device(memory.data(), got.data(), got.size());
  const ErrorSummary wrong = references->judge({&output, 1}, contracts()[0])[0];
  EXPECT_EQ(wrong.failures, 1);
  EXPECT_EQ(wrong.worst_index, 4000);
}

TEST_F(DeviceOracles, ARowThatDoesNotFitIsAnError) {
  const OpRegistry ops = make_op_registry();
  const Case c = ops.parse_case("softmax:rows=4,cols=4096,dtype=f32");
  const Problem p(ops.named("softmax"), c, 1);
  EXPECT_THROW(device_references(c, p.device_views, 4096), Error);
}

// ---- bytes ----

TensorSpec matrix(DType dtype, int64_t pad) {
  const std::vector<int64_t> shape{61, 1030};
  return {.name = "y", .dtype = dtype, .shape = shape, .strides = row_major(shape, pad)};
}

TEST_F(DeviceBytes, DifferencesAreTheHosts) {
  for (size_t t = 0; t < kDTypeNames.size(); ++t) {
    for (const int64_t pad : {0, 3}) {
      const TensorSpec spec = matrix(static_cast<DType>(t), pad);
      const auto size = static_cast<int64_t>(size_of(spec.dtype));
      for (const int64_t misplaced : {int64_t{0}, size}) {  // one element past the aligned base
        Buffer a(static_cast<size_t>((spec.span_elements() + 1) * size), std::byte{0x11});
        Buffer b = a;
        const auto expect_same_answer = [&] {
          const DeviceMemory on_a = uploaded(a), on_b = uploaded(b);
          const ByteDifference host = compare_bytes(spec, a.data() + misplaced, b.data() + misplaced);
          const ByteDifference device = compare_bytes_on_device(spec, on_a.data() + misplaced, on_b.data() + misplaced);
          EXPECT_EQ(host.count, device.count);
          EXPECT_EQ(host.first, device.first);
          EXPECT_EQ(host.a, device.a);
          EXPECT_EQ(host.b, device.b);
          return device.count;
        };
        EXPECT_EQ(expect_same_answer(), 0);
        b[static_cast<size_t>(misplaced + offset_of(spec, 62829) * size)] = std::byte{0x12};  // the last element
        EXPECT_EQ(expect_same_answer(), 1);
        for (const int64_t i : {3000, 3001, 31000}) {
          b[static_cast<size_t>(misplaced + offset_of(spec, i) * size)] = std::byte{0x12};
        }
        EXPECT_EQ(expect_same_answer(), 4);
      }
    }
  }
}

TEST_F(DeviceBytes, UnwrittenElementsAreTheHosts) {
  for (size_t t = 0; t < kDTypeNames.size(); ++t) {
    for (const auto& [single_bytes, pad] : {std::pair{false, 0}, {true, 0}, {false, 2}, {true, 2}}) {
      const TensorSpec spec = matrix(static_cast<DType>(t), pad);
      const size_t size = size_of(spec.dtype);
      Buffer after[2];
      for (const Poison poison : {Poison::first, Poison::second}) {
        Buffer& buffer = after[static_cast<size_t>(poison)];
        buffer.resize(static_cast<size_t>(spec.span_elements()) * size);
        fill_poison(buffer.data(), buffer.size(), 0, spec.dtype, poison);
        for (int64_t i = 0; i < spec.elements(); ++i) {  // written but for a few, some in part
          if (i == 500 || i == 20000) continue;
          const size_t bytes = i % 7919 == 11 ? 1 : size;
          std::memset(buffer.data() + static_cast<size_t>(offset_of(spec, i)) * size, 0x33, bytes);
        }
      }
      const DeviceMemory first = uploaded(after[0]), second = uploaded(after[1]);
      const Unwritten host = find_unwritten(spec, after[0].data(), after[1].data(), single_bytes);
      const Unwritten device = find_unwritten_on_device(spec, first.data(), second.data(), single_bytes);
      EXPECT_GE(host.count, 2);
      EXPECT_EQ(host.count, device.count);
      EXPECT_EQ(host.first, device.first);
      EXPECT_EQ(host.whole, device.whole);
    }
  }
}

TEST_F(DeviceBytes, PoisonIsTheHosts) {
  for (size_t t = 0; t < kDTypeNames.size(); ++t) {
    for (const size_t begin : {0u, 1u, 4u, 7u}) {
      for (const size_t bytes : {0u, 1u, 7u, 8u, 9u, 100u, 4099u}) {
        for (const size_t element_at : {0u, 3u, 64u}) {
          Buffer host(8192, std::byte{0});
          const DeviceMemory device = uploaded(host);
          fill_poison(host.data() + begin, bytes, element_at, static_cast<DType>(t), Poison::second);
          fill_poison_on_device(device.data() + begin, bytes, element_at, static_cast<DType>(t), Poison::second);
          EXPECT_TRUE(downloaded(device) == host) << t << " " << begin << " " << bytes << " " << element_at;
        }
      }
    }
  }
}

// ---- products of integers ----

class DeviceFreivalds : public OnDevice {
 protected:
  static MatrixView view_of(const TensorSpec& spec, const void* data, bool turned) {
    const size_t rows = turned ? 2 : 1, cols = turned ? 1 : 2;
    return {data,
            spec.dtype,
            spec.shape[0],
            spec.shape[rows],
            spec.shape[cols],
            spec.strides[0],
            spec.strides[rows],
            spec.strides[cols]};
  }
  const std::unique_ptr<MatrixPasses> on_host_ = make_host_passes(kHostThreads), on_device_ = make_device_passes();
};

TEST_F(DeviceFreivalds, PassesFindWhatTheHostFinds) {
  for (size_t t = 0; t < kDTypeNames.size(); ++t) {
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{1, 1, 1}, {3, 37, 50}, {1, 5, 9001}, {1, 700, 3}, {40, 2, 33}, {2, 300, 1029}}) {
      for (const char* generator : {"integers", "sparse", "int8_full", "special", "every"}) {
        const TensorSpec spec{.name = "x",
                              .dtype = static_cast<DType>(t),
                              .shape = shape,
                              .strides = row_major(shape, 5),
                              .fill = {generator}};
        Buffer host = poisoned(spec);
        fill_tensor(spec, 7, host.data());
        const DeviceMemory device = uploaded(host);
        for (const bool turned : {false, true}) {
          const MatrixView here = view_of(spec, host.data(), turned), there = view_of(spec, device.data(), turned);
          for (const int64_t vectors : {int64_t{1}, here.entries}) {
            std::vector<uint64_t> x;
            for (int64_t i = 0; i < vectors * here.cols; ++i) {
              x.push_back(fill_detail::hash(3, static_cast<uint64_t>(i)) >> 4);
            }
            for (const double limit : {0x1p53, 6.0}) {
              std::vector<uint64_t> products, products_there;
              std::vector<double> sums, sums_there;
              const IntegersFound found = on_host_->multiply(here, x, limit, products, &sums);
              const std::string where = std::string(name_of(spec.dtype)) + " " + generator;
              EXPECT_EQ(on_device_->multiply(there, x, limit, products_there, &sums_there), found) << where;
              EXPECT_EQ(products_there, products) << where;
              EXPECT_EQ(sums_there, sums) << where;
              on_device_->multiply(there, x, limit, products_there, nullptr);
              EXPECT_EQ(products_there, products) << where;
            }
          }
          const int64_t count = here.rows, first = here.offset(here.entries - 1, 0, here.cols - 1);
          const auto column = on_host_->elements(here, first, here.row_stride, count);
          EXPECT_EQ(difference("elements", column, on_device_->elements(there, first, here.row_stride, count)), "");
        }
      }
    }
  }
}

// Right, and with each of some bits flipped: the host's summary, to the bit.
TEST_F(DeviceFreivalds, JudgesAndLocatesAsTheHostDoes) {
  const OpRegistry ops = make_op_registry();
  const Op& op = ops.named("gemm");
  const auto& product = dynamic_cast<const MatrixProductOp&>(op);
  const Contract contract = contracts()[0];
  for (const char* fields :
       {"m=300,n=517,k=1000,dtype=bf16", "m=33,n=65,k=129,ta=t,pad_a=3,pad_b=1,pad_c=5,beta=2,dtype=f16",
        "batch=3,m=47,n=31,k=200,tb=t,alpha=3,beta=-1,pad_c=5,dtype=f32", "m=1,n=900,k=33,ta=t,tb=t,dtype=f64",
        "m=700,n=1,k=33,out=bf16,dtype=e4m3", "m=5,n=7,k=0,beta=1,dtype=f32"}) {
    const Case c = ops.parse_case("gemm:" + std::string(fields) + ",fill=sparse");
    const Problem p(op, c, 1);
    Buffer got = output_for(p.specs[2], op.oracle(c, p.views, kHostThreads)[0], false);
    std::vector<const void*> host, device;
    for (size_t i = 0; i < p.specs.size(); ++i) {
      host.push_back(p.host[i].data());
      device.push_back(p.device[i].data());
    }
    Freivalds here(product, c, p.specs, host, 5, make_host_passes(kHostThreads));
    Freivalds there(product, c, p.specs, device, 5, make_device_passes());
    ASSERT_EQ(here.refusal(contract), "") << c.id();
    EXPECT_EQ(there.refusal(contract), "");
    EXPECT_EQ(there.bound(), here.bound());
    EXPECT_EQ(there.judge(uploaded(got).data(), contract), here.judge(got.data(), contract)) << c.id();
    const int64_t elements = p.specs[2].elements();
    for (const int64_t at : {int64_t{0}, elements / 3, elements - 1}) {
      std::byte* const element =
          got.data() + offset_of(p.specs[2], at) * static_cast<int64_t>(size_of(p.specs[2].dtype));
      for (size_t byte = 0; byte < size_of(p.specs[2].dtype); ++byte) {
        for (int bit = 0; bit < 8; ++bit) {
          element[byte] ^= std::byte{1} << bit;
          const ErrorSummary summary = here.judge(got.data(), contract);
          expect_same(summary, there.judge(uploaded(got).data(), contract), c.id());
          EXPECT_EQ(there.wrong_rows(), here.wrong_rows());
          EXPECT_TRUE(summary.failures == 0 || summary.worst_index == at);
          element[byte] ^= std::byte{1} << bit;
        }
      }
    }
  }
  const Case c = ops.parse_case("gemm:m=33,n=65,k=129,dtype=f32");
  const Problem p(op, c, 1);
  std::vector<const void*> device;
  for (const DeviceMemory& memory : p.device) device.push_back(memory.data());
  const Freivalds refused(product, c, p.specs, device, 5, make_device_passes());
  EXPECT_EQ(refused.refusal(contract), "b holds 8385 elements that are no integers within 2^53");
}

}  // namespace
}  // namespace assay
