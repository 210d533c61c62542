#include "bench/channel_pair.h"

#include <openssl/ssl.h>

#include <chrono>
#include <thread>

#include "cluster/tls_context.h"
#include "transport/channel/stream.h"
#include "transport/tcp/socket_stream.h"
#include "transport/tcp/tls_stream.h"

namespace paravane::bench {

using transport_channel::ChannelConfig;

ChannelPair::ChannelPair(const Settings& settings, const TwoNetworks& networks,
                         Encryption encryption, worker::SpinMode spin) {
  const std::array cores{settings.cores.guest, settings.cores.worker};
  for (unsigned side = 0; side < 2; ++side) {
    hosts_[side] = std::make_unique<ChannelHost>(side, cores[side], spin);
  }
  std::array<UniqueFd, 2> sockets = networks.connect();
  const std::array<SSL*, 2> tls = identities_.shake_hands(sockets);
  for (unsigned side = 0; side < 2; ++side) {
    ChannelConfig config{.seals_payload = encryption == Encryption::kSealed};
    std::unique_ptr<transport_channel::Stream> stream;
    if (encryption == Encryption::kOn) {
      stream = std::make_unique<transport_tcp::TlsStream>(tls[side], std::move(sockets[side]));
    } else {
      const auto keys = cluster::derive_keys(tls[side]);
      demand(keys.has_value(), "a channel has no keys");
      config.send_key = side == 0 ? keys->of_client : keys->of_server;
      config.receive_key = side == 0 ? keys->of_server : keys->of_client;
      SSL_free(tls[side]);
      stream = std::make_unique<transport_tcp::SocketStream>(std::move(sockets[side]));
    }
    verbs::Gid peer_gid;
    hosts_[1 - side]->on_worker([&] { peer_gid.raw = hosts_[1 - side]->guest().gid(); });
    hosts_[side]->join(peer_gid, config, std::move(stream));
  }
  while (!hosts_[0]->is_joined() || !hosts_[1]->is_joined()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

ChannelPair::~ChannelPair() {
  for (const auto& host : hosts_) host->expect_end();
}

}  // namespace paravane::bench
