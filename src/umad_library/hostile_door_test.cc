// Answers and MADs that the daemon never sends: the library neither crashes nor believes them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <vector>

#include "umad_library/control_line.h"
#include "umad_library/fake_door.h"
#include "umad_library/umad_abi.h"
#include "umad_library/umad_test_mads.h"

namespace paravane::umad_library {
namespace {

using umad::Ask;

template <typename... Parts>
std::vector<std::byte> joined(const Parts&... parts) {
  std::vector<std::byte> bytes((sizeof parts + ...));
  std::size_t at = 0;
  ((std::memcpy(bytes.data() + at, &parts, sizeof parts), at += sizeof parts), ...);
  return bytes;
}

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

class HostileDoorTest : public ::testing::Test {
 protected:
  void answer_to(Ask ask, const FakeDoor::Odd& odd) {
    door_.answer_instead([=](const umad::Question& question) -> std::optional<FakeDoor::Odd> {
      if (question.ask.get() != static_cast<std::uint32_t>(ask)) return std::nullopt;
      return odd;
    });
  }
  // Every function that asks.
  static void call_all() {
    char names[4][UMAD_CA_NAME_LEN];
    EXPECT_LE(umad_get_cas_names(names, 4), 4);
    umad_ca_t ca;
    if (umad_get_ca("paravane0", &ca) == 0) umad_release_ca(&ca);
    umad_port_t port;
    if (umad_get_port("paravane0", 1, &port) == 0) umad_release_port(&port);
    umad_free_ca_device_list(umad_get_ca_device_list());
    const int fd = umad_open_port(nullptr, 0);
    if (fd < 0) return;
    const int agent = umad_register(fd, 4, 1, 0, nullptr);
    UmadBuffer out(test_mad(4, 1, 1));
    umad_send(fd, agent, out.get(), 256, 1, 0);
    int length = 256;
    umad_recv(fd, out.get(), &length, 1);
    umad_unregister(fd, agent);
    umad_close_port(fd);
  }
  static constexpr std::array kAll = {Ask::kAdapters, Ask::kAdapter,    Ask::kPort, Ask::kOpen,
                                      Ask::kRegister, Ask::kUnregister, Ask::kClose};
  FakeDoor door_;
};

TEST_F(HostileDoorTest, AnswersOfAnyLengthOutcomeAndDescriptors) {
  const std::ptrdiff_t before = open_descriptors();
  for (const Ask ask : kAll) {
    for (const std::size_t size : {0U, 1U, 3U, 4U, 5U, 24U, 100U, 644U, 5000U}) {
      for (const std::uint8_t fill : std::array<std::uint8_t, 5>{0, 1, 7, 8, 0xFF}) {
        std::vector<std::byte> bytes(size, std::byte{fill});
        for (std::size_t i = 1; i < std::min<std::size_t>(size, 4); ++i) {
          if (fill != 0xFF) bytes[i] = std::byte{};
        }
        answer_to(ask, {.bytes = bytes, .descriptors = fill == 1 ? 5 : 0});
        call_all();
      }
    }
  }
  EXPECT_LE(open_descriptors(), before + 4) << "what came along is closed";
  door_.answer_instead({});
  const int fd = umad_open_port("paravane0", 1);
  EXPECT_GE(fd, 0) << "an honest answer is heard again";
  umad_close_port(fd);
}

TEST_F(HostileDoorTest, CountsAndNamesThatCannotBe) {
  const umad::Answer done;
  umad::AdapterNames names;
  names.count = Le32(0xFFFFFFFF);
  answer_to(Ask::kAdapters, {.bytes = joined(done, names)});
  char out[40][UMAD_CA_NAME_LEN];
  EXPECT_EQ(umad_get_cas_names(out, 40), -EPROTO);
  names.count = Le32(1);
  names.names[0].fill('a');
  answer_to(Ask::kAdapters, {.bytes = joined(done, names)});
  EXPECT_EQ(umad_get_cas_names(out, 40), -EPROTO) << "no end";
  names.names[0] = {'.', '.', '/', 'x'};
  answer_to(Ask::kAdapters, {.bytes = joined(done, names)});
  EXPECT_EQ(umad_get_cas_names(out, 40), -EPROTO) << "no name";

  umad::AdapterFacts facts;
  facts.name = {'p', 'a', 'r', 'a', 'v', 'a', 'n', 'e', '0'};
  facts.node_type = Le32(1);
  umad_ca_t ca;
  for (const std::uint32_t ports : {10U, 255U, 0xFFFFFFFFU}) {
    facts.ports = Le32(ports);
    answer_to(Ask::kAdapter, {.bytes = joined(done, facts)});
    EXPECT_LT(umad_get_ca("paravane0", &ca), 0) << ports;
  }
  facts.ports = Le32(1);
  facts.node_type = Le32(9);
  answer_to(Ask::kAdapter, {.bytes = joined(done, facts)});
  EXPECT_EQ(umad_get_ca("paravane0", &ca), -EPROTO);

  umad::PortFacts port_facts;
  port_facts.adapter = facts.name;
  port_facts.port = Le32(1);
  umad_port_t port;
  for (const std::uint32_t keys : {0U, 129U, 0xFFFFFFFFU}) {
    port_facts.partitions = Le32(keys);
    answer_to(Ask::kPort, {.bytes = joined(done, port_facts)});
    EXPECT_EQ(umad_get_port("paravane0", 1, &port), -EIO) << keys;
  }
  port_facts.partitions = Le32(1);
  port_facts.port = Le32(2);
  answer_to(Ask::kPort, {.bytes = joined(done, port_facts)});
  EXPECT_EQ(umad_get_port("paravane0", 1, &port), -EIO) << "another port";
}

TEST_F(HostileDoorTest, PartsThatAreNoneEndTheLineAndItIsOpenedAgain) {
  const int fd = umad_open_port("paravane0", 1);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(umad_register(fd, 3, 2, 1, nullptr), 0);
  umad::MadPart good;
  good.total = Le32(256);
  const std::array<std::byte, 256> mad{};
  umad::MadPart huge = good;
  huge.total = Le32(0xFFFFFFFF);
  umad::MadPart empty = good;
  empty.total = Le32(0);
  umad::MadPart late = good;
  late.offset = Le32(256);
  umad::MadPart longer = good;
  longer.total = Le32(300);
  umad::MadPart foreign = good;
  foreign.agent = Le32(32);
  const std::vector<std::vector<std::byte>> messages = {
      {std::byte{1}},    joined(good),        joined(huge, mad),    joined(empty),
      joined(late, mad), joined(longer, mad), joined(foreign, mad), joined(good, mad, mad),
  };
  std::size_t opened = 1;
  UmadBuffer in(256);
  int length = 256;
  for (const auto& message : messages) {
    door_.give_raw(door_.questions(Ask::kOpen).back().line.get(), message);
    while (door_.questions(Ask::kOpen).size() == opened) {
      EXPECT_LT(umad_recv(fd, in.get(), &length, 20), 0);
    }
    ++opened;
  }
  door_.give_raw(door_.questions(Ask::kOpen).back().line.get(), joined(good, mad));
  length = 256;
  EXPECT_EQ(umad_recv(fd, in.get(), &length, -1), 0);
  umad_close_port(fd);
}

TEST_F(HostileDoorTest, ADoorThatIsSilentIsGivenUp) {
  auto line = ControlLine::connect(door_.path());
  ASSERT_TRUE(line);
  answer_to(Ask::kAdapters, {.bytes = {}, .is_silent = true});
  umad::Question question;
  question.ask = Le32(static_cast<std::uint32_t>(Ask::kAdapters));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  EXPECT_EQ(line->ask(question, {}, nullptr, deadline), std::unexpected(ETIMEDOUT));
}

TEST_F(HostileDoorTest, AnotherVersionIsSaidToAPerson) {
  umad::Answer answer;
  answer.outcome = Le32(static_cast<std::uint32_t>(umad::Outcome::kVersion));
  answer_to(Ask::kAdapters, {.bytes = joined(answer)});
  char out[4][UMAD_CA_NAME_LEN];
  EXPECT_EQ(umad_get_cas_names(out, 4), -EPROTONOSUPPORT);
}

TEST_F(HostileDoorTest, WithoutADaemonAPersonIsToldOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that was told nothing yet
  door_.stop();
  EXPECT_EXIT(
      {
        char out[4][UMAD_CA_NAME_LEN];
        const bool is_right = umad_get_cas_names(out, 4) == -ENOENT &&
                              umad_open_port(nullptr, 0) == -EOPNOTSUPP &&
                              umad_get_ca_device_list() == nullptr && errno == ENOENT;
        std::_Exit(is_right ? 0 : 1);
      },
      ::testing::ExitedWithCode(0),
      "^ibwarn: \\[[0-9]+\\] connect_door: cannot connect to .*sock: No such file or directory. "
      "Start paravaned and add an InfiniBand adapter \\(paravane infiniband adapter add\\), or set "
      "PARAVANE_UMAD_DOOR to the path of its socket\n$");
}

}  // namespace
}  // namespace paravane::umad_library
