// Hosts that make channels over loopback and keep what they have made, and the lines that they log.
// Used by the tests of ChannelMaker.

#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "authority/certificate.h"
#include "cluster/channel_maker.h"

namespace paravane::cluster {

inline constexpr const char* kMakersCluster = "00112233445566778899aabbccddeeff";
inline constexpr const char* kOtherCluster = "ffeeddccbbaa99887766554433221100";

template <typename Condition>
bool wait_until(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// What other threads log.
class Lines final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::string text() {
    const std::scoped_lock lock(mutex_);
    return text_;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    text_.append(message.payload.data(), message.payload.size()).append("\n");
  }
  void flush_() override {}
  std::string text_;
};

inline authority::Seconds this_day() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

inline authority::KeyPair new_authority() {
  return *authority::make_authority(kMakersCluster, this_day() - std::chrono::hours(48));
}

inline ChannelCredentials credentials(const authority::KeyPair& authority, const std::string& host,
                                      const std::string& cluster = kMakersCluster,
                                      std::chrono::hours until = std::chrono::hours(24)) {
  const authority::KeyPair request = *authority::make_request();
  const std::string certificate = *authority::sign(authority, request.certificate,
                                                   {.identity = {cluster, host},
                                                    .address = {},
                                                    .from = this_day() - std::chrono::hours(24),
                                                    .until = this_day() + until});
  return {.identity = request.key + certificate, .authority = authority.certificate};
}

inline UniqueFd listener() {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(socket.get(), 128), 0);
  return socket;
}

inline sockaddr_in address_of(int socket) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length), 0);
  return address;
}

// Errors: kIo, no process listens there.
inline Result<UniqueFd> dialed_to(const sockaddr_in& address) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(Errc::kIo, "no process listens there");
  }
  EXPECT_EQ(::fcntl(socket.get(), F_SETFL, O_NONBLOCK), 0);
  return socket;
}

inline UniqueFd connected_to(const sockaddr_in& address) {
  Result<UniqueFd> socket = dialed_to(address);
  EXPECT_TRUE(socket) << socket.error().message;
  return std::move(*socket);
}

// Known by its name.
inline ChannelPeer peer_at(const std::string& endpoint) {
  return {.endpoint = endpoint, .refuse = [](const std::string&) { return std::string(); }};
}

// A host that makes channels and keeps what it has made.
class MakingHost {
 public:
  MakingHost(ChannelMakerConfig config, const ChannelCredentials& credentials) {
    UniqueFd socket = listener();
    address_ = address_of(socket.get());
    auto started = ChannelMaker::start(
        std::move(config),
        {.made =
             [this](MadeChannel channel) {
               const std::scoped_lock lock(mutex_);
               channels_.push_back(std::move(channel));
             },
         .changed =
             [this](const std::string& host, const std::string& problem) {
               const std::scoped_lock lock(mutex_);
               problems_[host] = problem;
             },
         .cable_made =
             [this](MadeCable cable) {
               const std::scoped_lock lock(mutex_);
               cables_.push_back(std::move(cable));
             },
         .dial =
             [this](const std::string&, const std::function<void(Result<UniqueFd>)>& done) {
               ++dialed_;
               done(dialed_to(target_));  // which may go first when a test ends
             }});
    maker_ = std::move(*started);
    maker_->set_credentials(credentials);
    maker_->set_listener(std::move(socket));
  }

  void knows(const std::string& host, const sockaddr_in& target) {
    target_ = target;
    maker_->set_hosts({{host, peer_at("there")}});
  }
  void hears_that_it_is_closed(const std::string& host, const std::string& why) {
    ChannelPeer peer = peer_at("");
    peer.closed = why;
    maker_->set_hosts({{host, peer}});
  }
  void has_cable_to(const std::string& host, const sockaddr_in& target) {
    target_ = target;
    maker_->set_cables({{host, peer_at("there")}});
  }
  // The last; nullopt: none was made since.
  std::optional<MadeCable> take_cable() {
    const std::scoped_lock lock(mutex_);
    if (cables_.empty()) return std::nullopt;
    std::optional<MadeCable> last = std::move(cables_.back());
    cables_.clear();
    return last;
  }
  const sockaddr_in& address() const { return address_; }
  ChannelMaker& maker() { return *maker_; }
  std::size_t made() {
    const std::scoped_lock lock(mutex_);
    return channels_.size();
  }
  MadeChannel take() {
    const std::scoped_lock lock(mutex_);
    MadeChannel channel = std::move(channels_.back());
    channels_.pop_back();
    return channel;
  }
  int dialed() const { return dialed_; }
  // Empty: there is a channel, or never was one.
  std::string problem_of(const std::string& host) {
    const std::scoped_lock lock(mutex_);
    return problems_[host];
  }

 private:
  std::mutex mutex_;
  std::vector<MadeChannel> channels_;
  std::vector<MadeCable> cables_;
  std::map<std::string, std::string> problems_;
  std::atomic<int> dialed_ = 0;
  sockaddr_in address_{};
  sockaddr_in target_{};
  std::unique_ptr<ChannelMaker> maker_;  // last: its thread calls the others
};

// Its handshakes may take as long as a busy machine needs.
inline ChannelMakerConfig named(const std::string& host, bool encrypted = true) {
  return {.host = host,
          .cluster = kMakersCluster,
          .encrypted = encrypted,
          .handshake_limit = std::chrono::minutes(1)};
}

// One that gives handshakes up soon.
inline ChannelMakerConfig impatient(const std::string& host) {
  ChannelMakerConfig config = named(host);
  config.handshake_limit = std::chrono::milliseconds(300);
  return config;
}

class ChannelMakerTest : public testing::Test {
 protected:
  ChannelMakerTest() {
    ::signal(SIGPIPE, SIG_IGN);  // as the daemon does
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("capture", lines_));
  }
  ~ChannelMakerTest() override { spdlog::set_default_logger(before_); }
  void meet(MakingHost& a, MakingHost& b) {
    b.knows("a", {});
    a.knows("b", b.address());
  }
  bool logged(const std::string& text) {
    return wait_until([&] { return lines_->text().find(text) != std::string::npos; });
  }

  // Lines that hold it.
  int count(const std::string& text) {
    int lines = 0;
    const std::string all = lines_->text();
    for (std::size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) {
      ++lines;
    }
    return lines;
  }

  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  std::shared_ptr<Lines> lines_ = std::make_shared<Lines>();
  authority::KeyPair authority_ = new_authority();
};

}  // namespace paravane::cluster
