#include "worker/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace assay {
namespace {

constexpr size_t kLongestMessage = size_t{64} << 20;

}  // namespace

SocketPair make_socket_pair() {
  int ends[2];
  ASSAY_SYSTEM(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
  return {ends[0], ends[1]};
}

Channel::~Channel() {
  ::close(socket_);
  if (file_ >= 0) ::close(file_);
}

void Channel::send(const nlohmann::json& message, int file) {
  const std::string line = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  size_t sent = 0;
  while (sent < line.size()) {
    iovec part{const_cast<char*>(line.data()) + sent, line.size() - sent};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (file >= 0 && sent == 0) {
      header.msg_control = control;
      header.msg_controllen = sizeof control;
      cmsghdr* rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(rights), &file, sizeof file);
    }
    const ssize_t n = ::sendmsg(socket_, &header, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw ChannelClosed(std::string("send: ") + std::strerror(errno));
    sent += static_cast<size_t>(n);
  }
}

bool Channel::read_some(bool wait) {
  char bytes[65536];
  iovec part{bytes, sizeof bytes};
  msghdr header{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t n = ::recvmsg(socket_, &header, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n < 0) throw ChannelClosed(std::string("receive: ") + std::strerror(errno));
  if (n == 0) throw ChannelClosed("the other end closed the channel");
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    if (file_ >= 0) ::close(file_);
    std::memcpy(&file_, CMSG_DATA(c), sizeof file_);
  }
  buffer_.append(bytes, static_cast<size_t>(n));
  if (buffer_.size() > kLongestMessage) throw ChannelClosed("a message longer than 64 MiB");
  return true;
}

std::optional<nlohmann::json> Channel::poll() {
  size_t end = buffer_.find('\n');
  while (end == std::string::npos && read_some(false)) end = buffer_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  nlohmann::json message = nlohmann::json::parse(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(end),
                                                 nullptr, /*allow_exceptions=*/false);
  buffer_.erase(0, end + 1);
  if (!message.is_object()) throw ChannelClosed("a line that is no JSON object");
  return message;
}

nlohmann::json Channel::receive() {
  while (true) {
    if (auto message = poll()) return std::move(*message);
    pollfd wait{socket_, POLLIN, 0};
    ::poll(&wait, 1, -1);
  }
}

int Channel::take_file() { return std::exchange(file_, -1); }

}  // namespace assay
