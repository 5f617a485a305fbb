// A case whose tensors are in device memory, verified there: oracle, bounds and judgement, every element, with the
// answers that Op::oracle, Op::bounds and judge_accuracy give on the host. One class takes the place of
// std::vector<Reference>, so that a judge chooses in one place:
//
//   const auto references = device_references(c, tensors, memory, stream);  // null: the op has no device oracle
//   std::vector<ErrorSummary> errors = references->judge(outputs, contract);
//   references->add_to(truth);
//
// On a device small cases cost some tens of microseconds in launches and allocations, large ones what memory bandwidth
// and fp64 arithmetic allow: 8192^3 in bf16 takes a fraction of a second, on a host minutes.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "check/truth.h"
#include "core/device_memory.h"
#include "core/device_oracle.h"
#include "record/record.h"

namespace assay {

class DeviceReferences {
 public:
  // `memory`: bytes of device memory to take at most. References that fit are computed once and kept; others are
  // computed again, some rows at a time, whenever they are asked for. Throws Error when a single row does not fit.
  // `serving`: memory to use while this lives, and larger memory in its place where it is too small; null: its own.
  DeviceReferences(std::unique_ptr<DeviceOracle> oracle, size_t memory, void* stream, DeviceMemory* serving = nullptr);

  // `outputs` in the order of DeviceOracle::outputs(). As the host's judge_accuracy for each.
  std::vector<ErrorSummary> judge(std::span<const DeviceTensor> outputs, const Contract& contract);

  // As TruthBuilder::add for each output. Of a sweep whose references fit no elements come to the host.
  void add_to(TruthBuilder& truth);

  // The references themselves, for a host that wants to look.
  std::vector<Reference> download();

  int64_t rows_at_once() const { return chunk_rows_; }

 private:
  struct Chunk {
    int64_t first, rows;
    std::span<const DeviceReference> references;
  };
  void for_each_chunk(const std::function<void(const Chunk&)>& visit);
  size_t place(int64_t rows, std::byte* memory);
  void add_chunks_to(TruthBuilder& truth, size_t output);

  std::unique_ptr<DeviceOracle> oracle_;
  void* stream_;
  int64_t chunk_rows_ = 0;
  bool kept_ = false;  // all rows are there
  DeviceMemory memory_;
  std::vector<DeviceReference> references_;
  DeviceBounds bounds_;  // of one output at a time
};

// `tensors` in the order of Op::tensors, in device memory: inputs as filled, inout as before the launch (a copy, where
// a kernel writes it), outputs without data. They stay as they are while the references are used.
std::unique_ptr<DeviceReferences> device_references(const Case& c, std::span<const DeviceTensor> tensors, size_t memory,
                                                    void* stream = nullptr, DeviceMemory* serving = nullptr);

}  // namespace assay
