// JSON lines over a Unix stream socket, with file descriptors beside them: how coordinator, judge and workers talk.
// Never over stdout: kernels print.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

namespace assay {

// The other end closed the socket or sent what is no message.
struct ChannelClosed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int socket() const { return socket_; }

  // Sends one message, and `file` with it unless -1. Throws ChannelClosed.
  void send(const nlohmann::json& message, int file = -1);

  // The next whole message: nothing when none has arrived yet. Throws ChannelClosed at the end of the stream.
  std::optional<nlohmann::json> poll();

  // Waits for the next message without end. Throws ChannelClosed.
  nlohmann::json receive();

  // The file descriptor that came with the messages so far, or -1; the caller owns it.
  int take_file();

 private:
  bool read_some(bool wait);
  int socket_;
  int file_ = -1;
  std::string buffer_;
};

// A connected pair of sockets, close-on-exec.
struct SocketPair {
  int ours;
  int theirs;
};
SocketPair make_socket_pair();

}  // namespace assay
