// Drawn cases: their distribution, what an op's declaration is enough for, coverage, and the order in which kernels are
// asked. Answers come from predicates in place of a judge.
#include "gate/fuzz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <iostream>

#include "core/error.h"
#include "gate_fakes.h"
#include "record/verdict.h"
#include "scratch.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const OpRegistry& ops() {
  static const OpRegistry all = make_op_registry();
  return all;
}

CaseDraw draws_of(const std::string& op) { return CaseDraw(ops().named(op), ops().named(op).cases(Tier::nightly)); }

double work_of(const Op& op, const Case& c) {
  double work = 1;
  for (const FieldSpec& field : op.all_fields()) {
    if (is_length(field)) work *= std::max(c.real(field.name), 1.0);
  }
  return work;
}

double bytes_of(const Op& op, const Case& c) {
  double bytes = 0;
  for (const TensorSpec& tensor : op.tensors(c)) {
    bytes += static_cast<double>(tensor.span_elements()) * static_cast<double>(size_of(tensor.dtype));
  }
  return bytes;
}

bool is_power_of_two(int64_t n) { return n > 0 && std::has_single_bit(static_cast<uint64_t>(n)); }

TEST(Length, StaysInItsRange) {
  Draw draw(1);
  for (const int64_t most : {1, 2, 3, 17, 1000}) {
    for (int i = 0; i < 2000; ++i) {
      const int64_t n = draw_length(draw, 1, most);
      EXPECT_TRUE(1 <= n && n <= most) << n;
    }
  }
  EXPECT_EQ(draw_length(draw, 5, 3), 5) << "what must be goes before what may be";
}

// Shares of a million draws, each within five standard deviations of what the distribution says: a right one fails in
// about one of 300,000 comparisons.
TEST(Length, HasThePromisedDistribution) {
  constexpr uint64_t kSeed = 20261;
  std::cout << "seed " << kSeed << "\n";
  Draw draw(kSeed);
  constexpr int kDraws = 1'000'000;
  constexpr int64_t kMost = (1 << 20) - 1;
  std::map<std::string, int> counts;
  std::vector<int> binades(20);
  for (int i = 0; i < kDraws; ++i) {
    const int64_t n = draw_length(draw, 0, kMost);
    ++counts[n == 0 ? "0" : n == 1 ? "1" : "more"];
    if (n > 8 && is_power_of_two(n)) ++counts["edge"];
    if (n > 8 && is_power_of_two(n - 1)) ++counts["edge+1"];
    if (n > 8 && is_power_of_two(n + 1)) ++counts["edge-1"];
    if (n > 8 && is_prime(n)) ++counts["prime"];
    if (n > 0) ++binades[static_cast<size_t>(std::bit_width(static_cast<uint64_t>(n)) - 1)];
  }
  const auto share = [&](const std::string& what) { return counts[what] / static_cast<double>(kDraws); };
  const auto about = [](double p) { return 5 * std::sqrt(p / kDraws); };
  // 0 comes from its own twelfth, and from the edge 2^0 less one; what lies beyond kMost (2^20 and one more, 3 to 9
  // times a large power, a prime beyond) is drawn again, which raises every share by less than a tenth.
  EXPECT_GT(share("0"), 1.0 / 12);
  EXPECT_LT(share("0"), 1.1 * (1.0 / 12 + 4.0 / 12 * 2 / 3 / 3 / 21) + about(0.1));
  EXPECT_GT(share("1"), 1.0 / 12);
  EXPECT_LT(share("1"), 0.15);
  for (const char* edge : {"edge-1", "edge", "edge+1"}) {
    const double least = 4.0 / 12 * 2 / 3 / 3 * 16 / 21;  // of the 21 powers of two those from 16 on, below 2^20
    EXPECT_GT(share(edge), least - about(least)) << edge;
    EXPECT_LT(share(edge), 1.4 * least) << edge;
  }
  EXPECT_GT(share("prime"), 2.0 / 12 * 17 / 20);  // 9 to 2^20 of its binades; others are prime by chance
  EXPECT_LT(share("prime"), 0.35);
  for (size_t b = 1; b < binades.size(); ++b) {  // each has its share of the log-uniform third and more
    EXPECT_GT(binades[b], kDraws * 4 / 12 / 20 * 95 / 100) << "binade " << b;
  }
}

TEST(CaseDraw, EveryOpIsDrawnFromAsItIsAndWithinTheLimits) {
  constexpr uint64_t kSeed = 7;
  const DrawLimits limits;
  for (const auto& op : ops().all()) {
    const CaseDraw draws = draws_of(std::string(op->name()));
    Draw draw(kSeed);
    std::set<std::string> ids;
    std::map<std::string, std::set<std::string>> values;
    int huge = 0, large = 0;
    constexpr int kDraws = 3000;
    for (int i = 0; i < kDraws; ++i) {
      const std::optional<Case> c = draws.fresh(draw);
      ASSERT_TRUE(c) << op->name();
      ids.insert(c->id());
      EXPECT_EQ(ops().parse_case(c->id()), *c);
      op->require(*c);
      const double work = work_of(*op, *c), bytes = bytes_of(*op, *c);
      EXPECT_LE(work, static_cast<double>(limits.work * kLargerBy)) << c->id();
      EXPECT_LE(bytes, static_cast<double>(limits.bytes * kLargerBy)) << c->id();
      huge += bytes > static_cast<double>(limits.bytes) ? 1 : 0;
      large += work > static_cast<double>(limits.work) ? 1 : 0;
      for (const FieldValue& value : c->fields()) values[value.name].insert(value.text);
    }
    EXPECT_GT(ids.size(), kDraws * 99u / 100) << op->name();
    const std::vector<FieldSpec> fields = op->all_fields();
    if (std::count_if(fields.begin(), fields.end(), is_length) > 1) {  // a length alone may be a square matrix's
      EXPECT_GT(huge, kDraws / 200) << op->name() << ": some are huge";
    }
    EXPECT_LT(large, kDraws / 6) << op->name() << ": most are small";
    for (const FieldSpec& field : op->all_fields()) {
      if (field.name == "seeds" || field.name == "support") {
        EXPECT_EQ(values[field.name].size(), 1u) << field.name;
      } else if (!field.choices.empty()) {
        EXPECT_EQ(values[field.name].size(), field.choices.size()) << op->name() << ": " << field.name;
      } else {
        EXPECT_GE(values[field.name].size(), 3u) << op->name() << ": " << field.name;
      }
    }
    std::set<std::string> fills;  // that its listed cases have, but for sweeps
    for (const Case& c : op->cases(Tier::nightly)) {
      if (!is_sweep(op->tensors(c))) fills.insert(c.word("fill"));
    }
    EXPECT_EQ(values["fill"], fills) << op->name();
  }
}

// Whether a tensor has two axes of that length, so that the longest fit no memory.
bool is_of_a_square(const Op& op, const FieldSpec& field) {
  for (const Case& listed : op.cases(Tier::smoke)) {
    const Case c = listed.with({{field.name, "271"}});
    try {
      const std::vector<TensorSpec> tensors = op.tensors(c);
      return std::any_of(tensors.begin(), tensors.end(), [](const TensorSpec& t) {
        return std::count(t.shape.begin(), t.shape.end(), int64_t{271}) > 1;
      });
    } catch (const UsageError&) {  // no length of this case
    }
  }
  return false;
}

TEST(CaseDraw, ReachesTheBoundariesOfEveryLength) {
  for (const auto& op : ops().all()) {
    const CaseDraw draws = draws_of(std::string(op->name()));
    Draw draw(11);
    std::map<std::string, int> classes;
    for (int i = 0; i < 4000; ++i) {
      for (const std::string& one : boundary_classes(op->all_fields(), *draws.fresh(draw))) ++classes[one];
    }
    const std::vector<FieldSpec> fields = op->all_fields();
    const bool has_several = std::count_if(fields.begin(), fields.end(), is_length) > 1;
    for (const FieldSpec& field : fields) {
      if (!is_length(field)) continue;
      for (const char* boundary :
           {"0", "1", "edge-1", "edge", "edge+1", "tile", "prime", "odd", "even", "~16", "~256", "~4096", "~65536"}) {
        if (std::string(boundary) == "0" && field.least > 0) continue;
        if (std::string(boundary) == "~65536" && is_of_a_square(*op, field)) continue;
        EXPECT_GE(classes[field.name + ":" + boundary], 10) << op->name() << ": " << field.name << " " << boundary;
      }
      if (has_several) {
        EXPECT_GE(classes["long:" + field.name], 10) << op->name();
      }
    }
    EXPECT_GE(classes["empty"], 100) << op->name();
    for (const char* attribute : {"offset:odd", "offset:tile", "place:start"}) EXPECT_GE(classes[attribute], 100);
  }
}

TEST(CaseDraw, ChangesOneFieldAndKeepsWhatIsFixed) {
  const CaseDraw draws = draws_of("gemm");
  Draw draw(3);
  const FixedFields fixed{{"dtype", "bf16"}, {"k", "33"}};
  for (int i = 0; i < 500; ++i) {
    const Case c = draws.fresh(draw, fixed).value(), other = draws.changed(draw, c, fixed).value();
    EXPECT_EQ(c.word("dtype"), "bf16");
    EXPECT_EQ(c.integer("k"), 33);
    int differing = 0;
    for (const FieldValue& value : c.fields()) differing += other.word(value.name) == value.text ? 0 : 1;
    EXPECT_EQ(differing, 1) << c.id() << " -> " << other.id();
    EXPECT_EQ(other.integer("k"), 33);
  }
  EXPECT_FALSE(draws.fresh(draw, {{"dtype", "f32"}, {"out", "bf16"}})) << "which no case of the op has";
  EXPECT_FALSE(draws.fresh(draw, {{"m", "1000000"}, {"n", "1000000"}})) << "beyond the limits";
}

TEST(CaseDraw, IsTheSameForASeed) {
  const CaseDraw draws = draws_of("softmax");
  Draw one(5), same(5), other(6);
  for (int i = 0; i < 20; ++i) {
    const Case c = *draws.fresh(one);
    EXPECT_EQ(c.id(), draws.fresh(same)->id());
    EXPECT_NE(c.id(), draws.fresh(other)->id());
  }
}

TEST(Boundaries, AreNamed) {
  const auto of = [](const std::string& id) {
    const Case c = ops().parse_case(id);
    return boundary_classes(ops().named(c.op()).all_fields(), c);
  };
  EXPECT_THAT(of("reduce:kind=max,outer=0,n=63,inner=65,pad=3,dtype=f32,offset=16"),
              ElementsAre("kind:max", "outer:0", "outer:~16", "n:edge-1", "n:~256", "inner:edge+1", "inner:~256",
                          "pad:odd", "dtype:f32", "fill:normal", "offset:tile", "place:end", "empty"));
  EXPECT_THAT(of("gemm:m=4099,n=48,k=15,alpha=-0.75,beta=1,dtype=f16,fill=huge"),
              AllOf(Contains("m:prime"), Contains("n:tile"), Contains("k:edge-1"), Contains("alpha:negative"),
                    Contains("beta:1"), Contains("fill:huge"), Contains("long:m"), Contains("pad_a:0")));
  EXPECT_THAT(of("gemm_int8:m=50,n=35,k=9,za=-128,zb=127,zy=-3"),
              AllOf(Contains("m:even"), Contains("n:odd"), Contains("za:lowest"), Contains("zb:highest"),
                    Contains("zy:negative"), Not(Contains("long:m"))));
}

Record answer(const std::string& chosen, Verdict verdict = Verdict::pass) {
  Record record;
  record.verdict = verdict;
  record.selection = {{"chosen", chosen}, {"reason", "of its own"}, {"candidate.x", "no"}, {"library", "L 1.2"}};
  return record;
}

TEST(Decision, IsThePathAndNotWhatIsSaidAboutIt) {
  Record one = answer("simd"), other = answer("simd");
  other.selection["reason"] = "another";
  other.selection["candidate.y"] = "no";
  other.selection["library"] = "L 1.3";
  one.workspace_bytes = 1000;
  other.workspace_bytes = 1024;
  EXPECT_EQ(decision_of(one), decision_of(other));
  other.selection["split_k"] = "4";
  EXPECT_NE(decision_of(one), decision_of(other));
  other = one;
  other.workspace_bytes = 1 << 20;
  EXPECT_NE(decision_of(one), decision_of(other));
  EXPECT_EQ(decision_of(answer("simd", Verdict::unsupported)), "refused");
}

TEST(Coverage, CountsPairsOfClassesByDecision) {
  Coverage coverage;
  coverage.add_listed({"a", "b", "c"});
  EXPECT_EQ(coverage.unseen({"a", "b"}), 0);
  EXPECT_EQ(coverage.unseen({"a", "b", "d"}), 2);
  EXPECT_EQ(coverage.add("one", {"a", "b", "d"}), 3);
  EXPECT_EQ(coverage.unseen({"d", "a", "b"}), 0) << "whatever their order";
  EXPECT_EQ(coverage.add("one", {"a", "b", "d"}), 0);
  EXPECT_EQ(coverage.add("two", {"a", "b", "d"}), 3) << "another path through the kernel";
  EXPECT_EQ(coverage.keys(), 6);
  EXPECT_EQ(coverage.keys_beyond_listed(), 4);
}

KernelInfo kernel(const std::string& op, const std::string& name, const std::string& domain = "") {
  KernelInfo info = fake_kernel(op, name);
  info.contract.domain = domain;
  return info;
}

struct Asked {
  std::vector<std::string> ids;
  FuzzSummary summary;
};

// Asks for `count` cases and answers each with what `answers` makes of it.
Asked fuzz(
    const std::vector<KernelInfo>& kernels, int count, uint64_t seed,
    const std::function<Record(const Case&)>& answers = [](const Case&) { return answer("simd"); },
    const std::vector<std::string>& filters = {}) {
  const Plan plan{kernels, {}, {}};
  Fuzzer fuzzer(ops(), plan, "cpu", filters, seed);
  Asked asked;
  for (int i = 0; i < count; ++i) {
    const std::optional<PlannedCase> one = fuzzer.next();
    if (!one) break;
    asked.ids.push_back(one->id);
    Record record = answers(one->c);
    record.kernel_id = one->id;
    fuzzer.learn(record);
  }
  asked.summary = fuzzer.summary();
  return asked;
}

TEST(Fuzzer, AsksAKernelTheSameWhateverOthersThereAre) {
  const Asked alone = fuzz({kernel("reduce", "a")}, 40, 9), again = fuzz({kernel("reduce", "a")}, 40, 9),
              other = fuzz({kernel("reduce", "a")}, 40, 10),
              both = fuzz({kernel("reduce", "a"), kernel("softmax", "b")}, 80, 9);
  EXPECT_EQ(alone.ids, again.ids);
  EXPECT_NE(alone.ids, other.ids);
  std::vector<std::string> of_a;
  for (const std::string& id : both.ids) {
    if (id.starts_with("reduce/a:")) of_a.push_back(id);
  }
  EXPECT_EQ(of_a, alone.ids);
  EXPECT_EQ(std::set<std::string>(both.ids.begin(), both.ids.end()).size(), both.ids.size()) << "none twice";
}

TEST(Fuzzer, DrawsNoListedCase) {
  std::set<std::string> listed;
  for (const Case& c : ops().named("reduce").cases(Tier::nightly)) listed.insert(c.kernel_id("a"));
  for (const std::string& id : fuzz({kernel("reduce", "a")}, 300, 4).ids) EXPECT_FALSE(listed.contains(id)) << id;
}

TEST(Fuzzer, MostDrawsAreOfWhatTheKernelClaims) {
  const std::string domain = "dtype in bf16; k multiple of 16; n multiple of 16; pad_b == 0";
  const KernelInfo narrow = kernel("gemm", "narrow", domain);
  const auto by_contract = [&](const Case& c) {
    return answer("simd", unclaimed(narrow.contract, c).empty() ? Verdict::pass : Verdict::unsupported);
  };
  const FuzzSummary summary = fuzz({narrow}, 400, 12, by_contract).summary;
  EXPECT_EQ(summary.drawn, 400);
  EXPECT_EQ(summary.judged + summary.refused, 400);
  EXPECT_GT(summary.refused, 4) << "refusing is a promise, too";
  EXPECT_LT(summary.refused, 48);
}

TEST(Fuzzer, KeepsToItsFilters) {
  for (const std::string& id : fuzz({kernel("reduce", "a"), kernel("reduce", "b")}, 60, 2,
                                    [](const Case&) { return answer("simd"); }, {"reduce/b:kind=max,dtype=*16"})
                                   .ids) {
    EXPECT_THAT(id, AllOf(HasSubstr("reduce/b:kind=max"), HasSubstr("16")));
  }
  const auto wrong = [](const std::string& filter) {
    return message_of([&] { fuzz({kernel("reduce", "a")}, 1, 1, [](const Case&) { return Record(); }, {filter}); });
  };
  EXPECT_THAT(wrong("reduce/a:kind=max,n=7,dtype=f32"), HasSubstr("is one case, so that nothing is left to draw"));
  EXPECT_THAT(wrong("softmax"), HasSubstr("no loaded module has a kernel for op 'softmax'"));
  const Plan plan{{kernel("reduce", "a")}, {}, {}};
  EXPECT_THAT(message_of([&] { Fuzzer(ops(), plan, "cuda", {}, 1); }), HasSubstr("no kernel of target cuda"));
  EXPECT_THAT(
      fuzz({kernel("gemm", "a")}, 5, 1, [](const Case&) { return answer("simd"); }, {"gemm:dtype=f32,out=bf16"}).ids,
      IsEmpty())
      << "no case of the op is so";
}

TEST(Fuzzer, AKernelThatCannotRunHereIsAskedOnce) {
  const Asked asked = fuzz({kernel("reduce", "a"), kernel("reduce", "b")}, 30, 2, [](const Case&) {
    Record record = answer("", Verdict::unsupported);
    record.reason = std::string(kNotAvailable) + "it lacks something";
    return record;
  });
  EXPECT_EQ(asked.ids.size(), 2u);
}

// A path taken only by rare shapes, with a fault in one corner of it: cases that take it are changed, so that the
// corner is reached sooner than by fresh draws, of which one in some hundreds takes the path.
TEST(Fuzzer, FollowsARarePath) {
  const auto is_rare = [](const Case& c) { return c.integer("n") % 128 == 127 && c.integer("outer") >= 3; };
  int guided = 0, fresh = 0;
  const CaseDraw draws = draws_of("reduce");
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    fuzz({kernel("reduce", "a")}, 250, seed, [&](const Case& c) {
      guided += is_rare(c) ? 1 : 0;
      return answer(is_rare(c) ? "panel" : "row");
    });
    Draw draw(seed);
    for (int i = 0; i < 250; ++i) fresh += is_rare(*draws.fresh(draw)) ? 1 : 0;
  }
  std::cout << "of 1000 cases " << guided << " take the rare path, of as many fresh ones " << fresh << "\n";
  EXPECT_GT(guided, 2 * fresh);
}

TEST(Fuzzer, AnswersBelongToQuestions) {
  const Plan plan{{kernel("reduce", "a")}, {}, {}};
  Fuzzer fuzzer(ops(), plan, "cpu", {}, 1);
  Record stray = answer("simd");
  stray.kernel_id = "reduce/a:kind=max,n=7,dtype=f32";
  EXPECT_THROW(fuzzer.learn(stray), Error);
}

TEST(Budget, IsATimeOrACount) {
  EXPECT_EQ(parse_fuzz_budget("60s").seconds, 60);
  EXPECT_EQ(parse_fuzz_budget("1.5m").seconds, 90);
  EXPECT_EQ(parse_fuzz_budget("2h").seconds, 7200);
  EXPECT_EQ(parse_fuzz_budget("200cases").cases, 200);
  for (const char* wrong : {"", "60", "s", "0s", "-1s", "1.5cases", "0cases", "1e99s", "nans", "infs", "60 s", "60sec",
                            "200case", "0x10s"}) {
    EXPECT_THAT(message_of([&] { parse_fuzz_budget(wrong); }), HasSubstr("neither a time nor a number of cases"))
        << wrong;
  }
}

}  // namespace
}  // namespace assay
