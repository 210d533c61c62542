#include "testing/roce_rig.h"
#include "testing/transport_conformance.h"

namespace paravane::fake {

// A wire that cuts superframes apart, as a kernel does where the other end does not take them.
struct CutRoceRig : RoceRig {
  static constexpr std::uint64_t kLongestMessage = 16 << 20;
};

// A wire on which superframes stay whole, as between two VMs of one host.
struct WholeRoceRig : RoceRig {
  WholeRoceRig() : RoceRig(64, false) {}
};

// A kernel without USO: a packet for each call.
struct SingleRoceRig : RoceRig {
  static constexpr std::uint64_t kLongestMessage = 16 << 20;
  SingleRoceRig() : RoceRig(1, true) {}
};

INSTANTIATE_TYPED_TEST_SUITE_P(RoceCut, TransportConformance, CutRoceRig);
INSTANTIATE_TYPED_TEST_SUITE_P(RoceWhole, TransportConformance, WholeRoceRig);
INSTANTIATE_TYPED_TEST_SUITE_P(RoceSingle, TransportConformance, SingleRoceRig);

}  // namespace paravane::fake
