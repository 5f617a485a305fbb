#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "core/clock.h"
#include "core/plain_text.h"
#include "record/verdict.h"

namespace assay {
namespace {

std::string verdict_line(const Record& record, const Palette& palette) {
  const bool good = exit_code_of(record.verdict) == 0;
  std::string line = fmt::format("{}{:<16}{} {}", good ? palette.good : palette.bad, word_of(record.verdict),
                                 palette.end, record.kernel_id);
  if (record.verdict != Verdict::pass) line += "  " + plain_text(record.reason);
  for (const LatencySummary& latency : record.latency) {
    line += fmt::format("  {} p50 {:.4g} us", latency.metric, latency.p50_us);
  }
  return line;
}

class Lines : public RunObserver {
 public:
  explicit Lines(std::FILE* stream) : stream_(stream) {}
  void recorded(const PlannedCase&, const Record& record) override {
    fmt::print(stream_, "{}\n", verdict_line(record, {}));
    std::fflush(stream_);
  }
  void judge_died(const PlannedCase& planned, const std::string& how) override {
    fmt::print(stream_, "{}: {}; starting another judge\n", planned.id, plain_text(how));
  }

 private:
  std::FILE* stream_;
};

class Bar : public RunObserver {
 public:
  Bar(std::FILE* stream, size_t total, size_t done)
      : stream_(stream), palette_(palette_for(stream)), total_(total), done_(done), done_before_(done) {}
  ~Bar() override { clear(); }

  void started(const PlannedCase& planned) override { draw(planned.id); }
  void recorded(const PlannedCase&, const Record& record) override {
    ++done_;
    if (exit_code_of(record.verdict) == 0) return;
    clear();
    fmt::print(stream_, "{}\n", verdict_line(record, palette_));
  }
  void judge_died(const PlannedCase& planned, const std::string& how) override {
    clear();
    fmt::print(stream_, "{}: {}; starting another judge\n", planned.id, plain_text(how));
  }

 private:
  void clear() {
    std::fputs("\r\033[K", stream_);
    std::fflush(stream_);
  }

  void draw(const std::string& now) {
    if (drawn_ && seconds_since(last_) < 0.1) return;
    drawn_ = true;
    last_ = Clock::now();
    constexpr size_t kWidth = 24;
    const size_t filled = total_ == 0 ? kWidth : kWidth * done_ / total_;
    std::string line = total_ == 0 ? fmt::format("{} drawn  {}  {}", done_, print_duration(seconds_since(start_)), now)
                                   : fmt::format("[{}{}] {}/{}  {}  {}", std::string(filled, '#'),
                                                 std::string(kWidth - filled, '.'), done_, total_, time_left(), now);
    winsize size{};
    const bool known = ::ioctl(::fileno(stream_), TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    line.resize(std::min<size_t>(line.size(), known ? size.ws_col - 1u : 79u));
    fmt::print(stream_, "\r\033[K{}", line);
    std::fflush(stream_);
  }

  std::string time_left() const {
    const size_t here = done_ - done_before_;
    if (here == 0) return "time left unknown";
    const double each = seconds_since(start_) / static_cast<double>(here);
    return print_duration(each * static_cast<double>(total_ - done_)) + " left";
  }

  std::FILE* stream_;
  Palette palette_;
  size_t total_, done_, done_before_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_{};
  bool drawn_ = false;
};

}  // namespace

bool is_terminal(std::FILE* stream) {
  const char* term = std::getenv("TERM");
  return ::isatty(::fileno(stream)) == 1 && term != nullptr && std::string(term) != "dumb";
}

Palette palette_for(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool plain = no_color != nullptr && *no_color != '\0';
  return is_terminal(stream) && !plain ? terminal_palette() : Palette{};
}

std::unique_ptr<RunObserver> make_progress(std::FILE* stream, size_t total, size_t done) {
  if (is_terminal(stream)) return std::make_unique<Bar>(stream, total, done);
  return std::make_unique<Lines>(stream);
}

std::string print_duration(double seconds) {
  const int64_t whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace assay
