// canary.json, as it is written and as the page's reader is tested with it.
#include "gate/canary_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "canary_sides.h"
#include "gate/canary_latency.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

LibrarySet sample_set(const std::string& version, const std::string& build) {
  LibrarySet set{.library = "lib", .version = version};
  set.files.push_back({"liblib.so.0", "/" + version + "/liblib.so.0", "0", build});
  set.packages.push_back({"deb liblib0 " + version, "5e5e"});
  return set;
}

// A case that is newly wrong, one that moved and is slower, and one that both refuse.
CanaryEvidence sample_evidence() {
  const std::string moved = "gemm/lib:m=4,n=4,k=4,dtype=f32", refused_id = "gemm/lib:m=5,n=5,k=5,dtype=f16";
  CanaryEvidence evidence = same_on_both();
  evidence.planned = {kCanaryCase, moved, refused_id};
  evidence.pin.records = {passed(), passed(moved), refused()};
  evidence.candidate.records = {failed("accuracy", "c[5] got 2, want 1"), passed(moved, "bb"), refused()};
  for (CanarySeen* side : {&evidence.pin, &evidence.candidate}) {
    side->records[2].kernel_id = refused_id;
    for (Record& record : side->records) record.repro = "assay repro '" + record.kernel_id + "'";
  }
  Comparison latency{.blocks = 4, .seconds = 2.5};
  CaseResult slower{.id = moved + " warm", .latency_class = "cpu/warm/below-50us", .blocks = 4};
  slower.pairs[0] = {LatencyOutcome::regress,
                     {.blocks = 12, .estimate = std::log(1.3), .interval = {std::log(1.28), std::log(1.32)}},
                     true,
                     "as planted"};
  latency.result.cases = {slower};
  evidence.latency = latency;
  evidence.first_calls = {compare_first_calls(moved, std::vector<double>{1, 2, 3}, std::vector<double>{2, 3, 4})};
  return evidence;
}

TEST(CanaryReport, ThePagesSampleIsWhatIsWritten) {
  const CanaryEvidence evidence = sample_evidence();
  const CanaryResult result = judge_canary(evidence, kCanaryPolicy);
  const CanaryArm pin{"pin", sample_set("1", "aa"), {{"/1/liblib.so.0", "", "aa"}}, evidence.pin.records};
  const CanaryArm candidate{"candidate", sample_set("2", "bb"), {}, evidence.candidate.records};
  assay::Run run{.threads = 2, .environment = {{"cpu.model", "x"}}};
  run.pin = {.platform = "avx2-t2-0a1b2c3d", .state = PinState::pinned};
  Scratch scratch;
  write_canary(scratch.path, {.library = "lib",
                              .tier = "smoke",
                              .filters = {"gemm/lib"},
                              .started = "2026-01-01T10:00:00Z",
                              .finished = "2026-01-01T10:01:00Z",
                              .judged_seconds = 1.5,
                              .pin = &pin,
                              .candidate = &candidate,
                              .run = &run,
                              .evidence = &evidence,
                              .result = &result});
  const std::string written = content_of(scratch.path / kCanaryFile);
  const nlohmann::json document = nlohmann::json::parse(written);
  EXPECT_EQ(document.at("verdict"), "REJECT");
  EXPECT_EQ(document.at("pin").at("repro"), "assay repro 'ID'");
  EXPECT_EQ(document.at("reasons")[0].at("repro").at("candidate"), "assay repro '" + std::string(kCanaryCase) + "'");
  EXPECT_TRUE(document.at("first_calls")[0].at("high").is_null()) << "three processes have no interval";
  const fs::path checked_in = fs::path(ASSAY_SOURCE_DIR) / "dashboards/tests/data/written" / kCanaryFile;
  if (std::getenv("ASSAY_UPDATE") != nullptr) write_text(checked_in, written);
  EXPECT_EQ(content_of(checked_in), written) << checked_in << " is stale: run with ASSAY_UPDATE=1";
}

}  // namespace
}  // namespace assay
