// A path on which nothing is lost is a path like any other, also when it is slow.

#include "testing/impaired_rig.h"
#include "testing/impaired_tcp_rig.h"
#include "testing/transport_conformance.h"

namespace paravane::fake {

INSTANTIATE_TYPED_TEST_SUITE_P(Impaired, TransportConformance, ImpairedRig);
INSTANTIATE_TYPED_TEST_SUITE_P(Delayed, TransportConformance, DelayedRig);
INSTANTIATE_TYPED_TEST_SUITE_P(ImpairedTcp, TransportConformance, ImpairedTcpRig);
INSTANTIATE_TYPED_TEST_SUITE_P(DelayedTcp, TransportConformance, DelayedTcpRig);

}  // namespace paravane::fake
