// Errors of the harness. CUDA and system failures throw with file, line and expression; what a user did wrong throws
// UsageError with one line that names the file, field and remedy. Only main() turns them into an exit code.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace assay {

// Something this machine or this build got wrong: exit 4.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// This machine does not give what the harness itself needs, such as memory of a device: no kernel's doing.
struct NotGiven : Error {
  using Error::Error;
};

// Something the caller asked for wrongly; the message is printed as it is, alone: exit 4.
struct UsageError : Error {
  using Error::Error;
};

// Something asked of an environment that cannot answer it, because it is not pinned, say; printed likewise: exit 3.
struct Invalid : Error {
  using Error::Error;
};

[[noreturn]] inline void throw_system_error(const char* expression, const char* file, int line) {
  const int code = errno;
  throw Error(std::string(file) + ":" + std::to_string(line) + ": " + expression + ": " + std::strerror(code));
}

template <class T>
T checked_system_call(T value, const char* expression, const char* file, int line) {
  if (value == static_cast<T>(-1)) throw_system_error(expression, file, line);
  return value;
}

}  // namespace assay

// Evaluates a call that returns -1 and sets errno on failure; yields its value.
#define ASSAY_SYSTEM(expression) ::assay::checked_system_call((expression), #expression, __FILE__, __LINE__)
