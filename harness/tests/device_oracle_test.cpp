// Fills, oracles, bounds and checks on a CUDA device against the same on the host: every byte, every double, every
// figure of a summary. Needs a device: label gpu.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "check/bytes.h"
#include "check/device_bytes.h"
#include "check/device_references.h"
#include "core/error.h"
#include "device_problem.h"

namespace assay {
namespace {

constexpr size_t kPlenty = size_t{4} << 30;
class DeviceFill : public OnDevice {};
class DeviceOracles : public OnDevice {};
class DeviceBytes : public OnDevice {};

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
    TruthBuilder host_chunks(true), device_chunks(true);  // as if it were a sweep
    for (const Reference& r : host) host_chunks.add(r);
    device->add_to(device_chunks);
    EXPECT_EQ(host_chunks.finish(), device_chunks.finish()) << c.id() << " by chunks";
    for (const bool harm : {false, true}) expect_same_judgement(p, host, *device, harm);
    if (seen++ % 8 == 0) {
      const auto parts = in_chunks(p);
      chunked += parts->rows_at_once() < device->rows_at_once() ? 1 : 0;
      ASSERT_EQ(difference(host, parts->download()), "") << c.id() << " in chunks";
      TruthBuilder truth, again;
      for (const Reference& r : host) again.add(r);
      parts->add_to(truth);
      EXPECT_EQ(truth.finish(), again.finish()) << c.id() << " in chunks";
      TruthBuilder pieces(true), whole(true);
      for (const Reference& r : host) whole.add(r);
      parts->add_to(pieces);
      EXPECT_EQ(pieces.finish(), whole.finish()) << c.id() << " in chunks, by chunks";
      expect_same_judgement(p, host, *parts, true);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(seen, 20);
  EXPECT_GT(chunked, 0);
  std::printf("%s: %d cases compared, %d larger ones left out\n", GetParam().c_str(), seen, left_out);
}

// Those with a device.cu beside the host's oracle; cases of others are judged on the host.
std::vector<std::string> ops_with_a_device_oracle() {
  std::vector<std::string> names;
  const OpRegistry ops = make_op_registry();
  for (const auto& op : ops.all()) {
    const std::filesystem::path folder = std::filesystem::path(ASSAY_SOURCE_DIR) / "reference" / op->name();
    if (std::filesystem::exists(folder / "device.cu")) names.emplace_back(op->name());
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, testing::ValuesIn(ops_with_a_device_oracle()),
                         [](const auto& info) { return info.param; });

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

}  // namespace
}  // namespace assay
