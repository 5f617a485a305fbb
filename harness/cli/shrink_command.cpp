// shrink: the smallest case that fails as the given one does. Leaves no run behind.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/one_case.h"
#include "core/error.h"
#include "gate/shrink.h"
#include "record/json_text.h"
#include "record/verdict.h"

namespace assay {
namespace {

int64_t elements_written(const Op& op, const Case& c) {
  int64_t elements = 0;
  for (const TensorSpec& tensor : op.tensors(c)) {
    if (tensor.role != Role::input) elements += tensor.elements();
  }
  return elements;
}

void print_lines(const Record& record, const Shrunk& shrunk, const Op& op, double seconds) {
  fmt::print("\n{}  {}\n", word_of(record.verdict), record.reason);
  fmt::print("{} output elements; {} cases judged in {:.1f} s{}\n", elements_written(op, shrunk.smallest),
             shrunk.judged, seconds, shrunk.finished ? "" : ", not finished: there may be a smaller one");
  fmt::print("  owner: {}\n  {}\n", record.owner.empty() ? "unknown" : record.owner, record.repro);
}

void print_document(const Record& record, const Shrunk& shrunk, const Op& op, double seconds) {
  fmt::print("{}\n", print_json({{"kernel_id", record.kernel_id},
                                 {"verdict", word_of(record.verdict)},
                                 {"reason", record.reason},
                                 {"repro", record.repro},
                                 {"output_elements", elements_written(op, shrunk.smallest)},
                                 {"cases_judged", shrunk.judged},
                                 {"seconds", seconds},
                                 {"finished", shrunk.finished}},
                                1));
}

}  // namespace

int shrink_command(const Options& options) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto seconds = [start] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const OneCase one(options);
  Record smallest = one.judge(one.asked());
  if (interrupt_signal() != 0) return 128 + interrupt_signal();
  const std::optional<Failure> failure = failure_of(smallest);
  if (!failure) {
    throw UsageError("shrink: " + smallest.kernel_id + " does not fail: " + std::string(word_of(smallest.verdict)) +
                     (smallest.reason.empty() ? "" : ", " + smallest.reason));
  }
  const auto fails = [&](const Case& c) {
    Record record = one.judge(c);
    if (interrupt_signal() != 0 || failure_of(record) != failure) return false;
    smallest = std::move(record);
    return true;
  };
  const auto stop = [&] { return interrupt_signal() != 0 || seconds() > options.seconds; };
  const auto print_id = [&](const Case& c) {
    if (options.json) return;
    fmt::print("{}\n", c.kernel_id(one.kernel()));
    std::fflush(stdout);
  };
  print_id(one.asked());
  Shrunk shrunk = shrink(one.op(), one.asked(), fails, stop, print_id);
  if (interrupt_signal() != 0) shrunk.finished = false;  // the last case was cut short
  (options.json ? print_document : print_lines)(smallest, shrunk, one.op(), seconds());
  return interrupt_signal() != 0 ? 128 + interrupt_signal() : exit_code_of(smallest.verdict);
}

}  // namespace assay
