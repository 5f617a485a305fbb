#include "worker/wire.h"

#include <limits>

#include "core/error.h"

namespace assay {

using nlohmann::json;

json call_to_json(const Case& c, const std::vector<TensorSpec>& tensors, const Layout& layout, int threads) {
  json fields = json::array();
  for (const FieldValue& f : c.fields()) {
    // JSON has no NaN; a word's real is one.
    fields.push_back({f.name, f.text, f.integer, f.kind == FieldKind::word ? json(nullptr) : json(f.text)});
  }
  json parts = json::array();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec& t = tensors[i];
    const Region& region = layout.regions[i];
    parts.push_back({{"name", t.name},
                     {"dtype", name_of(t.dtype)},
                     {"shape", t.shape},
                     {"strides", t.strides},
                     {"byte_offset", region.first - region.base},
                     {"bytes", region.bytes},
                     {"alignment", region.alignment},
                     {"role", static_cast<int>(t.role)}});
  }
  return {{"op", c.op()}, {"fields", fields}, {"tensors", parts}, {"threads", threads}};
}

json regions_to_json(const std::vector<Region>& regions) {
  json parts = json::array();
  for (const Region& r : regions) {
    parts.push_back({r.block, r.block_offset, r.length, r.base, r.first, r.bytes, r.filled});
  }
  return parts;
}

std::vector<Region> regions_from_json(const json& value) {
  std::vector<Region> regions;
  for (const json& part : value) {
    regions.push_back({.block = part.at(0),
                       .block_offset = part.at(1),
                       .length = part.at(2),
                       .base = part.at(3),
                       .first = part.at(4),
                       .bytes = part.at(5),
                       .filled = part.at(6)});
  }
  return regions;
}

WireCall::WireCall(const json& value, assay_device device) {
  static_assert(static_cast<int>(Role::input) == ASSAY_INPUT && static_cast<int>(Role::output) == ASSAY_OUTPUT &&
                static_cast<int>(Role::inout) == ASSAY_INOUT);
  for (const json& f : value.at("fields")) {
    const double real =
        f.at(3).is_null() ? std::numeric_limits<double>::quiet_NaN() : std::stod(f.at(3).get<std::string>());
    fields_.push_back({keep(f.at(0)), f.at(2).get<int64_t>(), real, keep(f.at(1))});
  }
  for (const json& t : value.at("tensors")) {
    const auto dtype = dtype_named(t.at("dtype").get<std::string>());
    if (!dtype) throw Error("unknown dtype in a call");
    auto& shape = dims_.emplace_back(t.at("shape").get<std::vector<int64_t>>());
    auto& strides = dims_.emplace_back(t.at("strides").get<std::vector<int64_t>>());
    assay_tensor tensor{};
    tensor.name = keep(t.at("name"));
    tensor.dl.device = device;
    tensor.dl.ndim = static_cast<int32_t>(shape.size());
    tensor.dl.dtype = abi_dtype(*dtype);
    tensor.dl.shape = shape.data();
    tensor.dl.strides = strides.data();
    tensor.dl.byte_offset = t.at("byte_offset");
    tensor.bytes = t.at("bytes");
    tensor.alignment = t.at("alignment");
    tensor.role = t.at("role");
    tensors_.push_back(tensor);
  }
  call_.size = sizeof call_;
  call_.op = keep(value.at("op"));
  call_.fields = fields_.data();
  call_.field_count = static_cast<uint32_t>(fields_.size());
  call_.tensors = tensors_.data();
  call_.tensor_count = static_cast<uint32_t>(tensors_.size());
  call_.threads = value.at("threads");
  call_.rank = 0;
  call_.world_size = 1;
}

}  // namespace assay
