// The dispatcher of an op: a kernel that gives each call to the first of its candidates, in order of preference, that
// accepts it, and says why. It is written over the C interface alone, so that candidates may be of any language.
//
// kernels/CMakeLists.txt generates one module an op from the assay_kernel lines; nothing is to be added here for a new
// kernel. Whatever else a choice should depend on (a measured cost, say) belongs into choose() in dispatcher.cpp.
#ifndef ASSAY_KERNELS_DISPATCH_DISPATCHER_H
#define ASSAY_KERNELS_DISPATCH_DISPATCHER_H

#include <assay/abi.h>

#include <string>
#include <vector>

namespace assay::dispatch {

using Candidates = std::vector<const assay_kernel*>;

// Claims what any candidate claims; promises what all of them promise; declares the weakest arithmetic, which
// plan_contract() replaces by the chosen kernel's. `domain` receives the text the contract points to.
assay_contract combined_contract(const Candidates& candidates, std::string& domain);

// The functions of a dispatcher's table, for any candidates.
void* create(const Candidates& candidates, assay_device device);
assay_kernel table(const char* op, const char* name, const char* target, const assay_contract& contract,
                   void* (*create_from_table)(assay_device device, const char** error));

// The dispatcher Table::kName over Table::candidates() for the op Table::kOp on Table::kTarget, built at the first
// call.
template <class Table>
const assay_kernel* kernel() {
  struct Entry {
    Entry() : contract(combined_contract(Table::candidates(), domain)) {}
    std::string domain;
    assay_contract contract;
    assay_kernel kernel = table(Table::kOp, Table::kName, Table::kTarget, contract,
                                [](assay_device device, const char**) { return create(Table::candidates(), device); });
  };
  static const Entry entry;
  return &entry.kernel;
}

}  // namespace assay::dispatch
#endif
