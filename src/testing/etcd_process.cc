#include "testing/etcd_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

namespace paravane {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

std::uint16_t free_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), generic, size) != 0 ||
      ::getsockname(socket.get(), generic, &size) != 0) {
    std::abort();
  }
  return ntohs(address.sin_port);
}

UniqueFd connect_to(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(socket.get(), generic, sizeof address) != 0) return UniqueFd();
  return socket;
}

// etcd listens long before it has read its log and has a leader, and on a busy machine
// longer than a client waits for an answer.
bool is_healthy(std::uint16_t port) {
  const UniqueFd socket = connect_to(port);
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  const std::string_view ask = "GET /health HTTP/1.0\r\n\r\n";
  if (!socket ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
      ::send(socket.get(), ask.data(), ask.size(), MSG_NOSIGNAL) < 0) {
    return false;
  }
  std::string answer;
  std::array<char, 512> part{};
  for (;;) {
    const ssize_t got = ::recv(socket.get(), part.data(), part.size(), 0);
    if (got <= 0) break;
    answer.append(part.data(), static_cast<std::size_t>(got));
  }
  return answer.contains(R"("health":"true")");
}

}  // namespace

EtcdProcess::EtcdProcess(std::vector<std::string> tls) : tls_(std::move(tls)), port_(free_port()) {
  start();
}

EtcdProcess::~EtcdProcess() {
  kill();
}

std::string EtcdProcess::url() const {
  return (tls_.empty() ? "http" : "https") + ("://127.0.0.1:" + std::to_string(port_));
}

inventory::EtcdAccess EtcdProcess::access(std::string user, std::string password) const {
  return {.endpoints = {url()},
          .authority = {},
          .identity = {},
          .user = std::move(user),
          .password = std::move(password)};
}

UniqueFd EtcdProcess::connect() const {
  UniqueFd socket = connect_to(port_);
  if (socket) ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  return socket;
}

void EtcdProcess::start() {
  const std::string peers = "http://127.0.0.1:" + std::to_string(free_port());
  const std::uint16_t health_port = free_port();
  std::vector<std::string> words = {"etcd",
                                    "--name",
                                    "test",
                                    "--data-dir",
                                    (dir_ / "data").string(),
                                    "--listen-client-urls",
                                    url(),
                                    "--advertise-client-urls",
                                    url(),
                                    "--listen-peer-urls",
                                    peers,
                                    "--initial-advertise-peer-urls",
                                    peers,
                                    "--initial-cluster",
                                    "test=" + peers,
                                    "--listen-metrics-urls",
                                    "http://127.0.0.1:" + std::to_string(health_port),
                                    "--logger",
                                    "zap",
                                    "--bcrypt-cost",
                                    "4",
                                    "--log-outputs",
                                    (dir_ / "log").string()};
  words.insert(words.end(), tls_.begin(), tls_.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t test = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nothing = ::open("/dev/null", O_RDWR);
    for (const int stream : {0, 1, 2}) ::dup2(nothing, stream);
    if (::getppid() == test) ::execvp("etcd", argv.data());
    ::_exit(127);
  }
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!is_healthy(health_port)) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_ || std::chrono::steady_clock::now() > end) {
      std::fprintf(stderr, "etcd does not start; is Debian's etcd-server installed?\n");
      std::abort();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void EtcdProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace paravane
