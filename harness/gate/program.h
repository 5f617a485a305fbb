// Runs another program to its end (git for the base ref, Python for the report), and quotes what a person will run.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace assay {

struct ProgramEnd {
  int status = 0;      // exit status, or 128 + signal; 127 when the program does not exist
  std::string output;  // stdout and stderr together
};

// `command[0]` is looked up in PATH; `environment` is added to that of this process. Once `stop_asked` says so the
// program is asked to end, by SIGTERM, and waited for.
ProgramEnd run_program(const std::vector<std::string>& command,
                       const std::map<std::string, std::string>& environment = {},
                       const std::function<bool()>& stop_asked = nullptr);

// Of what a program said, empty ones too.
std::vector<std::string> lines_of(const std::string& output);

// `text` as one word of a POSIX shell.
std::string shell_quoted(const std::string& text);

// The same, with quotes only where a shell needs them: for a program's name.
std::string shell_word(const std::string& text);

// `text` with each command it advises, which every message writes as 'assay COMMAND', as the caller would have to type
// it: `program` for assay, and `arguments` (" --root DIR") behind it. main() prints errors so.
std::string with_program_named(std::string text, const std::string& program, const std::string& arguments);

}  // namespace assay
