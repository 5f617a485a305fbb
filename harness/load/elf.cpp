#include "load/elf.h"

#include <elf.h>
#include <xxhash.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <string_view>

namespace assay {
namespace {

// A whole ELF file in memory; every access is checked against its size.
class Elf {
 public:
  static std::optional<Elf> read(const std::filesystem::path& path) {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(path, error);
    std::ifstream in(path, std::ios::binary);
    if (error || !in) return std::nullopt;
    Elf elf;
    elf.bytes_.resize(size);
    in.read(elf.bytes_.data(), static_cast<std::streamsize>(size));
    elf.bytes_.resize(static_cast<size_t>(in.gcount()));
    const auto header = elf.at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) return std::nullopt;
    elf.header_ = *header;
    return elf;
  }

  struct Section {
    std::string_view name;
    std::string_view content;  // none of SHT_NOBITS, which is zeros
    uint32_t type;
    uint64_t flags, size, alignment;
  };
  std::vector<Section> sections() const {
    std::vector<Section> found;
    const auto names = header_at(header_.e_shstrndx);
    if (!names) return found;
    const std::string_view strings = slice(names->sh_offset, names->sh_size);
    for (uint16_t i = 0; i < header_.e_shnum; ++i) {
      const auto section = header_at(i);
      if (!section || section->sh_name >= strings.size()) continue;
      const std::string_view rest = strings.substr(section->sh_name);
      const bool has_bytes = section->sh_type != SHT_NOBITS;
      found.push_back({rest.substr(0, rest.find('\0')),
                       has_bytes ? slice(section->sh_offset, section->sh_size) : std::string_view{}, section->sh_type,
                       section->sh_flags, section->sh_size, section->sh_addralign});
    }
    return found;
  }

 private:
  template <class T>
  std::optional<T> at(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::optional<Elf64_Shdr> header_at(uint16_t index) const {
    if (index >= header_.e_shnum) return std::nullopt;
    return at<Elf64_Shdr>(header_.e_shoff + uint64_t{index} * sizeof(Elf64_Shdr));
  }
  std::string_view slice(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || bytes_.size() - offset < size) return {};
    return std::string_view(bytes_).substr(offset, size);
  }

  std::string bytes_;
  Elf64_Ehdr header_{};
};

std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

void add_name_and_content(const Elf::Section& section, XXH64_state_t& state) {
  XXH64_update(&state, section.name.data(), section.name.size());
  XXH64_update(&state, section.content.data(), section.content.size());
}

// xxh64 of what `add` adds of each section, where it tells by true that it added any; empty when there is none.
template <class Add>
std::string hash_of_sections(const std::filesystem::path& file, const Add& add) {
  const auto elf = Elf::read(file);
  if (!elf) return {};
  const std::unique_ptr<XXH64_state_t, decltype(&XXH64_freeState)> state(XXH64_createState(), &XXH64_freeState);
  XXH64_reset(state.get(), 0);
  bool any = false;
  for (const Elf::Section& section : elf->sections()) any = add(section, *state) || any;
  if (!any) return {};
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(XXH64_digest(state.get())));
  return text;
}

std::string build_id_in(std::string_view notes) {
  Elf64_Nhdr note;
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    const auto padded = [](uint64_t n) { return (n + 3) & ~uint64_t{3}; };
    const uint64_t name_at = sizeof note;
    const uint64_t id_at = name_at + padded(note.n_namesz);
    const uint64_t end = id_at + padded(note.n_descsz);
    if (end > notes.size()) return {};
    const bool gnu = note.n_namesz == 4 && notes.substr(name_at, 4) == std::string_view("GNU\0", 4);
    if (gnu && note.n_type == NT_GNU_BUILD_ID) return hex(notes.substr(id_at, note.n_descsz));
    notes.remove_prefix(end);
  }
  return {};
}

// Names of the dynamic symbols for which `counts`.
template <class Counts>
std::vector<std::string> symbols_of(const std::filesystem::path& file, const Counts& counts) {
  std::vector<std::string> names;
  const auto elf = Elf::read(file);
  if (!elf) return names;
  std::string_view symbols, strings;
  for (const Elf::Section& section : elf->sections()) {
    if (section.type == SHT_DYNSYM) symbols = section.content;
    if (section.name == ".dynstr") strings = section.content;
  }
  for (; symbols.size() >= sizeof(Elf64_Sym); symbols.remove_prefix(sizeof(Elf64_Sym))) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbols.data(), sizeof symbol);
    if (!counts(symbol) || symbol.st_name == 0 || symbol.st_name >= strings.size()) continue;
    const std::string_view rest = strings.substr(symbol.st_name);
    names.emplace_back(rest.substr(0, rest.find('\0')));
  }
  return names;
}

// Texts of the dynamic section's entries with this tag.
std::vector<std::string> dynamic_texts(const std::filesystem::path& file, int64_t tag) {
  std::vector<std::string> texts;
  const auto elf = Elf::read(file);
  if (!elf) return texts;
  std::string_view entries, strings;
  for (const Elf::Section& section : elf->sections()) {
    if (section.type == SHT_DYNAMIC) entries = section.content;
    if (section.name == ".dynstr") strings = section.content;
  }
  for (; entries.size() >= sizeof(Elf64_Dyn); entries.remove_prefix(sizeof(Elf64_Dyn))) {
    Elf64_Dyn entry;
    std::memcpy(&entry, entries.data(), sizeof entry);
    if (entry.d_tag != tag || entry.d_un.d_val >= strings.size()) continue;
    const std::string_view rest = strings.substr(entry.d_un.d_val);
    texts.emplace_back(rest.substr(0, rest.find('\0')));
  }
  return texts;
}

}  // namespace

std::string build_id_of(const std::filesystem::path& file) {
  const auto elf = Elf::read(file);
  if (!elf) return {};
  for (const auto& section : elf->sections()) {
    if (section.type != SHT_NOTE) continue;
    if (std::string id = build_id_in(section.content); !id.empty()) return id;
  }
  return {};
}

std::string code_hash_of(const std::filesystem::path& file) {
  return hash_of_sections(file, [](const Elf::Section& section, XXH64_state_t& state) {
    const auto starts = [&](std::string_view prefix) { return section.name.starts_with(prefix); };
    const bool is_code = starts(".text") || starts(".rodata") || starts(".data.rel.ro") || starts(".nv_fatbin");
    if (!is_code || section.content.empty()) return false;
    add_name_and_content(section, state);
    return true;
  });
}

std::string image_hash_of(const std::filesystem::path& file) {
  return hash_of_sections(file, [](const Elf::Section& section, XXH64_state_t& state) {
    if ((section.flags & SHF_ALLOC) == 0 || section.name == ".note.gnu.build-id") return false;
    add_name_and_content(section, state);
    for (const uint64_t number : {section.size, section.alignment}) XXH64_update(&state, &number, sizeof number);
    return true;
  });
}

std::vector<std::string> imports_of(const std::filesystem::path& file) {
  return symbols_of(file, [](const Elf64_Sym& symbol) { return symbol.st_shndx == SHN_UNDEF; });
}

std::vector<std::string> exports_of(const std::filesystem::path& file) {
  return symbols_of(file, [](const Elf64_Sym& symbol) { return symbol.st_shndx != SHN_UNDEF; });
}

std::string soname_of(const std::filesystem::path& file) {
  const std::vector<std::string> names = dynamic_texts(file, DT_SONAME);
  return names.empty() ? std::string() : names.front();
}

std::vector<std::string> needed_by(const std::filesystem::path& file) { return dynamic_texts(file, DT_NEEDED); }

std::string interpreter_of(const std::filesystem::path& program) {
  const auto elf = Elf::read(program);
  if (!elf) return {};
  for (const Elf::Section& section : elf->sections()) {
    if (section.name == ".interp") return std::string(section.content.substr(0, section.content.find('\0')));
  }
  return {};
}

std::string build_of(const std::filesystem::path& file) {
  const std::string build_id = build_id_of(file);
  return build_id.empty() ? "code-" + code_hash_of(file) : build_id;
}

std::vector<std::string> mapped_files(int pid) {
  std::ifstream maps("/proc/" + (pid == 0 ? std::string("self") : std::to_string(pid)) + "/maps");
  std::set<std::string> files;
  for (std::string line; std::getline(maps, line);) {
    const size_t permissions = line.find(' ');
    const size_t path = line.find('/');
    if (permissions == std::string::npos || path == std::string::npos) continue;
    if (line.compare(permissions + 1, 4, "r-xp") == 0) files.insert(line.substr(path));
  }
  return {files.begin(), files.end()};
}

std::string version_in_name(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path real = std::filesystem::canonical(path, ignored);
  const std::string name = (real.empty() ? std::filesystem::path(path) : real).filename().string();
  static const std::regex kVersion(R"((\d+(\.\d+)+))");
  std::smatch match;
  std::string best;
  for (auto rest = name; std::regex_search(rest, match, kVersion); rest = match.suffix()) best = match[1];
  if (!best.empty()) return best;
  static const std::regex kSoname(R"(\.so\.(\d+)$)");
  return std::regex_search(name, match, kSoname) ? match[1].str() : std::string();
}

}  // namespace assay
