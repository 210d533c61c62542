#include "qtest/qemu_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

namespace paravane {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(20);

bool readable_soon(int fd) {
  pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&wait, 1, 1) > 0;
}

UniqueFd listen_at(const std::filesystem::path& path) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  std::filesystem::remove(path);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(socket.get(), 1), 0);
  return socket;
}

[[noreturn]] void become_qemu(const char* binary, const std::vector<std::string>& arguments,
                              const std::filesystem::path& log) {
  const int out = ::open(log.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  const int in = ::open("/dev/null", O_RDONLY);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  std::vector<char*> words{const_cast<char*>(binary)};
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  ::execv(binary, words.data());
  ::_exit(127);
}

}  // namespace

LineSocket::LineSocket(UniqueFd socket, Pump pump)
    : socket_(std::move(socket)), pump_(std::move(pump)) {}

void LineSocket::write(const std::string& text) {
  EXPECT_EQ(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

std::optional<std::string> LineSocket::read_line() {
  const auto deadline = Clock::now() + kPatience;
  while (Clock::now() < deadline) {
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return line;
    }
    pump_();
    if (!readable_soon(socket_.get())) continue;
    std::array<char, 4096> chunk{};
    const ssize_t got = ::recv(socket_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (got <= 0) return std::nullopt;
    received_.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return std::nullopt;
}

QemuProcess::QemuProcess(const std::filesystem::path& directory,
                         const std::vector<std::string>& arguments, Pump pump)
    : log_path_(directory / "qemu.log"), pump_(std::move(pump)) {
  const char* const binary = std::getenv("PARAVANE_QEMU");
  if (binary == nullptr || *binary == '\0') {
    ADD_FAILURE() << "PARAVANE_QEMU must name a qemu-system-x86_64 of version 10.1 or newer";
    return;
  }
  const std::filesystem::path qtest_path = directory / "qtest.sock";
  const std::filesystem::path qmp_path = directory / "qmp.sock";
  const UniqueFd qtest_listener = listen_at(qtest_path);
  const UniqueFd qmp_listener = listen_at(qmp_path);
  std::vector<std::string> all = arguments;
  all.insert(all.end(), {"-qtest", "unix:" + qtest_path.string(), "-qtest-log", "/dev/null", "-qmp",
                         "unix:" + qmp_path.string()});
  pid_ = ::fork();
  if (pid_ == 0) become_qemu(binary, all, log_path_);

  std::optional<UniqueFd> qmp = accept_while_running(qmp_listener.get());
  std::optional<UniqueFd> qtest = accept_while_running(qtest_listener.get());
  if (qtest) qtest_.emplace(std::move(*qtest), pump_);
  if (qmp) qmp_.emplace(std::move(*qmp), pump_);
}

QemuProcess::~QemuProcess() {
  if (pid_ <= 0 || status_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::optional<UniqueFd> QemuProcess::accept_while_running(int listener) {
  const auto deadline = Clock::now() + kPatience;
  while (Clock::now() < deadline && !has_ended()) {
    pump_();
    if (readable_soon(listener)) {
      return UniqueFd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    }
  }
  return std::nullopt;
}

bool QemuProcess::has_ended() {
  if (status_) return true;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

std::optional<int> QemuProcess::wait() {
  const auto deadline = Clock::now() + kPatience;
  while (Clock::now() < deadline) {
    if (has_ended()) return status_;
    pump_();
    ::poll(nullptr, 0, 1);
  }
  return std::nullopt;
}

std::string QemuProcess::log() const {
  std::ifstream file(log_path_);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace paravane
