// What every op says of its own probes, asked of its oracle: a perturbation that must change the output does, and a
// slice that must not reach another slice does not. A probe that is wrong here would accuse every kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "check/relations.h"
#include "oracle_run.h"

namespace assay {
namespace {

using namespace testing;

// The smoke tier of a BLAS op is a handful of cases: at least so many of them are probed, where of other ops `many`
// are.
int least_of(const Op& op, int many) { return op.name().starts_with("blas_") ? 2 : many; }

// The bits a perfect kernel would give, all outputs one after the other.
std::vector<uint64_t> rounded(const std::vector<Reference>& references) {
  std::vector<uint64_t> bits;
  for (const Reference& r : references) {
    for (size_t i = 0; i < r.size(); ++i) bits.push_back(encode(r.dtype, r.hi[i], true));
  }
  return bits;
}

TEST(Probes, EverySensitivityChangesTheRoundedOutput) {
  for (const auto& op : registry().all()) {
    int probes = 0;
    for (const Case& c : op->cases(Tier::ci)) {
      if (Inputs(*op, c).specs[0].elements() > 40000) continue;
      for (const Sensitivity& s : op->sensitivities(c)) {
        SCOPED_TRACE(c.id() + " perturbing " + s.what);
        const Inputs before(*op, c);
        const Case changed = s.changed ? *s.changed : c;
        Inputs after(*op, changed);
        bool found = s.changed.has_value();
        for (size_t i = 0; i < after.specs.size(); ++i) {
          if (after.specs[i].name != s.tensor) continue;
          fill_tensor(after.specs[i], 977, after.storage[i].data());
          found = true;
        }
        ASSERT_TRUE(found);
        EXPECT_NE(rounded(op->oracle(c, before.views, 1)), rounded(op->oracle(changed, after.views, 1)));
        ++probes;
      }
    }
    EXPECT_GT(probes, least_of(*op, 20)) << op->name();
  }
}

// Coordinate of a logical element along one axis.
int64_t coordinate(const TensorSpec& spec, int64_t logical, int axis) {
  for (size_t k = spec.shape.size(); k-- > static_cast<size_t>(axis) + 1;) logical /= spec.shape[k];
  return logical % spec.shape[static_cast<size_t>(axis)];
}

TEST(Probes, ASliceOfNanReachesNoOtherSlice) {
  int all_probes = 0;
  for (const auto& op : registry().all()) {
    int probes = 0;
    for (const Case& c : op->cases(Tier::smoke)) {
      const Inputs before(*op, c);
      const std::vector<Reference> want = op->oracle(c, before.views, 1);
      for (const RowIndependence& rule : op->row_independence(c)) {
        SCOPED_TRACE(c.id() + " " + rule.input + " -> " + rule.output);
        Inputs after(*op, c);
        const TensorSpec* output = nullptr;
        for (size_t t = 0; t < after.specs.size(); ++t) {
          const TensorSpec& spec = after.specs[t];
          if (spec.name == rule.output) output = &spec;
          if (spec.name != rule.input || !is_float(spec.dtype)) continue;
          for (int64_t i = 0; i < spec.elements(); ++i) {
            if (coordinate(spec, i, rule.input_axis) != 0) continue;
            store_bits(spec.dtype, after.storage[t].data(), offset_of(spec, i),
                       encode(spec.dtype, std::numeric_limits<double>::quiet_NaN()));
          }
        }
        ASSERT_NE(output, nullptr);
        const std::vector<Reference> got = op->oracle(c, after.views, 1);
        for (size_t k = 0; k < got.size(); ++k) {
          if (got[k].tensor != rule.output) continue;
          for (size_t i = 0; i < got[k].size(); ++i) {
            if (coordinate(*output, static_cast<int64_t>(i), rule.output_axis) == 0) continue;
            ASSERT_TRUE(got[k].hi[i] == want[k].hi[i] || (std::isnan(got[k].hi[i]) && std::isnan(want[k].hi[i]))) << i;
          }
          ++probes;
        }
      }
    }
    all_probes += probes;
    const auto nightly = op->cases(Tier::nightly);
    const bool has_rules =
        std::any_of(nightly.begin(), nightly.end(), [&](const Case& c) { return !op->row_independence(c).empty(); });
    const bool is_float_op = is_float(Inputs(*op, op->cases(Tier::smoke).front()).specs[0].dtype);
    EXPECT_TRUE(has_rules || !is_float_op || op->name().starts_with("blas_")) << op->name();
    if (has_rules && is_float_op) {
      EXPECT_GT(probes, least_of(*op, 10)) << op->name();
    }
  }
  EXPECT_GT(all_probes, 200);
}

TEST(Probes, APowerOfTwoGoesThroughUnchanged) {
  int64_t elements = 0;
  for (const auto& op : registry().all()) {
    for (const Case& c : op->cases(Tier::smoke)) {
      const Inputs before(*op, c);
      for (const ScaleRelation& law : op->scale_relations(c)) {
        SCOPED_TRACE(c.id() + " " + law.input + " -> " + law.output);
        Inputs after(*op, c);
        for (size_t t = 0; t < after.specs.size(); ++t) {
          const TensorSpec& spec = after.specs[t];
          for (int64_t i = 0; spec.name == law.input && i < spec.elements(); ++i) {
            const int64_t at = offset_of(spec, i);
            const double x = load(spec.dtype, after.storage[t].data(), at);
            store_bits(spec.dtype, after.storage[t].data(), at, encode(spec.dtype, 4 * x));
          }
        }
        const std::vector<Reference> want = op->oracle(c, before.views, 1), got = op->oracle(c, after.views, 1);
        for (size_t k = 0; k < want.size(); ++k) {
          if (want[k].tensor != law.output) continue;
          for (size_t i = 0; i < want[k].size(); ++i) {
            if (!std::isfinite(want[k].hi[i]) || !std::isfinite(got[k].hi[i])) continue;
            ASSERT_EQ(got[k].hi[i], std::ldexp(want[k].hi[i], 2 * law.power)) << i;
            ++elements;
          }
        }
      }
    }
  }
  EXPECT_GT(elements, 10000);
}

// Where a leading part has the same inputs, it has the same outputs; where not (a fill that looks at the shape), the
// check says so itself.
TEST(Probes, ALeadingPartComputedAloneIsTheSame) {
  for (const auto& op : registry().all()) {
    int parts = 0;
    for (const Case& c : op->cases(Tier::smoke)) {
      const std::optional<Case> part = op->leading_part(c);
      if (!part) continue;
      const Inputs whole(*op, c), alone(*op, *part);
      bool same_inputs = true;
      for (size_t t = 0; t < alone.specs.size(); ++t) {
        const TensorSpec& spec = alone.specs[t];
        for (int64_t i = 0; spec.role != Role::output && spec.is_read && i < spec.elements(); ++i) {
          same_inputs =
              same_inputs && encode(spec.dtype, alone.views[t].at(i)) == encode(spec.dtype, whole.views[t].at(i));
        }
      }
      if (!same_inputs) continue;
      const std::vector<Reference> want = op->oracle(c, whole.views, 1), got = op->oracle(*part, alone.views, 1);
      for (size_t k = 0; k < got.size(); ++k) {
        const size_t n = got[k].size();
        EXPECT_TRUE(same_bits(got[k].hi, {want[k].hi.begin(), want[k].hi.begin() + static_cast<int64_t>(n)})) << c.id();
      }
      ++parts;
    }
    const auto nightly = op->cases(Tier::nightly);
    const bool has_parts =
        std::any_of(nightly.begin(), nightly.end(), [&](const Case& c) { return op->leading_part(c); });
    EXPECT_TRUE(has_parts || op->name().starts_with("blas_")) << op->name();
    if (has_parts) {
      EXPECT_GT(parts, least_of(*op, 10)) << op->name();
    }
  }
}

// Every case of the smoke tier, and those by which a kernel's fingerprint is taken.
std::vector<Case> probed_cases(const Op& op) {
  std::vector<Case> all = op.cases(Tier::smoke);
  for (const ProbeSet& set : op.probes()) {
    for (const Probe& probe : set.probes) {
      if (op.tensors(probe.c)[0].elements() <= 20000) all.push_back(probe.c);
    }
  }
  return all;
}

// Elements of a reference as a kernel's output has them, for relations to be asked of it.
std::vector<std::byte> packed(const Reference& r, const std::vector<double>& values) {
  std::vector<std::byte> all(r.size() * sizeof(double));
  for (size_t i = 0; i < r.size(); ++i) {
    store_bits(DType::f64, all.data(), static_cast<int64_t>(i), encode(DType::f64, values[i]));
  }
  return all;
}

TEST(Probes, RowsInReverseOrderGiveTheSameRows) {
  for (const auto& op : registry().all()) {
    int orders = 0;
    for (const Case& c : probed_cases(*op)) {
      const std::vector<TensorAxis> axes = op->row_order(c);
      if (axes.empty()) continue;
      SCOPED_TRACE(c.id());
      const Inputs before(*op, c);
      Inputs after(*op, c);
      std::map<std::string, int> outputs;
      int64_t longest = 0;
      for (const TensorAxis& along : axes) {
        const auto spec = std::ranges::find(after.specs, along.tensor, &TensorSpec::name);
        ASSERT_NE(spec, after.specs.end()) << along.tensor;
        longest = std::max(longest, spec->shape.at(static_cast<size_t>(along.axis)));
        if (spec->role != Role::input) outputs[along.tensor] = along.axis;
        if (spec->role == Role::output || !spec->is_read) continue;
        reverse(*spec, along.axis, after.storage[static_cast<size_t>(spec - after.specs.begin())].data());
      }
      EXPECT_GT(longest, 1);
      const std::vector<Reference> want = op->oracle(c, before.views, 1), got = op->oracle(c, after.views, 1);
      for (size_t k = 0; k < want.size(); ++k) {
        ASSERT_TRUE(outputs.contains(want[k].tensor)) << want[k].tensor;
        TensorSpec spec = *std::ranges::find(after.specs, want[k].tensor, &TensorSpec::name);
        spec.dtype = DType::f64;
        spec.strides = row_major(spec.shape);
        for (const auto part : {&Reference::hi, &Reference::lo, &Reference::e_ref}) {
          std::vector<std::byte> turned = packed(got[k], got[k].*part);
          reverse(spec, outputs.at(want[k].tensor), turned.data());
          EXPECT_EQ(turned, packed(want[k], want[k].*part));
        }
      }
      ++orders;
    }
    const auto nightly = op->cases(Tier::nightly);
    const bool has_rows = std::ranges::any_of(nightly, [&](const Case& c) { return !op->row_order(c).empty(); });
    EXPECT_TRUE(has_rows || op->name().starts_with("blas_")) << op->name();
    if (has_rows) {
      EXPECT_GT(orders, least_of(*op, 10)) << op->name();
    }
  }
}

TEST(Probes, ZerosAfterTheLastTermChangeNothing) {
  std::set<std::string_view> ops;
  for (const auto& op : registry().all()) {
    int extended = 0;
    for (const Case& c : probed_cases(*op)) {
      const std::optional<Case> more = op->more_terms(c);
      if (!more) continue;
      SCOPED_TRACE(c.id());
      const Inputs base(*op, c);
      Inputs larger(*op, *more);
      for (size_t t = 0; t < base.specs.size(); ++t) {
        const TensorSpec &spec = base.specs[t], &larger_spec = larger.specs[t];
        if (spec.role != Role::input) {
          EXPECT_EQ(spec.shape, larger_spec.shape) << spec.name;
        }
        if (spec.role == Role::output || !spec.is_read) continue;
        put_among_zeros(spec, base.storage[t].data(), larger_spec, larger.storage[t].data());
      }
      const std::vector<Reference> want = op->oracle(c, base.views, 1), got = op->oracle(*more, larger.views, 1);
      for (size_t k = 0; k < want.size(); ++k) {
        for (size_t i = 0; i < want[k].size(); ++i) {
          ASSERT_EQ(encode(want[k].dtype, got[k].hi[i], true), encode(want[k].dtype, want[k].hi[i], true))
              << want[k].tensor << "[" << i << "]";
          if (std::isfinite(want[k].hi[i])) {
            ASSERT_EQ(got[k].lo[i], want[k].lo[i]) << i;
          }
        }
      }
      ++extended;
    }
    if (extended > 0) {
      EXPECT_GT(extended, least_of(*op, 10)) << op->name();
      ops.insert(op->name());
    }
  }
  EXPECT_EQ(ops, (std::set<std::string_view>{"blas_asum", "blas_dot", "blas_gemm", "blas_gemv", "blas_nrm2",
                                             "blas_syrk", "gemm", "gemm_int8", "matmul", "reduce"}));
}

}  // namespace
}  // namespace assay
