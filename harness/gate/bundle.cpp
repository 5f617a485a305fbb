#include "gate/bundle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>

#include "check/allowed.h"
#include "check/poison.h"
#include "check/relations.h"
#include "core/error.h"
#include "device/layout.h"
#include "gate/embedded.h"
#include "gate/program.h"
#include "gate/shrink.h"
#include "golden/filled_case.h"
#include "record/verdict.h"
#include "worker/examination.h"
#include "worker/plan_contract.h"
#include "worker/trial.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// What bundle_program.h looks at.
constexpr std::array<std::string_view, 18> kShown{
    "same-content", "same-address",   "same-crowd",   "contract",   "launch",     "fallback",
    "unwritten",    "guards",         "inputs",       "accuracy",   "fresh",      "same-run",
    "same-threads", "same-alignment", "same-padding", "same-batch", "same-order", "same-zeros"};

// A string literal.
std::string c_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

// Lines of a comment; one that ends with a backslash would swallow the next.
std::string commented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string line(text.substr(0, end));
    if (line.ends_with('\\')) line += '.';
    out += line.empty() ? "//\n" : "// " + line + "\n";
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return out;
}

// A double that a compiler reads back as it was.
std::string literal(double x) {
  if (std::isnan(x)) return "NAN";
  if (std::isinf(x)) return x < 0 ? "-kInf" : "kInf";
  std::string text = print_number(x);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string joined(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return text.empty() ? "0" : text;  // an array has an element
}

// What a call's arrays are called behind their own name; that of another is related to the case.
constexpr const char* kTheCase = "_0";

std::string fields_of(const Case& c, const std::string& call) {
  std::string text = "const assay_field fields" + call + "[] = {\n";
  for (const FieldValue& f : c.fields()) {
    text += fmt::format("    {{{}, {}, {}, {}}},\n", c_string(f.name), f.integer, literal(f.real), c_string(f.text));
  }
  return text + "};\n";
}

std::string tensors_of(const BundleOf& what, const Case& c, const std::string& call) {
  const std::vector<TensorSpec> tensors = what.op.tensors(c);
  const Place place = c.word("place") == "start" ? Place::start : Place::end;
  const Layout layout = lay_out(tensors, what.kernel.contract.alignment, c.integer("offset"), place, Workspace{});
  std::string dims, list = "Tensor tensors" + call + "[] = {\n";
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec& t = tensors[i];
    const Region& region = layout.regions[i];
    const assay_dtype type = abi_dtype(t.dtype);
    const std::string name = fmt::format("{}_{}", call, i);
    dims += fmt::format("int64_t shape{0}[] = {{{1}}}, strides{0}[] = {{{2}}};  // {3}\n", name, joined(t.shape),
                        joined(t.strides), t.name);
    constexpr std::array<std::string_view, 3> kRoles{"ASSAY_INPUT", "ASSAY_OUTPUT", "ASSAY_INOUT"};
    list +=
        fmt::format("    {{{}, {{{}, {}, 1}}, {}, {}, {}, shape{}, strides{}, {}, {}, {}, {}, {{{:#x}, {:#x}}}}},\n",
                    c_string(t.name), type.code, type.bits, kRoles[static_cast<size_t>(t.role)], t.is_read,
                    t.shape.size(), name, name, region.first - region.base, region.bytes,
                    std::max<uint64_t>(what.kernel.contract.alignment, size_of(t.dtype)), region.alignment,
                    poison_bits(t.dtype, Poison::first), poison_bits(t.dtype, Poison::second));
  }
  return dims + list + "};\n";
}

std::string inputs_of(const TensorView& view, const std::string& name) {
  constexpr int64_t kOnALine = 8;
  std::string text = "const uint64_t " + name + "[] = {";
  const int64_t elements = view.spec->elements();
  for (int64_t i = 0; i < elements; ++i) {
    text += fmt::format("{}{:#x},", i % kOnALine == 0 ? "\n    " : " ",
                        load_bits(view.spec->dtype, view.data, offset_of(*view.spec, i)));
  }
  return text + (elements == 0 ? "0};\n" : "\n};\n");
}

std::string also(const Allowed& a) {
  std::string text;
  const auto add = [&](bool is_so, const char* name) {
    if (is_so) text += std::string(text.empty() ? "" : " | ") + name;
  };
  add(a.nan, "kNan");
  add(a.infinite, "kInfinite");
  add(a.anything, "kAnything");
  add(!a.plus_zero, "kNotPlusZero");
  add(!a.minus_zero, "kNotMinusZero");
  return text.empty() ? "0" : text;
}

std::string allowed_of(const std::vector<Allowed>& elements, const std::string& name) {
  std::string text = "const Allowed " + name + "[] = {\n";
  for (const Allowed& a : elements)
    text += fmt::format("    {{{}, {}, {}}},\n", literal(a.low), literal(a.high), also(a));
  return text + (elements.empty() ? "    {0, 0, 0}};\n" : "};\n");
}

// Arrays of bits, one a tensor, and the array NAME of them.
std::string inputs_of(const FilledCase& filled, const std::string& name) {
  std::string arrays, list;
  const std::vector<TensorView> views = filled.views();
  for (size_t i = 0; i < views.size(); ++i) {
    const TensorSpec& spec = *views[i].spec;
    const bool is_input = spec.role != Role::output && spec.is_read;
    const std::string one = fmt::format("{}_{}", name, i);
    if (is_input) arrays += "// " + spec.name + "\n" + inputs_of(views[i], one);
    list += (i == 0 ? "" : ", ") + (is_input ? one : "nullptr");
  }
  return arrays + "const uint64_t* const " + name + "[] = {" + list + "};\n";
}

std::string right_of(const BundleOf& what, const Case& c, const FilledCase& filled, const std::string& name) {
  std::string arrays, list;
  const std::vector<TensorView> views = filled.views();
  const std::vector<Reference> references = what.op.oracle(c, views, what.threads);
  auto reference = references.begin();
  for (size_t i = 0; i < views.size(); ++i) {
    const TensorSpec& spec = *views[i].spec;
    const bool is_output = spec.role != Role::input;
    const std::string one = fmt::format("{}_{}", name, i);
    if (is_output) {
      const Bounds bounds = what.op.bounds(c, what.contract, *reference);
      arrays += "// " + spec.name + "\n" + allowed_of(allowed(*reference++, bounds, what.contract), one);
    }
    list += (i == 0 ? "" : ", ") + (is_output ? one : "nullptr");
  }
  return arrays + "const Allowed* const " + name + "[] = {" + list + "};\n";
}

FilledCase filled_from(const BundleOf& what, const Case& c, int64_t seed) {
  return {what.op, c, static_cast<uint64_t>(seed), what.threads};
}

// What is done to a call's inputs, which were filled from that seed.
using Change = std::function<void(FilledCase&, int64_t)>;

// All of the case's seeds, with what is right for them where the answers are to be looked at.
std::string rounds_of(const BundleOf& what, const Case& c, const std::string& call, bool is_judged,
                      const Change& change) {
  const bool is_the_case = call == kTheCase;
  std::string arrays, list = "const Round rounds" + call + "[] = {\n";
  for (int64_t n = 0; n < c.integer("seeds"); ++n) {
    const int64_t seed = c.integer("seed") + n;
    const std::string name = fmt::format("{}_{}", call, n);
    FilledCase filled = filled_from(what, c, seed);
    if (change) change(filled, seed);
    arrays += inputs_of(filled, "inputs" + name);
    if (is_the_case) {
      arrays += inputs_of(filled_from(what, c, seed + static_cast<int64_t>(kStaleSeed)), "stale" + name);
    }
    if (is_judged) arrays += right_of(what, c, filled, "right" + name);
    list += fmt::format("    {{{}, inputs{}, {}}},  // seed {}\n", is_the_case ? "stale" + name : "nullptr", name,
                        is_judged ? "right" + name : "nullptr", seed);
  }
  return arrays + list + "};\n";
}

std::string call_of(const BundleOf& what, const Case& c, const std::string& call, bool is_judged,
                    const Change& change = {}) {
  return "// " + c.id() + "\n" + fields_of(c, call) + tensors_of(what, c, call) +
         rounds_of(what, c, call, is_judged, change);
}

// A fill may depend on the shape.
bool has_leading_inputs(const BundleOf& what, const Case& part) {
  const FilledCase whole = filled_from(what, what.failing, what.failing.integer("seed")),
                   leading = filled_from(what, part, part.integer("seed"));
  for (size_t i = 0; i < whole.views().size(); ++i) {
    const TensorView a = whole.views()[i], b = leading.views()[i];
    if (a.data == nullptr || !a.spec->is_read) continue;
    if (changed_in_leading_part(*a.spec, a.data, *b.spec, b.data) != kNowhere) return false;
  }
  return true;
}

struct Relation {
  std::string check, how, promise;
  std::optional<Case> related;
  Change change = {};              // where the inputs are not as filled
  std::vector<int> reversed = {};  // of bundle_program.h's Related
};

bool is_given(const TensorSpec& tensor) { return tensor.role != Role::output && tensor.is_read; }

// The case itself, with rows in reverse order.
std::optional<Relation> reversed_of(const BundleOf& what) {
  const std::vector<TensorAxis> axes = what.op.row_order(what.failing);
  if (axes.empty()) return std::nullopt;
  std::vector<int> reversed;
  for (const TensorSpec& tensor : what.op.tensors(what.failing)) {
    const auto along = std::ranges::find(axes, tensor.name, &TensorAxis::tensor);
    reversed.push_back(along == axes.end() ? -1 : along->axis);
  }
  const auto reverse_inputs = [reversed](FilledCase& filled, int64_t) {
    for (size_t i = 0; i < reversed.size(); ++i) {
      const TensorSpec& tensor = filled.tensors()[i];
      if (reversed[i] >= 0 && is_given(tensor)) reverse(tensor, reversed[i], filled.content(i));
    }
  };
  return Relation{"same-order", "with rows in reverse order", "ASSAY_SAME_ORDER", what.failing, reverse_inputs,
                  reversed};
}

Relation with_more_terms(const BundleOf& what) {
  const auto put_among_zeros = [&what](FilledCase& larger, int64_t seed) {
    const FilledCase base = filled_from(what, what.failing, seed);
    for (size_t i = 0; i < base.tensors().size(); ++i) {
      const TensorSpec& tensor = base.tensors()[i];
      if (!is_given(tensor)) continue;
      assay::put_among_zeros(tensor, base.views()[i].data, larger.tensors()[i], larger.content(i));
    }
  };
  return {"same-zeros", "with zeros after the last term", "ASSAY_SAME_ZEROS", what.op.more_terms(what.failing),
          put_among_zeros};
}

// What the judge also asks of a case (worker/examination.cpp), where the contract claims it.
std::string related_of(const BundleOf& what) {
  const Case& c = what.failing;
  std::vector<Relation> relations{{"same-alignment", "one element further", "ASSAY_SAME_ALIGNMENT",
                                   c.with({{"offset", print_number(c.integer("offset") + 1)}})},
                                  {"same-padding", "with longer rows", "ASSAY_SAME_PADDING", what.op.padded(c)},
                                  {"same-batch", "alone", "ASSAY_SAME_BATCH", what.op.leading_part(c)}};
  if (std::optional<Relation> reversed = reversed_of(what)) relations.push_back(*std::move(reversed));
  relations.push_back(with_more_terms(what));
  for (const Sensitivity& s : what.op.sensitivities(c)) {
    if (s.changed) relations.push_back({"sensitivity", "with another " + s.what, "", s.changed});
  }
  std::string calls, list = "const std::vector<Related> kRelated = {\n";
  int number = 0;
  for (const Relation& r : relations) {
    if (!r.related || !unclaimed(what.kernel.contract, *r.related).empty()) continue;
    const bool is_judged = !r.promise.empty() && (r.change || has_leading_inputs(what, *r.related));
    const std::string call = fmt::format("_{}", ++number);
    calls += call_of(what, *r.related, call, is_judged, r.change);
    list += fmt::format("    {{{{fields{0}, tensors{0}, rounds{0}}}, {1}, {2}, {3}, {{{4}}}}},\n", call,
                        c_string(r.check), c_string(r.how), is_judged ? r.promise : "0", fmt::join(r.reversed, ", "));
  }
  return calls + list + "};\n";
}

std::string case_of(const BundleOf& what) {
  const bool must_refuse = !unclaimed(what.kernel.contract, what.failing).empty();
  const std::string not_shown = why_not_shown(what);
  std::string text = "// ---- the case ----\n\n";
  text += fmt::format("constexpr const char* kKernelId = {};\n", c_string(what.record.kernel_id));
  text += fmt::format("constexpr const char *kOp = {}, *kKernel = {};\n", c_string(what.kernel.op),
                      c_string(what.kernel.name));
  text += fmt::format("constexpr const char* kModule = {};\n", c_string(what.kernel.module.string()));
  text +=
      fmt::format("constexpr const char* kNotShown = {};\n", c_string(not_shown.empty() ? "" : "note: " + not_shown));
  text += fmt::format("constexpr int kThreads = {};\n", what.threads);
  text += fmt::format("constexpr unsigned kDeadlineSeconds = {};\n",
                      static_cast<unsigned>(std::ceil(what.deadline_seconds)));
  text += fmt::format("constexpr Place kPlace = Place::{};\n", what.failing.word("place") == "start" ? "start" : "end");
  std::string promises;
  for (const std::string& name : promise_names(what.contract.promises)) promises += " " + name;
  text += fmt::format("constexpr uint32_t kPromises = {:#x};  //{}\n", what.contract.promises,
                      promises.empty() ? " none" : promises);
  text += fmt::format("constexpr bool kMayFallBack = {};\n", what.kernel.contract.may_fall_back);
  text += fmt::format("constexpr bool kMustRefuse = {};  // the contract does not claim this case\n", must_refuse);
  text += fmt::format("constexpr uint64_t kWorkspaceLimit = {}u;  // bytes\n\n", what.contract.workspace_limit);
  text += fmt::format("const uint64_t kWorkspacePoison[2] = {{{:#x}, {:#x}}};\n\n",
                      poison_bits(DType::u8, Poison::first), poison_bits(DType::u8, Poison::second));
  text += call_of(what, what.failing, kTheCase, true) + "const Call kCall = {fields_0, tensors_0, rounds_0};\n\n";
  return text + related_of(what);
}

std::string head_of(const BundleOf& what) {
  const bool cuda = what.kernel.target == "cuda";
  const std::string file = bundle_file_name(what.kernel);
  std::string libraries;
  for (const fs::path& folder : what.library_path) libraries += (libraries.empty() ? "" : ":") + folder.string();
  const std::string run = (libraries.empty() ? "" : "LD_LIBRARY_PATH=" + shell_quoted(libraries) + " ") + "./repro";
  std::string text =
      what.record.kernel_id + "\n" + std::string(word_of(what.record.verdict)) + ": " + what.record.reason;
  text +=
      "\n\nOne failing case of a compute kernel, to be asked without Assay, which found it. Here are the C interface "
      "of\n"
      "kernels, the call, its inputs as bits, and what is right for each output element: round(r - E) .. round(r + E) "
      "of\n"
      "a high-precision oracle's r and the error bound E of the arithmetic that the kernel's contract declares.\n\n";
  text += std::string("Build: ") + (cuda ? "nvcc" : "c++") + " -std=c++20 " + file + " -ldl -o repro\n";
  text += "Run:   " + run +
          " [MODULE.so]   prints a line a violation; exit 1: there are some, 0: none, 2: it cannot be asked\n";
  text += "Without an argument the module is " + what.kernel.module.string() + "\n";
  if (cuda) text += "compute-sanitizer " + run + " sees reads beyond a buffer too.\n";
  text += "What comes and goes from launch to launch may need several runs to show.\n";
  if (const std::string why = why_not_shown(what); !why.empty()) text += "NOT SHOWN HERE: " + why + "\n";
  return commented(text);
}

// The template's text after its own comment, with `text` in the place of the line `mark`.
std::string put_in(std::string program, std::string_view mark, const std::string& text) {
  const size_t at = program.find(mark);
  if (at == std::string::npos || program.find(mark, at + 1) != std::string::npos) {
    throw Error("bundle_program.h: not one line " + std::string(mark));
  }
  return program.replace(at, mark.size(), text);
}

void write_new(const fs::path& file, const std::string& text) {
  std::FILE* const out = std::fopen(file.c_str(), "wbx");
  const bool is_written = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (out == nullptr || std::fclose(out) != 0 || !is_written) {
    throw UsageError("--out " + file.string() + ": " + std::strerror(errno));
  }
}

}  // namespace

std::string too_large_to_bundle(const Op& op, const Case& c) {
  int64_t elements = 0, bytes = 0;
  for (const TensorSpec& tensor : op.tensors(c)) {
    elements += tensor.elements();
    bytes += tensor.span_elements() * static_cast<int64_t>(size_of(tensor.dtype));
  }
  if (bytes > kLargestBundledSpan) {
    return fmt::format("its tensors with their padding take {} bytes, and one file may ask for {}", bytes,
                       kLargestBundledSpan);
  }
  if (elements <= kLargestBundle / c.integer("seeds")) return {};
  return fmt::format("its {} elements over {} seeds are too many for one file, which may have {}", elements,
                     c.integer("seeds"), kLargestBundle);
}

std::string why_not_shown(const BundleOf& what) {
  const std::optional<Failure> failure = failure_of(what.record);
  if (!failure) return {};
  const Contract& own = what.kernel.contract;
  const auto is_for_assay = [](const CheckResult& result) {
    return result.outcome == Outcome::fail &&
           (result.detail.starts_with(kPlansContract) || result.detail.find(kLeavesChanged) != std::string::npos);
  };
  const bool mistaken = !what.op.cap_violation(own).empty() || std::ranges::any_of(what.record.checks, is_for_assay) ||
                        !domain_mistake(own, what.op.all_fields()).empty();
  const bool shown = std::ranges::find(kShown, failure->check) != kShown.end();
  if (failure->beside_callers) {
    return "the failure was seen while other threads called the kernel too, which needs Assay. Replay it with: " +
           what.record.repro;
  }
  if (shown && !(failure->check == "contract" && mistaken)) return {};
  return "the failure was seen by the check '" + failure->check +
         "', which needs Assay; this program asks for the rest. Replay it with: " + what.record.repro;
}

std::string bundle_file_name(const KernelInfo& kernel) { return kernel.target == "cuda" ? "repro.cu" : "repro.cpp"; }

std::string bundle_program(const BundleOf& what) {
  std::string program(kBundleProgram);
  program.erase(0, program.find("#include"));
  program = put_in(std::move(program), "//@ABI@", std::string(kAbiHeader));
  program = put_in(std::move(program), "//@CASE@", case_of(what));
  return head_of(what) + (what.kernel.target == "cuda" ? "#define REPRO_CUDA\n" : "") + program;
}

void write_bundle(const BundleOf& what, const fs::path& given) {
  if (const std::string why = too_large_to_bundle(what.op, what.failing); !why.empty()) throw UsageError(why);
  const std::string program = bundle_program(what);
  fs::path folder = fs::absolute(given).lexically_normal();
  if (folder.filename().empty()) folder = folder.parent_path();  // a slash at the end
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && !fs::is_empty(folder, error) && !error) error = std::make_error_code(std::errc::file_exists);
  if (error) throw UsageError("--out " + folder.string() + ": " + error.message());
  write_new(folder / bundle_file_name(what.kernel), program);
  write_new(folder / "case.txt", what.record.kernel_id + "\n" + std::string(word_of(what.record.verdict)) + ": " +
                                     what.record.reason + "\n" + what.record.repro + "\n");
}

}  // namespace assay
