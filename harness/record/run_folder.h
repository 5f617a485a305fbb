// A run's folder on disk:
//
//   run.json       what was asked and where it ran; replaced whole
//   records.jsonl  one line a case and kernel, appended and on disk before append() returns
//   samples/       raw latency samples, written before the record that names them
//   fingerprints.jsonl  of its kernels (record/fingerprint.h), where the run takes them; replaced whole
//
// A run that was killed leaves at most a torn last line, which resume() drops. Only one process at a time writes.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "record/record.h"
#include "record/run_json.h"

namespace assay {

class RunFolder {
 public:
  // A new run; makes the folder and its parents. Throws UsageError when it holds a run or anything else already, or
  // cannot be written.
  static RunFolder create(const std::filesystem::path& path);

  // The same run again: what is recorded stays. Throws UsageError, naming file and line, when records.jsonl is
  // malformed anywhere but in a torn last line, repeats a key, holds a record that contradicts itself, is of a newer
  // schema, or another process writes it.
  static RunFolder resume(const std::filesystem::path& path);

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  // All of it or nothing: written beside run.json and renamed.
  void write_run(const Run& run) const;

  // Throws Error for a key that is recorded already, UsageError when the disk refuses; the file keeps whole lines only.
  void append(const Record& record);

  const std::set<std::string>& recorded() const { return recorded_; }  // kernel ids
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path samples() const { return path_ / "samples"; }

 private:
  RunFolder(std::filesystem::path path, int flags);

  std::filesystem::path path_;
  int fd_ = -1;
  int64_t size_ = 0;  // of the whole lines in records.jsonl
  std::set<std::string> recorded_;
};

// Whether nothing lies in the folder but what create() makes before run.json: what is left of a run killed that early,
// or an empty folder.
bool holds_no_more_than_a_beginning(const std::filesystem::path& run_folder);

// For readers. A torn last line is left out. Throw UsageError that names file, line and field.
std::vector<Record> read_records(const std::filesystem::path& run_folder);
Run read_run(const std::filesystem::path& run_folder);

// Whether anything lies there. Throws UsageError naming it where nobody can tell: links in a loop, say.
bool is_there(const std::filesystem::path& path);

// A file's whole content. Throws UsageError naming it.
std::string read_whole(const std::filesystem::path& file);

// Replaces `file` by `content`: temporary file beside it, flushed to disk, renamed. Throws UsageError naming the file.
void write_file_atomically(const std::filesystem::path& file, std::string_view content);

}  // namespace assay
