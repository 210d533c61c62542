#include "testing/tcp_rig.h"
#include "testing/transport_conformance.h"

namespace paravane::fake {

// As with encryption: the stream proves everything.
struct PlainTcpRig : TcpRig {
  PlainTcpRig() : TcpRig(false) {}
};

INSTANTIATE_TYPED_TEST_SUITE_P(TcpSealed, TransportConformance, TcpRig);
INSTANTIATE_TYPED_TEST_SUITE_P(TcpPlain, TransportConformance, PlainTcpRig);

}  // namespace paravane::fake
