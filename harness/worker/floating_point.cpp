#include "worker/floating_point.h"

namespace assay {
namespace {

#if defined(__x86_64__)
struct Field {
  unsigned bits;
  const char* name;
};
constexpr Field kOfMxcsr[] = {{0x8000, "flushing to zero"},
                              {0x0040, "taking subnormals for zero"},
                              {0x6000, "rounding"},
                              {0x1f80, "trapping of exceptions"}};
constexpr Field kOfX87[] = {
    {0x0c00, "rounding of the x87"}, {0x0300, "precision of the x87"}, {0x003f, "trapping of the x87's exceptions"}};

template <class Fields>
void name_changes(const Fields& fields, unsigned before, unsigned now, std::string& names) {
  for (const Field& field : fields) {
    if (((before ^ now) & field.bits) != 0) names += (names.empty() ? "" : ", ") + std::string(field.name);
  }
}
#endif

}  // namespace

FloatingPointState::FloatingPointState() : rounding_(std::fegetround()) { std::fegetenv(&state_); }

std::string FloatingPointState::changes() const {
  std::string names;
#if defined(__x86_64__)
  const FloatingPointState now;
  name_changes(kOfMxcsr, state_.__mxcsr, now.state_.__mxcsr, names);
  name_changes(kOfX87, state_.__control_word, now.state_.__control_word, names);
#else
  if (std::fegetround() != rounding_) names = "rounding";
#endif
  return names;
}

void FloatingPointState::restore() const { std::fesetenv(&state_); }

}  // namespace assay
