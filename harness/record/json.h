// Records and contracts as JSON: exact both ways, except that text which is not UTF-8 is replaced on writing and a
// NaN's payload is not kept. record.schema.json beside this file describes a record's line. To add a field: here,
// there, and raise kRecordSchemaMinor; a field whose meaning changes raises the major.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/contract.h"
#include "record/record.h"

namespace assay {

nlohmann::json to_json(const Record& record);
nlohmann::json to_json(const Contract& contract);

// Throw UsageError that names the key: missing, of another type, out of range, or not a known word. Unknown keys are
// ignored. A record of a newer major schema is refused.
Record record_from_json(const nlohmann::json& value);
// `path` names the contract in messages when it is part of a larger document.
Contract contract_from_json(const nlohmann::json& value, const std::string& path = "");

// {"major": 1, "minor": 1}, first in every record and in run.json; check_schema throws UsageError for a newer major.
nlohmann::json schema_to_json();
void check_schema(const nlohmann::json& document);

// The published tables (verdict.h), an object a row.
nlohmann::json checks_to_json();
nlohmann::json verdicts_to_json();

Verdict verdict_named(std::string_view word);  // throws UsageError that lists the words
Outcome outcome_named(std::string_view word);

}  // namespace assay
