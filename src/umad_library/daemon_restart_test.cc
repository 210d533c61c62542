// What programs see while the daemon is away and when it comes back.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "umad_library/fake_door.h"
#include "umad_library/umad_abi.h"
#include "umad_library/umad_test_mads.h"

namespace paravane::umad_library {
namespace {

using ::testing::HasSubstr;
using umad::Ask;

class DaemonRestartTest : public ::testing::Test {
 protected:
  DaemonRestartTest() {
    fd_ = umad_open_port("paravane0", 1);
    EXPECT_GE(fd_, 0);
  }
  ~DaemonRestartTest() override { umad_close_port(fd_); }
  int receive(UmadBuffer& in, int timeout_ms) {
    int length = 256;
    return umad_recv(fd_, in.get(), &length, timeout_ms);
  }
  std::uint32_t line() { return door_.questions(Ask::kOpen).back().line.get(); }
  static umad::MadPart head(std::uint32_t agent) {
    umad::MadPart part;
    part.agent = Le32(agent);
    return part;
  }
  void end_and_begin() {
    door_.stop();
    door_.forget_questions();
    door_.start();
  }

  FakeDoor door_;
  int fd_ = -1;
};

TEST_F(DaemonRestartTest, TheSamePortAndAgentsComeBackUnderTheSameNumbers) {
  std::array<long, 2> methods{0b10, 0};
  std::array<char, 64> path{};
  ASSERT_EQ(umad_register(fd_, 4, 1, 0, nullptr), 0);
  ASSERT_EQ(umad_register(fd_, 5, 1, 0, nullptr), 1);
  ASSERT_EQ(umad_register(fd_, 0x81, 1, 0, methods.data()), 2);
  ASSERT_EQ(umad_get_issm_path("paravane0", 1, path.data(), path.size()), 0);
  ASSERT_EQ(umad_unregister(fd_, 1), 0);
  const auto before = line();
  end_and_begin();
  std::thread receiver([&] {
    UmadBuffer in(256);
    EXPECT_EQ(receive(in, -1), 2);
    EXPECT_EQ(in.mad(256), test_mad(0x81, 5, 9));
  });
  door_.wait_for_questions(Ask::kManager, 1);
  const auto again = door_.questions(Ask::kRegister);
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].agent.get(), 0U);
  EXPECT_EQ(again[0].wish.management_class, 4);
  EXPECT_EQ(again[1].agent.get(), 2U);
  EXPECT_EQ(again[1].wish.methods[0].get(), 2U);
  EXPECT_EQ(line(), before);
  door_.give(line(), head(2), test_mad(0x81, 5, 9));
  receiver.join();
  EXPECT_NE(::fcntl(fd_, F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(DaemonRestartTest, AReceiverThatWaitsForEverWaitsForTheDaemonToo) {
  ASSERT_EQ(umad_register(fd_, 4, 1, 0, nullptr), 0);
  std::thread receiver([&] {
    UmadBuffer in(256);
    EXPECT_EQ(receive(in, -1), 0);
  });
  for (int restarts = 0; restarts < 3; ++restarts) {
    end_and_begin();
    door_.wait_for_questions(Ask::kRegister, 1);
  }
  door_.give(line(), head(0), test_mad(4, 0x81, 1));
  receiver.join();
}

TEST_F(DaemonRestartTest, WaitsNoLongerThanItIsTold) {
  door_.stop();
  UmadBuffer in(256);
  const auto begun = std::chrono::steady_clock::now();
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(receive(in, 30), -ETIMEDOUT);
  EXPECT_EQ(umad_poll(fd_, 30), -ETIMEDOUT);
  EXPECT_EQ(receive(in, 0), -EAGAIN);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("restore_port: lost the connection to paravaned for paravane0"));
  EXPECT_EQ(text.find("restore_port"), text.rfind("restore_port")) << "once";
}

TEST_F(DaemonRestartTest, WhatIsSentMeanwhileComesBackWithATimeOut) {
  ASSERT_EQ(umad_register(fd_, 4, 1, 0, nullptr), 0);
  door_.stop();
  UmadBuffer out(test_mad(4, 1, 3));
  umad_set_addr(out.get(), 8, 1, 0, 0);
  EXPECT_EQ(umad_send(fd_, 0, out.get(), 256, 40, 1), 0);
  UmadBuffer unanswered(test_mad(4, 1, 4));
  EXPECT_EQ(umad_send(fd_, 0, unanswered.get(), 256, 0, 0), 0);
  UmadBuffer in(256);
  const auto begun = std::chrono::steady_clock::now();
  int length = 256;
  ASSERT_EQ(umad_recv(fd_, in.get(), &length, -1), 0);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(60));
  EXPECT_EQ(length, 24);
  EXPECT_EQ(umad_status(in.get()), ETIMEDOUT);
  EXPECT_EQ(in.mad(24), test_mad(4, 1, 3, 24));
  EXPECT_EQ(be16toh(umad_get_mad_addr(in.get())->lid), 8);
  EXPECT_EQ(receive(in, 0), -EAGAIN) << "once";
}

TEST_F(DaemonRestartTest, WhatWasOnItsWayComesBackWithATimeOut) {
  ASSERT_EQ(umad_register(fd_, 4, 1, 0, nullptr), 0);
  for (std::uint8_t number = 1; number <= 3; ++number) {
    UmadBuffer mad(test_mad(4, 1, number));
    ASSERT_EQ(umad_send(fd_, 0, mad.get(), 256, 50, 0), 0);
  }
  ASSERT_EQ(door_.wait_for_mads(3).size(), 3U);
  door_.give(line(), head(0), test_mad(4, 0x81, 2));
  UmadBuffer in(256);
  ASSERT_EQ(receive(in, -1), 0);
  EXPECT_EQ(umad_status(in.get()), 0);
  end_and_begin();
  ASSERT_EQ(receive(in, -1), 0);
  EXPECT_EQ(umad_status(in.get()), ETIMEDOUT);
  EXPECT_EQ(in.mad(24)[15], std::byte{1});
  EXPECT_EQ(umad_poll(fd_, -1), 0);
  ASSERT_EQ(receive(in, -1), 0);
  EXPECT_EQ(in.mad(24)[15], std::byte{3});
  EXPECT_EQ(receive(in, 0), -EAGAIN);
}

TEST_F(DaemonRestartTest, SendingBringsItBackToo) {
  ASSERT_EQ(umad_register(fd_, 4, 1, 0, nullptr), 0);
  end_and_begin();
  UmadBuffer out(test_mad(4, 1, 3));
  EXPECT_EQ(umad_send(fd_, 0, out.get(), 256, 1000, 0), 0);
  EXPECT_EQ(door_.wait_for_mads(1).size(), 1U);
}

TEST_F(DaemonRestartTest, SoDoesRegistering) {
  ASSERT_EQ(umad_register(fd_, 4, 1, 0, nullptr), 0);
  end_and_begin();
  EXPECT_EQ(umad_register(fd_, 5, 1, 0, nullptr), 1);
  EXPECT_EQ(door_.questions(Ask::kRegister).size(), 2U) << "the old one too";
}

TEST_F(DaemonRestartTest, QuestionsAboutAdaptersAreAskedAnew) {
  end_and_begin();
  umad_ca_t ca;
  ASSERT_EQ(umad_get_ca("paravane0", &ca), 0);
  umad_release_ca(&ca);
  const int other = umad_open_port("paravane0", 1);
  EXPECT_GE(other, 0);
  umad_close_port(other);
}

TEST_F(DaemonRestartTest, ALineThatAloneHasEndedIsOpenedAgain) {
  ASSERT_EQ(umad_register(fd_, 4, 1, 0, nullptr), 0);
  door_.end_line(line());
  UmadBuffer in(256);
  EXPECT_EQ(receive(in, 10), -ETIMEDOUT);
  EXPECT_EQ(door_.questions(Ask::kRegister).size(), 2U);
  door_.give(line(), head(0), test_mad(4, 0x81, 1));
  EXPECT_EQ(receive(in, -1), 0);
}

TEST_F(DaemonRestartTest, AnAdapterThatIsGoneMayComeBack) {
  door_.set_adapters({});
  end_and_begin();
  UmadBuffer in(256);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(receive(in, 20), -ETIMEDOUT);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("paravane0 port 1"));
  door_.set_adapters({{.name = "paravane0", .ports = {{.guid = 1}}}});
  std::thread receiver([&] { EXPECT_EQ(receive(in, -1), 7); });
  std::uint32_t lines = 0;
  while (lines == 0) {
    for (const std::uint32_t open : door_.open_lines()) {
      door_.give(open, head(7), test_mad(4, 1, 1));
      ++lines;
    }
  }
  receiver.join();
}

// The parts that came from the old daemon belong to no MAD of the new one.
TEST_F(DaemonRestartTest, HalfAMadEndsWithItsDaemon) {
  ASSERT_EQ(umad_register(fd_, 3, 2, 1, nullptr), 0);
  const auto mad = test_mad(3, 0x92, 1, 2 * umad::kMostPart);
  auto part = head(0);
  part.total = Le32(static_cast<std::uint32_t>(mad.size()));
  std::vector<std::byte> message(sizeof part + umad::kMostPart);
  std::memcpy(message.data(), &part, sizeof part);
  door_.give_raw(line(), message);
  EXPECT_EQ(umad_poll(fd_, 20), -ETIMEDOUT) << "it is not whole";
  end_and_begin();
  EXPECT_EQ(umad_poll(fd_, 20), -ETIMEDOUT);
  door_.give(line(), head(0), mad);
  UmadBuffer in(mad.size());
  int length = static_cast<int>(mad.size());
  EXPECT_EQ(umad_recv(fd_, in.get(), &length, -1), 0);
  EXPECT_EQ(in.mad(length), mad);
}

TEST_F(DaemonRestartTest, ThreadsThatSendAndReceiveLiveThroughIt) {
  door_.echo(true);
  ASSERT_EQ(umad_register(fd_, 4, 1, 0, nullptr), 0);
  std::atomic<bool> goes_on = true;
  std::atomic<int> back = 0;
  std::atomic<int> sent = 0;
  std::thread receiver([&] {
    UmadBuffer in(256);
    while (goes_on || back < sent) {
      if (receive(in, 50) >= 0) ++back;
    }
  });
  std::vector<std::thread> senders;
  senders.reserve(3);
  for (std::uint8_t number = 0; number < 3; ++number) {
    senders.emplace_back([&, number] {
      for (std::uint8_t i = 0; goes_on && i < 80; ++i) {
        UmadBuffer out(test_mad(4, 1, static_cast<std::uint8_t>(number * 80 + i)));
        EXPECT_EQ(umad_send(fd_, 0, out.get(), 256, 100, 0), 0);
        ++sent;
      }
    });
  }
  for (int restarts = 0; restarts < 4; ++restarts) end_and_begin();
  for (std::thread& sender : senders) sender.join();
  goes_on = false;
  receiver.join();
  EXPECT_EQ(back, sent) << "each as an answer or with ETIMEDOUT";
}

// As OpenSM ends its receiver.
TEST_F(DaemonRestartTest, AThreadThatReceivesCanBeCancelled) {
  for (const bool is_away : {false, true}) {
    if (is_away) door_.stop();
    pthread_t thread{};
    ASSERT_EQ(::pthread_create(
                  &thread, nullptr,
                  [](void* fd) -> void* {
                    UmadBuffer in(256);
                    int length = 256;
                    umad_recv(*static_cast<int*>(fd), in.get(), &length, -1);
                    return nullptr;
                  },
                  &fd_),
              0);
    ASSERT_EQ(::pthread_cancel(thread), 0);
    void* result = nullptr;
    ASSERT_EQ(::pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
  }
  door_.start();
  EXPECT_EQ(umad_register(fd_, 4, 1, 0, nullptr), 0) << "no lock was left behind";
}

}  // namespace
}  // namespace paravane::umad_library
