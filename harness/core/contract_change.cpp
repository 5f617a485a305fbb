#include "core/contract_change.h"

#include <assay/domain.h>

#include <algorithm>
#include <cstdlib>

namespace assay {
namespace {

using Words = std::vector<std::string>;

std::string promises_text(const Contract& contract) {
  std::string names;
  for (const std::string& name : promise_names(contract.promises)) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "nothing" : names;
}

std::string domain_text(const Contract& contract) {
  return contract.domain.empty() ? "everything" : "'" + contract.domain + "'";
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(at, begin)) != std::string::npos; begin = end + 1) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// The clauses of one alternative of a domain, each as its words.
std::vector<Words> clauses_of(const std::string& alternative) {
  std::vector<Words> clauses;
  for (const std::string& clause : split(alternative, ';')) {
    const Words words = detail::domain_words(clause);
    if (!words.empty()) clauses.push_back(words);
  }
  return clauses;
}

// Whether what `narrow` holds for, `wide` holds for: the same words, more words to be in, or a limit that is no
// tighter.
bool follows(const Words& wide, const Words& narrow) {
  if (wide == narrow) return true;
  if (wide.size() < 3 || narrow.size() < 3 || wide[0] != narrow[0] || wide[1] != narrow[1]) return false;
  if (wide[1] == "in") {
    const auto is_listed = [&](const std::string& word) {
      return std::find(wide.begin() + 2, wide.end(), word) != wide.end();
    };
    return std::all_of(narrow.begin() + 2, narrow.end(), is_listed);
  }
  char *wide_end = nullptr, *narrow_end = nullptr;
  const double wide_limit = std::strtod(wide[2].c_str(), &wide_end);
  const double narrow_limit = std::strtod(narrow[2].c_str(), &narrow_end);
  if (*wide_end != '\0' || *narrow_end != '\0') return false;
  if (wide[1] == "<=" || wide[1] == "<") return wide_limit >= narrow_limit;
  return (wide[1] == ">=" || wide[1] == ">") && wide_limit <= narrow_limit;
}

// Whether one domain claims all that another does, as far as their clauses tell one by one.
bool claims_all_of(const std::string& wide, const std::string& narrow) {
  const std::vector<std::string> alternatives = split(narrow, '|'), wide_alternatives = split(wide, '|');
  return std::all_of(alternatives.begin(), alternatives.end(), [&](const std::string& one) {
    const std::vector<Words> given = clauses_of(one);
    return std::any_of(wide_alternatives.begin(), wide_alternatives.end(), [&](const std::string& other) {
      const std::vector<Words> wanted = clauses_of(other);
      return std::all_of(wanted.begin(), wanted.end(), [&](const Words& clause) {
        return std::any_of(given.begin(), given.end(), [&](const Words& known) { return follows(clause, known); });
      });
    });
  });
}

// Of ASSAY_ACC_*: anything but the same or a floating-point type of more bits.
bool may_be_coarser(int32_t was, int32_t is) {
  const auto bits = [](int32_t type) {
    const bool is_half = type == ASSAY_ACC_F16 || type == ASSAY_ACC_BF16;  // of which neither holds the other
    return type == ASSAY_ACC_F64 ? 53 : type == ASSAY_ACC_F32 ? 24 : is_half ? 11 : 0;
  };
  const bool is_finer = bits(was) > 0 && bits(is) > bits(was);
  return is != was && !is_finer;
}

int32_t intermediate_of(const assay_arithmetic& a) {
  return a.intermediate == ASSAY_ACC_NONE ? a.accumulator : a.intermediate;
}

// Of ASSAY_EXP_*: anything but the same, the accurate one in place of another, or none.
bool may_err_more(int32_t was, int32_t is) {
  const bool is_better = is == ASSAY_EXP_NONE || (is == ASSAY_EXP_ACCURATE && was != ASSAY_EXP_NONE);
  return is != was && !is_better;
}

}  // namespace

std::vector<std::string> weakened(const Contract& before, const Contract& now) {
  std::vector<std::string> lines;
  const auto tell = [&](bool is_weaker, const char* field, const std::string& was, const std::string& is) {
    if (is_weaker) lines.push_back(std::string(field) + ": was " + was + ", now " + is);
  };
  const auto tell_larger = [&](const char* field, uint64_t was, uint64_t is) {
    tell(is > was, field, std::to_string(was), std::to_string(is));
  };
  tell((before.promises & ~now.promises) != 0, "promises", promises_text(before), promises_text(now));
  tell(!claims_all_of(now.domain, before.domain), "domain", domain_text(before), domain_text(now));
  tell(before.nan_policy == ASSAY_NAN_PROPAGATES && now.nan_policy != before.nan_policy, "nan_policy", "propagates",
       "unspecified");
  tell_larger("workspace_limit", before.workspace_limit, now.workspace_limit);
  tell_larger("alignment", std::max(before.alignment, 1u), now.alignment);  // 0 and 1 are the same
  tell(!before.may_fall_back && now.may_fall_back, "may_fall_back", "no", "yes");
  tell(!before.may_allocate && now.may_allocate, "may_allocate", "no", "yes");
  const assay_arithmetic &a = before.arithmetic, &b = now.arithmetic;
  const auto tell_type = [&](const char* field, int32_t was, int32_t is) {
    tell(may_be_coarser(was, is), field, accumulator_name(was), accumulator_name(is));
  };
  const auto tell_count = [&](bool is_weaker, const char* field, int32_t was, int32_t is) {
    tell(is_weaker, field, std::to_string(was), std::to_string(is));
  };
  tell_type("accumulator", a.accumulator, b.accumulator);
  tell(a.depth_divisor > 0 && (b.depth_divisor < a.depth_divisor || b.depth_constant > a.depth_constant), "depth",
       depth_text(a), depth_text(b));
  tell_count(b.split_k > a.split_k, "split_k", a.split_k, b.split_k);
  if (a.split_k > 1 && b.split_k > 1) tell_type("partial_type", a.partial_type, b.partial_type);
  tell_count(may_err_more(a.exp_kind, b.exp_kind), "exp_kind", a.exp_kind, b.exp_kind);
  tell_count(b.rescales_online > a.rescales_online, "rescales_online", a.rescales_online, b.rescales_online);
  tell_count(b.flushes_subnormals > a.flushes_subnormals, "flushes_subnormals", a.flushes_subnormals,
             b.flushes_subnormals);
  if (a.intermediate != b.intermediate) tell_type("intermediate", intermediate_of(a), intermediate_of(b));
  if (a.accumulator != ASSAY_ACC_TENSOR || b.accumulator != ASSAY_ACC_TENSOR) return lines;
  tell_count(b.tensor_terms != a.tensor_terms, "tensor_terms", a.tensor_terms, b.tensor_terms);
  tell_count(b.tensor_fraction < a.tensor_fraction, "tensor_fraction", a.tensor_fraction, b.tensor_fraction);
  tell_count(b.tensor_precision < a.tensor_precision, "tensor_precision", a.tensor_precision, b.tensor_precision);
  const bool seldomer = b.tensor_promotion > a.tensor_promotion || b.tensor_promotion == 0;
  tell_count(a.tensor_promotion > 0 && seldomer, "tensor_promotion", a.tensor_promotion, b.tensor_promotion);
  return lines;
}

}  // namespace assay
