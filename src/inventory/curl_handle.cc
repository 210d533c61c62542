#include "inventory/curl_handle.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <utility>

#if LIBCURL_VERSION_NUM < 0x080000
// libcurl 7.88, Debian 12's, has forgotten CURL_SOCKOPT_ALREADY_CONNECTED and connects a
// socket that it was told is connected, which fails (EISCONN). So for the whole program
// connect() leaves a TCP socket that has its peer as it is. libcurl 8 keeps its word.
extern "C" int connect(int fd, const sockaddr* address, socklen_t size) {
  sockaddr_storage peer{};
  socklen_t peer_size = sizeof peer;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
      peer.ss_family != AF_UNIX) {
    return 0;
  }
  return static_cast<int>(::syscall(SYS_connect, fd, address, size));
}
#endif

namespace paravane::inventory {
namespace {

constexpr long kKeepAliveIdleS = 10;
constexpr long kKeepAliveEveryS = 5;

std::string print_address(const curl_sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const auto* generic = &address.addr;
  if (generic->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(generic);
    ::inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
    return fmt::format("{}:{}", text.data(), ntohs(v4->sin_port));
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(generic);
  ::inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
  return fmt::format("[{}]:{}", text.data(), ntohs(v6->sin6_port));
}

}  // namespace

void prepare_curl() {
  curl_global_init(CURL_GLOBAL_DEFAULT);
}

CurlHandle::CurlHandle(const EtcdAccess& access, const OpenSocket& open)
    : open_(open), handle_(curl_easy_init()) {
  CURL* curl = handle_.get();
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_PROXY, "");  // whatever the environment says
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(curl, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_3));
  curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
  if (!access.authority.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, access.authority.c_str());
  }
  if (!access.identity.empty()) {
    curl_easy_setopt(curl, CURLOPT_SSLCERT, access.identity.c_str());
    curl_easy_setopt(curl, CURLOPT_SSLKEY, access.identity.c_str());
  }
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, kKeepAliveIdleS);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, kKeepAliveEveryS);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
  if (access.given_up != nullptr) {
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, keep_on);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, access.given_up);
  }
  if (!open_) return;
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, this);
  curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, after_open);
}

void CurlHandle::prepare(const std::string& url, const std::string& body, const std::string& token,
                         OnData on_data) {
  body_ = body;
  on_data_ = std::move(on_data);
  socket_problem_.clear();
  headers_.reset(curl_slist_append(nullptr, "Content-Type: application/json"));
  curl_slist_append(headers_.get(), "Expect:");  // sent at once
  // A member of etcd that is cut off from the others ends a watch then, and hears nothing new
  // otherwise. Its gateway hands this on to gRPC.
  curl_slist_append(headers_.get(), "Grpc-Metadata-hasleader: true");
  if (!token.empty()) curl_slist_append(headers_.get(), ("Authorization: " + token).c_str());
  CURL* curl = handle_.get();
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers_.get());
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body_.c_str());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_.size()));
}

std::string CurlHandle::explain(CURLcode code) const {
  return socket_problem_.empty() ? curl_easy_strerror(code) : socket_problem_;
}

std::size_t CurlHandle::take(char* data, std::size_t size, std::size_t count, void* self) {
  auto& handle = *static_cast<CurlHandle*>(self);
  return handle.on_data_(std::string_view(data, size * count)) ? size * count : 0;
}

int CurlHandle::keep_on(void* given_up, curl_off_t /*to_receive*/, curl_off_t /*received*/,
                        curl_off_t /*to_send*/, curl_off_t /*sent*/) {
  return *static_cast<const std::atomic<bool>*>(given_up) ? 1 : 0;
}

curl_socket_t CurlHandle::open_socket(void* self, curlsocktype /*purpose*/,
                                      curl_sockaddr* address) {
  auto& handle = *static_cast<CurlHandle*>(self);
  Result<UniqueFd> socket = handle.open_(print_address(*address));
  if (socket) return socket->release();
  handle.socket_problem_ = socket.error().message;
  return CURL_SOCKET_BAD;
}

int CurlHandle::after_open(void* /*self*/, curl_socket_t /*socket*/, curlsocktype /*purpose*/) {
  return CURL_SOCKOPT_ALREADY_CONNECTED;
}

}  // namespace paravane::inventory
