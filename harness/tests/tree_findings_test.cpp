// Findings against a base tree: edits to what judges, contracts and kernels that changed; how the base is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"
#include "gate/base_tree.h"
#include "gate/findings.h"
#include "gate/program.h"
#include "gate_fakes.h"
#include "golden/contracts.h"
#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Trees : public ::testing::Test {
 protected:
  void write(const fs::path& file, const std::string& text) const { write_text(folder / file, text); }
  Scratch scratch;
  const fs::path& folder = scratch.path;
};

TEST_F(Trees, AnEditedHarnessIsOneFindingThatSaysWhoJudged) {
  for (const char* tree : {"base", "change"}) {
    write(std::string(tree) + "/harness/check/accuracy.cpp", "same");
    write(std::string(tree) + "/harness/core/include/assay/abi.h", "#define ASSAY_ABI_VERSION 1\n");
    write(std::string(tree) + "/reference/CMakeLists.txt", "assay_op(gemm)\nassay_op(softmax)\n");
  }
  write("base/harness/tests/a_test.cpp", "old");
  write("base/harness/README.md", "old");
  const auto found = [&](const char* judging) {
    std::string text;
    for (const Finding& finding : edited_harness(folder / "base", folder / "change", folder / judging)) {
      text += finding.kind + ": " + finding.text + "\n";
    }
    return text;
  };
  EXPECT_EQ(found("change"), "") << "tests and pages judge nothing";
  write("change/harness/check/accuracy.cpp", "laxer");
  write("change/reference/gemm/cases.cpp", "new");
  const std::string two =
      "harness: 2 files differ from the base (harness/check/accuracy.cpp, reference/gemm/cases.cpp); ";
  EXPECT_EQ(found("base"), two + "judged by the base's harness\n");
  EXPECT_EQ(found("change"), two + "judged by the change's own harness\n");
  EXPECT_EQ(why_not_by_base(folder / "base", folder / "change"), "");
  write("change/reference/CMakeLists.txt", "assay_op(softmax)\nassay_op(gemm)\n");
  EXPECT_EQ(why_not_by_base(folder / "base", folder / "change"), "") << "order does not matter";
  write("change/reference/CMakeLists.txt", "assay_op(gemm)\nassay_op(softmax)\nassay_op(conv)\n");
  EXPECT_THAT(found("change"), HasSubstr("the change's own harness: it has other ops\n"));
  write("change/harness/core/include/assay/abi.h", "#define ASSAY_ABI_VERSION 2\n");
  EXPECT_THAT(found("change"), HasSubstr("the change's own harness: it has another version of the module ABI\n"));
  for (int i = 0; i < 7; ++i) write("change/harness/check/more" + std::to_string(i) + ".cpp", "new");
  EXPECT_THAT(found("change"), HasSubstr("11 files differ"));
  EXPECT_THAT(found("change"), HasSubstr("more3.cpp, ...)"));
}

TEST_F(Trees, WhatSaysHowTheHarnessIsCompiledIsPartOfIt) {
  const std::string kernels =
                        "macro(assay_kernel op file)\nendmacro()\nassay_kernel(gemm simd.cpp LIBS PkgConfig::HWY)\n",
                    tests = "assay_test(core LIBS assay_core)\n";
  for (const char* tree : {"base", "change"}) {
    write(std::string(tree) + "/CMakeLists.txt", "project(assay)\n");
    write(std::string(tree) + "/kernels/CMakeLists.txt", kernels);
    write(std::string(tree) + "/kernels/libraries.cmake", "find_package(dnnl)\n");
    write(std::string(tree) + "/harness/tests/CMakeLists.txt", tests);
  }
  const auto edited = [&](const std::string& file, const std::string& text) {
    const std::string before = content_of(folder / "change" / file);
    write("change/" + file, text);
    const std::vector<Finding> findings = edited_harness(folder / "base", folder / "change", folder / "base");
    write("change/" + file, before);
    return findings.empty() ? "" : findings.at(0).text;
  };
  EXPECT_EQ(edited("kernels/CMakeLists.txt", "# Ours.\n\n" + kernels + "  assay_kernel(softmax plain.cpp)\n"), "");
  EXPECT_EQ(edited("harness/tests/CMakeLists.txt", tests + "assay_test(more LABELS slow LIBS assay_gate)\n"), "");
  EXPECT_EQ(edited("kernels/softmax/plain.cpp", "new"), "");
  const std::pair<const char*, std::string> kEdits[] = {
      {"CMakeLists.txt", "project(assay)\nadd_compile_options(-ffast-math)\n"},
      {"kernels/CMakeLists.txt", kernels + "target_compile_options(assay_check PRIVATE -ffast-math)\n"},
      {"kernels/CMakeLists.txt", kernels + "assay_kernel(gemm more.cpp LIBS \"x\n"},
      {"kernels/CMakeLists.txt", kernels + "#[[\n"},
      {"kernels/CMakeLists.txt", kernels.substr(kernels.find("assay_kernel(gemm"))},
      {"kernels/libraries.cmake", "find_package(dnnl)\nadd_link_options(-lfast)\n"},
      {"kernels/softmax/CMakeLists.txt", "add_link_options(-lfast)\n"},
      {"harness/tests/CMakeLists.txt", tests + "target_link_options(assay_check PUBLIC -lfast)\n"},
  };
  for (const auto& [file, text] : kEdits) {
    EXPECT_EQ(edited(file, text),
              std::string("1 files differ from the base (") + file + "); judged by the base's harness");
  }
}

TEST_F(Trees, ScriptsAndListsOfCIAreFindingsThatSayWhatTheyDo) {
  for (const char* file : {"CMakeLists.txt", "ci/common.sh", "ci/setup", "ci/gate", "ci/packages.txt"}) {
    write(fs::path("base") / file, "one\n");
  }
  for (const char* file :
       {"ci/arm", "ci/requirements.txt", "ci/cuda-requirements.txt", "ci/libraries/openblas.toml",
        ".github/workflows/gate.yml", "ci/README.md", "ci/tests/test_arm.py", "dashboards/assay_dashboards/summary.py",
        "dashboards/tests/test_summary.py", ".ci/run", ".gitignore"}) {
    write(fs::path("base") / file, "one\n");
  }
  fs::copy(folder / "base", folder / "change", fs::copy_options::recursive);
  write("change/ci/arm", "two\n");
  write("change/ci/common.sh", "two\n");
  write("change/ci/libraries/openblas.toml", "two\n");
  write("change/ci/packages.txt", "two\n");
  write("change/ci/cuda-requirements.txt", "two\n");
  write("change/ci/README.md", "two\n");
  write("change/ci/tests/test_arm.py", "two\n");
  write("change/ci/new.py", "two\n");
  write("change/.github/workflows/gate.yml", "two\n");
  write("change/.ci/run", "two\n");
  write("change/.gitignore", "two\n");
  write("change/dashboards/assay_dashboards/summary.py", "two\n");
  write("change/dashboards/tests/test_summary.py", "two\n");
  fs::remove(folder / "change/ci/setup");
  std::vector<std::string> lines;
  for (const Finding& finding : edited_files(folder / "base", folder / "change")) {
    lines.push_back(finding.kind + ": " + finding.text);
  }
  const std::string edit = ", is edited: 1 line added, 1 removed: -one +two";
  EXPECT_THAT(lines,
              ElementsAre("ci: ci/arm, which builds both arms" + edit,
                          "ci: ci/libraries/openblas.toml, which names versions of libraries" + edit,
                          "ci: ci/setup, which installs what is built with, is removed",
                          "ci: ci/cuda-requirements.txt, which lists what is built with" + edit,
                          "ci: ci/packages.txt, which lists what is built with" + edit,
                          "ci: ci/common.sh, which CI runs" + edit, "ci: ci/new.py, which CI runs, is new",
                          "ci: .ci/run, which CI runs" + edit, "ci: .github/workflows/gate.yml, which CI runs" + edit,
                          "ci: .gitignore, which says what no arm is built of" + edit,
                          "report: dashboards/assay_dashboards/summary.py, which writes the report" + edit));
}

// gemm/simd and gemm/simt, as golden/contracts.txt has them and as the modules say.
class Contracts : public Trees {
 protected:
  Contracts() {
    kernels[0].contract.promises = kernels[1].contract.promises = ASSAY_SAME_RUN | ASSAY_SAME_RESTART;
    kernels[1].target = "cuda";
    store("base", kernels);
    store("change", kernels);
  }
  void store(const std::string& tree, const std::vector<KernelInfo>& all) const {
    write_golden_file(folder / tree / "golden" / kContractsFile, to_golden_file(all));
  }
  std::vector<std::string> found(const std::vector<KernelInfo>& built) const {
    std::vector<std::string> texts;
    for (const Finding& finding : weakened_contracts(folder / "base", folder / "change", built)) {
      EXPECT_EQ(finding.kind, "contract");
      texts.push_back(finding.text);
    }
    return texts;
  }
  std::vector<KernelInfo> kernels{fake_kernel("gemm", "simd"), fake_kernel("gemm", "simt")};
};

const std::string kStale =
    "golden/contracts.txt is not what the kernels say: 1 line added, 1 removed; build everything "
    "and run 'assay golden update --contracts'";

TEST_F(Contracts, AsTheBaseHasThemAreNoFinding) {
  EXPECT_THAT(found(kernels), IsEmpty());
  EXPECT_THAT(found({kernels[0]}), IsEmpty()) << "nobody compiled any for CUDA";
}

TEST_F(Contracts, APromiseWithdrawnIsOneWhateverTheChangesFileSays) {
  const std::string withdrawn = "gemm/simd: promises: was same-run, same-restart, now same-run";
  kernels[0].contract.promises = ASSAY_SAME_RUN;
  EXPECT_THAT(found(kernels), ElementsAre(kStale, withdrawn));
  store("change", kernels);
  EXPECT_THAT(found(kernels), ElementsAre(withdrawn));
}

TEST_F(Contracts, ALineThatTheModulesDoNotBearOutIsOne) {
  std::vector<KernelInfo> weaker = kernels;
  weaker[0].contract.promises = 0;
  store("change", weaker);  // what a later change would be compared with
  EXPECT_THAT(found(kernels), ElementsAre(kStale));
  write("change/golden/contracts.txt", "no golden\n");
  EXPECT_THAT(found(kernels), ElementsAre(HasSubstr("contracts.txt:1: the first line must be")));
}

TEST_F(Contracts, OfATargetThatNobodyBuiltTheFileTells) {
  std::vector<KernelInfo> weaker = kernels;
  weaker[1].contract.may_fall_back = true;
  store("change", weaker);
  EXPECT_THAT(found({kernels[0]}), ElementsAre("gemm/simt: may_fall_back: was no, now yes"));
}

TEST_F(Contracts, OfATargetThatNobodyBuiltALineThatIsGoneIsOne) {
  store("change", {kernels[0]});
  EXPECT_THAT(found({kernels[0]}),
              ElementsAre("gemm/simt: golden/contracts.txt does not have it any more; not compared"));
  EXPECT_THAT(found(kernels), ElementsAre(HasSubstr("is not what the kernels say")));
}

TEST_F(Contracts, AnotherTargetIsOne) {
  kernels[0].target = "cuda";
  store("change", kernels);
  EXPECT_THAT(found(kernels), ElementsAre("gemm/simd: target: was cpu, now cuda"));
}

TEST_F(Contracts, ANewKernelIsNone) {
  kernels.push_back(fake_kernel("gemm", "plain"));
  store("change", kernels);
  EXPECT_THAT(found(kernels), IsEmpty());
  EXPECT_THAT(edited_files(folder / "base", folder / "change"), IsEmpty());
}

TEST_F(Contracts, WhatTheBaseDoesNotTellOfIsNotCompared) {
  write("base/kernels/CMakeLists.txt", "assay_kernel(gemm simd.cpp)\nassay_kernel(gemm gone.cpp)\n");
  store("base", {kernels[1]});
  EXPECT_THAT(found(kernels), ElementsAre("gemm/simd: the base's golden/contracts.txt does not have it; not compared"));
  fs::remove(folder / "base/golden/contracts.txt");
  EXPECT_THAT(found(kernels), ElementsAre(HasSubstr("the base has no golden/contracts.txt")));
}

TEST_F(Trees, EditsToWhatJudgesAreFindings) {
  write("base/ci/policy/policy.toml", "a\nb\n");
  write("base/golden/truth/gemm.txt", "1\n2\n");
  write("base/golden/truth/softmax.txt", "1\n");
  write("base/kernels/simd.cpp", "old");
  fs::copy(folder / "base", folder / "change", fs::copy_options::recursive);
  EXPECT_THAT(edited_files(folder / "base", folder / "change"), IsEmpty());
  write("change/ci/policy/policy.toml", "a\nc\nd\n");
  write("change/golden/truth/new.txt", "1\n");
  write("change/kernels/simd.cpp", "new");
  fs::remove(folder / "change/golden/truth/softmax.txt");
  std::vector<std::string> lines;
  for (const Finding& finding : edited_files(folder / "base", folder / "change")) {
    lines.push_back(finding.kind + ": " + finding.text);
  }
  EXPECT_THAT(lines, ElementsAre("policy: ci/policy/policy.toml is edited: 2 lines added, 1 removed: -b +c +d",
                                 "golden: golden/truth/new.txt is new", "golden: golden/truth/softmax.txt is removed"));
}

// What a reader of paths goes through is no less than a file.
TEST_F(Trees, LinksAreFindingsByWhereTheyLeadAndNotFollowedOutOfTheTree) {
  write("elsewhere/secret.txt", "of this machine\n");
  write("base/kernels/notes.txt", "1\n");
  write("base/golden/truth/gemm.txt", "1\n");
  write("base/ci/gate", "1\n");
  const auto link = [&](const fs::path& target, const fs::path& at) {
    fs::create_directories((folder / at).parent_path());
    fs::create_symlink(target, folder / at);
  };
  link("gemm.txt", "base/golden/truth/same.txt");
  link("../kernels", "base/golden/kept");
  link("../../kernels/notes.txt", "base/golden/truth/notes.txt");
  link(folder / "elsewhere/secret.txt", "base/golden/truth/outside.txt");
  fs::copy(folder / "base", folder / "change", fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const auto lines = [&] {
    std::vector<std::string> all;
    for (const Finding& finding : edited_files(folder / "base", folder / "change")) {
      all.push_back(finding.kind + ": " + finding.text);
    }
    return all;
  };
  EXPECT_THAT(lines(), IsEmpty());
  const std::string outside = (folder / "elsewhere").string();
  link(outside, "change/golden/observed/avx2");
  link("nowhere", "change/ci/policy/policy.toml");
  link("loop", "change/ci/loop");
  fs::remove(folder / "change/golden/kept");
  link("../harness", "change/golden/kept");
  fs::remove(folder / "change/golden/truth/gemm.txt");
  link(folder / "elsewhere/secret.txt", "change/golden/truth/gemm.txt");
  write("change/kernels/notes.txt", "2\n");
  write("elsewhere/secret.txt", "another\n");
  EXPECT_THAT(lines(),
              ElementsAre("policy: ci/policy/policy.toml, a link to nowhere, is new",
                          "golden: golden/kept, a link to ../harness, is edited: 1 line added, 1 removed",
                          "golden: golden/observed/avx2, a link to " + outside + ", is new",
                          "golden: golden/truth/gemm.txt, a link to " + outside +
                              "/secret.txt, is edited: 1 line added, 1 removed",
                          "golden: golden/truth/notes.txt, a link to ../../kernels/notes.txt, is edited: 1 line "
                          "added, 1 removed",
                          "golden: golden/truth/same.txt, a link to gemm.txt, is edited: 0 lines added, 1 removed",
                          "ci: ci/loop, a link to loop, which CI runs, is new"));
}

TEST_F(Trees, AFolderOfWhatJudgesThatBecomesALinkIsOne) {
  write("base/ci/policy/policy.toml", "1\n");
  write("elsewhere/policy/policy.toml", "2\n");
  fs::create_directories(folder / "change");
  fs::create_symlink("../elsewhere", folder / "change/ci");
  std::vector<std::string> lines;
  for (const Finding& finding : edited_files(folder / "base", folder / "change")) lines.push_back(finding.text);
  EXPECT_THAT(lines,
              ElementsAre("ci/policy/policy.toml is removed", "ci, a link to ../elsewhere, which CI runs, is new"));
}

TEST_F(Trees, OfAnEditAFewLinesAreToldWhateverTheyHold) {
  write("base/ci/policy/policy.toml", "margin = 0.02\n");
  write("change/ci/policy/policy.toml", std::string(100, 'x') + "\n\x1b[31m\xff\n\n1\n2\n");
  EXPECT_THAT(
      edited_files(folder / "base", folder / "change").at(0).text,
      HasSubstr("5 lines added, 1 removed: -margin = 0.02 +" + std::string(60, 'x') + "... + [31m\xef\xbf\xbd +1 ..."));
}

TEST_F(Trees, RegistrationsAreReadFromTheLists) {
  write("kernels/CMakeLists.txt",
        "# assay_kernel(gemm comment.cpp)\nmacro(assay_kernel op file)\n  assay_kernel(gemm simd.cpp LIBS hwy)\n"
        "assay_kernel(softmax warp_row.cu)\n");
  write("reference/CMakeLists.txt", "assay_op(gemm)\n#assay_op(none)\n");
  EXPECT_THAT(registered_kernels(folder), ElementsAre("gemm/simd", "softmax/warp_row"));
  EXPECT_THAT(registered_cuda_kernels(folder), ElementsAre("softmax/warp_row", "softmax/dispatch_cuda"));
  EXPECT_THAT(registered_ops(folder), ElementsAre("gemm"));
  EXPECT_THAT(registered_ops(folder / "nowhere"), IsEmpty());
}

TEST_F(Trees, WhereNobodyCompilesCudaItsKernelsAreGoneWhenTheChangeListsThemNoMore) {
  const std::string simd = "assay_kernel(gemm simd.cpp)\n", simt = "assay_kernel(gemm simt.cu)\n",
                    mma = "  assay_kernel(gemm mma.cu LIBS x)\n";
  write("base/kernels/CMakeLists.txt", simd + simt + mma);
  write("change/kernels/CMakeLists.txt", simd + simt);
  for (const char* tree : {"base", "change"}) fs::create_directories(folder / tree / "golden" / "cases");
  const OpRegistry ops = fake_ops();
  const auto gone = [&](const std::vector<KernelInfo>& built) {
    std::vector<std::string> texts;
    for (const Finding& finding :
         findings_against_base(folder / "base", folder / "change", folder / "base", built, ops, {})) {
      if (finding.text.starts_with("kernel ")) texts.push_back(finding.text);
    }
    return texts;
  };
  KernelInfo host = fake_kernel("gemm", "simd"), device = fake_kernel("gemm", "other");
  host.target = "cpu";
  device.target = "cuda";
  EXPECT_THAT(gone({host}), ElementsAre("kernel gemm/mma is gone"));
  EXPECT_THAT(gone({host, device}), ElementsAre("kernel gemm/mma is gone", "kernel gemm/simt is gone"))
      << "what is listed and was not built";
}

TEST_F(Trees, BaseRefReadsTheCommittedTreeAndLeavesNothing) {
  const std::string repository = (folder / "repo").string();
  write("repo/ci/policy/policy.toml", "committed");
  const auto git = [&](std::vector<std::string> arguments) {
    std::vector<std::string> command{"git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@example.org"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const ProgramEnd end = run_program(command);
    ASSERT_EQ(end.status, 0) << end.output;
  };
  git({"init", "-q"});
  git({"add", "."});
  git({"commit", "-q", "-m", "base"});
  write("repo/ci/policy/policy.toml", "edited");
  fs::path tree;
  {
    const BaseTree base = BaseTree::ref(repository, "HEAD");
    tree = base.path();
    EXPECT_EQ(edited_files(tree, repository).size(), 1u);
  }
  EXPECT_FALSE(fs::exists(tree));
  EXPECT_THROW(BaseTree::ref(repository, "no-such-ref"), UsageError);
  EXPECT_THROW(BaseTree::ref(repository, "--output=/tmp/x"), UsageError);
  EXPECT_THROW(BaseTree::folder(folder / "nowhere"), UsageError);
  // A change that has a folder of the name of its base.
  git({"branch", "-q", "--force", "base"});
  write("repo/base/ci/policy/policy.toml", "the change's own");
  const fs::path here = fs::current_path();
  fs::current_path(repository);
  EXPECT_EQ(message_of([&] { BaseTree::named(repository, "base"); }),
            "--base base: is a folder and a git ref; say ./base or refs/heads/base");
  const auto policy_of = [&](const char* name) {
    const BaseTree base = BaseTree::named(repository, name);
    return content_of(base.path() / "ci/policy/policy.toml");
  };
  EXPECT_EQ(policy_of("./base"), "the change's own");
  EXPECT_EQ(policy_of("refs/heads/base"), "committed");
  fs::current_path(here);
}

TEST_F(Trees, ACheckoutIsNamedByItsCommitAndByWhatDiffersFromIt) {
  const std::string repository = (folder / "repo").string();
  const auto git = [&](std::vector<std::string> arguments) {
    std::vector<std::string> command{"git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@example.org"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const ProgramEnd end = run_program(command);
    EXPECT_EQ(end.status, 0) << end.output;
    return end.output;
  };
  write("repo/.gitignore", "/build/\n");
  write("repo/kernels/simd.cpp", "committed");
  EXPECT_EQ(commit_of(folder / "repo"), "") << "no checkout";
  EXPECT_EQ(commit_of(folder / "nowhere"), "");
  git({"init", "-q"});
  EXPECT_EQ(commit_of(folder / "repo"), "") << "nothing is committed";
  git({"add", "."});
  git({"commit", "-q", "-m", "base"});
  std::string commit = git({"rev-parse", "HEAD"});
  commit.pop_back();
  EXPECT_EQ(commit.size(), 40u);
  EXPECT_EQ(commit_of(folder / "repo"), commit);
  EXPECT_EQ(commit_of(folder / "repo" / "kernels"), "") << "another tree, somewhere in a checkout";
  write("repo/build/simd.o", "ignored");
  EXPECT_EQ(commit_of(folder / "repo"), commit);
  write("repo/kernels/new.cpp", "new");
  EXPECT_EQ(commit_of(folder / "repo"), commit + "-dirty");
  fs::remove(folder / "repo/kernels/new.cpp");
  write("repo/kernels/simd.cpp", "edited");
  EXPECT_EQ(commit_of(folder / "repo"), commit + "-dirty");
  git({"add", "."});
  EXPECT_EQ(commit_of(folder / "repo"), commit + "-dirty") << "staged";
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", folder.c_str(), 1);
  EXPECT_EQ(commit_of(folder / "repo"), "") << "there is no git";
  ::setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace assay
