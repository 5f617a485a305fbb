// sweep: thousands of drawn shapes of kernels that multiply matrices, each launched once and every element verified.
// Leaves no run behind. With --jobs each job is a process of its own that sweeps its part and prints one line.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/loaded.h"
#include "cli/paths.h"
#include "cli/trees.h"
#include "core/error.h"
#include "core/matrix_product.h"
#include "core/plain_text.h"
#include "gate/filter.h"
#include "gate/program.h"
#include "gate/sweep.h"
#include "record/json_text.h"
#include "record/verdict.h"

namespace assay {
namespace {

constexpr std::string_view kPartBegins = "{\"sweeps\":";  // the line that a job prints

bool multiplies_matrices(const OpRegistry& ops, const KernelInfo& kernel) {
  return dynamic_cast<const MatrixProductOp*>(ops.find(kernel.op)) != nullptr;
}

std::vector<KernelInfo> kernels_asked_for(const Options& options, const OpRegistry& ops, const Loaded& loaded) {
  std::vector<KernelInfo> able, kernels;
  std::ranges::copy_if(loaded.kernels, std::back_inserter(able), [&](const KernelInfo& kernel) {
    return kernel.target == options.device && multiplies_matrices(ops, kernel);
  });
  std::set<size_t> asked;
  for (const std::string& text : options.filters) {
    const Filter filter = among(loaded, [&] { return Filter(text, ops, loaded.kernels); });
    if (filter.exact() || !filter.fields().empty()) {
      throw UsageError("sweep: '" + text + "' has fields; shapes are drawn, so give a kernel alone, such as gemm/simd");
    }
    bool selects = false;
    for (size_t i = 0; i < able.size(); ++i) {
      if (!filter.matches_kernel(able[i])) continue;
      selects = true;
      asked.insert(i);
    }
    if (!selects) {
      throw UsageError("sweep: '" + text + "': no kernel of device " + options.device +
                       " of these multiplies matrices; 'assay list' shows what there is, gemm/* is all of gemm");
    }
  }
  for (const size_t i : asked) kernels.push_back(able[i]);
  return kernels;
}

// From here on filling and verifying on the host takes longer than what each operation on a GPU does that several jobs
// share. Smaller ones leave it to the kernels.
constexpr int64_t kElementsOnDevice = int64_t{1} << 17;

JudgeSettings settings_for(const Options& options, const Policy& policy) {
  JudgeSettings settings = limited(judge_settings(options), policy);
  settings.elements_on_device = kElementsOnDevice;
  return settings;
}

std::vector<Sweep> sweep_here(const Options& options, const OpRegistry& ops, const Policy& policy,
                              const std::vector<KernelInfo>& kernels, const Loaded& loaded) {
  const Facts machine = facts_of(options);
  std::vector<Sweep> all;
  for (const KernelInfo& kernel : kernels) {
    if (interrupt_signal() != 0) break;
    const auto brought = computing_libraries(loaded.libraries, kernel.module.filename().string());
    all.push_back(sweep_kernel(
        {.op = ops.find(kernel.op),
         .kernel = kernel,
         .seed = static_cast<uint64_t>(options.draws),
         .shard = options.shard,
         .shapes = options.shapes,
         .seconds = options.seconds,
         .start_judge = loaded.start_judge,
         .stop_asked = [] { return interrupt_signal() != 0; },
         .excuse =
             [&](Record& record) { apply_known_issues(policy.known_issues, brought, machine, today(), record); }}));
  }
  return all;
}

// The command that sweeps part `job` (from 0).
std::vector<std::string> command_of_job(const Options& options, int job) {
  std::vector<std::string> command = options.argv;
  command.insert(command.begin(), program("assay").string());
  const int64_t share = options.shapes / options.jobs_asked() + (job < options.shapes % options.jobs_asked() ? 1 : 0);
  if (options.shapes > 0) command.insert(command.end(), {"--shapes", std::to_string(std::max<int64_t>(share, 1))});
  command.insert(command.end(),
                 {"--json", "--jobs", "1", "--shard", fmt::format("{}/{}", job + 1, options.jobs_asked())});
  return command;
}

std::vector<Sweep> sweeps_of_job(const std::vector<std::string>& command) {
  const ProgramEnd end = run_program(command, {}, [] { return interrupt_signal() != 0; });
  const size_t line = end.output.find(kPartBegins);
  if (line == std::string::npos) {
    if (interrupt_signal() != 0) return {};  // it was stopped before it had any
    throw Error("a job ended with status " + std::to_string(end.status) + " and without its results: " + end.output);
  }
  std::vector<Sweep> all;
  const std::string text = end.output.substr(line, end.output.find('\n', line) - line);
  const nlohmann::json document = nlohmann::json::parse(text);
  for (const nlohmann::json& one : document.at("sweeps")) all.push_back(sweep_from_json(one));
  return all;
}

std::vector<Sweep> sweep_in_jobs(const Options& options, size_t kernels) {
  std::vector<std::vector<Sweep>> parts(static_cast<size_t>(options.jobs_asked()));
  std::vector<std::string> errors(parts.size());
  std::vector<std::jthread> threads;
  for (size_t job = 0; job < parts.size(); ++job) {
    threads.emplace_back([&, job] {
      try {
        parts[job] = sweeps_of_job(command_of_job(options, static_cast<int>(job)));
      } catch (const std::exception& e) {
        errors[job] = e.what();
      }
    });
  }
  threads.clear();  // they have ended
  for (const std::string& error : errors) {
    if (!error.empty()) throw Error("sweep: " + error);
  }
  std::vector<Sweep> all;
  for (size_t kernel = 0; kernel < kernels; ++kernel) {
    std::vector<Sweep> of_kernel;
    for (const std::vector<Sweep>& part : parts) {
      if (kernel < part.size()) of_kernel.push_back(part[kernel]);  // a job that was stopped has fewer
    }
    if (!of_kernel.empty()) all.push_back(merged(of_kernel));
  }
  return all;
}

void print_reasons(const char* what, const std::map<std::string, int64_t>& reasons) {
  constexpr size_t kMostShown = 10;
  std::vector<std::pair<int64_t, std::string>> sorted;
  int64_t rest = 0;
  for (const auto& [reason, count] : reasons) sorted.emplace_back(count, reason);
  std::sort(sorted.rbegin(), sorted.rend());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i < kMostShown) fmt::print("  {} {}: {}\n", sorted[i].first, what, plain_text(sorted[i].second));
    if (i >= kMostShown) rest += sorted[i].first;
  }
  if (rest > 0) fmt::print("  {} {} for {} further reasons\n", rest, what, sorted.size() - kMostShown);
}

void print_text(const Options& options, const Sweep& sweep, const KernelInfo& kernel) {
  fmt::print("{}  {} distinct shapes verified in {:.1f} s, {:.0f} a second; {} failed\n", sweep.kernel, sweep.verified,
             sweep.seconds, sweep.seconds > 0 ? static_cast<double>(sweep.verified) / sweep.seconds : 0.0,
             sweep.failures.size());
  print_reasons("failed, which is known", sweep.known);
  print_reasons("refused", sweep.refused);
  print_reasons("not verified", sweep.unverified);
  if (sweep.not_claimed > 0)
    fmt::print("  {} draws that the contract does not claim were not asked\n", sweep.not_claimed);
  for (const SweepFailure& failure : sweep.failures) {
    fmt::print("  {}  {}  {}\n    {} repro {}{}\n", failure.id, word_of(failure.verdict), plain_text(failure.reason),
               shell_word(options.program), shell_quoted(failure.id), repro_arguments(options, kernel));
  }
  if (sweep.gave_up) fmt::print("  given up after {} failures\n", sweep.failures.size());
}

void print_document(const std::vector<Sweep>& sweeps) {
  nlohmann::json list = nlohmann::json::array();
  for (const Sweep& sweep : sweeps) list.push_back(to_json(sweep));
  fmt::print("{}\n", nlohmann::json{{"sweeps", list}}.dump());
  std::fflush(stdout);  // of a job it is one line, into which nothing else that it says may come
}

// That of the worst failure; inconclusive where nothing of a kernel was verified.
int exit_code_of(const std::vector<Sweep>& sweeps) {
  int code = 0;
  for (const Sweep& sweep : sweeps) {
    if (sweep.verified == 0 && sweep.failures.empty()) {
      code = combine_exit_codes(code, exit_code_of(Verdict::inconclusive));
    }
    for (const SweepFailure& failure : sweep.failures) {
      code = combine_exit_codes(code, exit_code_of(failure.verdict));
    }
  }
  return code;
}

}  // namespace

int sweep_command(const Options& options) {
  if (options.jobs_asked() > 1 && options.shard.count > 1) {
    throw UsageError("sweep: --jobs makes the parts itself; give either --jobs or --shard");
  }
  note_interrupts();
  const Trees trees = find_trees(options);
  const OpRegistry ops = make_op_registry();
  const Policy policy = read_policy(trees.policy());
  const Loaded loaded = load_modules(judge_process(settings_for(options, policy)), module_files(options), ops);
  const std::vector<KernelInfo> kernels = kernels_asked_for(options, ops, loaded);
  const std::vector<Sweep> sweeps = options.jobs_asked() > 1 ? sweep_in_jobs(options, kernels.size())
                                                             : sweep_here(options, ops, policy, kernels, loaded);
  if (options.json) {
    print_document(sweeps);
  } else {
    for (size_t i = 0; i < sweeps.size(); ++i) print_text(options, sweeps[i], kernels[i]);
  }
  const int broken = tell_broken(loaded);
  return interrupt_signal() != 0 ? 128 + interrupt_signal() : combine_exit_codes(exit_code_of(sweeps), broken);
}

}  // namespace assay
