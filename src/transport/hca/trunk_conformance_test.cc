#include <array>
#include <memory>

#include "testing/fake_trunk.h"
#include "testing/lanes_rig.h"
#include "testing/tcp_rig.h"
#include "testing/transport_conformance.h"
#include "transport/hca/trunk_stream.h"

namespace paravane::fake {

// The channel of a TcpRig over a trunk.
struct TrunkRig : TcpRig {
  explicit TrunkRig(bool seals_payload = true) : TcpRig(true, 64 << 20, seals_payload) {
    wrap_ends([this](std::unique_ptr<transport_channel::Stream>, unsigned end) {
      if (end == 0) trunks_ = FakeTrunk::make_pair();
      return std::make_unique<transport_hca::TrunkStream>(trunks_.at(end)->port());
    });
    join();
    run();
  }

 private:
  std::array<std::unique_ptr<FakeTrunk>, 2> trunks_;
};

// Payload that follows a block has a digest alone.
struct FramesTrunkRig : TrunkRig {
  FramesTrunkRig() : TrunkRig(false) {}
};

INSTANTIATE_TYPED_TEST_SUITE_P(TrunkSealed, TransportConformance, TrunkRig);
INSTANTIATE_TYPED_TEST_SUITE_P(TrunkSealedFrames, TransportConformance, FramesTrunkRig);

INSTANTIATE_TYPED_TEST_SUITE_P(TrunkLanes, TransportConformance, LanesRig);

}  // namespace paravane::fake
