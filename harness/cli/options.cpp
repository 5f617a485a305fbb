#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "check/sanitizer_log.h"
#include "core/error.h"
#include "device/device.h"
#include "gate/fuzz.h"
#include "gate/nearest.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr double kDay = 86400;  // seconds
constexpr const char* kJobsHelp = "cases judged at once; default 1 on a CPU, on a GPU one for four cores, at most 4";
constexpr const char* kLedgersHelp =
    "folder of what earlier comparisons of the same two arms spent and found; default runs/latency-ledgers of the tree";

// Which of the shared flags a command takes.
enum : unsigned { kModules = 1, kSelection = 2, kRun = 4, kBase = 8, kJson = 16, kExplain = 32 };

struct Texts {  // flags whose values are read further after parsing
  std::string tier = "smoke";
  std::string selftest_tier = "ci";
};

void add_flags(CLI::App& app, unsigned groups, Options& o, Texts& texts) {
  app.add_option("--root", o.root, "source tree with ci/policy, golden and dashboards");
  if (groups & kModules) {
    app.add_option("--module", o.modules, "a module instead of the build's own; repeatable")->allow_extra_args(false);
    app.add_option("--modules", o.modules_folder, "folder whose *.so are loaded; else ASSAY_MODULES, else the build's");
    app.add_option("--threads", o.threads, "CPU threads each launch may use")->check(CLI::Range(1, 1024));
    app.add_option("--device", o.device, "what kernels run on: cpu (default) or cuda");
    app.add_option("--coretype", o.coretype, "instruction set that the library is told to choose, as its recipe says");
  }
  if (groups & kSelection) {
    app.add_option("--filter", o.filters, "op[/kernel][:field=value,...], '*' matches any text; repeatable: the union")
        ->allow_extra_args(false);
    app.add_option("--tier", texts.tier, "smoke, ci or nightly");
  }
  if (groups & kRun) {
    app.add_option("--out", o.out, "folder of the run; default runs/<time>-<tier>");
    app.add_option("--shard", o.shard_text, "i/n: the i-th of n parts");
    app.add_option("--resume", o.resume, "continue that run as it was asked; repeats nothing recorded");
    app.add_option("--jobs", o.jobs, kJobsHelp)->check(CLI::Range(1, 256));
  }
  if (groups & kBase) {
    app.add_option("--base", o.base,
                   "git ref of the base, or folder of a checkout of it: its policy and goldens judge the change");
    app.add_flag("--approve-findings", o.approve_findings,
                 "the owner has seen the findings: the tree's own policy and goldens apply, findings do not fail");
  }
  if (groups & kJson) app.add_flag("--json", o.json, "one JSON document on stdout");
  if (groups & kExplain)
    app.add_flag("--explain", o.explain, "print each dispatcher candidate and its refusal, or a fingerprint's probes");
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// CLI11's message, replaced where it says too little: an argument nobody expects gets the nearest that exists.
[[noreturn]] void refuse(const CLI::App& app, const std::string& message, const std::vector<std::string>& arguments) {
  const CLI::App* deepest = &app;
  std::string path;  // of its commands: "history import "
  size_t next = 0;
  for (; next < arguments.size(); ++next) {
    const CLI::App* below = nullptr;
    for (const CLI::App* command : deepest->get_subcommands([](const CLI::App*) { return true; })) {
      if (command->get_name() == arguments[next]) below = command;
    }
    if (below == nullptr) break;
    deepest = below;
    path += below->get_name() + " ";
  }
  const std::vector<std::string> commands = command_names(*deepest);
  if (!commands.empty() && next < arguments.size() && arguments[next].rfind('-', 0) != 0) {
    throw UsageError("no command '" + arguments[next] + "'" + suggestion(arguments[next], commands));
  }
  for (; next < arguments.size(); ++next) {
    const std::string flag = arguments[next].substr(0, arguments[next].find('='));
    const std::vector<std::string> known = flag_names(*deepest);
    if (flag.rfind("--", 0) != 0 || std::find(known.begin(), known.end(), flag) != known.end()) continue;
    throw UsageError(deepest->get_name() + ": unknown flag " + flag + suggestion(flag, known));
  }
  throw UsageError((deepest == &app ? "" : deepest->get_name() + ": ") + message + "; see 'assay " + path + "--help'");
}

// A flag without its value, most often an unset variable of the shell: it must not be as if nothing had been asked.
[[noreturn]] void refuse_empty(const std::string& name) {
  throw UsageError(name + ": is empty; give it a value, or leave it out");
}

// `--flag=` would take the next word for its value.
void require_values(const std::vector<std::string>& arguments) {
  for (const std::string& word : arguments) {
    if (word.starts_with("--") && word.find('=') == word.size() - 1) refuse_empty(word.substr(0, word.size() - 1));
  }
}

void require_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() > 0 && std::ranges::count(option->results(), std::string()) > 0) {
      refuse_empty(option->get_name());
    }
  }
  for (const CLI::App* command : app.get_subcommands()) require_values(*command);
}

// Drawn cases are of no tier and no part of a whole.
void require_fuzz_alone(const CLI::App& check, const Options& o) {
  if (o.fuzz.empty()) {
    if (o.seed) throw UsageError("--seed: is of drawn cases; add --fuzz 60s, or use --reseed for listed ones");
    return;
  }
  parse_fuzz_budget(o.fuzz);
  for (const char* flag : {"--tier", "--shard", "--reseed"}) {
    if (check.count(flag) == 0) continue;
    throw UsageError("--fuzz: draws its own cases; leave " + std::string(flag) +
                     " out, and give runs beside each other another --seed each");
  }
}

// A flag that asks another question than its command does, and those that say nothing beside it.
void refuse_beside(const CLI::App& command, const std::string& question, const std::vector<std::string>& others) {
  if (command.count(question) == 0) return;
  for (const std::string& other : others) {
    if (other == question || command.count(other) == 0) continue;
    throw UsageError(command.get_name() + ": " + question + " and " + other +
                     " do not fit together; leave one of them out");
  }
}

// A run goes on where it is.
void require_one_folder(const Options& o) {
  std::error_code error;
  if (o.out.empty() || o.resume.empty() || fs::equivalent(o.out, o.resume, error)) return;
  if (o.out.lexically_normal() == o.resume.lexically_normal()) return;
  throw UsageError("--out " + o.out.string() + ": a run that --resume continues stays in its folder, " +
                   o.resume.string() + "; leave --out out");
}

void require_one_question(const CLI::App& canary) {
  refuse_beside(canary, "--bisect", {"--list", "--resume", "--promote", "--pin", "--candidate", "--json"});
  refuse_beside(canary, "--list", {"--resume", "--promote", "--pin", "--candidate", "--json"});
  std::vector<std::string> judging = flag_names(canary);
  std::erase_if(judging, [](const std::string& flag) { return flag == "--root" || flag == "--help"; });
  refuse_beside(canary, "--promote", judging);
}

// Checks and verdicts are of every kernel and case.
void require_one_table(const CLI::App& list) {
  for (const char* table : {"--checks", "--verdicts"}) {
    refuse_beside(list, table, {"--filter", "--tier", "--device", "--module", "--modules", "--cases", "--contracts"});
  }
  refuse_beside(list, "--contracts", {"--cases"});
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
  Options o;
  Texts texts;
  CLI::App app(
      "assay: a gate for compute kernels. Exit codes: 0 pass, 1 failure or regression, 2 inconclusive or findings "
      "to approve, 3 invalid, 4 usage or internal error, 128 + signal when interrupted.");
  app.name("assay");
  app.require_subcommand(1);
  const auto command = [&](const char* name, const char* what, unsigned groups) {
    CLI::App* sub = app.add_subcommand(name, what);
    add_flags(*sub, groups, o, texts);
    return sub;
  };
  CLI::App* list = command("list", "kernels, ops and cases there are", kModules | kSelection | kJson);
  list->add_flag("--cases", o.list_cases, "every kernel-case of the tier");
  list->add_flag("--checks", o.list_checks, "the table of checks");
  list->add_flag("--verdicts", o.list_verdicts, "the table of verdicts and exit codes");
  list->add_flag("--contracts", o.list_contracts, "the kernels and their contracts as a Markdown table");
  const unsigned running = kModules | kSelection | kRun | kBase | kJson | kExplain;
  const auto add_sanitizer = [&o](CLI::App* sub) {
    sub->add_option("--sanitizer", o.sanitizer,
                    "one launch a case under compute-sanitizer, and no other check: memcheck, racecheck, initcheck or "
                    "synccheck");
  };
  CLI::App* check = command("check", "correctness of the tier's cases", running);
  add_sanitizer(check);
  check->add_flag(
      "--beside-others", o.beside_others,
      "other processes use the device meanwhile: memory of it that only seems to be kept is said as unknown");
  check->add_option("--reseed", o.reseed, "added to each case's seed: other inputs, of which nothing is approved")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 32));
  check->add_option("--fuzz", o.fuzz,
                    "cases that are drawn, in place of the tier's, for so long or so many: 60s, 10m, 200cases");
  check->add_option("--seed", o.seed, "of the draws of --fuzz; default: another each time, which is printed")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 62));
  CLI::App* bench = command("bench", "latency of the tier's bench cases, each checked first", running);
  bench
      ->add_option(
          "--blocks", o.blocks,
          "then as many blocks of four processes each, as the gate of latencies measures them, into blocks.jsonl")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  CLI::App* gate = command("gate", "check and bench, findings against a base, and the report", running);
  gate->add_flag("--no-report", o.no_report, "do not write the report");
  gate->add_flag("--unpinned", o.unpinned,
                 "compare latencies with --base though the environment is not the pinned one; the run says so");
  gate->add_flag("--no-latency", o.no_latency, "with --base: do not compare latencies with it");
  gate->add_flag("--no-skip", o.no_skip, "compare the latency of kernels whose machine code is the base's, too");
  gate->add_option(
          "--base-modules", o.base_modules,
          "folder of the base's kernel modules, with which those of this run are compared; nothing is built then")
      ->check(CLI::ExistingDirectory);
  gate->add_option(
          "--history", o.history,
          "folder of earlier runs, in which stale known issues show; default runs/ of the tree, none with a base")
      ->check(CLI::ExistingDirectory);
  gate->add_option("--ledgers", o.ledgers, kLedgersHelp);
  CLI::App* golden = app.add_subcommand("golden", "stored expectations");
  golden->require_subcommand(1);
  for (const auto& [name, what] :
       {std::pair{"verify", "do the goldens still hold?"}, std::pair{"diff", "what update would change"},
        std::pair{"update", "rewrite them; refused when CI is set"}}) {
    CLI::App* sub = golden->add_subcommand(name, what);
    sub->add_option("--root", o.root, "source tree whose golden/ it is about");
    sub->add_option("--run", o.run_folder, "the observed goldens, from that run; without it the truth goldens");
    sub->add_flag("--contracts", o.contracts, "the contracts of the kernels that are built; nothing else");
    sub->add_option("--filter", o.filters, "op[:field=value,...]: those cases only")->allow_extra_args(false);
    sub->add_option("--threads", o.threads, "CPU threads of the oracles")->check(CLI::Range(1, 1024));
    if (sub->get_name() != "update") continue;
    sub->add_flag("--unpinned", o.unpinned,
                  "of a run whose environment is not the pinned one: the files are marked so");
  }
  CLI::App* env =
      command("env", "this machine, its libraries and compiler, as run.json records them", kModules | kJson);
  env->require_subcommand(0, 1);
  CLI::App* pin = env->add_subcommand("pin", "write the pin of this machine's platform; refused when CI is set");
  add_flags(*pin, kModules, o, texts);
  pin->add_option("--out", o.out, "file; default ci/pins/<platform>.toml of the source tree");
  pin->add_option("--run", o.run_folder, "what that run, of this machine, loaded after the modules is pinned too");
  CLI::App* verify = env->add_subcommand("verify", "is this machine as its pin says? exit 3 where it is not");
  add_flags(*verify, kModules | kBase | kJson, o, texts);
  verify->add_flag("--unpinned", o.unpinned, "say what differs, and exit 0 all the same");
  const auto add_library = [&o](CLI::App* sub) {
    sub->add_option("--library", o.library_version,
                    "LIBRARY=VERSION, as a canary has it: judge with that version of the library");
  };
  CLI::App* repro = command("repro", "run one case and print every check", kModules | kBase | kExplain);
  add_library(repro);
  repro->add_option("id", o.id, "kernel id, such as gemm/simd:m=8,n=8,k=8,dtype=f32")->required();
  add_sanitizer(repro);
  CLI::App* shrink = command("shrink", "the smallest case that fails as this one does", kModules | kBase | kJson);
  shrink->add_option("id", o.id, "kernel id of a case that fails")->required();
  shrink->add_option("--seconds", o.seconds, "to stop after, with the smallest found so far")
      ->check(CLI::Range(0.0, kDay));
  shrink->add_option("--out", o.out,
                     "new folder for a file that shows the failure without Assay; default runs/shrunk-<time>");
  add_sanitizer(shrink);
  add_library(shrink);
  add_library(check);
  CLI::App* selftest = command("selftest", "what the checks are worth: seeded faults, and kernels without any", kJson);
  selftest->add_option("--faults", o.faults, "their folder; default mutants/ of the build")
      ->check(CLI::ExistingDirectory);
  selftest->add_option("--tier", texts.selftest_tier, "smoke, ci (default) or nightly")->take_last();
  selftest->add_option("--device", o.device, "of the faults: cpu (default) or cuda");
  selftest->add_option("--threads", o.threads, "CPU threads each launch may use")->check(CLI::Range(1, 1024));
  selftest
      ->add_option(
          "--jobs", o.jobs,
          "modules judged at a time, each on a GPU of its own while there are as many; default 1, or one a GPU")
      ->check(CLI::Range(1, 256));
  selftest->add_option("--innocent", o.innocent, "kernel-cases without a fault, at least")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 32));
  selftest->add_option("--out", o.out, "folder of its runs, which go on there; default runs/selftest-DEVICE");
  selftest->add_flag("--smoke-first", o.smoke_first,
                     "judge with the smoke tier, and with --tier only what survives that: sooner done, and of the rest "
                     "the table knows no other case");
  selftest->add_flag("--minimise", o.minimise, "print the suite that keeps 98 % of the kills in the least time");
  CLI::App* sweep = command("sweep", "drawn shapes of kernels that multiply matrices, every element verified",
                            kModules | kBase | kJson);
  sweep->add_option("kernels", o.filters, "op/kernel, '*' matches any text, such as gemm/cublas*")->required();
  sweep->add_option("--seconds", o.seconds, "for each kernel")->check(CLI::Range(0.0, kDay));
  sweep->add_option("--shapes", o.shapes, "to end sooner: after so many were verified of a kernel")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 32))
      ->take_last();
  sweep->add_option("--seed", o.draws, "of the shapes: another one, other shapes")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 32));
  sweep->add_option("--jobs", o.jobs, "processes that each sweep a part, with a judge and a worker of its own")
      ->check(CLI::Range(1, 256))
      ->take_last();
  sweep->add_option("--shard", o.shard_text, "i/n: the i-th of n parts");
  CLI::App* fingerprint = command("fingerprint", "how kernels compute: summation order, accumulator, rounding, ...",
                                  kModules | kBase | kJson | kExplain);
  add_library(fingerprint);
  fingerprint->add_option("kernels", o.filters, "op[/kernel][:field=value,...], such as gemm/openblas:dtype=f32");
  fingerprint->add_option("--repeat", o.repeat, "in so many processes, which must agree; exit 1 when they do not")
      ->check(CLI::Range(1, 10000));
  CLI::App* canary = command("canary", "a library's candidate beside its pin: PROMOTE, HOLD or REJECT, and why",
                             kModules | kSelection | kJson);
  canary->add_option("library", o.library, "name of its recipe in ci/libraries, such as openblas");
  canary->add_option("--candidate", o.candidate, "version to be judged, or a folder that holds its files");
  canary->add_option("--pin", o.pin, "version that it is judged against, or a folder; default what is installed");
  canary->add_flag("--list", o.list_versions, "print the versions that its sources give, and no more");
  canary->add_option("--promote", o.promote,
                     "folder of a canary that said PROMOTE: its candidate becomes the pin, as a diff to review; exit 0 "
                     "when it is, 4 when it cannot be");
  canary->add_option(
      "--bisect", o.bisect,
      "A..B: the first version between the two, of one source, with the verdict that B has against A; exit 0 when "
      "answered, by 'nothing to find' too, 3 when B's verdict is INVALID");
  canary->add_option("--out", o.out, "new folder of the canary; default runs/canary-<time>-<library>");
  canary->add_option("--resume", o.resume, "continue that canary as it was asked; repeats nothing recorded");
  canary->add_flag("--no-latency", o.no_latency, "correctness alone");
  canary->add_flag("--no-report", o.no_report, "do not write the page");
  canary->add_flag("--unpinned", o.unpinned, "though the environment is not the pinned one; what is written says so");
  canary->add_option("--jobs", o.jobs, kJobsHelp)->check(CLI::Range(1, 256));
  canary->add_option("--ledgers", o.ledgers, kLedgersHelp);
  CLI::App* report = command("report", "write the pages of a run, of a selftest or of a canary", 0);
  report->add_option("run", o.run_folder, "the folder of the run, the selftest or the canary")->required();
  report->add_option("--selftest", o.selftest, "folder of a selftest, or its selftest.json, to show in the run's page")
      ->check(CLI::ExistingPath);
  report->add_option("--before", o.before, "an earlier selftest to set beside it, likewise")->check(CLI::ExistingPath);
  report->add_flag("--invariances", o.invariances, "print the invariance matrix as a Markdown table, and no more");
  CLI::App* history = app.add_subcommand("history", "latencies of many runs, and what changed in them");
  history->require_subcommand(1);
  CLI::App* import = history->add_subcommand("import", "keep the latencies of runs");
  import->add_option("runs", o.runs, "folders of runs")->required();
  import->add_flag("--reference", o.reference,
                   "the base of their latency gates is a pinned build: what is kept is relative to it");
  CLI::App* show = history->add_subcommand("show", "what changed, as a table and a page");
  show->add_option("--kernel", o.kernels, "op/kernel or a whole id, such as 'gemm/*'; '*' matches any text");
  show->add_option("--out", o.out, "folder of the page; default runs/history");
  for (CLI::App* sub : {import, show}) {
    sub->add_option("--root", o.root, "source tree with dashboards, and the history in runs/");
    sub->add_option("--db", o.database, "sqlite:///FILE or postgresql://...; default runs/history.sqlite of the tree");
  }

  require_values(arguments);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* asked = &app;
    while (!asked->get_subcommands().empty()) asked = asked->get_subcommands()[0];
    throw HelpAsked(asked->help());
  } catch (const CLI::ParseError& e) {
    refuse(app, e.what(), arguments);
  }
  require_values(app);
  if (std::isnan(o.seconds)) throw UsageError("--seconds: nan is no number of seconds");  // in no range, nor outside
  o.argv = arguments;
  o.command = app.get_subcommands()[0]->get_name();
  for (const CLI::App* parent : {golden, env, history}) {
    if (!parent->get_subcommands().empty()) o.subcommand = parent->get_subcommands()[0]->get_name();
  }
  o.tier = tier_named(o.command == "selftest" ? texts.selftest_tier : texts.tier);
  if (!o.shard_text.empty()) o.shard = parse_shard(o.shard_text);
  if (o.command == "check") require_fuzz_alone(*check, o);
  if (o.command == "canary") require_one_question(*canary);
  if (o.command == "list") require_one_table(*list);
  require_one_folder(o);
  const Device device = device_named(o.device);  // a word that is none is told at once
  if (!o.sanitizer.empty()) sanitizer_named(o.sanitizer);
  if (!o.sanitizer.empty() && device != Device::cuda) {
    throw UsageError("--sanitizer " + o.sanitizer + ": watches kernels of a GPU; add --device cuda");
  }
  return o;
}

}  // namespace assay
