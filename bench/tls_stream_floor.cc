#include "bench/tls_stream_floor.h"

#include <fcntl.h>
#include <openssl/ssl.h>

#include <cstring>
#include <thread>
#include <vector>

#include "bench/question.h"
#include "bench/stopwatch.h"

namespace paravane::bench {
namespace {

constexpr std::size_t kRecordBytes = std::size_t{16} * 1024;  // the longest that TLS has

void send(SSL* tls, std::uint64_t records) {
  const std::vector<std::byte> from(kRecordBytes, std::byte{0x5A});
  for (std::uint64_t i = 0; i < records; ++i) {
    std::size_t sent = 0;
    demand(SSL_write_ex(tls, from.data(), from.size(), &sent) == 1 && sent == from.size(),
           "a bare TLS stream does not send");
  }
}

void receive(SSL* tls, std::uint64_t bytes) {
  std::vector<std::byte> to(kRecordBytes);
  while (bytes > 0) {
    std::size_t got = 0;
    demand(SSL_read_ex(tls, to.data(), to.size(), &got) == 1, "a bare TLS stream ends early");
    bytes -= got;
  }
}

}  // namespace

Traffic bare_tls(const Cores& cores, const TwoNetworks& networks, const HostIdentities& identities,
                 std::uint64_t bytes) {
  const std::array<UniqueFd, 2> sockets = networks.connect();
  const std::array<SSL*, 2> tls = identities.shake_hands(sockets);
  demand(std::strcmp(SSL_get_cipher(tls[0]), "TLS_AES_128_GCM_SHA256") == 0,
         "a bare TLS stream has another cipher");
  for (const UniqueFd& socket : sockets) ::fcntl(socket.get(), F_SETFL, 0);  // blocking
  const std::uint64_t records = bytes / kRecordBytes;
  Traffic traffic{.bytes = static_cast<double>(records * kRecordBytes)};
  const Stopwatch watch;
  std::thread sender([&] {
    const OnCore here(cores.guest);
    send(tls[0], records);
    traffic.cpu_seconds[0] = thread_cpu_seconds();
  });
  std::thread receiver([&] {
    const OnCore here(cores.worker);
    receive(tls[1], records * kRecordBytes);
    traffic.seconds = watch.seconds();
    traffic.cpu_seconds[1] = thread_cpu_seconds();
  });
  sender.join();
  receiver.join();
  for (SSL* end : tls) SSL_free(end);
  return traffic;
}

}  // namespace paravane::bench
