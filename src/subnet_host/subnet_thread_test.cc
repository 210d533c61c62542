#include "subnet_host/subnet_thread.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <set>
#include <string>

#include "base/unique_fd.h"
#include "testing/log_capture.h"
#include "testing/port_orders.h"

namespace paravane::subnet_host {
namespace {

// The descriptors of event loops that this process has.
std::set<int> event_loops() {
  std::set<int> loops;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) == "anon_inode:[eventpoll]")
      loops.insert(std::stoi(entry.path().filename()));
  }
  return loops;
}

class SubnetThreadTest : public testing::Test {
 protected:
  const LogCapture log_;
};

TEST_F(SubnetThreadTest, AMessageThatFindsNoMemoryCostsItselfAndIsLogged) {
  auto thread = SubnetThread::start({.host = "h1", .switch_guid = 0x100});
  ASSERT_TRUE(thread);
  (*thread)->post([] { throw std::bad_alloc(); });
  const auto asked = (*thread)->ask([&] { return (*thread)->subnet().adapters().size(); });
  EXPECT_EQ(asked, 0u);
  thread->reset();
  EXPECT_NE(log_.text().find("out of memory"), std::string::npos);
}

TEST_F(SubnetThreadTest, AnErrorOfItsLoopIsToldOnceAndMessagesAreServed) {
  const std::set<int> before = event_loops();
  std::promise<std::string> trouble;
  // A second telling would throw, and end the program.
  auto thread = SubnetThread::start(
      {.host = "h1", .switch_guid = 0x100, .trouble = [&trouble](const std::string& why) {
         trouble.set_value(why);
       }});
  ASSERT_TRUE(thread);
  std::set<int> loops = event_loops();
  for (const int one : before) loops.erase(one);
  ASSERT_EQ(loops.size(), 1u);
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::dup3(nothing.get(), *loops.begin(), O_CLOEXEC), *loops.begin());
  (*thread)->post([] {});  // wakes it
  EXPECT_NE(trouble.get_future().get(), "");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ((*thread)->ask([&] {
      return (*thread)->subnet().add("a" + std::to_string(i), {.name = "Test"}, 0x200) != nullptr;
    }),
              true);
  }
  EXPECT_EQ((*thread)->ask([&] { return (*thread)->subnet().adapters().size(); }), 3u);
  thread->reset();
  EXPECT_NE(log_.text().find("cannot wait for its sockets"), std::string::npos);
}

TEST_F(SubnetThreadTest, APortThatBecomesActiveIsTold) {
  std::promise<std::string> told;
  // A second telling would throw, and end the program.
  auto thread = SubnetThread::start(
      {.host = "h1", .switch_guid = 0x100, .link_news = [&told](const LinkNews& news) {
         told.set_value(event_of(news).type + " " + news.name);
       }});
  ASSERT_TRUE(thread);
  subnet::Subnet& subnet = (*thread)->subnet();
  EXPECT_EQ((*thread)->ask([&] { return subnet.add("a", {.name = "Test"}, 0x200) != nullptr; }),
            true);
  // Its link is trained by then.
  EXPECT_EQ((*thread)->ask([&] { return fake::set_port_active(*subnet.find("a")->port(1)); }),
            true);
  EXPECT_EQ(told.get_future().get(), "infiniband.port.up a");
}

}  // namespace
}  // namespace paravane::subnet_host
