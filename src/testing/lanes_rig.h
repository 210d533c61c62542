// LanesRig is a TcpRig whose channel goes over a trunk with lanes.
//
// Owner thread only.

#pragma once

#include <array>
#include <memory>

#include "testing/fake_trunk.h"
#include "testing/tcp_rig.h"

namespace paravane::fake {

struct LanesRig : TcpRig {
  LanesRig() : TcpRig(true, 64 << 20, false) {
    wrap_ends([this](std::unique_ptr<transport_channel::Stream>, unsigned end) {
      if (end == 0) trunks_ = FakeTrunk::make_pair();
      return trunks_.at(end)->stream_with_lanes();
    });
    join();
    run();
  }

  FakeTrunk& trunk(unsigned side) { return *trunks_.at(side); }
  std::uint64_t lane_bytes() const { return trunks_[0]->lane_bytes() + trunks_[1]->lane_bytes(); }

 private:
  std::array<std::unique_ptr<FakeTrunk>, 2> trunks_;
};

}  // namespace paravane::fake
