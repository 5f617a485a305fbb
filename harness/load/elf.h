// Facts about an ELF file, read without loading it: its build-id and the hash of its machine code. Hostile files give
// empty answers, never a crash.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

// Hex of the GNU build-id note; empty when there is none or the file is no 64-bit little-endian ELF.
std::string build_id_of(const std::filesystem::path& file);

// xxh64, as 16 hex digits, of the sections that decide what the code does: .text*, .rodata*, .data.rel.ro* and GPU code
// (.nv_fatbin). Empty when the file is no ELF or has none of them.
std::string code_hash_of(const std::filesystem::path& file);

// What tells one build of a library from another: its build-id, or "code-" and its code_hash_of() where it has none.
std::string build_of(const std::filesystem::path& file);

// xxh64, as 16 hex digits, of all that is loaded of the file, its build-id left out: code, data, how much memory its
// zeros take, what it imports and which libraries it needs, GPU code with the line numbers that were compiled into it.
// Two files of one hash do the same as long as what they read at run time is the same. Empty when the file is no ELF.
std::string image_hash_of(const std::filesystem::path& file);

// Names of the functions and variables that the file takes from libraries; empty when it is no ELF.
std::vector<std::string> imports_of(const std::filesystem::path& file);
// And of those that it offers.
std::vector<std::string> exports_of(const std::filesystem::path& file);

// The name by which others need the file (DT_SONAME), and those of the libraries that it needs (DT_NEEDED) in their
// order; empty when it has none or is no ELF.
std::string soname_of(const std::filesystem::path& file);
std::vector<std::string> needed_by(const std::filesystem::path& file);

// The dynamic loader that a program asks for; empty when it asks for none or is no ELF.
std::string interpreter_of(const std::filesystem::path& program);

// The distinct files mapped executable in process `pid` (0: this one), from /proc/PID/maps.
std::vector<std::string> mapped_files(int pid);

// A version number in a library's real file name, as "3.21" in libopenblasp-r0.3.21.so; empty when there is none.
std::string version_in_name(const std::string& path);

}  // namespace assay
