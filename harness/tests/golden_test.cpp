// golden/: the files and what hostile ones get, truths computed from an op, planning and applying updates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "fill/fill.h"
#include "golden/truth_goldens.h"
#include "golden/update.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// y = 2 x, twice over where `twice` is set; version and a fault of the oracle are the test's to choose.
class DoubleOp : public Op {
 public:
  explicit DoubleOp(std::string name = "double", int version = 3, double factor = 2)
      : name_(std::move(name)), version_(version), factor_(factor) {}
  std::string_view name() const override { return name_; }
  std::string_view summary() const override { return "y = 2 x"; }
  int oracle_version() const override { return version_; }
  std::vector<FieldSpec> fields() const override {
    return {{.name = "n", .doc = "elements"},
            {.name = "dtype", .kind = FieldKind::word, .doc = "type", .fallback = "f32", .choices = {"f32", "f16"}}};
  }
  std::vector<Case> cases(Tier) const override {
    return {make({{"n", "5"}}), make({{"n", "5"}, {"place", "start"}}), make({{"n", "5"}, {"offset", "1"}}),
            make({{"n", "7"}, {"dtype", "f16"}, {"seeds", "3"}}), make({{"n", "0"}})};
  }
  std::vector<TensorSpec> own_tensors(const Case& c) const override {
    const DType t = dtype_named(c.word("dtype")).value();
    const std::vector<int64_t> shape{c.integer("n")};
    return {{.name = "x", .dtype = t, .shape = shape, .strides = {2}, .fill = {.generator = c.word("fill")}},
            {.name = "unread", .dtype = t, .shape = shape, .strides = {1}, .is_read = false},
            {.name = "y", .dtype = t, .shape = shape, .strides = {1}, .role = Role::output}};
  }
  std::vector<Reference> oracle(const Case&, std::span<const TensorView> tensors, int) const override {
    const auto n = static_cast<size_t>(tensors[0].spec->elements());
    Reference r{.tensor = "y", .dtype = tensors[2].spec->dtype};
    r.lo.assign(n, 0);
    r.e_ref.assign(n, 0);
    for (size_t i = 0; i < n; ++i) {
      r.hi.push_back(factor_ * tensors[0].at(static_cast<int64_t>(i)));
      EXPECT_TRUE(std::isnan(tensors[1].at(static_cast<int64_t>(i))));
    }
    EXPECT_EQ(tensors[2].data, nullptr);
    return {r};
  }
  Bounds bounds(const Case&, const Contract&, const Reference&) const override { return {}; }
  std::string cap_violation(const Contract&) const override { return ""; }

 private:
  std::string name_;
  int version_;
  double factor_;
};

OpRegistry registry(int version = 3, double factor = 2) {
  std::vector<std::unique_ptr<Op>> ops;
  ops.push_back(std::make_unique<DoubleOp>("double", version, factor));
  return OpRegistry(std::move(ops));
}

std::vector<Case> cases_of(const OpRegistry& ops) { return ops.all().at(0)->cases(Tier::ci); }

std::map<std::string, TruthFile> truths(const OpRegistry& ops) { return compute_truths(ops, cases_of(ops), 1, {}); }

// ---- files ----

TEST(GoldenFile, PrintsAndParsesBackSorted) {
  GoldenFile file{.kind = "truth", .facts = {{"oracle", "2"}, {"library", "libm.so.6 a b"}, {"library", "z"}}};
  file.lines = {{"op:m=10", "b c"}, {"op:m=1", "a"}, {"op:m=2", "x=1"}};
  const std::string text = print_golden_file(file);
  EXPECT_EQ(text,
            "# assay truth golden, format 1\n# oracle 2\n# library libm.so.6 a b\n# library z\n"
            "op:m=1 a\nop:m=10 b c\nop:m=2 x=1\n");
  EXPECT_EQ(parse_golden_file(text, "truth", "f"), file);
}

TEST(GoldenFile, HostileInputGetsOneLineWithPlaceAndRemedy) {
  const std::string head = "# assay truth golden, format 1\n# oracle 2\n";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "f.txt:1: the file is empty"},
      {"gemm:m=1 0\n", "f.txt:1: the first line must be '# assay truth golden, format 1'"},
      {"# assay truth golden, format 2\n", "f.txt:1: the first line must be"},
      {"# assay observed golden, format 1\n", "f.txt:1: the first line must be"},
      {head + "a:m=1 x\na:m=2 x", "f.txt:4: the last line is cut off"},
      {head + "a:m=1 x\r\n", "f.txt:3: lines end in CR LF"},
      {head + "a:m=2 x\na:m=1 x\n", "f.txt:4: 'a:m=1' is out of order or there twice"},
      {head + "a:m=1 x\na:m=1 x\n", "f.txt:4: 'a:m=1' is out of order or there twice"},
      {head + "a:m=1 x\na:m=2 x\ngarbage of words\na:m=3 x\n", "f.txt:5: 'garbage' is no case id"},
      {head + "a:m=1 x\na:m=2 x\nz:zzz of words\na:m=3 x\n", "f.txt:5: 'z:zzz' is out of order;"},
      {head + "z:zzz of words\na:m=1 x\na:m=2 x\n", "f.txt:3: 'z:zzz' is out of order;"},
      {head + "a:m=1 x\na:m=2 x\nz:zzz of words\na:m=3 x\na:m=4 x\n", "f.txt:5: 'z:zzz' is out of order;"},
      {head + "a:m=1 x\na:m=2 x\na:m=0 x\na:m=3 x\n", "f.txt:5: 'a:m=0' is out of order or there twice"},
      {head + "a:m=1 x\na:m=3 x\na:m=2 x\na:m=4 x\n", "f.txt:5: 'a:m=2' is out of order or there twice"},
      {head + "a:m=1\n", "f.txt:3: not 'key value'"},
      {head + "\n", "f.txt:3: not 'key value'"},
      {head + " a:m=1 x\n", "f.txt:3: not 'key value'"},
      {head + "<<<<<<< HEAD\n", "f.txt:3: no case id begins like '<<<<<<<'"},
      {head + "a:m=1 x\n# oracle 3\n", "f.txt:4: a '#' line after the first case"},
      {head + "#\n", "f.txt:3: not 'key value'"},
      {head + "# lonely\n", "f.txt:3: '#' must be followed by a word and a text"},
      {head + std::string("a:m=1 x\0y\n", 10), "f.txt:3: control characters"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string message = message_of([&, &text = text] { parse_golden_file(text, "truth", "f.txt"); });
    EXPECT_THAT(message, HasSubstr(expected)) << text;
    EXPECT_THAT(message, HasSubstr("restore the file, or delete it and run 'assay golden update'"));
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST(GoldenFile, AFailedWriteLeavesTheOldFileAndNoOther) {
  const Scratch scratch;
  const fs::path& folder = scratch.path;
  const GoldenFile old{.kind = "truth", .facts = {{"oracle", "1"}}, .lines = {{"a:m=1", "old"}}};
  GoldenFile large = old;
  large.lines["a:m=2"] = std::string(100000, 'x');
  write_golden_file(folder / "a.txt", old);

  signal(SIGXFSZ, SIG_IGN);  // the disk is full after 4 KiB
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{4096, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = message_of([&] { write_golden_file(folder / "a.txt", large); });
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_THAT(message, HasSubstr("a.txt: cannot be written: File too large"));
  EXPECT_EQ(read_golden_file(folder / "a.txt", "truth"), old);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);

  write_text(folder / "file", "in the way");
  EXPECT_THAT(message_of([&] { write_golden_file(folder / "file" / "a.txt", old); }), HasSubstr("cannot be written"));
  EXPECT_THAT(message_of([&] { read_golden_file(folder / "none.txt", "truth"); }),
              AllOf(HasSubstr("cannot read "), HasSubstr("none.txt: No such file")));
  EXPECT_THROW(write_golden_file(folder / "b.txt", {.kind = "truth", .lines = {{"a b", "x\ny"}}}), UsageError)
      << "what cannot be read back is not written";
  EXPECT_FALSE(fs::exists(folder / "b.txt"));
}

// Only what is not there has nothing approved.
TEST(GoldenFile, WhatCannotBeReadIsNotNothing) {
  const Scratch scratch;
  const fs::path& folder = scratch.path;
  EXPECT_TRUE(golden_files_in(folder / "none").empty());
  EXPECT_FALSE(has_golden_file(folder / "none" / "a.txt"));
  fs::create_symlink(folder / "loop", folder / "loop");
  EXPECT_THAT(message_of([&] { golden_files_in(folder / "loop"); }), HasSubstr("loop: "));
  EXPECT_THAT(message_of([&] { has_golden_file(folder / "loop" / "a.txt"); }), HasSubstr("loop"));
  write_text(folder / "file", "in the way");
  for (const char* name : {"file", "file/below"}) {
    EXPECT_THAT(message_of([&] { golden_files_in(folder / name); }), HasSubstr("file: Not a directory")) << name;
  }
  EXPECT_THAT(message_of([&] { has_golden_file(folder / "file" / "a.txt"); }), HasSubstr("file: Not a directory"));
  EXPECT_THAT(message_of([&] { read_golden_file(folder, "truth"); }), HasSubstr("is no file"));
}

// ---- truth ----

TEST(TruthGoldens, KeyLeavesKernelAndPlacementOut) {
  EXPECT_EQ(truth_key("gemm/simd:m=1,offset=3,seed=2,place=start"), "gemm:m=1,seed=2");
  EXPECT_EQ(truth_key("gemm:offset=3"), "gemm:");
  EXPECT_EQ(truth_key("gemm:m=1"), "gemm:m=1");
}

TEST(TruthGoldens, AreTheOraclesAnswersOfEverySeed) {
  const OpRegistry ops = registry();
  std::vector<std::string> seen;
  const auto files = compute_truths(ops, cases_of(ops), 2, [&](const TruthProgress& at) { seen.push_back(at.next); });
  ASSERT_EQ(files.size(), 1u);
  const TruthFile& file = files.at("double");
  EXPECT_EQ(file.oracle_version, 3);
  EXPECT_THAT(seen, testing::ElementsAre("double:n=0", "double:n=5", "double:n=7,dtype=f16,seeds=3"));
  ASSERT_EQ(file.cases.size(), 3u) << "placement makes no case of its own";
  EXPECT_EQ(file.cases.at("double:n=0").elements, 0);
  const Truth& seeds = file.cases.at("double:n=7,dtype=f16,seeds=3");
  EXPECT_EQ(seeds.elements, 21);
  std::vector<Reference> references;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Reference r{.tensor = "y", .dtype = DType::f16, .lo = std::vector<double>(7), .e_ref = std::vector<double>(7)};
    const std::vector<int64_t> shape{7};
    for (int64_t i = 0; i < 7; ++i) r.hi.push_back(2 * fill_value({}, seed, "x", shape, DType::f16, i));
    references.push_back(r);
  }
  EXPECT_EQ(seeds, truth_of(references));
  const auto none = compute_truths(ops, {}, 1, {});
  ASSERT_EQ(none.size(), 1u) << "an op without a case has a file all the same";
  EXPECT_TRUE(none.at("double").cases.empty());
}

TEST(TruthGoldens, FileReadsBackAndHostileLinesDoNot) {
  const TruthFile file = truths(registry()).at("double");
  const GoldenFile text = to_golden_file(file);
  EXPECT_EQ(truth_file_from(text, "f"), file);
  const auto with_line = [&](const std::string& line) {
    GoldenFile changed = text;
    changed.lines["double:n=5"] = line;
    return message_of([&] { truth_file_from(changed, "f.txt"); });
  };
  const std::string good = text.lines.at("double:n=5");
  for (const std::string& bad : std::vector<std::string>{
           "0123 elements=5 straddling=0", "0123456789abcdeg elements=5 straddling=0",
           "0123456789abcdef elements=-5 straddling=0", "0123456789abcdef elements=5", "0123456789abcdef 5 0",
           "0123456789abcdef elements=5 straddling=0 4", "0123456789abcdef elements=5 straddling=0 a:00",
           "0123456789abcdef elements=99999999999999999999 straddling=0"}) {
    EXPECT_THAT(with_line(bad), HasSubstr("f.txt: double:n=5: '" + bad + "' is not a truth;")) << bad;
  }
  EXPECT_THAT(with_line(good + " 5:00 6:00"), HasSubstr("is not a truth")) << "a fourth sample";
  GoldenFile unversioned = text;
  unversioned.facts.clear();
  EXPECT_THAT(message_of([&] { truth_file_from(unversioned, "f.txt"); }), HasSubstr("'# oracle VERSION'"));
}

TEST(TruthGoldens, FindSaysWhyThereIsNone) {
  const Scratch scratch;
  const fs::path& folder = scratch.path;
  const OpRegistry ops = registry();
  EXPECT_THAT(TruthGoldens::load(folder, ops).find("double/k:n=5").absent, HasSubstr("has no truth golden"));
  apply_changes(plan_truth_update(folder, truths(ops), Extent::complete), false);
  const TruthGoldens goldens = TruthGoldens::load(folder, ops);
  ASSERT_NE(goldens.find("double/k:n=5,place=start").truth, nullptr);
  EXPECT_EQ(*goldens.find("double/k:n=5").truth, truths(ops).at("double").cases.at("double:n=5"));
  EXPECT_EQ(goldens.find("double/k:n=6").absent, "no truth golden of this case");
  const TruthGoldens::Found other = TruthGoldens::load(folder, registry(4)).find("double/k:n=5");
  EXPECT_EQ(other.truth, nullptr);
  EXPECT_THAT(other.absent, HasSubstr("oracle version 3, this build has 4"));
  fs::rename(folder / "double.txt", folder / "kept");
  write_text(folder / "double.txt",
             "# assay truth golden, format 1\n# oracle 3\nsoftmax:n=5 0123456789abcdef elements=5 straddling=0\n");
  EXPECT_THAT(message_of([&] { TruthGoldens::load(folder, ops); }), HasSubstr("not a case of this op"));
}

// ---- updates ----

TEST(GoldenUpdate, VerifyDiffAndUpdateAreOnePlan) {
  const Scratch scratch;
  const fs::path& folder = scratch.path;
  const OpRegistry ops = registry();
  auto changes = plan_truth_update(folder, truths(ops), Extent::complete);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_TRUE(changes[0].is_new);
  EXPECT_THAT(diff_text(changes), HasSubstr("double.txt: 3 added, 0 changed, 0 removed\n+ # oracle 3\n+ double:n=0 "));
  apply_changes(changes, false);
  EXPECT_TRUE(plan_truth_update(folder, truths(ops), Extent::complete).empty()) << "verified";
  EXPECT_EQ(diff_text({}), "");

  // An oracle whose answer moved without anyone saying so.
  changes = plan_truth_update(folder, truths(registry(3, 2.5)), Extent::complete);
  const std::string before = truth_file_from(changes.at(0).before, "f").cases.at("double:n=5").hash;
  const std::string after = truth_file_from(changes.at(0).after, "f").cases.at("double:n=5").hash;
  const std::string text = diff_text(changes);
  EXPECT_THAT(text, HasSubstr("double.txt: 0 added, 2 changed, 0 removed\n~ double:n=5\n    was " + before));
  EXPECT_THAT(text, HasSubstr("    now " + after));

  // A case that went, and one that came.
  auto files = truths(ops);
  files["double"].cases.erase("double:n=0");
  files["double"].cases["double:n=6"] = files["double"].cases["double:n=5"];
  changes = plan_truth_update(folder, files, Extent::complete);
  EXPECT_THAT(diff_text(changes), HasSubstr("1 added, 0 changed, 1 removed\n+ double:n=6 "));
  EXPECT_THAT(diff_text(changes), HasSubstr("\n- double:n=0 "));
  changes = plan_truth_update(folder, files, Extent::partial);
  EXPECT_THAT(diff_text(changes), HasSubstr("1 added, 0 changed, 0 removed"));
}

TEST(GoldenUpdate, PartialKeepsOthersAndRefusesToMislabelThem) {
  const Scratch scratch;
  const fs::path& folder = scratch.path;
  apply_changes(plan_truth_update(folder, truths(registry()), Extent::complete), false);
  auto other_version = truths(registry(4));
  EXPECT_THAT(message_of([&] { plan_truth_update(folder, other_version, Extent::partial); }),
              HasSubstr("update without a filter"));
  EXPECT_EQ(plan_truth_update(folder, other_version, Extent::complete).size(), 1u);
  std::map<std::string, TruthFile> nothing{{"double", {.oracle_version = 4}}};
  EXPECT_TRUE(plan_truth_update(folder, nothing, Extent::partial).empty());
}

TEST(GoldenUpdate, AFileWithoutItsOpIsRemoved) {
  const Scratch scratch;
  const fs::path& folder = scratch.path;
  apply_changes(plan_truth_update(folder, truths(registry()), Extent::complete), false);
  fs::copy(folder / "double.txt", folder / "gone.txt");
  write_text(folder / "README.md", "not a golden");
  EXPECT_TRUE(plan_truth_update(folder, truths(registry()), Extent::partial).empty());
  const auto changes = plan_truth_update(folder, truths(registry()), Extent::complete);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_THAT(diff_text(changes), HasSubstr("gone.txt: 0 added, 0 changed, 3 removed"));
  apply_changes(changes, false);
  EXPECT_FALSE(fs::exists(folder / "gone.txt"));
  EXPECT_TRUE(fs::exists(folder / "README.md"));
}

TEST(GoldenUpdate, RefusesInCiBeforeItWrites) {
  const Scratch scratch;
  const fs::path& folder = scratch.path;
  const auto changes = plan_truth_update(folder, truths(registry()), Extent::complete);
  EXPECT_THAT(message_of([&] { apply_changes(changes, true); }), HasSubstr("CI is set"));
  EXPECT_THAT(message_of([&] { apply_changes({}, true); }), HasSubstr("CI is set"));
  EXPECT_FALSE(fs::exists(folder / "double.txt"));
}

TEST(GoldenUpdate, AMalformedFileIsNamedNotOverwritten) {
  const Scratch scratch;
  const fs::path& folder = scratch.path;
  write_text(folder / "double.txt", "garbage\n");
  EXPECT_THAT(message_of([&] { plan_truth_update(folder, truths(registry()), Extent::complete); }),
              HasSubstr("double.txt:1: the first line must be"));
  EXPECT_EQ(content_of(folder / "double.txt"), "garbage\n");
}

}  // namespace
}  // namespace assay
