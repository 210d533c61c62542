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
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>
#include <thread>
#include <utility>

namespace paravane {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

// An address of loopback that no other process's tests use, 127.64.0.0/10 and the process's
// number: between choosing a free port and etcd's taking it, no other test can take it.
in_addr_t own_address() {
  return 0x7F40'0000U + static_cast<in_addr_t>(::getpid());  // a number has 22 bits at most
}

sockaddr_in own_endpoint(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(own_address());
  address.sin_port = htons(port);
  return address;
}

std::string own_authority(std::uint16_t port) {
  const in_addr address = own_endpoint(port).sin_addr;
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address, text.data(), text.size());
  return std::string(text.data()) + ":" + std::to_string(port);
}

// Holds a port until it goes, so that the next one is another.
class FreePort {
 public:
  FreePort() {
    sockaddr_in address = own_endpoint(0);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket_.get(), generic, size) != 0 ||
        ::getsockname(socket_.get(), generic, &size) != 0) {
      std::abort();
    }
    number_ = ntohs(address.sin_port);
  }
  std::uint16_t number() const { return number_; }

 private:
  UniqueFd socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t number_ = 0;
};

UniqueFd connect_to(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = own_endpoint(port);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(socket.get(), generic, sizeof address) != 0) return UniqueFd();
  return socket;
}

// Until the other end closes, or says nothing for the socket's patience.
std::string read_all(int socket) {
  std::string answer;
  std::array<char, 512> part{};
  for (;;) {
    const ssize_t got = ::recv(socket, part.data(), part.size(), 0);
    if (got <= 0) return answer;
    answer.append(part.data(), static_cast<std::size_t>(got));
  }
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
  return read_all(socket.get()).contains(R"("health":"true")");
}

}  // namespace

EtcdProcess::EtcdProcess() {
  {
    const FreePort clients;
    const FreePort peers;
    const FreePort health;
    port_ = clients.number();
    peer_port_ = peers.number();
    health_port_ = health.number();
  }
  start();
}

EtcdProcess::~EtcdProcess() {
  kill();
}

void EtcdProcess::keep_copy(const std::string& name) {
  kill();
  std::filesystem::copy(dir_ / "data", dir_ / name.c_str(),
                        std::filesystem::copy_options::recursive);
  start();
}

void EtcdProcess::put_back(const std::string& name) {
  kill();
  std::filesystem::remove_all(dir_ / "data");
  std::filesystem::copy(dir_ / name.c_str(), dir_ / "data",
                        std::filesystem::copy_options::recursive);
  start();
}

void EtcdProcess::lose_data() {
  kill();
  std::filesystem::remove_all(dir_ / "data");
  start();
}

// etcd asks for no user here.
void EtcdProcess::set_full(bool full) const {
  const std::string body = std::string(R"({"memberID":"1","alarm":"NOSPACE","action":")") +
                           (full ? "ACTIVATE" : "DEACTIVATE") + R"("})";
  const std::string ask = "POST /v3/maintenance/alarm HTTP/1.0\r\nHost: x\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body;
  const UniqueFd socket = connect_to(port_);
  if (!socket || ::send(socket.get(), ask.data(), ask.size(), MSG_NOSIGNAL) < 0 ||
      !read_all(socket.get()).contains(" 200 OK")) {
    std::fprintf(stderr, "etcd does not take an alarm\n");
    std::abort();
  }
}

std::string EtcdProcess::url() const {
  return "http://" + own_authority(port_);
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
  const std::string peers = "http://" + own_authority(peer_port_);
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
                                    "http://" + own_authority(health_port_),
                                    "--logger",
                                    "zap",
                                    "--bcrypt-cost",
                                    "4",
                                    "--log-outputs",
                                    (dir_ / "log").string()};
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
  while (!is_healthy(health_port_)) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_ || std::chrono::steady_clock::now() > end) {
      std::fprintf(stderr, "etcd does not start; is Debian's etcd-server installed? Its log:\n");
      std::cerr << std::ifstream(dir_ / "log").rdbuf();
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
