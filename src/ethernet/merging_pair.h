// A merging pair is what makes one frame of up to 64 packets of RoCE v2 before they come to an
// adapter's RoCE port, so that the engine reads them in one call. It is a pair of interfaces (veth)
// that are connected to each other. The kernel's GRO merges packets of UDP that have a good
// checksum, and RoCE packets commonly have none. So frames pass the pair twice:
//
// 1. the guest's tap gives them to the merging end, which sends them. It has no feature to send a
//    frame of many packets, so the kernel cuts those apart first;
// 2. the filling end receives single packets. Its rules (roce_rules.h) fill in checksums and send
//    the packets back. Filling in the checksum of a frame of many packets would be wrong, and makes
//    some kernels complain loudly, and a guest can send such frames: hence the first pass;
// 3. the merging end receives them, GRO merges what follows each other in one flow, and the rule
//    sends the result to the port.
//
// Nothing that the engine writes comes to the pair. A frame that its rules do not know is dropped,
// and without its rules one finds nothing: the ends have no address, and frames for an adapter are
// not for their MAC addresses.
//
// A packet whose frame was padded at its end, which only one without a payload and without headers
// beyond the first is, is not merged and may pass those before it of its flow. Nothing is merged
// while a UDP socket of this host has port 4791, as that of rdma_rxe has.
//
// Recognized as ours by the alias of the port before which they are. Nothing is remembered between
// calls. Blocks until the kernel responds. One thread.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "ethernet/frame_filter.h"
#include "ethernet/link_features.h"
#include "ethernet/link_upkeep.h"
#include "ethernet/links.h"

namespace paravane::ethernet {

struct WantedMergingPair {
  std::string merging;  // "pvm-db1", at most 15 characters
  std::string filling;  // "pvf-db1", likewise
  std::string alias;    // of both ends
  MacBytes mac{};       // the adapter's
  std::uint32_t mtu = 1500;
  int port = 0;  // the index of the port
};

// Makes the pair or corrects it. Returns the index of the merging end, or 0: frames must not come
// to it, which is told to `upkeep`. If `upkeep` does not mend, a pair that is missing is 0.
int keep_merging_pair(Links& links, LinkUpkeep& upkeep, const WantedMergingPair& wanted);

// Whether it is an end of such a pair, of any port.
bool is_merging_end(const Link& link, const std::string& mark);

// Removes the pairs with this alias. Errors: kIo.
Status remove_merging_pairs(Links& links, const std::string& alias);

// What the ends do with frames, of the features that the kernel knows. Neither sends a frame of
// many packets: the merging end for the reason above, and the filling end since the other's GRO
// does not look at what comes from an end that cuts TCP apart (veth_skb_is_eligible_for_gro() of
// Linux).
std::vector<FeatureWish> features_of_merging_end(const LinkFeatures& known);
std::vector<FeatureWish> features_of_filling_end(const LinkFeatures& known);

}  // namespace paravane::ethernet
