#include "cli/other_sockets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>

#include "base/unique_fd.h"

namespace paravane::cli {
namespace {

UniqueFd listen_at(const std::string& path) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(fd.get(), 1), 0);
  return fd;
}

TEST(OtherSockets, AreThoseAtWhichADaemonAnswers) {
  const std::string run = testing::TempDir() + "run-" + std::to_string(::getpid());
  const std::string demo = run + "/paravane-demo/cluster/h1/api.sock";
  const UniqueFd one = listen_at(demo);
  const UniqueFd another_program = listen_at(run + "/other/api.sock");
  {
    const UniqueFd gone = listen_at(run + "/paravane/api.sock");
  }
  EXPECT_THAT(answering_sockets(run), testing::ElementsAre(demo));
  EXPECT_THAT(answering_sockets(run + "/none"), testing::IsEmpty());
  std::filesystem::remove_all(run);
}

}  // namespace
}  // namespace paravane::cli
