// What each CUDA module that is bad on purpose (bad_modules/cuda/) has earned. cuda_judge_test.cpp sees to it on a GPU;
// judge_test.cpp counts, on any machine, the checks that fail for one.
#pragma once

#include "bad_module_checks.h"

namespace assay::bad {

inline constexpr Row kCudaRows[] = {
    Row{"good", Verdict::pass, ""}, Row{"good", Verdict::pass, "", kZeros}, Row{"good", Verdict::pass, "", kNaN},
    Row{"good", Verdict::pass, "", kLarge}, Row{"far_element", Verdict::wrong, "y[2147483725]", kBeyond32Bits},
    // What these do only a sanitizer sees (cuda_sanitizer_test.cpp).
    Row{"read_workspace", Verdict::pass, ""}, Row{"race_in_shared", Verdict::pass, ""},
    Row{"divergent_barrier", Verdict::pass, ""}, Row{"illegal_address", Verdict::memory, "ILLEGAL_ADDRESS"},
    Row{"write_past_end", Verdict::memory, "ILLEGAL_ADDRESS"},
    Row{"write_before_start", Verdict::memory, "y: byte -1 from its first element was written"},
    Row{"write_before_start", Verdict::memory, "ILLEGAL_ADDRESS", kStart},
    Row{"write_past_end", Verdict::memory, "after the elements", kStart},
    Row{"read_past_end", Verdict::memory, "ILLEGAL_ADDRESS"},
    Row{"read_padding", Verdict::memory, "ILLEGAL_ADDRESS", kStart},  // moved to the end, it faults
    Row{"keep_pointer", Verdict::memory, "ILLEGAL_ADDRESS"},
    Row{"plan_keeps_pointers", Verdict::memory, "ILLEGAL_ADDRESS"},
    Row{"write_past_workspace", Verdict::memory, "workspace: byte +100"},
    Row{"last_unwritten", Verdict::memory, "unwritten"}, Row{"do_nothing", Verdict::memory, "unwritten"},
    Row{"unchecked_launch", Verdict::memory, "unwritten"}, Row{"scribble_input", Verdict::memory, "inputs"},
    Row{"leak", Verdict::memory, "of the device's memory in use"},
    Row{"device_assert", Verdict::crashed, "CUDA_ERROR_ASSERT"}, Row{"trap", Verdict::crashed, "lost its device"},
    Row{"misaligned", Verdict::crashed, "MISALIGNED_ADDRESS"},
    Row{"synchronise", Verdict::contract,
        "asynchronous: launch does not return while the work before it is held back: "
        "it waits"},
    Row{"allocate_in_launch", Verdict::memory, "every launch allocates"},
    Row{"allocate_async", Verdict::contract, "asynchronous: launch allocates memory of the device"},
    Row{"default_stream", Verdict::contract, "asynchronous: y changed while the stream was held back"},
    Row{"capture_dependent", Verdict::nondeterministic, "same-graph: from a replayed graph", kZeros},
    Row{"stream_dependent", Verdict::nondeterministic, "same-stream: on another stream", kZeros},
    Row{"queue_dependent", Verdict::nondeterministic, "same-queue: on a stream held back", kZeros},
    Row{"load_dependent", Verdict::nondeterministic, "same-load: beside other work", kZeros},
    Row{"read_shared", Verdict::wrong, "y["}, Row{"launch_error", Verdict::crashed, "invalid"},
    Row{"huge_allocation", Verdict::crashed, "out of memory"}, Row{"infinite_kernel", Verdict::timeout, "no answer"},
    Row{"trust_workspace", Verdict::wrong, "accuracy"},
    Row{"nondeterministic", Verdict::nondeterministic, "same-run", kZeros},
    Row{"address_dependent", Verdict::nondeterministic, "same-address", kZeros},
    Row{"order_dependent", Verdict::nondeterministic, "same-order: with rows in reverse order: y", kZeros},
    Row{"zeros_dependent", Verdict::nondeterministic, "same-zeros: with zeros after the last term: y[", kSum,
        "good_sum"}};

}  // namespace assay::bad
