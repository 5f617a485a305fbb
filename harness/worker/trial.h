// One kernel, planned for one case in one worker, with its memory: what an examination repeats and varies. A trial owns
// the judge's memory until another is planned or moved: to launch after that it must be moved itself, and mapped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "check/poison.h"
#include "core/op.h"
#include "device/layout.h"
#include "device/memory.h"
#include "worker/judge_client.h"
#include "worker/laboratory.h"
#include "worker/manner.h"
#include "worker/subject.h"

namespace assay {

// The judge's own copy of every output, in tensor order.
using Outputs = std::vector<Content>;

// What a launch finds in outputs and workspace: poison, or what the launch before it, over the same poison, left there.
enum class Before { poison, last_answer };

// What one launch cost, and what its manner showed (worker/manner.h).
struct LaunchCost {
  double others_us = 0;  // processor time of the worker's other threads; unlimited where that is not known
  bool counted = false;  // whether allocations are known
  int64_t allocations = 0;
  int64_t outstanding = 0;      // bytes of heap the worker holds
  int64_t device_growth = 0;    // of a plain launch: bytes of the device's memory in use after it, less those before it
  bool callers_differ = false;  // beside_callers: one of the others had other bytes than in its own first launch
  bool waited = false;          // blocked: it did not return before its stream was let go
  std::string touched;          // blocked: a tensor that changed all the same
  nlohmann::json graph;         // replayed
};

// Behind the call's name where one leaves the worker's own state otherwise than it found it.
inline constexpr std::string_view kLeavesChanged = " leaves changed: ";

// The plan itself breaks the contract.
struct ContractBroken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Trial {
 public:
  struct Setting {
    int threads = 2;
    int64_t offset = 0;  // elements
    Place place = Place::end;
    uint64_t scatter = 0;  // of device/layout.h: where within their pages buffers lie
    int slot = 0;          // where the worker keeps the plan, until another is made there
  };
  // Plans the case. Ask refusal() next. Throws ProcessLost or ContractBroken.
  Trial(Subject& subject, Memory& memory, Laboratory& laboratory, const KernelInfo& kernel, const Op& op, const Case& c,
        const Setting& setting);
  // Has `subject` begin planning what a Trial of the same arguments then asks it for.
  static void begin(Subject& subject, const Memory& memory, const KernelInfo& kernel, const Op& op, const Case& c,
                    const Setting& setting);

  const std::string& refusal() const { return refusal_; }  // empty: accepted
  bool available() const { return available_; }            // false: this machine lacks what the kernel needs
  const Contract& contract() const { return contract_; }   // in force for this plan
  const Workspace& workspace() const { return workspace_; }
  const nlohmann::json& selection() const { return selection_; }
  double prepare_us() const { return prepare_us_; }
  const std::vector<TensorSpec>& tensors() const { return tensors_; }
  const Layout& layout() const { return layout_; }
  std::vector<size_t> outputs() const;  // indexes of tensors with role output or inout

  // Gives the same plan other memory, which is then to be mapped; what was filled stays filled.
  void move(Place place);

  // Maps the regions in the worker, at addresses not used before. Call after the refusal was empty and again at will.
  void map(Addresses addresses = Addresses::fresh);

  // Fills every tensor the kernel reads from `seed`; others stay poison.
  void fill(uint64_t seed);
  void refill(size_t tensor, uint64_t seed);
  // Of a filled tensor.
  void reverse(size_t tensor, int axis);
  // What it then holds: `base`, of a smaller tensor, and zeros.
  void put_among_zeros(size_t tensor, const TensorSpec& base_spec, const Content& base);
  void set_nan(size_t tensor, const Slice& slice);
  void scale(size_t tensor, int power);
  // The content kernels read, as the oracle sees it; null for outputs.
  std::vector<const Content*> inputs() const;

  // Poisons what may be written, or leaves it as it is, restores what is read unless the last launch was seen to leave
  // it as it is, launches, checks for stray writes, copies the outputs out. What was found is in `strays`, first
  // finding kept. Throws ProcessLost, LaunchFailed or NotGiven.
  Outputs launch(Poison poison, Manner manner = Manner::plain, Before before = Before::poison);
  const LaunchCost& cost() const { return cost_; }  // of the last
  // Whether other threads of the worker computed in any launch: on a busy machine not in each do they get to run.
  bool others_computed() const { return others_computed_; }

  // Times repeated launches of one metric (worker/timing.h), armed as for any launch. What the last of them left is
  // then in `left`, what it left elsewhere in strays().
  nlohmann::json time(nlohmann::json message, Outputs& left);

  struct Strays {
    std::string guards;  // a write outside the outputs and the workspace; empty: none
    std::string inputs;  // an input that changed; empty: none
  };
  const Strays& strays() const { return strays_; }

 private:
  static constexpr int kNothing = -1;
  struct Filled {
    std::vector<Content> over;  // either poison; one serves both where neither shows
    bool is_kept = false;       // by the memory, as it is
    int in_place = kNothing;    // number of the content that the region was found to hold after the last launch
  };
  static bool shows_poison(const TensorSpec& t) { return !t.is_read || t.span_elements() != t.elements(); }
  const Content& content(size_t i, Poison poison) const;
  int content_number(size_t i, Poison poison) const;

  void take_memory();
  void arm(Poison poison, Before before);
  // Buffers whose content a launch may change and the next one depends on, or shows by, as [region, offset, bytes].
  nlohmann::json changed_by_launch() const;
  std::vector<Stretch> slack(Poison poison) const;  // two stretches a region: before and after the buffer
  Stretch buffer(size_t i, Poison poison) const;    // as it is before a launch
  // The first tensor that is not as it was armed; empty when all are.
  std::string touched(Poison poison);
  Outputs copy_outputs();
  std::vector<const Content*> written(const Outputs& outputs, const Outputs& changed_inputs) const;
  void look_for_strays(Poison poison, const Outputs& outputs);
  // What lies in region i: a tensor, or last the workspace.
  const TensorSpec& spec(size_t i) const { return i < tensors_.size() ? tensors_[i] : workspace_spec_; }

  Subject* subject_;
  Memory* memory_;
  Laboratory* laboratory_;
  uint64_t alignment_;  // that the kernel's contract asks of every tensor
  Setting setting_;
  std::vector<TensorSpec> tensors_;
  Layout layout_;
  Contract contract_;
  Workspace workspace_;
  TensorSpec workspace_spec_{.name = "workspace", .dtype = DType::u8, .shape = {0}, .strides = {1}};
  nlohmann::json selection_;
  double prepare_us_ = 0;
  std::string refusal_;
  bool available_ = true;
  std::vector<Filled> content_;  // of each tensor; empty for outputs
  LaunchCost cost_;
  bool others_computed_ = false;
  Strays strays_;
};

}  // namespace assay
