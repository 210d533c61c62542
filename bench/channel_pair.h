// ChannelPair: two hosts, each on a core and in a network of its own, that have a channel
// between them.
//
// The benchmark's thread.

#pragma once

#include <array>
#include <memory>

#include "bench/channel_host.h"
#include "bench/host_identities.h"
#include "bench/question.h"
#include "bench/two_networks.h"

namespace paravane::bench {

// channel.encryption, and channel.seal without it
enum class Encryption { kSealedFrames, kSealed, kOn };

class ChannelPair final : public HostPair {
 public:
  ChannelPair(const Settings& settings, const TwoNetworks& networks, Encryption encryption,
              worker::SpinMode spin = worker::SpinMode::kAuto);
  ~ChannelPair() override;

  ChannelHost& host(unsigned side) override { return *hosts_[side]; }

 private:
  HostIdentities identities_;
  std::array<std::unique_ptr<ChannelHost>, 2> hosts_;
};

}  // namespace paravane::bench
