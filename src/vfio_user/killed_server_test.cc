// A process that serves a VMM is killed, at each of its system calls in turn, and another one goes
// on: each request is answered once, and what is attached is what the answers say.

#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "vfio_user/exchange.h"
#include "vfio_user/requirements_test.h"

namespace paravane::vfio_user {
namespace {

constexpr std::uint64_t kKeptPage = 4096;
constexpr std::size_t kMostKept = 65536;

// Carries what is kept to the test, as the holder does.
class Line {
 public:
  Line() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    in_.reset(ends[0]);
    out_.reset(ends[1]);
  }
  void send(const VfioServerRig::State& state) const {
    std::vector<int> fds{state.exchange.get()};
    for (const UniqueFd& fd : state.descriptors) fds.push_back(fd.get());
    iovec data{.iov_base = const_cast<std::byte*>(state.bytes.data()),
               .iov_len = state.bytes.size()};
    std::vector<std::byte> ancillary(CMSG_SPACE(fds.size() * sizeof(int)));
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = ancillary.data();
    message.msg_controllen = ancillary.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
    if (::sendmsg(out_.get(), &message, 0) < 0) std::abort();
  }
  // The last that was sent.
  std::optional<VfioServerRig::State> last() const {
    std::optional<VfioServerRig::State> last;
    while (auto next = receive()) last = std::move(next);
    return last;
  }

 private:
  std::optional<VfioServerRig::State> receive() const {
    std::vector<std::byte> bytes(kMostKept);
    std::vector<std::byte> ancillary(CMSG_SPACE(200 * sizeof(int)));
    iovec data{.iov_base = bytes.data(), .iov_len = bytes.size()};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = ancillary.data();
    message.msg_controllen = ancillary.size();
    const ssize_t size = ::recvmsg(in_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size <= 0) return std::nullopt;
    bytes.resize(static_cast<std::size_t>(size));
    VfioServerRig::State state{.bytes = std::move(bytes), .descriptors = {}};
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      if (i == 0) {
        state.exchange.reset(fd);
      } else {
        state.descriptors.emplace_back(fd);
      }
    }
    return state;
  }

  UniqueFd in_;
  UniqueFd out_;
};

// The process of a server. Its life is measured in entries to and exits from system calls.
class Victim {
 public:
  Victim(VfioServerRig& rig, const Line& line) {
    child_ = ::fork();
    if (child_ == 0) serve(rig, line);
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    EXPECT_TRUE(WIFSTOPPED(status));
    ::ptrace(PTRACE_SETOPTIONS, child_, 0, PTRACE_O_EXITKILL);
  }
  ~Victim() { kill(); }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  bool is_alive() const { return child_ > 0; }
  // Goes on until the next entry or exit.
  void step() {
    int status = 0;
    ASSERT_EQ(::ptrace(PTRACE_SYSCALL, child_, 0, 0), 0);
    ASSERT_EQ(::waitpid(child_, &status, 0), child_);
    ASSERT_TRUE(WIFSTOPPED(status)) << "it ended before it was killed";
  }
  void kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  [[noreturn]] static void serve(VfioServerRig& rig, const Line& line) {
    rig.keep_with([&line](const VfioServerRig::State& state) { line.send(state); });
    ::ptrace(PTRACE_TRACEME, 0, 0, 0);
    ::raise(SIGSTOP);
    for (;;) rig.step();
  }

  pid_t child_ = 0;
};

class VfioUserKilled : public ::testing::Test {
 protected:
  struct Outcome {
    std::size_t steps = 0;
    bool was_killed = false;
  };

  // Sends each request when the one before it is answered, and kills the server after so many of
  // its steps.
  Outcome run(std::size_t life) {
    VfioServerRig rig({.keeps = true});
    const Line line;
    rig.keep_with([&line](const VfioServerRig::State& state) { line.send(state); });
    RawVfioClient client = rig.attach();
    const UniqueFd first(::memfd_create("first", MFD_CLOEXEC));
    const UniqueFd second(::memfd_create("second", MFD_CLOEXEC));
    const UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    EXPECT_EQ(::ftruncate(first.get(), kKeptPage), 0);
    EXPECT_EQ(::ftruncate(second.get(), kKeptPage), 0);

    Outcome outcome;
    std::unique_ptr<VfioServerRig> heir;
    {
      Victim victim(rig, line);
      const auto work = [&] {
        if (heir) return heir->step();
        if (outcome.steps == life) {
          victim.kill();
          outcome.was_killed = true;
          heir = go_on(rig, line);
          return;
        }
        victim.step();
        ++outcome.steps;
      };
      client.set_pump([&] {
        for (int i = 0; i < 20 && !HasFatalFailure(); ++i) work();
      });
      converse(client, first, second, event);
    }
    if (heir) {
      heir->pump(client);
      EXPECT_TRUE(client.stays_silent()) << "a request was answered twice";
      EXPECT_EQ(heir->memory().usage().ranges, 1U);
      EXPECT_TRUE(heir->memory().dma_enabled());
      heir->interrupts().signal(0);
      std::uint64_t signals = 0;
      EXPECT_EQ(::read(event.get(), &signals, sizeof signals), 8);
      EXPECT_TRUE(heir->server().attached());
      heir->server().abandon();
    }
    rig.server().abandon();
    return outcome;
  }

  static std::unique_ptr<VfioServerRig> go_on(const VfioServerRig& rig, const Line& line) {
    auto heir = VfioServerRig::make_heir(rig);
    auto kept = line.last();
    EXPECT_TRUE(kept);
    const Status loaded = heir->load(std::move(*kept));
    EXPECT_TRUE(loaded) << loaded.error().message;
    return heir;
  }

  static void expect_answer(RawVfioClient& client, std::uint16_t id) {
    std::optional<RawVfioClient::Reply> reply;
    for (int i = 0; i < 50 && !reply && !HasFatalFailure(); ++i) reply = client.receive();
    ASSERT_TRUE(reply) << "no answer to " << id;
    EXPECT_EQ(reply->header.id.get(), id);
    EXPECT_FALSE(reply->is_error()) << id << ": errno " << reply->error();
  }

  static void converse(RawVfioClient& client, const UniqueFd& first, const UniqueFd& second,
                       const UniqueFd& event) {
    const auto show = [&](std::uint64_t iova, const UniqueFd& file) {
      const DmaMap map{.argsz = Le32(sizeof(DmaMap)),
                       .flags = Le32(3),
                       .file_offset = {},
                       .iova = Le64(iova),
                       .size = Le64(kKeptPage)};
      const int fd = file.get();
      return client.send(Command::kDmaMap, RawVfioClient::bytes_of(map), {&fd, 1});
    };
    const auto write = [&](std::uint32_t region, std::uint64_t offset, std::uint32_t value,
                           std::uint32_t flags) {
      const auto access = RawVfioClient::bytes_of(
          RegionAccess{.offset = Le64(offset), .region = Le32(region), .count = Le32(4)});
      return client.send(Command::kRegionWrite,
                         RawVfioClient::join({access, RawVfioClient::bytes_of(Le32(value))}), {},
                         flags);
    };
    ASSERT_NO_FATAL_FAILURE(expect_answer(client, show(0, first)));
    ASSERT_NO_FATAL_FAILURE(expect_answer(client, show(0x10000, second)));
    const SetIrqs set{.argsz = Le32(sizeof(SetIrqs)),
                      .flags = Le32(SetIrqs::kDataEventfd | SetIrqs::kTrigger),
                      .index = Le32(2),
                      .start = Le32(0),
                      .count = Le32(1)};
    const int vector = event.get();
    ASSERT_NO_FATAL_FAILURE(expect_answer(
        client, client.send(Command::kSetIrqs, RawVfioClient::bytes_of(set), {&vector, 1})));
    ASSERT_NO_FATAL_FAILURE(expect_answer(client, write(kConfigRegion, 4, 6, 0)));
    // Two that are posted, and one behind them.
    write(1, 0, 7, Header::kNoReply);
    write(kConfigRegion, 0x3C, 5, Header::kNoReply);
    const DmaUnmap unmap{.argsz = Le32(sizeof(DmaUnmap)),
                         .flags = {},
                         .iova = Le64(0x10000),
                         .size = Le64(kKeptPage)};
    ASSERT_NO_FATAL_FAILURE(
        expect_answer(client, client.send(Command::kDmaUnmap, RawVfioClient::bytes_of(unmap))));
    const auto look = RawVfioClient::bytes_of(
        RegionAccess{.offset = Le64(0x3C), .region = Le32(kConfigRegion), .count = Le32(1)});
    const std::uint16_t id = client.send(Command::kRegionRead, look);
    std::optional<RawVfioClient::Reply> reply;
    for (int i = 0; i < 50 && !reply && !HasFatalFailure(); ++i) reply = client.receive();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->header.id.get(), id);
    EXPECT_EQ(reply->payload.back(), std::byte{5}) << "what was posted was lost";
  }
};

// Not one after the other, which takes a minute: odd, so that entries and exits take turns.
constexpr std::size_t kStride = 5;

TEST_F(VfioUserKilled, AtAnySystemCallNothingIsLostOrAnsweredTwice) {
  std::size_t kills = 0;
  for (std::size_t life = 0;; life += kStride) {
    SCOPED_TRACE(life);
    const Outcome outcome = run(life);
    if (HasFailure()) return;
    if (!outcome.was_killed) break;
    ++kills;
  }
  EXPECT_GT(kills, 50U);
}

}  // namespace
}  // namespace paravane::vfio_user
