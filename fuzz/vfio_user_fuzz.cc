// A hostile VMM against the vfio-user server: framed messages with descriptors,
// raw bytes, answers put off, clients that come and go.
//
// The server is handed to another process in between.
//
// Besides crashes it looks for broken promises: every answer belongs to the
// oldest unanswered request, no byte comes that nobody asked for, and when the
// VMM has gone its memory and descriptors have gone too.

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "promise.h"
#include "testing/vfio_server_rig.h"
#include "vfio_user_script.h"

namespace paravane {
namespace {

using fake::require;

using vfio_user::Command;
using vfio_user::Header;

// What is open, by name, except what the sanitizers open for themselves: pipes
// to a symbolizer, and this directory; and what the first signal of a process opens.
std::vector<std::string> open_descriptors(const std::string& our_pipe) {
  std::vector<std::string> all;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const std::string name = std::filesystem::read_symlink(entry.path(), gone).string();
    const bool foreign = (name.starts_with("pipe:") && name != our_pipe) || name.empty() ||
                         name.starts_with("/proc/") || name == "/dev/null";
    if (!foreign) all.push_back(entry.path().filename().string() + " " + name);
  }
  return all;
}

// One of each kind, borrowed by all messages.
class Descriptors {
 public:
  Descriptors() {
    require(ftruncate(memory_.get(), 16 * 4096) == 0);
    std::array<int, 2> ends{};
    require(pipe2(ends.data(), O_CLOEXEC) == 0);
    pipe_read_.reset(ends[0]);
    pipe_write_.reset(ends[1]);
  }
  std::string pipe_name() const {
    return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(pipe_write_.get()));
  }
  int of(FdKind kind, int socket) const {
    switch (kind) {
      case FdKind::kEventfd: return event_.get();
      case FdKind::kMemory: return memory_.get();
      case FdKind::kPipe: return pipe_write_.get();
      case FdKind::kSocket: return socket;
      case FdKind::kDirectory:
      case FdKind::kCount: return directory_.get();
    }
    return -1;
  }

 private:
  UniqueFd event_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  UniqueFd memory_{memfd_create("ram", MFD_CLOEXEC)};
  UniqueFd pipe_read_;
  UniqueFd pipe_write_;
  UniqueFd directory_{::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
};

class Drill {
 public:
  void run(ScriptReader script);

 private:
  struct Asked {
    std::uint16_t id;
    std::uint16_t command;
  };

  void act(ScriptReader& script);
  void send_message(ScriptReader& script);
  void come(bool negotiated);
  void go();
  void hand_over();
  void turn();
  void check_answers();
  void answer_all();

  std::unique_ptr<VfioServerRig> rig_ = std::make_unique<VfioServerRig>();
  Descriptors descriptors_;
  std::optional<RawVfioClient> client_;
  std::deque<Asked> asked_;
  bool framed_ = true;  // until raw bytes are sent
  std::uint16_t next_id_ = 0;
  std::size_t descriptors_at_rest_ = 0;
  unsigned runs_ = 0;
};

void Drill::come(bool negotiated) {
  client_.emplace(rig_->connect());
  require(client_->connected());
  asked_.clear();
  framed_ = true;
  if (negotiated) require(client_->negotiate().has_value());
}

// However it ends, nothing of the VMM may stay; nor of others, that waited in the
// socket's queue while it left.
void Drill::go() {
  client_.reset();
  unsigned quiet = 0;
  for (int i = 0; i < 200 && quiet < 8; ++i) {
    turn();
    answer_all();
    quiet = rig_->server().peer_pid() == 0 ? quiet + 1 : 0;
    // Its socket may hide in its own messages: then only time ends it.
    if (i % 50 == 49) rig_->pass(std::chrono::seconds(10));
  }
  require(!rig_->server().attached() && rig_->server().peer_pid() == 0);
  const GuestMemory::Usage usage = rig_->memory().usage();
  require(usage.ranges == 0 && !rig_->memory().dma_enabled());
}

// Whatever the VMM is in the middle of, it notices nothing.
void Drill::hand_over() {
  const std::vector<std::byte> saved = rig_->save().bytes;
  std::unique_ptr<VfioServerRig> heir = rig_->hand_over();
  require(heir->save().bytes == saved);
  rig_ = std::move(heir);
  if (client_) rig_->pump(*client_);
}

void Drill::turn() {
  rig_->step();
  check_answers();
}

void Drill::answer_all() {
  for (const vfio_user::ReplyToken token : rig_->device().tokens()) rig_->server().answer(token);
  rig_->device().forget_tokens();
}

void Drill::check_answers() {
  if (!client_) return;
  while (const auto reply = client_->receive_now()) {
    require((reply->header.flags.get() & Header::kTypeMask) == Header::kTypeReply);
    require(reply->fds.size() <= 1);
    if (!framed_) continue;
    require(!asked_.empty());
    require(reply->header.id.get() == asked_.front().id);
    require(reply->header.command.get() == asked_.front().command);
    if (reply->is_error()) require(reply->payload.empty() && reply->error() != 0);
    asked_.pop_front();
  }
}

void Drill::send_message(ScriptReader& script) {
  const std::uint16_t command = script.u8();
  const std::uint32_t flags = script.u8() & 0x3FU;
  const std::size_t count = script.u8() % 20U;
  const auto kind = static_cast<FdKind>(script.u8() % static_cast<std::uint8_t>(FdKind::kCount));
  const std::span<const std::byte> payload = script.bytes(script.u16() % 4096U);
  const std::vector<int> fds(count, descriptors_.of(kind, client_->socket()));
  const Asked asked{.id = next_id_++, .command = command};
  const auto message =
      RawVfioClient::message(static_cast<Command>(command), asked.id, payload, flags);
  if (!client_->send_bytes(message, fds)) {
    framed_ = false;  // the socket is full or closed: who knows what arrived
  } else if ((flags & (Header::kNoReply | Header::kTypeMask)) != Header::kTypeReply &&
             (flags & Header::kNoReply) == 0) {
    asked_.push_back(asked);
  }
}

void Drill::act(ScriptReader& script) {
  switch (script.act()) {
    case VmmAct::kMessage: send_message(script); return;
    case VmmAct::kRawBytes:
      framed_ = false;
      client_->send_bytes(script.bytes(script.u8()));
      return;
    case VmmAct::kTurn: turn(); return;
    case VmmAct::kAnswer: answer_all(); return;
    case VmmAct::kDefer: {
      const std::uint8_t mask = script.u8();
      rig_->device().defer(
          {.writes = (mask & 1) != 0, .resets = (mask & 2) != 0, .unmaps = (mask & 4) != 0});
      return;
    }
    case VmmAct::kSignal: rig_->interrupts().signal(script.u8() % FakePciDevice::kVectors); return;
    case VmmAct::kPassTime: rig_->pass(std::chrono::milliseconds(script.u16())); return;
    case VmmAct::kReconnect:
      go();
      come((script.u8() & 1) != 0);
      return;
    case VmmAct::kSecondComes: {
      RawVfioClient second = rig_->connect();
      second.negotiate();
      return;
    }
    case VmmAct::kHandOver: hand_over(); return;
    case VmmAct::kDisconnect:
    case VmmAct::kCount: rig_->server().disconnect("the script says so"); return;
  }
}

void Drill::run(ScriptReader script) {
  come((script.u8() & 1) != 0);
  for (int acts = 0; acts < 500 && !script.at_end(); ++acts) act(script);
  for (int i = 0; i < 8; ++i) turn();
  rig_->device().defer({});
  go();
  rig_->device().clear_log();
  if (runs_++ % 64 != 0) return;
  rig_->pass(std::chrono::seconds(10));  // refused clients are dropped
  for (int i = 0; i < 4; ++i) rig_->step();
  const std::vector<std::string> now = open_descriptors(descriptors_.pipe_name());
  if (descriptors_at_rest_ == 0) descriptors_at_rest_ = now.size();
  if (now.size() <= descriptors_at_rest_) return;
  for (const std::string& one : now) std::fprintf(stderr, "still open: %s\n", one.c_str());
  std::abort();
}

}  // namespace
}  // namespace paravane

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // To look at one input: VFIO_USER_FUZZ_LOG=1 vfio_user_fuzz FILE
  static const bool wants_log = std::getenv("VFIO_USER_FUZZ_LOG") != nullptr;
  spdlog::set_level(wants_log ? spdlog::level::debug : spdlog::level::off);
  static paravane::Drill drill;  // making a server is slow; every run leaves it at rest
  drill.run(paravane::ScriptReader(std::as_bytes(std::span(data, size))));
  return 0;
}
