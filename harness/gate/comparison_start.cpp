#include "gate/comparison_start.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "core/error.h"
#include "record/json_fields.h"
#include "record/json_text.h"
#include "record/run_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

uint64_t fresh_seed() {
  std::random_device device;
  return (uint64_t{device()} << 30) ^ device();
}

// What `read` makes of a file of JSON.
template <class Read>
auto read_json_file(const fs::path& file, const char* remedy, Read&& read) {
  const nlohmann::json value = nlohmann::json::parse(read_whole(file), nullptr, false);
  if (value.is_discarded()) throw UsageError(file.string() + ": is no JSON; " + remedy);
  try {
    return read(value);
  } catch (const UsageError& e) {
    throw UsageError(file.string() + ": " + e.what() + "; " + remedy);
  }
}

ComparisonStart read_start(const fs::path& file, const std::string& base, const std::string& change) {
  return read_json_file(file, "begin another run", [&](const nlohmann::json& value) {
    const JsonFields fields(value);
    return ComparisonStart{
        fields.integer<uint64_t>("seed"), ledger_from_json(fields.object("ledger").json(), base, change), {}};
  });
}

}  // namespace

// A lock of flock() is the open file's: it ends with the process, and none that is started gets it.
LedgerFile::LedgerFile(fs::path path) : path_(std::move(path)) {
  if (path_.empty()) return;
  std::error_code ignored;  // open() says why
  fs::create_directories(path_.parent_path(), ignored);
  const std::string file = path_.string() + ".lock";
  lock_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0) throw UsageError(file + ": cannot be written: " + std::strerror(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0) return;
  const int code = errno;
  ::close(lock_);
  if (code != EWOULDBLOCK) throw UsageError(file + ": cannot be locked: " + std::strerror(code));
  throw UsageError(path_.string() +
                   ": another gate of this base and change is under way, which may be another shard of it; when it has "
                   "ended, continue this run with --resume, which repeats nothing that was judged");
}

LedgerFile::~LedgerFile() {
  if (lock_ >= 0) ::close(lock_);
}

AlphaLedger LedgerFile::read(const std::string& base, const std::string& change) const {
  if (path_.empty() || !is_there(path_)) return {.base = base, .change = change};
  return read_json_file(path_, "remove it to begin anew, and say so",
                        [&](const nlohmann::json& value) { return ledger_from_json(value, base, change); });
}

void LedgerFile::save(const AlphaLedger& ledger) const {
  if (!path_.empty()) write_file_atomically(path_, print_json(to_json(ledger), 1) + "\n");
}

ComparisonStart start_comparison(const fs::path& run, const LedgerFile& file, const std::string& base,
                                 const std::string& change) {
  const AlphaLedger now = file.read(base, change);
  const fs::path known = run / "comparison.json";
  const bool goes_on = is_there(known);
  ComparisonStart start = goes_on ? read_start(known, base, change) : ComparisonStart{fresh_seed(), now, now};
  if (!goes_on) {
    write_file_atomically(known, print_json({{"seed", start.seed}, {"ledger", to_json(now)}}, 1) + "\n");
  }
  const bool is_counted = now != start.ledger;  // or it was killed between the two files
  if (is_counted && now.last_seed != start.seed) {
    throw UsageError(file.path().string() +
                     ": another gate of this base and change began since this run was interrupted; begin another run");
  }
  start.known = now;
  start.ledger.last_seed = start.seed;
  if (is_counted) return start;
  AlphaLedger begun = start.ledger;
  ++begun.gates;
  file.save(begun);
  return start;
}

}  // namespace assay
