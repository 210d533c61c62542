// UplinkCounters: the frames and packets of an IPoIB uplink, and what became of those that it did
// not bring on.
//
// The subnet's thread only.

#pragma once

#include "base/counter.h"

namespace paravane::ipoib {

struct UplinkCounters {
  CounterSet set;
  Counter frames_sent{set, "frames_sent", "frames of VMs that went into the subnet"};
  Counter bytes_sent{set, "bytes_sent", "bytes of these frames, with their Ethernet headers"};
  Counter frames_received{set, "frames_received", "frames that came out of the subnet"};
  Counter bytes_received{set, "bytes_received",
                         "bytes of these frames, with their Ethernet headers"};
  // ---- Frames of VMs that were dropped ----
  Counter bad_frames{set, "bad_frames", "frames of VMs with an impossible header, or a tag"};
  Counter own_loops{set, "own_loops", "frames and packets that came back to the uplink"};
  Counter taken_macs{set, "taken_macs",
                     "frames of VMs that came from the MAC address of another node"};
  Counter other_protocols{set, "other_protocols", "frames of VMs that are not ARP, RARP or IP"};
  Counter bad_arp{set, "bad_arp", "frames and packets of ARP that are not as they must be"};
  Counter bad_neighbours{set, "bad_neighbours",
                         "frames and packets of neighbour discovery that are not as they must be"};
  Counter unknown_destinations{set, "unknown_destinations",
                               "frames of VMs to an address that the subnet did not show them"};
  Counter too_big{set, "too_big", "frames of VMs above the partition's MTU"};
  Counter no_partition{set, "no_partition",
                       "frames of VMs in a VLAN whose partition is not joined"};
  Counter no_address_room{set, "no_address_room",
                          "frames of VMs whose address found no room for a queue pair"};
  Counter no_path{set, "no_path", "frames of VMs whose destination has no path"};
  Counter no_path_room{set, "no_path_room", "frames of VMs that found no room to wait for a path"};
  Counter not_sent{set, "not_sent", "frames of VMs that the port did not take"};
  // ---- What VMs report of multicast groups; the frames went on ----
  Counter bad_reports{set, "bad_reports", "reports of IGMP and MLD that are not as they must be"};
  Counter no_group_room{set, "no_group_room",
                        "reports of VMs that named more multicast groups than there is room for"};
  // ---- Packets of the subnet that were dropped ----
  Counter bad_packets{set, "bad_packets",
                      "packets of the subnet without the encapsulation of IP, or above the MTU"};
};

}  // namespace paravane::ipoib
