// A call and a layout as they cross the channel from judge to worker. The judge writes, the worker reads; a worker in
// another language reads the same. protocol.md beside this file lists the messages.
#pragma once

#include <assay/abi.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/op.h"
#include "device/layout.h"

namespace assay {

nlohmann::json call_to_json(const Case& c, const std::vector<TensorSpec>& tensors, const Layout& layout, int threads);
nlohmann::json regions_to_json(const std::vector<Region>& regions);
std::vector<Region> regions_from_json(const nlohmann::json& value);

// Owns what an assay_call points to.
class WireCall {
 public:
  WireCall(const nlohmann::json& value, assay_device device);
  WireCall(const WireCall&) = delete;
  WireCall& operator=(const WireCall&) = delete;
  const assay_call& get() const { return call_; }

 private:
  const char* keep(const nlohmann::json& text) { return strings_.emplace_back(text.get<std::string>()).c_str(); }
  std::deque<std::string> strings_;
  std::deque<std::vector<int64_t>> dims_;
  std::vector<assay_field> fields_;
  std::vector<assay_tensor> tensors_;
  assay_call call_{};
};

}  // namespace assay
