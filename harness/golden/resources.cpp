#include "golden/resources.h"

#include <algorithm>
#include <utility>

#include "core/number_text.h"

namespace assay {
namespace {

constexpr std::pair<int64_t KernelResources::*, const char*> kQuantities[] = {
    {&KernelResources::registers, "registers of a thread"},
    {&KernelResources::local_bytes, "bytes of local memory (spills) of a thread"},
    {&KernelResources::shared_bytes, "bytes of shared memory of a block"}};

// The number behind the last " NAME=": names of kernels come before and may hold anything.
bool named_count(std::string_view text, std::string_view name, int64_t& value) {
  const size_t at = text.rfind(" " + std::string(name) + "=");
  if (at == text.npos) return false;
  text.remove_prefix(at + name.size() + 2);
  return parse_count(text.substr(0, text.find(' ')), value);
}

KernelResources greediest(const std::vector<KernelResources>& kernels) {
  KernelResources most;
  for (const KernelResources& k : kernels) {
    for (const auto& [quantity, unused] : kQuantities) most.*quantity = std::max(most.*quantity, k.*quantity);
  }
  return most;
}

}  // namespace

Resources resources_of(const Record& record) {
  Resources resources{.workspace = record.workspace_bytes, .kernels = {}};
  for (size_t i = 0;; ++i) {
    const auto found = record.selection.find("kernel." + std::to_string(i));
    if (found == record.selection.end()) return resources;
    KernelResources k;
    if (!named_count(found->second, "registers", k.registers) ||
        !named_count(found->second, "local_bytes", k.local_bytes) ||
        !named_count(found->second, "shared_bytes", k.shared_bytes)) {
      return resources;
    }
    resources.kernels.push_back(k);
  }
}

std::string print_kernels(const std::vector<KernelResources>& kernels) {
  std::string text;
  for (const KernelResources& k : kernels) {
    text += (text.empty() ? "" : ",") + std::to_string(k.registers) + "/" + std::to_string(k.local_bytes) + "/" +
            std::to_string(k.shared_bytes);
  }
  return text;
}

bool parse_kernels(std::string_view text, std::vector<KernelResources>& kernels) {
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    const size_t first = one.find('/'), second = one.find('/', first + 1);
    KernelResources k;
    if (first == one.npos || second == one.npos || !parse_count(one.substr(0, first), k.registers) ||
        !parse_count(one.substr(first + 1, second - first - 1), k.local_bytes) ||
        !parse_count(one.substr(second + 1), k.shared_bytes)) {
      return false;
    }
    kernels.push_back(k);
    if (comma == text.npos) return true;
    text.remove_prefix(comma + 1);
  }
}

std::vector<Growth> growth(const Resources& approved, const Resources& now) {
  std::vector<Growth> grown;
  if (approved.workspace && now.workspace && *now.workspace > *approved.workspace) {
    grown.push_back(
        {"bytes of workspace", static_cast<int64_t>(*approved.workspace), static_cast<int64_t>(*now.workspace)});
  }
  if (approved.kernels.empty() || now.kernels.empty()) return grown;
  std::vector<KernelResources> before = approved.kernels, after = now.kernels;
  if (before.size() != after.size()) {
    before = {greediest(before)};
    after = {greediest(after)};
  }
  for (const auto& [quantity, name] : kQuantities) {
    const Growth* worst = nullptr;
    Growth found;
    for (size_t i = 0; i < before.size(); ++i) {
      const Growth one{name, before[i].*quantity, after[i].*quantity};
      if (one.now <= one.before || (worst != nullptr && one.now - one.before <= worst->now - worst->before)) continue;
      found = one;
      worst = &found;
    }
    if (worst != nullptr) grown.push_back(found);
  }
  return grown;
}

}  // namespace assay
