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

// An ELF file, of which what is asked for is read: libraries have hundreds of megabytes, and a build-id has 20 bytes.
// Every access is checked against the file's size.
class Elf {
 public:
  static std::optional<Elf> open(const std::filesystem::path& path) {
    std::error_code error;
    Elf elf;
    elf.size_ = std::filesystem::file_size(path, error);
    elf.in_.open(path, std::ios::binary);
    if (error || !elf.in_) return std::nullopt;
    const std::string bytes = elf.read(0, sizeof(Elf64_Ehdr));
    if (bytes.empty()) return std::nullopt;
    Elf64_Ehdr& header = elf.header_;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) return std::nullopt;
    return elf;
  }

  struct Section {
    std::string name;
    uint32_t type;
    uint64_t flags, offset, size, alignment;
  };
  std::vector<Section> sections() {
    std::vector<Section> found;
    const auto names = header_at(header_.e_shstrndx);
    if (!names) return found;
    const std::string strings = read(names->sh_offset, names->sh_size);
    for (uint16_t i = 0; i < header_.e_shnum; ++i) {
      const auto section = header_at(i);
      if (!section || section->sh_name >= strings.size()) continue;
      const std::string_view rest = std::string_view(strings).substr(section->sh_name);
      found.push_back({std::string(rest.substr(0, rest.find('\0'))), section->sh_type, section->sh_flags,
                       section->sh_offset, section->sh_size, section->sh_addralign});
    }
    return found;
  }

  // None of SHT_NOBITS, which is zeros.
  std::string content_of(const Section& section) {
    return section.type == SHT_NOBITS ? std::string() : read(section.offset, section.size);
  }

 private:
  std::optional<Elf64_Shdr> header_at(uint16_t index) {
    if (index >= header_.e_shnum) return std::nullopt;
    const std::string bytes = read(header_.e_shoff + uint64_t{index} * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr));
    if (bytes.empty()) return std::nullopt;
    Elf64_Shdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    return header;
  }
  // All of it or nothing.
  std::string read(uint64_t offset, uint64_t size) {
    if (offset > size_ || size_ - offset < size) return {};
    std::string bytes(size, '\0');
    in_.clear();
    in_.seekg(static_cast<std::streamoff>(offset));
    in_.read(bytes.data(), static_cast<std::streamsize>(size));
    return static_cast<uint64_t>(in_.gcount()) == size ? bytes : std::string();
  }

  std::ifstream in_;
  uint64_t size_ = 0;
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

void add_name_and_content(const std::string& name, const std::string& content, XXH64_state_t& state) {
  XXH64_update(&state, name.data(), name.size());
  XXH64_update(&state, content.data(), content.size());
}

// xxh64 of what `add` adds of each section, where it tells by true that it added any; empty when there is none.
template <class Add>
std::string hash_of_sections(const std::filesystem::path& file, const Add& add) {
  auto elf = Elf::open(file);
  if (!elf) return {};
  const std::unique_ptr<XXH64_state_t, decltype(&XXH64_freeState)> state(XXH64_createState(), &XXH64_freeState);
  XXH64_reset(state.get(), 0);
  bool any = false;
  for (const Elf::Section& section : elf->sections()) any = add(*elf, section, *state) || any;
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
  auto elf = Elf::open(file);
  if (!elf) return names;
  std::string symbol_bytes, strings;
  for (const Elf::Section& section : elf->sections()) {
    if (section.type == SHT_DYNSYM) symbol_bytes = elf->content_of(section);
    if (section.name == ".dynstr") strings = elf->content_of(section);
  }
  for (std::string_view symbols = symbol_bytes; symbols.size() >= sizeof(Elf64_Sym);
       symbols.remove_prefix(sizeof(Elf64_Sym))) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbols.data(), sizeof symbol);
    if (!counts(symbol) || symbol.st_name == 0 || symbol.st_name >= strings.size()) continue;
    const std::string_view rest = std::string_view(strings).substr(symbol.st_name);
    names.emplace_back(rest.substr(0, rest.find('\0')));
  }
  return names;
}

// Texts of the dynamic section's entries with this tag.
std::vector<std::string> dynamic_texts(const std::filesystem::path& file, int64_t tag) {
  std::vector<std::string> texts;
  auto elf = Elf::open(file);
  if (!elf) return texts;
  std::string entry_bytes, strings;
  for (const Elf::Section& section : elf->sections()) {
    if (section.type == SHT_DYNAMIC) entry_bytes = elf->content_of(section);
    if (section.name == ".dynstr") strings = elf->content_of(section);
  }
  for (std::string_view entries = entry_bytes; entries.size() >= sizeof(Elf64_Dyn);
       entries.remove_prefix(sizeof(Elf64_Dyn))) {
    Elf64_Dyn entry;
    std::memcpy(&entry, entries.data(), sizeof entry);
    if (entry.d_tag != tag || entry.d_un.d_val >= strings.size()) continue;
    const std::string_view rest = std::string_view(strings).substr(entry.d_un.d_val);
    texts.emplace_back(rest.substr(0, rest.find('\0')));
  }
  return texts;
}

}  // namespace

std::string build_id_of(const std::filesystem::path& file) {
  auto elf = Elf::open(file);
  if (!elf) return {};
  for (const auto& section : elf->sections()) {
    if (section.type != SHT_NOTE) continue;
    if (std::string id = build_id_in(elf->content_of(section)); !id.empty()) return id;
  }
  return {};
}

std::string code_hash_of(const std::filesystem::path& file) {
  return hash_of_sections(file, [](Elf& elf, const Elf::Section& section, XXH64_state_t& state) {
    const auto starts = [&](std::string_view prefix) { return section.name.starts_with(prefix); };
    const bool is_code = starts(".text") || starts(".rodata") || starts(".data.rel.ro") || starts(".nv_fatbin");
    const std::string content = is_code ? elf.content_of(section) : std::string();
    if (content.empty()) return false;
    add_name_and_content(section.name, content, state);
    return true;
  });
}

std::string image_hash_of(const std::filesystem::path& file) {
  return hash_of_sections(file, [](Elf& elf, const Elf::Section& section, XXH64_state_t& state) {
    if ((section.flags & SHF_ALLOC) == 0 || section.name == ".note.gnu.build-id") return false;
    add_name_and_content(section.name, elf.content_of(section), state);
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
  auto elf = Elf::open(program);
  if (!elf) return {};
  for (const Elf::Section& section : elf->sections()) {
    if (section.name != ".interp") continue;
    const std::string content = elf->content_of(section);
    return content.substr(0, content.find('\0'));
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
