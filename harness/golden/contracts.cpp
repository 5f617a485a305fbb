#include "golden/contracts.h"

#include "core/error.h"
#include "record/json.h"
#include "record/json_text.h"

namespace assay {
namespace {

constexpr std::string_view kTarget = ":target=";

}  // namespace

std::string target_of(const std::string& key) {
  const size_t at = key.find(kTarget);
  return at == std::string::npos ? "" : key.substr(at + kTarget.size());
}

std::vector<KernelInfo> kernels_from(const GoldenFile& file, const std::string& name) {
  std::vector<KernelInfo> kernels;
  for (const auto& [key, value] : file.lines) {
    KernelInfo kernel;
    const size_t slash = key.find('/');
    kernel.target = target_of(key);
    if (slash == std::string::npos || kernel.target.empty()) reject_golden(name, key, "is no 'op/kernel:target=...'");
    kernel.op = key.substr(0, slash);
    kernel.name = key.substr(slash + 1, key.find(kTarget) - slash - 1);
    try {
      kernel.contract = contract_from_json(parse_json(value));
    } catch (const UsageError& e) {
      reject_golden(name, key, e.what());
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

GoldenFile to_golden_file(const std::vector<KernelInfo>& kernels) {
  GoldenFile file{.kind = "contract"};
  for (const KernelInfo& kernel : kernels) {
    file.lines[kernel.op + "/" + kernel.name + std::string(kTarget) + kernel.target] =
        print_json(to_json(kernel.contract));
  }
  return file;
}

std::vector<KernelInfo> read_contracts(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kContractsFile;
  if (!std::filesystem::exists(path)) return {};
  return kernels_from(read_golden_file(path, "contract"), path.string());
}

}  // namespace assay
