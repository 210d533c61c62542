#include "bench/two_networks.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "bench/question.h"

namespace paravane::bench {
namespace {

void ip(const std::string& words) {
  demand(std::system(("ip " + words).c_str()) == 0, "ip(8) cannot make the benchmark's network");
}

UniqueFd new_network() {
  UniqueFd network;
  std::thread([&network] {
    demand(::unshare(CLONE_NEWNET) == 0, "a network namespace cannot be made");
    network = UniqueFd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  }).join();
  demand(static_cast<bool>(network), "a network namespace cannot be opened");
  return network;
}

UniqueFd new_socket() {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  demand(static_cast<bool>(socket), "there is no socket");
  return socket;
}

void make_ready(const UniqueFd& socket) {
  const int on = 1;
  demand(::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0 &&
             ::fcntl(socket.get(), F_SETFL, O_NONBLOCK) == 0,
         "a socket does not take its options");
}

}  // namespace

TwoNetworks::TwoNetworks() {
  for (UniqueFd& network : networks_) network = new_network();
  in(0, [this] {
    ip(fmt::format("link add wire type veth peer name wire netns /proc/{}/fd/{}", ::getpid(),
                   network(1)));
  });
  for (unsigned side = 0; side < 2; ++side) {
    in(side, [side] {
      ip("address add " + address(side) + "/24 dev wire");
      ip("link set lo up");
      ip("link set wire up");
    });
  }
}

std::string TwoNetworks::address(unsigned side) {
  return side == 0 ? "192.0.2.1" : "192.0.2.2";  // RFC 5737
}

void TwoNetworks::in(unsigned side, const std::function<void()>& work) const {
  std::thread([this, side, &work] {
    demand(::setns(network(side), CLONE_NEWNET) == 0, "a network namespace cannot be entered");
    work();
  }).join();
}

std::array<UniqueFd, 2> TwoNetworks::connect() const {
  UniqueFd listener;
  sockaddr_in there{};
  in(1, [&] {
    listener = new_socket();
    there.sin_family = AF_INET;
    ::inet_pton(AF_INET, address(1).c_str(), &there.sin_addr);
    socklen_t length = sizeof there;
    auto* name = reinterpret_cast<sockaddr*>(&there);
    demand(::bind(listener.get(), name, length) == 0 && ::listen(listener.get(), 1) == 0 &&
               ::getsockname(listener.get(), name, &length) == 0,
           "nobody can listen in the benchmark's network");
  });
  std::array<UniqueFd, 2> ends;
  in(0, [&] {
    ends[0] = new_socket();
    demand(::connect(ends[0].get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0,
           "the two networks do not reach each other");
  });
  ends[1] = UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  demand(static_cast<bool>(ends[1]), "a connection is not accepted");
  for (const UniqueFd& end : ends) make_ready(end);
  return ends;
}

}  // namespace paravane::bench
