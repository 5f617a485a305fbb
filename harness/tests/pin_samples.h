// A pin of a CPU and one of a GPU, and environments that are as they say.
#pragma once

#include <string>

#include "gate/pin.h"

namespace assay {

inline Pin sample_pin() {
  Pin pin{.platform = {"cpu", "sse4_2 avx", 2},
          .facts = {{"cpu.model", "Example CPU"},
                    {"cpu.family_model_stepping", "25 17 1"},
                    {"cpu.microcode", "0x10"},
                    {"os.kernel", "6.1.0"},
                    {"build.compiler", "g++ 12.2.0"}}};
  const std::string archive(64, 'a'), file(64, '1');
  pin.libraries = {{"libm.so.6", "6", "aa11", false, "deb libc6 2.36-9", archive, file},
                   {"libopenblasp-r0.3.21.so", "0.3.21", "bb22", false, "unknown", "unknown", file}};
  return pin;
}

inline Pin sample_gpu_pin() {
  Pin pin = sample_pin();
  pin.platform = {"cuda", "NVIDIA H200", 1};
  pin.facts["gpu.model"] = "NVIDIA H200";
  pin.facts["gpu.driver"] = "580.159.04";
  pin.facts["gpu.driver_cuda"] = "13.0";
  pin.facts["gpu.vbios"] = "96.00.A5";
  pin.facts["gpu.gsp_firmware"] = "580.159.04";
  pin.facts["build.cuda_compiler"] = "nvcc 13.0.88";
  pin.libraries.push_back({"libcudnn_ops.so.9.14.0", "9.14.0", "code-cc33", true, "wheel nvidia_cudnn_cu13 9.14.0",
                           std::string(64, 'b'), std::string(64, '2')});
  return pin;
}

// What a machine has that is as the pin says, nothing loaded late yet.
inline Environment as_pinned(const Pin& pin) {
  Environment environment{.platform = pin.platform, .facts = pin.facts, .libraries = {}, .whole = true};
  environment.facts["cpu.governor"] = "not pinned";
  for (const PinnedLibrary& library : pin.libraries) {
    if (library.late) continue;
    environment.libraries.push_back({"/usr/lib/" + library.file, library.version, library.build_id, {"gemm_a.so"}});
  }
  return environment;
}

}  // namespace assay
