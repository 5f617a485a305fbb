#include "device/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/error.h"

namespace assay {

Arena::~Arena() { close(); }

void Arena::close() {
  if (data_ != nullptr) ::munmap(data_, size_);
  if (file_ >= 0) ::close(file_);
  data_ = nullptr;
  file_ = -1;
  size_ = 0;
}

uint64_t Arena::resident() const {
  constexpr uint64_t kBlock = 512;  // of st_blocks, whatever st_blksize says
  struct stat facts {};
  return file_ >= 0 && ::fstat(file_, &facts) == 0 ? static_cast<uint64_t>(facts.st_blocks) * kBlock : 0;
}

bool Arena::reserve(uint64_t bytes) {
  if (file_ >= 0 && bytes <= size_) return false;
  constexpr uint64_t kGrain = uint64_t{1} << 20;
  const uint64_t size = std::max<uint64_t>((bytes + bytes / 4 + kGrain - 1) / kGrain * kGrain, 16 * kGrain);
  close();
  const auto refuse = [bytes] {
    throw Error("the case needs " + std::to_string(bytes) +
                " bytes of memory, more than this machine gives: " + std::strerror(errno));
  };
  constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<off_t>::max());
  if (size < bytes || size > kLargest) {
    errno = EFBIG;
    refuse();
  }
  file_ = ASSAY_SYSTEM(::memfd_create("assay-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (::ftruncate(file_, static_cast<off_t>(size)) != 0) refuse();
  ASSAY_SYSTEM(::fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
  void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (mapped == MAP_FAILED) refuse();
  data_ = static_cast<std::byte*>(mapped);
  size_ = size;
  ++generation_;
  return true;
}

}  // namespace assay
