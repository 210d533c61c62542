#include "testing/transport_conformance.h"

namespace paravane::fake {

INSTANTIATE_TYPED_TEST_SUITE_P(Local, TransportConformance, EngineRig);

}  // namespace paravane::fake
