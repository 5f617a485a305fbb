// The devices kernels run on, as flags and contracts name them. To add one: a word here, a Memory (memory.h) and a
// WorkerDevice (worker_device.h) for it, and one line each in device.cpp.
#pragma once

#include <string>
#include <string_view>

namespace assay {

enum class Device { cpu, cuda };

// "cpu" or "cuda"; of several GPUs the first that CUDA_VISIBLE_DEVICES leaves. Throws UsageError for another word.
Device device_named(std::string_view name);
std::string_view name_of(Device device);

// Whether launches are queued there, so that their order and their waiting can be seen.
constexpr bool has_streams(Device device) { return device == Device::cuda; }

// Why this build or this machine cannot run kernels there, in one line; empty: it can.
std::string why_unusable(Device device);

}  // namespace assay
