#include "golden/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/error.h"
#include "record/run_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRemedy = "restore the file, or delete it and run 'assay golden update'";

std::string heading(std::string_view kind) { return fmt::format("# assay {} golden, format {}", kind, kGoldenFormat); }

bool printable(std::string_view line) {
  for (const char c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

// Splits at the first space; both sides must have something.
bool split(std::string_view line, std::string& left, std::string& right) {
  const size_t space = line.find(' ');
  if (space == 0 || space == std::string_view::npos || space + 1 == line.size()) return false;
  left = line.substr(0, space);
  right = line.substr(space + 1);
  return true;
}

// `key` does not follow the line before. The stray of the two is the one without which the lines around would be in
// order: `key` where the rest of the file goes on from the line before, else that line.
[[noreturn]] void reject_order(const GoldenFile& file, const std::string& name, int64_t number, const std::string& key,
                               std::string_view rest) {
  const auto last = std::prev(file.lines.end());
  const std::string_view next = rest.substr(0, rest.find_first_of(" \n"));
  const bool goes_on = !next.empty() && last->first < next;
  const bool follows_earlier = last == file.lines.begin() ? !next.empty() && key < next : std::prev(last)->first < key;
  if (key < last->first && !goes_on && follows_earlier) {
    reject_golden(name, number - 1, "'" + last->first + "' is out of order");
  }
  reject_golden(name, number, "'" + key + "' is out of order or there twice");
}

[[noreturn]] void reject_unreadable(const fs::path& path, const std::error_code& error) {
  throw UsageError("cannot read " + path.string() + ": " + error.message() +
                   "; what is approved there is not known: restore it");
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = c > ' ' && c < 0x7f && c != '%' && c != '=';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

bool unescape(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    if (i + 2 >= text.size()) return false;
    const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16);
    if (error != std::errc() || end != text.data() + i + 3) return false;
    out += static_cast<char>(value);
    i += 2;
  }
  return true;
}

void reject_golden(const std::string& name, int64_t line, const std::string& problem) {
  throw UsageError(fmt::format("{}:{}: {}; {}", name, line, problem, kRemedy));
}

void reject_golden(const std::string& name, const std::string& key, const std::string& problem) {
  throw UsageError(fmt::format("{}: {}: {}; {}", name, key, problem, kRemedy));
}

std::string GoldenFile::fact(std::string_view word) const {
  for (const auto& [name, text] : facts) {
    if (name == word) return text;
  }
  return "";
}

GoldenFile parse_golden_file(std::string_view text, std::string_view kind, const std::string& name) {
  GoldenFile file{.kind = std::string(kind)};
  int64_t number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) reject_golden(name, number, "the last line is cut off");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (!line.empty() && line.back() == '\r') reject_golden(name, number, "lines end in CR LF instead of LF");
    if (!printable(line)) reject_golden(name, number, "control characters");
    if (number == 1) {
      if (line != heading(kind)) reject_golden(name, 1, fmt::format("the first line must be '{}'", heading(kind)));
      continue;
    }
    std::string key, value;
    if (line.starts_with("# ")) {
      if (!file.lines.empty()) reject_golden(name, number, "a '#' line after the first case");
      if (!split(line.substr(2), key, value)) reject_golden(name, number, "'#' must be followed by a word and a text");
      file.facts.emplace_back(key, value);
      continue;
    }
    if (!split(line, key, value)) reject_golden(name, number, "not 'key value'");
    if (key.find_first_of("<>=#|") == 0) reject_golden(name, number, "no case id begins like '" + key + "'");
    if (key.find(':') == std::string::npos) reject_golden(name, number, "'" + key + "' is no case id");
    if (!file.lines.empty() && !(file.lines.rbegin()->first < key)) reject_order(file, name, number, key, text);
    file.lines.emplace_hint(file.lines.end(), key, value);
  }
  if (number == 0) reject_golden(name, 1, "the file is empty");
  return file;
}

std::string print_golden_file(const GoldenFile& file) {
  std::string text = heading(file.kind) + "\n";
  for (const auto& [word, fact] : file.facts) text += "# " + word + " " + fact + "\n";
  for (const auto& [key, value] : file.lines) text += key + " " + value + "\n";
  return text;
}

GoldenFile read_golden_file(const fs::path& path, std::string_view kind) {
  return parse_golden_file(read_whole(path), kind, path.string());
}

bool has_golden_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (status.type() == fs::file_type::none) reject_unreadable(path, error);
  if (fs::exists(status)) return true;
  const fs::path folder = path.parent_path();
  if (!folder.empty() && folder != path && has_golden_file(folder) && !fs::is_directory(folder, error)) {
    reject_unreadable(folder, error ? error : std::make_error_code(std::errc::not_a_directory));
  }
  return false;
}

std::vector<fs::path> golden_files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!has_golden_file(folder)) return files;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() == ".txt") files.push_back(entry->path());
  }
  if (error) reject_unreadable(folder, error);
  std::sort(files.begin(), files.end());
  return files;
}

void write_golden_file(const fs::path& path, const GoldenFile& file) {
  // What cannot be read back must not be written.
  const std::string text = print_golden_file(file);
  parse_golden_file(text, file.kind, path.string());
  const fs::path temporary = path.parent_path() / (path.filename().string() + fmt::format(".{}.tmp", getpid()));
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  const bool written = static_cast<bool>(out);
  if (written) fs::rename(temporary, path, error);
  if (!written || error) {
    const std::string why = error ? error.message() : std::strerror(errno);
    fs::remove(temporary, error);
    throw UsageError(fmt::format("{}: cannot be written: {}", path.string(), why));
  }
}

}  // namespace assay
