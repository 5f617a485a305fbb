// record/: JSON both ways and hostile input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <random>
#include <sstream>

#include "core/error.h"
#include "record/json.h"
#include "record/json_text.h"
#include "record/run_folder.h"
#include "record/verdict.h"
#include "sample_run.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Every field differs from its default, so that one that JSON loses is seen.
class RandomRecords {
 public:
  explicit RandomRecords(uint64_t seed) : bits_(seed) { std::cout << "seed " << seed << "\n"; }

  Record next() {
    Record r{.kernel_id = "op/k:i=" + std::to_string(count_++),
             .op = text(),
             .kernel = text(),
             .target = text(),
             .owner = text(),
             .module_hash = text(),
             .verdict = static_cast<Verdict>(bits_() % 15),
             .reason = text(),
             .output_hash = text(),
             .truth_hash = text(),
             .worst_input = text(),
             .workspace_bytes = bits_(),
             .resident_growth_bytes = static_cast<int64_t>(bits_()),
             .interruptions = static_cast<int>(bits_() % 1000) + 1,
             .late_libraries = {text(), text()},
             .repro = text()};
    for (uint64_t n = bits_() % 3 + 1; n-- > 0;) {
      r.checks.push_back({text(), static_cast<Outcome>(bits_() % 6), static_cast<Verdict>(bits_() % 15), text()});
      r.errors.push_back({.tensor = text(),
                          .elements = integer(),
                          .exact = integer(),
                          .rigorous = integer(),
                          .weak = integer(),
                          .vacuous = integer(),
                          .no_evidence = integer(),
                          .failures = integer(),
                          .max_q = number(),
                          .rms_q = number(),
                          .mean_signed_q = number(),
                          .misrounded = number(),
                          .mean_signed_ulps = number(),
                          .worst_index = integer(),
                          .worst_got = number(),
                          .worst_want = number(),
                          .worst_bound = number(),
                          .histogram = {integer(), 0, integer()}});
      r.seeds.push_back({bits_(), number(), number(), number(), number()});
      r.latency.push_back({.metric = text(),
                           .samples = integer(),
                           .p50_us = number(),
                           .p90_us = number(),
                           .p99_us = number(),
                           .mean_us = number(),
                           .tail_mass = number(),
                           .quantum_us = number(),
                           .batch = number(),
                           .coarse = bits_() % 2 == 0,
                           .samples_file = text(),
                           .involuntary_switches = integer(),
                           .sm_mhz = number(),
                           .sm_mhz_low = number()});
      r.selection[text() + std::to_string(n)] = text();
      r.seconds[text() + std::to_string(n)] = number();
    }
    return r;
  }

  // Any finite double or infinity; never NaN, which equals nothing.
  double number() {
    for (;;) {
      const double value = std::bit_cast<double>(bits_());
      if (!std::isnan(value)) return bits_() % 8 == 0 ? std::copysign(INFINITY, value) : value;
    }
  }

 private:
  int64_t integer() { return static_cast<int64_t>(bits_() >> 1); }
  std::string text() {
    static const std::vector<std::string> kPieces{"a",  "\"", "\\", "\n", std::string(1, '\0'), "\x1b", "\xC3\xA9",
                                                  "{}", ",",  "/",  "<",  "\xF0\x9F\x98\x80",   "\x7f"};
    std::string made = "t";
    for (uint64_t n = bits_() % 6; n-- > 0;) made += kPieces[bits_() % kPieces.size()];
    return made;
  }

  std::mt19937_64 bits_;
  int count_ = 0;
};

TEST(RecordJson, RandomRecordsComeBackEqual) {
  RandomRecords random(std::random_device{}());
  for (int i = 0; i < 200; ++i) {
    const Record record = random.next();
    const std::string line = print_json(to_json(record));
    ASSERT_EQ(line.find('\n'), std::string::npos);
    ASSERT_EQ(record_from_json(parse_json(line)), record) << line;
  }
}

TEST(RecordJson, NoFieldIsLeftAtItsDefaultInTheRoundTripTest) {
  // A new field that RandomRecords does not set would make the test above blind to its loss.
  const Record defaults;
  const nlohmann::json blank = to_json(defaults);
  const nlohmann::json full = to_json(RandomRecords(1).next());
  for (const auto& [key, value] : blank.items()) {
    if (key == "schema" || key == "verdict") continue;
    EXPECT_NE(full.at(key), value) << key;
  }
}

TEST(RecordJson, NanInfinityAndNegativeZeroSurvive) {
  Record record = record_named("op/k:m=1");
  record.errors.push_back({.max_q = NAN, .worst_got = -INFINITY, .worst_want = INFINITY, .worst_bound = -0.0});
  const std::string line = print_json(to_json(record));
  EXPECT_THAT(line, HasSubstr("\"max_q\":\"nan\""));
  const ErrorSummary back = record_from_json(parse_json(line)).errors.at(0);
  EXPECT_TRUE(std::isnan(back.max_q));
  EXPECT_EQ(back.worst_got, -INFINITY);
  EXPECT_EQ(back.worst_want, INFINITY);
  EXPECT_TRUE(back.worst_bound == 0 && std::signbit(back.worst_bound));
}

TEST(RecordJson, BytesThatAreNotUtf8AreReplacedOnWriting) {
  Record record = record_named("op/k:m=1");
  record.reason = "bad \xFF\xC0\x80 \xED\xA0\x80 cut \xE2\x82";  // stray, overlong, surrogate, truncated
  record.selection["key\xFE"] = "one";
  record.selection["key\xFF"] = "two";
  const Record back = record_from_json(parse_json(print_json(to_json(record))));
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(back.reason, "bad " + r + r + r + " " + r + r + r + " cut " + r + r);
  EXPECT_EQ(back.selection.size(), 2u) << "keys that differ only in invalid bytes must stay apart";
  EXPECT_EQ(valid_utf8("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), r + r + r + r) << "past U+10FFFF";
}

TEST(RecordJson, ErrorsNameTheKey) {
  const nlohmann::json good = to_json(RandomRecords(2).next());
  const auto error = [&](const std::function<void(nlohmann::json&)>& damage) {
    nlohmann::json bad = good;
    damage(bad);
    return message_of([&] { record_from_json(bad); });
  };
  using json = nlohmann::json;
  EXPECT_EQ(error([](json& j) { j["op"] = 3; }), "op: not a string");
  EXPECT_EQ(error([](json& j) { j.erase("repro"); }), "repro: is missing: made by an older assay, or damaged");
  EXPECT_EQ(error([](json& j) { j["errors"][0].erase("max_q"); }),
            "errors[0].max_q: is missing: made by an older assay, or damaged");
  EXPECT_EQ(error([](json& j) { j["errors"] = json::object(); }), "errors: not an array");
  EXPECT_EQ(error([](json& j) { j["errors"][0]["max_q"] = "huge"; }),
            "errors[0].max_q: not a number, \"nan\", \"inf\" or \"-inf\"");
  EXPECT_THAT(error([](json& j) { j["errors"][0]["elements"] = 1.0; }),
              HasSubstr("errors[0].elements: not an integer"));
  EXPECT_THAT(error([](json& j) { j["errors"][0]["histogram"][1] = true; }), HasSubstr("errors[0].histogram[1]"));
  EXPECT_THAT(error([](json& j) { j["workspace_bytes"] = -1; }), HasSubstr("workspace_bytes: not an integer from 0"));
  EXPECT_THAT(error([](json& j) { j["interruptions"] = 1ll << 40; }), HasSubstr("interruptions: not an integer"));
  EXPECT_EQ(error([](json& j) { j["late_libraries"] = "liba.so 1"; }), "late_libraries: not an array");
  EXPECT_THAT(error([](json& j) { j["late_libraries"][1] = 1; }), HasSubstr("late_libraries[1]: not a string"));
  EXPECT_THAT(error([](json& j) { j["selection"]["x"] = nullptr; }), HasSubstr("selection.x: not a string"));
  EXPECT_THAT(error([](json& j) { j["verdict"] = "passed"; }), HasSubstr("no verdict 'passed'; there are pass"));
  EXPECT_THAT(error([](json& j) { j["checks"][0]["outcome"] = ""; }), HasSubstr("no outcome ''"));
  EXPECT_EQ(error([](json& j) { j["schema"] = 1; }), "schema: not an object");
  EXPECT_EQ(error([](json& j) { j = json::array(); }), "the document: not an object");
}

TEST(Contradiction, NothingThatIsConcludedHasOne) {
  for (const CheckRow& row : check_table()) {
    for (const Outcome outcome : {Outcome::fail, Outcome::weak, Outcome::skipped, Outcome::not_applicable}) {
      Record record = whole_record("op/k:m=1");
      for (CheckResult& result : record.checks) {
        if (result.check == row.check) result = check_result(row.check, outcome, "why");
      }
      conclude(record);
      EXPECT_EQ(contradiction(record), "") << row.check << " " << word_of(outcome);
      if (outcome != Outcome::fail) continue;
      record.verdict = Verdict::known;  // by a known issue
      EXPECT_EQ(contradiction(record), "") << row.check;
    }
  }
  Record hangs = whole_record("op/k:m=1");
  hangs.checks[1].outcome = Outcome::fail;
  hangs.checks[1].verdict = Verdict::timeout;  // not the row's own
  conclude(hangs);
  EXPECT_EQ(contradiction(hangs), "");
  Record refused = whole_record("op/k:m=1");
  refused.verdict = Verdict::unsupported;
  EXPECT_EQ(contradiction(refused), "");
  Record failed_by_harness = record_named("op/k:m=1");
  conclude(failed_by_harness);
  EXPECT_EQ(failed_by_harness.verdict, Verdict::error);
  EXPECT_EQ(contradiction(failed_by_harness), "");
}

TEST(Contradiction, NamesTheField) {
  const auto said = [](const std::function<void(Record&)>& damage) {
    Record record = whole_record("op/k:m=1");
    damage(record);
    return contradiction(record);
  };
  const auto fail = [](Record& r, Verdict verdict) {
    r.checks[3].outcome = Outcome::fail;
    r.checks[3].verdict = verdict;
  };
  EXPECT_EQ(said([](Record& r) { r.checks.clear(); }), "checks: has no 'contract': made by an older assay, or damaged");
  EXPECT_EQ(said([](Record& r) { r.checks[1].check = "contract"; }), "checks: 'contract' twice");
  EXPECT_EQ(said([&](Record& r) { fail(r, Verdict::memory); }), "verdict: 'pass', but by its checks it is 'memory'");
  EXPECT_EQ(said([&](Record& r) {
              fail(r, Verdict::memory);
              r.verdict = Verdict::changed;  // a lesser one
            }),
            "verdict: 'changed', but by its checks it is 'memory'");
  EXPECT_EQ(said([&](Record& r) {
              fail(r, Verdict::memory);
              r.verdict = Verdict::unsupported;
            }),
            "verdict: 'unsupported', but by its checks it is 'memory'");
  EXPECT_EQ(said([](Record& r) { r.verdict = Verdict::known; }), "verdict: 'known', but by its checks it is 'pass'");
  EXPECT_EQ(said([](Record& r) { r.verdict = Verdict::wrong; }), "verdict: 'wrong', but by its checks it is 'pass'");
  EXPECT_EQ(said([&](Record& r) { fail(r, Verdict::pass); }),
            "checks[3].verdict: 'pass', which no check that failed has");
}

TEST(RecordJson, UnknownKeysAndNewerMinorAreReadNewerMajorIsRefused) {
  const Record record = RandomRecords(3).next();
  nlohmann::json value = to_json(record);
  value["later"] = {1, 2};
  value["schema"]["minor"] = kRecordSchemaMinor + 7;
  EXPECT_EQ(record_from_json(value), record);
  value["schema"]["major"] = kRecordSchemaMajor + 1;
  EXPECT_THAT(message_of([&] { record_from_json(value); }), HasSubstr("is newer than this program reads"));
}

TEST(JsonText, HostileTextIsRefused) {
  const auto error = [](const std::string& text) { return message_of([&] { parse_json(text); }); };
  EXPECT_THAT(error(std::string(1'000'000, '[')), HasSubstr("nested deeper than 32"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(error(objects), HasSubstr("nested deeper than 32"));
  EXPECT_THAT(error("1e999"), HasSubstr("not JSON"));
  EXPECT_THAT(error("{\"verdict\":\"wrong\",\"verdict\":\"pass\"}"), HasSubstr("key 'verdict' twice"));
  EXPECT_THAT(error("{\"a\":\"\xFF\"}"), HasSubstr("not JSON"));
  for (const char* text : {"", "{", "nul", "{\"a\":NaN}", "{\"a\":1}x", "{'a':1}", "[1,]", "\xEF\xBB"}) {
    EXPECT_THAT(error(text), HasSubstr("not JSON")) << text;
  }
  EXPECT_EQ(parse_json("{\"a\":{\"x\":1},\"b\":{\"x\":2}}")["b"]["x"], 2) << "the same key in two objects is fine";
}

TEST(JsonText, DamagedRecordsNeverEscapeAsAnotherException) {
  const uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 bits(seed);
  const std::string line = print_json(to_json(RandomRecords(4).next()));
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = line;
    for (uint64_t n = bits() % 4 + 1; n-- > 0;) damaged[bits() % damaged.size()] = static_cast<char>(bits());
    if (bits() % 4 == 0) damaged.resize(bits() % damaged.size());
    try {
      record_from_json(parse_json(damaged));
    } catch (const UsageError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(ContractJson, ComesBackEqual) {
  Contract contract{.interface_version = 7,
                    .owner = "a \"b\"",
                    .domain = "m <= 3",
                    .promises = 0xFFFFFFFFu,
                    .arithmetic = {1, 2, 3, 4, 5, 6, -7, 8, 99, 10, 11, 12, 13},
                    .nan_policy = -3,
                    .workspace_limit = ~0ull,
                    .alignment = 64,
                    .may_fall_back = true,
                    .may_allocate = true};
  const Contract back = contract_from_json(parse_json(print_json(to_json(contract))));
  EXPECT_EQ(print_json(to_json(back)), print_json(to_json(contract)));
  EXPECT_EQ(std::memcmp(&back.arithmetic, &contract.arithmetic, sizeof back.arithmetic), 0);
  EXPECT_EQ(back.workspace_limit, contract.workspace_limit);
  EXPECT_EQ(back.promises, contract.promises);
  EXPECT_EQ(back.interface_version, 7u);
  EXPECT_EQ(back.owner, contract.owner);
  EXPECT_EQ(back.domain, contract.domain);
  EXPECT_EQ(back.nan_policy, -3);
  EXPECT_EQ(back.alignment, 64u);
  EXPECT_TRUE(back.may_fall_back);
  EXPECT_TRUE(back.may_allocate);
}

TEST(RunJson, ComesBackEqualAndCarriesTheTables) {
  assay::Run run = sample_run();
  const auto text_of = [](const assay::Run& r) { return print_json(to_json(r)); };
  const assay::Run back = run_from_json(parse_json(text_of(run)));
  EXPECT_EQ(text_of(back), text_of(run));
  EXPECT_FALSE(back.exit_code.has_value());
  EXPECT_EQ(back.kernels.at(0).contract.owner, "someone");
  EXPECT_EQ(back.kernels.at(0).platform, "avx2-t2-0a1b2c3d");
  EXPECT_EQ(back.libraries.at(0).modules, (std::vector<std::string>{"gemm.so", "more.so"}));
  EXPECT_EQ(back.judged_by, run.judged_by);
  nlohmann::json older = to_json(run);
  older.erase("judged_by");
  EXPECT_TRUE(run_from_json(older).judged_by.empty());
  EXPECT_EQ(back.commit, run.commit);
  older.erase("commit");
  EXPECT_EQ(run_from_json(older).commit, "");
  EXPECT_FALSE(to_json(run_from_json(older)).contains("commit")) << "what is not known is not said";
  run.exit_code = 1;
  EXPECT_EQ(run_from_json(parse_json(text_of(run))).exit_code, 1);
  const nlohmann::json tables = to_json(run)["tables"];
  EXPECT_EQ(tables["checks"].size(), check_table().size());
  EXPECT_EQ(tables["verdicts"].size(), verdict_table().size());

  nlohmann::json bad = to_json(run);
  bad["kernels"][0]["contract"]["arithmetic"]["split_k"] = "one";
  EXPECT_THAT(message_of([&] { run_from_json(bad); }), HasSubstr("kernels[0].contract.arithmetic.split_k"));
  bad = to_json(run);
  bad["commit"] = 5;
  EXPECT_EQ(message_of([&] { run_from_json(bad); }), "commit: not a string");
  bad = to_json(run);
  bad["pin"]["state"] = "pined";
  EXPECT_THAT(message_of([&] { run_from_json(bad); }), HasSubstr("pin.state: 'pined' is not one of pinned,"));
  for (const PinState state : {PinState::pinned, PinState::mismatched, PinState::unpinned}) {
    run.pin.state = state;
    EXPECT_EQ(run_from_json(to_json(run)).pin.state, state);
  }
  for (const bool own : {false, true}) {
    run.asked.own_modules = own;
    EXPECT_EQ(run_from_json(to_json(run)).asked.own_modules, own);
  }
}

// The two records and the run.json that the dashboards' tests read: what this writer writes, checked in. When a field
// is added, run this test with ASSAY_UPDATE set and review the difference.
TEST(RunJson, TheCheckedInRunIsWhatIsWritten) {
  Record plain = record_named("gemm/simd:m=1,dtype=f32");
  plain.op = "gemm";
  plain.kernel = "simd";
  Record full = plain;
  full.kernel_id = "gemm/simd:m=2,dtype=f32";
  full.verdict = Verdict::wrong;
  full.reason = "accuracy: y[0]: got nan \xFF";
  full.owner = "someone";
  full.checks = {check_result("accuracy", Outcome::fail, "y[0]: got nan"), check_result("growth", Outcome::skipped)};
  full.checks[0].of_case = "gemm/simd:m=2,pad_a=3,dtype=f32";
  full.errors = {{.tensor = "y",
                  .elements = 3,
                  .rigorous = 3,
                  .failures = 1,
                  .max_q = NAN,
                  .rms_q = INFINITY,
                  .worst_index = 0,
                  .worst_got = -INFINITY,
                  .worst_want = 0.1,
                  .worst_bound = 0x1p-1074,
                  .histogram = std::vector<int64_t>(kErrorHistogramEdges.size() + 1, 2)}};
  full.seeds = {{.seed = ~0ull, .rms_q = 0.5}};
  full.selection = {{"isa", "avx2"}};
  full.resident_growth_bytes = -4096;
  full.late_libraries = {"libengine.so.9 ee11"};
  full.latency = {{.metric = "warm", .samples = 11, .p50_us = 12.5, .samples_file = "samples/none.bin"}};
  full.seconds = {{"oracle", 0.25}};
  full.repro = "assay repro 'gemm/simd:m=2,dtype=f32'";

  assay::Run run = sample_run();
  run.started = run.finished = "2025-01-01T00:00:00Z";
  run.planned = run.recorded = 2;
  run.exit_code = 1;
  run.kernels[0].contract.promises = ASSAY_SAME_RUN | ASSAY_SAME_THREADS;

  Scratch scratch;
  {
    RunFolder folder = RunFolder::create(scratch.path / "written");
    folder.append(plain);
    folder.append(full);
    folder.write_run(run);
  }
  const fs::path checked_in = fs::path(ASSAY_SOURCE_DIR) / "dashboards/tests/data/written";
  for (const char* name : {"records.jsonl", "run.json"}) {
    const std::string written = content_of(scratch.path / "written" / name);
    if (std::getenv("ASSAY_UPDATE") != nullptr) write_text(checked_in / name, written);
    EXPECT_EQ(content_of(checked_in / name), written) << checked_in / name << " is stale: run with ASSAY_UPDATE=1";
  }
}

}  // namespace
}  // namespace assay
