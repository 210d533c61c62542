// The InfiniBand subnet with memory that fails at one allocation after the other: two programs at
// the umad door that register, ask and answer, with short and long datagrams. What was under way is
// lost as on a wire, the program that waits for it is told so, and all else is served.

#include <gtest/gtest.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/memory_shortage.h"
#include "subnet/asked_mads.h"
#include "subnet/segment_test.h"
#include "testing/log_capture.h"
#include "testing/scarce_memory.h"
#include "testing/subnet_rig.h"
#include "testing/umad_program.h"
#include "umad/umad_door.h"

namespace paravane::umad {
namespace {

using namespace std::chrono_literals;
namespace management_class = wire::infiniband::management_class;
namespace method = wire::infiniband::method;
using fake::SubnetRig;

// Runs parts of the engine; one allocation in all of them fails, by its number. 0: none.
class OneShortage {
 public:
  explicit OneShortage(std::uint64_t number) : next_(number), has_failed_(number == 0) {}
  // False: it was interrupted.
  template <typename Act>
  bool run(Act&& act) {
    if (has_failed_) return runs_in_memory(act);
    const ScarceMemory scarce(next_);
    const bool had_memory = runs_in_memory(act);
    has_failed_ = scarce.has_failed();
    if (!has_failed_) next_ -= scarce.seen();
    return had_memory;
  }
  bool has_failed() const { return has_failed_; }

 private:
  std::uint64_t next_;
  bool has_failed_;
};

// A host with the door, and what its thread does in a turn.
class ScarceHost {
 public:
  ScarceHost() {
    UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un any{.sun_family = AF_UNIX, .sun_path = {}};  // the kernel names it
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(sa_family_t)),
              0);
    EXPECT_EQ(::listen(listener.get(), 16), 0);
    size_ = sizeof name_;
    EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&name_), &size_), 0);
    EXPECT_TRUE(door_.open(std::move(listener)));
  }

  void turn_until_idle(OneShortage& shortage) {
    for (int turns = 0; turns < 1000; ++turns) {
      int ran = 0;
      bool is_busy = true;
      const bool polled = shortage.run([&] { ran = *loop_->poll(Duration::zero()); });
      shortage.run([&] { timers_.run_due(rig_.clock.now); });
      shortage.run([&] { is_busy = rig_.subnet.turn(); });
      if (polled && ran == 0 && !is_busy && rig_.subnet.next_deadline() > rig_.clock.now) return;
    }
    ADD_FAILURE() << "it never comes to rest";
  }
  UniqueFd connect() const {
    UniqueFd client(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&name_), size_), 0);
    return client;
  }
  SubnetRig& rig() { return rig_; }
  UmadDoor& door() { return door_; }

 private:
  SubnetRig rig_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::create();
  TimerQueue timers_;
  UmadDoor door_{rig_.subnet, *loop_, timers_, rig_.clock};
  sockaddr_un name_{};
  socklen_t size_ = 0;
};

// A program with one agent, that tries again what is refused.
class PatientProgram {
 public:
  PatientProgram(ScarceHost& host, OneShortage& shortage, std::string_view adapter,
                 std::initializer_list<std::uint8_t> methods)
      : host_(host), shortage_(shortage) {
    AgentWish wish = fake::umad_wish(management_class::kSubnetAdministration, methods);
    wish.class_version = 2;
    wish.rmpp_version = 1;
    for (; tries_ < 3 && !open(adapter, wish); ++tries_) program_.reset();
    host_.turn_until_idle(shortage_);
  }
  ~PatientProgram() {
    line_.reset();
    program_.reset();
    host_.turn_until_idle(shortage_);
  }
  PatientProgram(const PatientProgram&) = delete;
  PatientProgram& operator=(const PatientProgram&) = delete;

  bool is_open() const { return static_cast<bool>(line_); }
  unsigned tries() const { return tries_; }

  void say(const std::vector<std::byte>& mad, std::uint16_t lid, std::uint32_t timeout_ms = 0) {
    for (std::size_t at = 0; at < mad.size(); at += kMostPart) {
      MadPart part;
      part.timeout_ms.set(timeout_ms);
      part.total.set(static_cast<std::uint32_t>(mad.size()));
      part.offset.set(static_cast<std::uint32_t>(at));
      part.address.lid.set(lid);
      part.address.qp.set(1);
      const auto bytes = std::span(mad).subspan(at, std::min(kMostPart, mad.size() - at));
      EXPECT_TRUE(fake::say(line_, fake::mad_message(part, bytes)));
    }
    host_.turn_until_idle(shortage_);
  }
  // A MAD with all of its parts; nullopt: none is there.
  struct Heard {
    MadPart part;
    std::vector<std::byte> mad;
  };
  std::optional<Heard> hear() {
    std::optional<Heard> heard;
    for (;;) {
      const auto part = fake::hear_part(line_);
      if (!part) {
        EXPECT_FALSE(heard) << "a MAD without its last parts";
        return std::nullopt;
      }
      if (!heard) heard = {.part = part->part, .mad = {}};
      EXPECT_EQ(part->part.offset.get(), heard->mad.size());
      EXPECT_EQ(part->part.total.get(), heard->part.total.get());
      heard->mad.insert(heard->mad.end(), part->bytes.begin(), part->bytes.end());
      if (heard->mad.size() == heard->part.total.get()) return heard;
    }
  }

 private:
  bool open(std::string_view adapter, const AgentWish& wish) {
    program_.emplace(host_.connect(), [this] { host_.turn_until_idle(shortage_); });
    host_.turn_until_idle(shortage_);
    line_ = program_->open(adapter, 0);
    if (line_ &&
        program_->outcome(fake::agent_question(Ask::kRegister, 0, 0, wish)) == Outcome::kDone)
      return true;
    line_.reset();
    return false;
  }

  ScarceHost& host_;
  OneShortage& shortage_;
  std::optional<fake::UmadProgram> program_;
  UniqueFd line_;
  unsigned tries_ = 0;
};

std::vector<std::byte> request_of(std::size_t data, std::uint8_t a_method) {
  std::vector<std::byte> mad = subnet::long_mad(data, {.transaction = 7, .method = a_method});
  if (data <= subnet::kSaData) return mad;
  wire::infiniband::SegmentHeader segments;
  segments.set_flags(wire::infiniband::kSegmentActive);
  std::memcpy(mad.data() + wire::infiniband::kSegmentHeaderAt, &segments, sizeof segments);
  return mad;
}

struct Talk {
  unsigned tries = 0;     // that failed, to begin
  unsigned answered = 0;  // of the questions
  unsigned timed_out = 0;
};

constexpr unsigned kQuestions = 2;

// One program asks, the other answers: in segments, with more parts than one, then in 256 bytes.
Talk talk(ScarceHost& host, OneShortage& shortage) {
  Talk talk;
  PatientProgram asker(host, shortage, "first", {});
  PatientProgram other(host, shortage, "second", {method::kGet, method::kGetTable});
  talk.tries = asker.tries() + other.tries();
  EXPECT_TRUE(asker.is_open() && other.is_open());
  if (!asker.is_open() || !other.is_open()) return talk;
  struct Question {
    std::uint8_t method;
    std::size_t bytes;
    std::size_t answer_bytes;
  };
  constexpr std::array<Question, kQuestions> kAsked{
      Question{.method = method::kGetTable, .bytes = 40'000, .answer_bytes = 4000},
      Question{.method = method::kGet, .bytes = 200, .answer_bytes = 200}};
  for (const Question& question : kAsked) {
    asker.say(request_of(question.bytes, question.method), host.rig().second_lid(), 30'000);
    const unsigned ended = talk.answered + talk.timed_out;
    for (int seconds = 0; seconds < 100 && talk.answered + talk.timed_out == ended; ++seconds) {
      if (const auto asked = other.hear()) {
        std::vector<std::byte> answer = request_of(
            question.answer_bytes, static_cast<std::uint8_t>(question.method | method::kResponse));
        std::copy_n(asked->mad.begin() + 8, 8, answer.begin() + 8);  // its transaction
        other.say(answer, host.rig().first_lid());
      }
      while (const auto heard = asker.hear()) {
        EXPECT_EQ(heard->part.agent.get(), 0u);
        if (heard->part.status.get() == ETIMEDOUT)
          ++talk.timed_out;
        else
          ++talk.answered;
      }
      host.rig().clock.now += 1s;
      host.turn_until_idle(shortage);
    }
  }
  return talk;
}

void expect_nothing_left(ScarceHost& host) {
  EXPECT_EQ(host.door().connections(), 0u);
  OneShortage none(0);
  // What has finished is remembered for some seconds.
  for (int i = 0; i < 60 && host.rig().subnet.next_deadline() != kNever; ++i) {
    host.rig().clock.now += 1s;
    host.turn_until_idle(none);
  }
  EXPECT_EQ(host.rig().subnet.next_deadline(), kNever);
}

TEST(SubnetScarcity, ProgramsAreServedAfterOneAllocationFailed) {
  const LogCapture log;
  unsigned refused = 0;
  unsigned timed_out = 0;
  bool has_failed = true;
  for (std::uint64_t number = 1; has_failed; ++number) {
    SCOPED_TRACE(number);
    ScarceHost host;
    OneShortage shortage(number);
    const Talk first = talk(host, shortage);
    has_failed = shortage.has_failed();
    // Each question has one end: an answer, or that none came.
    EXPECT_EQ(first.answered + first.timed_out, kQuestions);
    EXPECT_LE(first.tries + first.timed_out, has_failed ? 1u : 0u);
    expect_nothing_left(host);
    OneShortage none(0);
    const Talk second = talk(host, none);
    EXPECT_EQ(second.answered, kQuestions);
    EXPECT_EQ(second.tries + second.timed_out, 0u);
    expect_nothing_left(host);
    refused += first.tries;
    timed_out += first.timed_out;
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(timed_out, 0u);
}

TEST(SubnetScarcity, AnAdapterIsAddedWhollyOrNotAtAll) {
  bool has_failed = true;
  for (std::uint64_t number = 1; has_failed; ++number) {
    SCOPED_TRACE(number);
    const TurnClock clock{Instant(1h)};
    subnet::Subnet subnet("host", 0x100, clock);
    EXPECT_NE(subnet.add("b", {.name = "Test", .ports = 2}, 0x200), nullptr);
    {
      const ScarceMemory scarce(number);
      const bool had_memory =
          runs_in_memory([&] { subnet.add("a", {.name = "Test", .ports = 2}, 0x300); });
      has_failed = scarce.has_failed();
      ASSERT_EQ(had_memory, !has_failed);
    }
    ASSERT_EQ(subnet.find("a") == nullptr, has_failed);
    ASSERT_EQ(subnet.the_switch().is_attached(3), !has_failed);
    if (has_failed) {
      ASSERT_NE(subnet.add("a", {.name = "Test", .ports = 2}, 0x300), nullptr);
    }
    while (subnet.turn()) {
    }
    ASSERT_EQ(subnet.links().size(), 4u);
    ASSERT_EQ(subnet.find("a")->port(2)->state(), wire::infiniband::PortState::kInitialize);
  }
}

TEST(SubnetScarcity, AMadThatFindsNoMemoryIsNotWaitedFor) {
  bool has_failed = true;
  for (std::uint64_t number = 1; has_failed; ++number) {
    SCOPED_TRACE(number);
    subnet::AskedMads asked;
    constexpr std::uint64_t kTransaction = (std::uint64_t{5} << 32) | 1;
    const subnet::AskedMad mad{
        .agent = subnet::AgentId{5}, .to = {}, .mad = std::vector<std::byte>(256), .timeout = 1s};
    {
      const ScarceMemory scarce(number);
      runs_in_memory([&] { asked.add(kTransaction, mad, {}); });
      has_failed = scarce.has_failed();
    }
    ASSERT_EQ(asked.size(), has_failed ? 0u : 1u);
    ASSERT_EQ(asked.next_deadline(), has_failed ? kNever : Instant(1s));
    if (!has_failed) break;
    ASSERT_TRUE(asked.add(kTransaction, mad, {}));
    ASSERT_TRUE(asked.take_back(kTransaction).has_value());
  }
}

TEST(SubnetScarcity, APacketThatFindsNoMemoryIsNotCounted) {
  class Receiver : public subnet::PacketReceiver {
   public:
    void on_packet(subnet::PortNumber, subnet::Packet) override {}
  } receiver;
  subnet::PacketQueue queue;
  EXPECT_TRUE(queue.put(receiver, 1, subnet::Packet(1)));
  // So many that its list grows.
  bool has_failed = false;
  for (int i = 0; i < 100 && !has_failed; ++i) {
    subnet::Packet packet(1);
    const ScarceMemory scarce(1);
    runs_in_memory([&] { queue.put(receiver, 1, std::move(packet)); });
    has_failed = scarce.has_failed();
  }
  ASSERT_TRUE(has_failed);
  queue.deliver(100);
  EXPECT_TRUE(queue.put(receiver, 1, subnet::Packet(subnet::PacketQueue::kMostBytes)));
}

// Of a transfer that finds no memory nothing stays, in either direction.
TEST(SubnetScarcity, TransfersAreCountedAsTheyAre) {
  constexpr Instant kLater{std::chrono::hours(1)};
  bool has_failed = true;
  for (std::uint64_t number = 1; has_failed; ++number) {
    SCOPED_TRACE(number);
    subnet::SegmentPort port(9);
    OneShortage shortage(number);
    const subnet::MadAddress peer{.lid = 1, .qp = 1, .global = {}};
    std::vector<std::byte> mad = subnet::long_mad(2000);
    bool is_sent = false;
    const bool had_memory = shortage.run(
        [&] { is_sent = port.table.send(peer, std::move(mad), 1, {}, {}).has_value(); });
    ASSERT_EQ(is_sent, had_memory);
    ASSERT_EQ(port.table.sending(), is_sent ? 1u : 0u);
    ASSERT_EQ(port.table.bytes_sending(), is_sent ? 2000u + subnet::kSaHeaders : 0u);
    for (const std::uint32_t segment : {1U, 2U, 3U}) {
      const auto flags = static_cast<std::uint8_t>(
          segment == 1 ? wire::infiniband::kSegmentFirst
                       : (segment == 3 ? wire::infiniband::kSegmentLast : 0));
      shortage.run([&] {
        port.table.on_packet(
            peer, subnet::data_segment(segment, flags, segment == 3 ? 220 : 0, {.transaction = 5}),
            {});
      });
    }
    shortage.run([&] { port.table.on_packet(peer, subnet::ack_of(1, 5), {}); });
    for (Instant now{}; port.table.next_deadline() != kNever && now < kLater; now += 1s) {
      shortage.run([&] { port.table.on_time(now); });
    }
    has_failed = shortage.has_failed();
    ASSERT_EQ(port.table.sending() + port.table.receiving(), 0u);
    ASSERT_EQ(port.table.bytes_sending() + port.table.bytes_receiving(), 0u);
  }
}

}  // namespace
}  // namespace paravane::umad
