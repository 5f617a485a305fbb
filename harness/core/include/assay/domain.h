// The small language in which a contract says what it claims, and the one evaluator of it: used inside modules by
// <assay/kernel.h> to refuse, and by the harness to know what was claimed.
//
//   domain    = clauses { "|" clauses }          one alternative must hold; an empty domain claims everything
//   clauses   = clause { ";" clause }            every clause must hold
//   clause    = field "in" word { word }         the field's printed form is one of the words
//             | field "not" "in" word { word }
//             | field compare number             compare: == != <= < >= >
//             | field "multiple" "of" integer
//
// Example: "dtype in f32 bf16; cols <= 65536; pad == 0; k multiple of 8"
#ifndef ASSAY_DOMAIN_H
#define ASSAY_DOMAIN_H

#include <cmath>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct DomainValue {
  bool found = false;
  double real = 0;        // NaN for words
  std::string_view text;  // printed form
};
using DomainLookup = std::function<DomainValue(std::string_view field)>;

namespace detail {

inline std::vector<std::string> domain_words(std::string_view clause) {
  std::istringstream in{std::string(clause)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

inline double domain_number(const std::string& word, std::string_view clause) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (word.empty() || *end != '\0') {
    throw std::invalid_argument("domain: '" + word + "' is not a number in '" + std::string(clause) + "'");
  }
  return value;
}

inline bool domain_listed(std::string_view text, const std::vector<std::string>& words, size_t first) {
  for (size_t i = first; i < words.size(); ++i) {
    if (text == words[i]) return true;
  }
  return false;
}

inline bool domain_clause_holds(const std::vector<std::string>& words, const DomainValue& value,
                                std::string_view clause) {
  if (words[1] == "in" && words.size() > 2) return domain_listed(value.text, words, 2);
  if (words[1] == "not" && words.size() > 3 && words[2] == "in") return !domain_listed(value.text, words, 3);
  if (words[1] == "multiple" && words.size() == 4 && words[2] == "of") {
    return std::fmod(value.real, domain_number(words[3], clause)) == 0;
  }
  if (words.size() == 3) {
    const double right = domain_number(words[2], clause);
    const std::string& compare = words[1];
    if (compare == "==") return value.real == right;
    if (compare == "!=") return value.real != right;
    if (compare == "<=") return value.real <= right;
    if (compare == "<") return value.real < right;
    if (compare == ">=") return value.real >= right;
    if (compare == ">") return value.real > right;
  }
  throw std::invalid_argument("domain: cannot read '" + std::string(clause) + "'");
}

}  // namespace detail

namespace detail {

// Empty when every clause holds; otherwise the first that does not, with the field's value.
inline std::string domain_clauses_refusal(std::string_view clauses, const DomainLookup& lookup) {
  std::string refusal;
  while (!clauses.empty()) {
    const size_t end = clauses.find(';');
    const std::string_view clause = clauses.substr(0, end);
    clauses = end == std::string_view::npos ? std::string_view{} : clauses.substr(end + 1);
    const std::vector<std::string> words = domain_words(clause);
    if (words.empty()) continue;
    if (words.size() < 3) throw std::invalid_argument("domain: cannot read '" + std::string(clause) + "'");
    const DomainValue value = lookup(words[0]);
    if (!value.found) throw std::invalid_argument("domain: unknown field '" + words[0] + "'");
    if (domain_clause_holds(words, value, clause) || !refusal.empty()) continue;
    refusal = "needs";
    for (const std::string& word : words) refusal += " " + word;
    refusal += ", got " + words[0] + " = " + std::string(value.text);
  }
  return refusal;
}

}  // namespace detail

// Empty when the domain claims the fields; otherwise why no alternative does. Every clause is read even after the
// answer is known. Throws std::invalid_argument for a domain that does not parse or names an unknown field.
inline std::string domain_refusal(std::string_view domain, const DomainLookup& lookup) {
  std::string refusals;
  bool claimed = false;
  while (true) {
    const size_t end = domain.find('|');
    const std::string refusal = detail::domain_clauses_refusal(domain.substr(0, end), lookup);
    claimed = claimed || refusal.empty();
    refusals += (refusals.empty() ? "" : "; or ") + refusal;
    if (end == std::string_view::npos) break;
    domain = domain.substr(end + 1);
  }
  return claimed ? std::string() : refusals;
}

}  // namespace assay
#endif
