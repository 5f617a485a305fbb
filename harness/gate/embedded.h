// Texts of this tree that the program carries along: made into embedded.cpp by the build (gate/embed.cmake).
#pragma once

#include <string_view>

namespace assay {

extern const std::string_view kAbiHeader;      // core/include/assay/abi.h
extern const std::string_view kBundleProgram;  // gate/bundle_program.h

}  // namespace assay
