#include "reference/row_ops.h"

namespace assay {
namespace {

const std::vector<std::string> kTypes{"f32", "bf16", "f16", "f64"};

std::string shape(int64_t rows, int64_t cols, const std::string& type) {
  return "rows=" + std::to_string(rows) + ",cols=" + std::to_string(cols) + ",dtype=" + type;
}

}  // namespace

void add_product(CaseList& list, Tier least, const std::vector<std::string>& starts,
                 const std::vector<std::string>& endings) {
  for (const std::string& start : starts) {
    for (const std::string& end : endings) list.add(least, start + "," + end);
  }
}

void add_row_sweep(CaseList& list, const std::vector<std::string>& variants) {
  for (const std::string& type : kTypes) {
    for (size_t v = 0; v < variants.size(); ++v) {
      list.add(Tier::ci, shape(5, 77, type) + (v % 2 == 0 ? "," : ",pad=3,") + variants[v]);
    }
  }
  size_t turn = 0;
  for (const int64_t cols : edge_sizes()) {
    for (const std::string& type : kTypes) {
      const auto rows = static_cast<int64_t>(1 + turn * 5 % 9);
      list.add(Tier::ci, shape(rows, cols, type) + "," + variants[turn++ % variants.size()]);
    }
  }
  const std::vector<std::string> layouts{"", ",pad=1", ",offset=1", ",place=start", ",pad=7,offset=3", ",pad=64"};
  Draw draw(20260);
  for (int i = 0; i < 320; ++i) {
    const int64_t rows = draw.log_uniform(7), cols = draw.log_uniform(12);
    list.add(Tier::nightly, shape(rows, cols, draw.one_of(kTypes)) + draw.one_of(layouts) +
                                ",seed=" + std::to_string(100 + i) + "," + draw.one_of(variants));
  }
}

void add_every_input(CaseList& list, const std::vector<std::string>& variants) {
  for (const std::string& variant : variants) {
    for (const char* type : {"f16", "bf16"}) list.add(Tier::ci, shape(64, 1024, type) + ",fill=every," + variant);
    list.add(Tier::nightly, shape(1024, 1024, "f32") + ",fill=every,seeds=4096," + variant);
  }
}

}  // namespace assay
