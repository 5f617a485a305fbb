#include "gate/pin_file.h"

#include <array>
#include <limits>
#include <sstream>

#include "core/error.h"
#include "core/number_text.h"
#include "gate/toml_file.h"
#include "golden/observed.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeading =
    "# What latency, observed goldens and canaries are judged with on this platform. Written by `assay env pin`, never "
    "by\n# hand. Compared are facts, and each library's version, build-id and sha256; package says where that file is "
    "to "
    "be had.\n\n";
constexpr const char* kRemedy = "; restore the file, or write it anew with 'assay env pin'";

// Those of a GPU's machine last.
constexpr size_t kFactsOfCpu = 5;
constexpr std::array<PinnedFact, 11> kFacts{{
    {"cpu.model", "use a machine with that processor"},
    {"cpu.family_model_stepping", "use a machine with that processor"},
    {"cpu.microcode", "use a machine with that microcode"},
    {"os.kernel", "boot that kernel"},
    {"build.compiler", "build with that compiler"},
    {"build.cuda_compiler", "build with that compiler"},
    {"gpu.model", "use a machine with that GPU"},
    {"gpu.driver", "install that driver"},
    {"gpu.driver_cuda", "install that driver"},
    {"gpu.vbios", "use a GPU with that firmware"},
    {"gpu.gsp_firmware", "install the driver that brings that firmware"},
}};

[[noreturn]] void reject(const TomlTable& table, std::string_view key, const std::string& why) {
  table.fail(key, why + kRemedy);
}

// "unknown", or `digits` hexadecimal digits; any number of them where that is 0.
std::string hexadecimal(TomlTable& table, std::string_view key, size_t digits, std::string_view prefix = "") {
  const std::string text = table.line(key);
  if (text == "unknown") return text;
  std::string_view rest = text;
  if (!prefix.empty() && rest.starts_with(prefix)) rest.remove_prefix(prefix.size());
  if (!is_hexadecimal(rest) || (digits != 0 && rest.size() != digits)) {
    reject(table, key,
           "'" + text + "' is neither hexadecimal digits" +
               (digits == 0 ? "" : ", " + std::to_string(digits) + " of them,") + " nor \"unknown\"");
  }
  return text;
}

PinPlatform read_platform(TomlTable table) {
  PinPlatform platform;
  table.allow({"device", "processor", "threads"});
  platform.device = table.line("device");
  if (platform.device != "cpu" && platform.device != "cuda") {
    reject(table, "device", "'" + platform.device + "' is neither cpu nor cuda");
  }
  platform.processor = table.line("processor");
  const bool has_threads = platform.device == "cpu";
  if (!has_threads && table.has("threads")) reject(table, "threads", "a GPU is pinned whatever they are");
  if (!has_threads) return platform;
  const uint64_t threads = table.count("threads");
  if (threads == 0 || threads > std::numeric_limits<int>::max()) reject(table, "threads", "is no number of threads");
  platform.threads = static_cast<int>(threads);
  return platform;
}

Facts read_facts(TomlTable table, std::string_view device) {
  std::vector<std::string> names;
  for (const PinnedFact& fact : pinned_facts(device)) names.emplace_back(fact.name);
  table.allow(names);
  Facts facts;
  for (const std::string& name : names) facts[name] = table.line(name);
  return facts;
}

PinnedLibrary read_library(TomlTable& table) {
  constexpr size_t kSha256Digits = 64;
  table.allow({"build_id", "file", "late", "package", "package_sha256", "sha256", "version"});
  PinnedLibrary library{.file = table.line("file"),
                        .version = table.line("version"),
                        .build_id = hexadecimal(table, "build_id", 0, "code-"),
                        .late = table.truth("late"),
                        .package = table.line("package"),
                        .package_sha256 = hexadecimal(table, "package_sha256", kSha256Digits),
                        .sha256 = hexadecimal(table, "sha256", kSha256Digits)};
  if (library.file.find('/') != std::string::npos) reject(table, "file", "'" + library.file + "' is no file's name");
  return library;
}

Pin pin_from(const toml::table& parsed, const fs::path& file) {
  TomlTable root(file.string(), "", parsed);
  if (const auto* layout = parsed["layout"].as_integer(); layout != nullptr && layout->get() > int64_t{kPinLayout}) {
    root.fail("layout", "is " + std::to_string(layout->get()) + ", and this assay reads " + std::to_string(kPinLayout) +
                            "; use a newer assay, or write the pin anew with 'assay env pin'");
  }
  root.allow({"layout", "platform", "facts", "library"});
  if (root.count("layout") != kPinLayout) reject(root, "layout", "no assay wrote such a layout");
  Pin pin;
  pin.platform = read_platform(root.table("platform"));
  if (pin.platform.name() != file.stem()) {
    reject(root, "platform", "is that of " + pin.platform.name() + ".toml, not of this file");
  }
  pin.facts = read_facts(root.table("facts"), pin.platform.device);
  for (TomlTable& table : root.tables("library")) {
    const PinnedLibrary library = read_library(table);
    for (const PinnedLibrary& earlier : pin.libraries) {
      const bool same = earlier.file == library.file && earlier.build_id == library.build_id;
      if (same) reject(table, "file", "'" + library.file + "' of that build-id is listed twice");
    }
    pin.libraries.push_back(library);
  }
  if (pin.libraries.empty()) reject(root, "library", "there is none, and no kernel is loaded without one");
  return pin;
}

}  // namespace

std::string PinPlatform::name() const {
  return device == "cpu" ? Platform{processor, threads, {}}.key() : file_word(processor);
}

std::span<const PinnedFact> pinned_facts(std::string_view device) {
  return std::span(kFacts).first(device == "cpu" ? kFactsOfCpu : kFacts.size());
}

Pin read_pin(const fs::path& file) { return pin_from(read_toml(file), file); }

std::optional<Pin> find_pin(const fs::path& pins, const PinPlatform& platform) {
  const fs::path file = pins / (platform.name() + ".toml");
  std::error_code error;
  if (!fs::exists(fs::symlink_status(file, error))) return std::nullopt;
  return read_pin(file);
}

std::string print_pin(const Pin& pin) {
  toml::table platform{{"device", pin.platform.device}, {"processor", pin.platform.processor}};
  if (pin.platform.device == "cpu") platform.insert("threads", pin.platform.threads);
  toml::table facts;
  for (const PinnedFact& fact : pinned_facts(pin.platform.device)) {
    facts.insert(fact.name, pin.facts.at(std::string(fact.name)));
  }
  toml::array libraries;
  for (const PinnedLibrary& library : pin.libraries) {
    libraries.push_back(toml::table{{"file", library.file},
                                    {"version", library.version},
                                    {"build_id", library.build_id},
                                    {"late", library.late},
                                    {"package", library.package},
                                    {"package_sha256", library.package_sha256},
                                    {"sha256", library.sha256}});
  }
  const toml::table root{
      {"layout", static_cast<int64_t>(kPinLayout)}, {"platform", platform}, {"facts", facts}, {"library", libraries}};
  std::ostringstream text;
  text << kHeading << toml::toml_formatter(root, toml::format_flags::allow_unicode_strings) << "\n";
  const std::string name = pin.platform.name() + ".toml";
  pin_from(parse_toml(text.str(), name), name);
  return text.str();
}

}  // namespace assay
