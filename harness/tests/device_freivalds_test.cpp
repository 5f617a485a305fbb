// Freivalds' passes and judgements of products of integers on a CUDA device against the same on the host: every number,
// every figure of a summary. Needs a device: label gpu.
#include "check/device_freivalds.h"

#include <gtest/gtest.h>

#include "core/matrix_product.h"
#include "device_problem.h"

namespace assay {
namespace {

class DeviceFreivalds : public OnDevice {
 protected:
  static MatrixView view_of(const TensorSpec& spec, const void* data, bool turned) {
    const size_t rows = turned ? 2 : 1, cols = turned ? 1 : 2;
    return {data,
            spec.dtype,
            spec.shape[0],
            spec.shape[rows],
            spec.shape[cols],
            spec.strides[0],
            spec.strides[rows],
            spec.strides[cols]};
  }
  const std::unique_ptr<MatrixPasses> on_host_ = make_host_passes(kHostThreads), on_device_ = make_device_passes();
};

TEST_F(DeviceFreivalds, PassesFindWhatTheHostFinds) {
  for (size_t t = 0; t < kDTypeNames.size(); ++t) {
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{1, 1, 1}, {3, 37, 50}, {1, 5, 9001}, {1, 700, 3}, {40, 2, 33}, {2, 300, 1029}}) {
      for (const char* generator : {"integers", "sparse", "int8_full", "special", "every"}) {
        const TensorSpec spec{.name = "x",
                              .dtype = static_cast<DType>(t),
                              .shape = shape,
                              .strides = row_major(shape, 5),
                              .fill = {generator}};
        Buffer host = poisoned(spec);
        fill_tensor(spec, 7, host.data());
        const DeviceMemory device = uploaded(host);
        for (const bool turned : {false, true}) {
          const MatrixView here = view_of(spec, host.data(), turned), there = view_of(spec, device.data(), turned);
          for (const int64_t vectors : {int64_t{1}, here.entries}) {
            std::vector<uint64_t> x;
            for (int64_t i = 0; i < vectors * here.cols; ++i) {
              x.push_back(fill_detail::hash(3, static_cast<uint64_t>(i)) >> 4);
            }
            for (const double limit : {0x1p53, 6.0}) {
              std::vector<uint64_t> products, products_there;
              std::vector<double> sums, sums_there;
              const IntegersFound found = on_host_->multiply(here, x, limit, products, &sums);
              const std::string where = std::string(name_of(spec.dtype)) + " " + generator;
              EXPECT_EQ(on_device_->multiply(there, x, limit, products_there, &sums_there), found) << where;
              EXPECT_EQ(products_there, products) << where;
              EXPECT_EQ(sums_there, sums) << where;
              on_device_->multiply(there, x, limit, products_there, nullptr);
              EXPECT_EQ(products_there, products) << where;
            }
          }
          const int64_t count = here.rows, first = here.offset(here.entries - 1, 0, here.cols - 1);
          const auto column = on_host_->elements(here, first, here.row_stride, count);
          EXPECT_EQ(difference("elements", column, on_device_->elements(there, first, here.row_stride, count)), "");
        }
      }
    }
  }
}

// Right, and with each of some bits flipped: the host's summary, to the bit.
TEST_F(DeviceFreivalds, JudgesAndLocatesAsTheHostDoes) {
  const OpRegistry ops = make_op_registry();
  const Op& op = ops.named("gemm");
  const auto& product = dynamic_cast<const MatrixProductOp&>(op);
  const Contract contract = contracts()[0];
  for (const char* fields :
       {"m=300,n=517,k=1000,dtype=bf16", "m=33,n=65,k=129,ta=t,pad_a=3,pad_b=1,pad_c=5,beta=2,dtype=f16",
        "batch=3,m=47,n=31,k=200,tb=t,alpha=3,beta=-1,pad_c=5,dtype=f32", "m=1,n=900,k=33,ta=t,tb=t,dtype=f64",
        "m=700,n=1,k=33,out=bf16,dtype=e4m3", "m=5,n=7,k=0,beta=1,dtype=f32"}) {
    const Case c = ops.parse_case("gemm:" + std::string(fields) + ",fill=sparse");
    const Problem p(op, c, 1);
    Buffer got = output_for(p.specs[2], op.oracle(c, p.views, kHostThreads)[0], false);
    std::vector<const void*> host, device;
    for (size_t i = 0; i < p.specs.size(); ++i) {
      host.push_back(p.host[i].data());
      device.push_back(p.device[i].data());
    }
    Freivalds here(product, c, p.specs, host, 5, make_host_passes(kHostThreads));
    Freivalds there(product, c, p.specs, device, 5, make_device_passes());
    ASSERT_EQ(here.refusal(contract), "") << c.id();
    EXPECT_EQ(there.refusal(contract), "");
    EXPECT_EQ(there.bound(), here.bound());
    EXPECT_EQ(there.judge(uploaded(got).data(), contract), here.judge(got.data(), contract)) << c.id();
    const int64_t elements = p.specs[2].elements();
    for (const int64_t at : {int64_t{0}, elements / 3, elements - 1}) {
      std::byte* const element =
          got.data() + offset_of(p.specs[2], at) * static_cast<int64_t>(size_of(p.specs[2].dtype));
      for (size_t byte = 0; byte < size_of(p.specs[2].dtype); ++byte) {
        for (int bit = 0; bit < 8; ++bit) {
          element[byte] ^= std::byte{1} << bit;
          const ErrorSummary summary = here.judge(got.data(), contract);
          expect_same(summary, there.judge(uploaded(got).data(), contract), c.id());
          EXPECT_EQ(there.wrong_rows(), here.wrong_rows());
          EXPECT_TRUE(summary.failures == 0 || summary.worst_index == at);
          element[byte] ^= std::byte{1} << bit;
        }
      }
    }
  }
  const Case c = ops.parse_case("gemm:m=33,n=65,k=129,dtype=f32");
  const Problem p(op, c, 1);
  std::vector<const void*> device;
  for (const DeviceMemory& memory : p.device) device.push_back(memory.data());
  const Freivalds refused(product, c, p.specs, device, 5, make_device_passes());
  EXPECT_EQ(refused.refusal(contract), "b holds 8385 elements that are no integers within 2^53");
}

}  // namespace
}  // namespace assay
