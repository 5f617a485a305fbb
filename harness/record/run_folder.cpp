#include "record/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "core/error.h"
#include "record/json.h"
#include "record/json_text.h"
#include "record/verdict.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const char* action, const fs::path& path) {
  const int code = errno;
  std::string remedy;
  if (code == ENOSPC || code == EDQUOT) remedy = "; free some space, or choose another --out";
  if (code == EACCES || code == EROFS || code == EPERM) remedy = "; choose an --out you may write to";
  throw UsageError(std::string("cannot ") + action + " " + path.string() + ": " + std::strerror(code) + remedy);
}

// What a run's file holds cannot be read: damaged, or of another version.
[[noreturn]] void refuse_content(const std::string& place, const UsageError& problem) {
  throw UsageError(place + ": " + problem.what() + "; start a new run in another folder");
}

// False, with errno set, when some of it could not be written.
bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

void sync_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) refuse("open folder", folder);
  const int result = ::fsync(fd);
  ::close(fd);
  if (result != 0 && errno != EINVAL) refuse("flush folder", folder);  // EINVAL: the file system has no such notion
}

// Calls each(record) for every whole line; returns their size in bytes.
template <class Each>
int64_t for_each_record(const fs::path& file, const std::string& content, Each each) {
  std::set<std::string> keys;
  size_t begin = 0;
  for (int line = 1;; ++line) {
    const size_t end = content.find('\n', begin);
    if (end == std::string::npos) return static_cast<int64_t>(begin);
    try {
      Record record = record_from_json(parse_json(std::string_view(content).substr(begin, end - begin)));
      if (const std::string why = contradiction(record); !why.empty()) throw UsageError(why);
      if (!keys.insert(record.kernel_id).second) throw UsageError("kernel_id: '" + record.kernel_id + "' twice");
      each(std::move(record));
    } catch (const UsageError& e) {
      refuse_content(file.string() + ":" + std::to_string(line), e);
    }
    begin = end + 1;
  }
}

// Released when the process ends, however it ends; no program that it starts has it. Of the open file: a lock of
// fcntl() would fall as soon as this process had read the same file and closed it.
void lock_for_writing(int fd, const fs::path& file) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) refuse("lock", file);
  throw UsageError(file.string() + ": another process is writing this run; wait for it, or choose another --out");
}

}  // namespace

RunFolder::RunFolder(fs::path path, int flags) : path_(std::move(path)) {
  const fs::path file = path_ / "records.jsonl";
  fd_ = ::open(file.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | flags, 0644);
  if (fd_ < 0) refuse("open", file);
  try {
    lock_for_writing(fd_, file);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      recorded_(std::move(other.recorded_)) {}

RunFolder::~RunFolder() {
  if (fd_ >= 0) ::close(fd_);
}

RunFolder RunFolder::create(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path / "records.jsonl", error) || fs::exists(path / "run.json", error)) {
    throw UsageError(path.string() + ": holds a run already; continue it with --resume, or choose another --out");
  }
  if (fs::is_directory(path, error) && !holds_no_more_than_a_beginning(path)) {
    throw UsageError(path.string() + ": is not empty and holds no run; choose an --out that is new or empty");
  }
  fs::create_directories(path / "samples", error);
  if (error) {
    errno = error.value();
    refuse("make folder", path / "samples");
  }
  RunFolder folder(path, O_CREAT | O_EXCL);
  sync_folder(path);
  return folder;
}

RunFolder RunFolder::resume(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path / "records.jsonl", error)) {
    throw UsageError(path.string() + ": no run to resume here (no records.jsonl); leave --resume out to start one");
  }
  RunFolder folder(path, 0);
  const fs::path file = path / "records.jsonl";
  // Read through the locked descriptor: closing any other one of this file would drop the lock.
  std::string content(fs::file_size(file), '\0');
  for (size_t done = 0; done < content.size();) {
    const ssize_t got = ::pread(folder.fd_, content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) refuse("read", file);
    done += static_cast<size_t>(got);
  }
  folder.size_ =
      for_each_record(file, content, [&](Record record) { folder.recorded_.insert(std::move(record.kernel_id)); });
  if (folder.size_ != static_cast<int64_t>(content.size()) && ::ftruncate(folder.fd_, folder.size_) != 0) {
    refuse("drop the torn last line of", file);
  }
  fs::create_directories(path / "samples", error);
  if (error) {
    errno = error.value();
    refuse("make folder", path / "samples");
  }
  return folder;
}

void RunFolder::write_run(const Run& run) const {
  write_file_atomically(path_ / "run.json", print_json(to_json(run), 1) + "\n");
}

void RunFolder::append(const Record& record) {
  // The key as a reader will see it.
  const std::string key = valid_utf8(record.kernel_id);
  if (recorded_.contains(key)) throw Error("'" + key + "' is recorded already in " + path_.string());
  const std::string line = print_json(to_json(record)) + "\n";
  if (!write_all(fd_, line) || ::fdatasync(fd_) != 0) {
    const int code = errno;
    // Whatever part of the line got there goes again; if even that fails, the next resume drops it.
    [[maybe_unused]] const int ignored = ::ftruncate(fd_, size_);
    errno = code;
    refuse("append to", path_ / "records.jsonl");
  }
  size_ += static_cast<int64_t>(line.size());
  recorded_.insert(key);
}

bool holds_no_more_than_a_beginning(const fs::path& run_folder) {
  std::error_code error;
  for (fs::directory_iterator entry(run_folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code unknown;
    const bool ours = (name == "samples" && entry->is_directory(unknown) && fs::is_empty(entry->path(), unknown)) ||
                      (name == "records.jsonl" && entry->is_regular_file(unknown) && entry->file_size(unknown) == 0) ||
                      name == "run.json.part";
    if (!ours) return false;
  }
  return !error;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() != fs::file_type::none) return fs::exists(status);
  errno = error.value();
  refuse("look at", path);
}

std::string read_whole(const fs::path& file) {
  std::error_code error;
  const fs::file_status there = fs::status(file, error);
  if (fs::exists(there) && !fs::is_regular_file(there)) {  // a pipe, say, would keep the reader waiting
    throw UsageError("cannot read " + file.string() + ": there is something in its place that is no file");
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse("read", file);
  std::string content{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) refuse("read", file);
  return content;
}

std::vector<Record> read_records(const fs::path& run_folder) {
  const fs::path file = run_folder / "records.jsonl";
  std::vector<Record> records;
  for_each_record(file, read_whole(file), [&](Record record) { records.push_back(std::move(record)); });
  return records;
}

Run read_run(const fs::path& run_folder) {
  const fs::path file = run_folder / "run.json";
  const std::string content = read_whole(file);
  try {
    return run_from_json(parse_json(content));
  } catch (const UsageError& e) {
    refuse_content(file.string(), e);
  }
}

void write_file_atomically(const fs::path& file, std::string_view content) {
  const fs::path temporary = file.string() + ".part";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) refuse("write", file);
  const bool written = write_all(fd, content) && ::fsync(fd) == 0;
  const int code = errno;
  ::close(fd);
  if (!written || ::rename(temporary.c_str(), file.c_str()) != 0) {
    if (!written) errno = code;
    const int reason = errno;
    ::unlink(temporary.c_str());
    errno = reason;
    refuse("write", file);
  }
  sync_folder(file.has_parent_path() ? file.parent_path() : fs::path("."));
}

}  // namespace assay
