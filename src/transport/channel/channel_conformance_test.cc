#include "testing/tcp_rig.h"
#include "testing/transport_conformance.h"

namespace paravane::fake {

// As with encryption: the stream proves everything.
struct PlainTcpRig : TcpRig {
  PlainTcpRig() : TcpRig(false) {}
};

// Payload that follows a block has a digest alone.
struct FramesTcpRig : TcpRig {
  FramesTcpRig() : TcpRig(true, 64 << 20, false) {}
};

INSTANTIATE_TYPED_TEST_SUITE_P(TcpSealed, TransportConformance, TcpRig);
INSTANTIATE_TYPED_TEST_SUITE_P(TcpPlain, TransportConformance, PlainTcpRig);
INSTANTIATE_TYPED_TEST_SUITE_P(TcpSealedFrames, TransportConformance, FramesTcpRig);

}  // namespace paravane::fake
