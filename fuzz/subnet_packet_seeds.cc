// Seeds for subnet_packet_fuzz: each attribute read and set along a route and by LID, counters,
// long MADs, data with good and bad keys.

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "subnet_packet_script.h"
#include "wire/infiniband/subnet_management.h"

namespace {

namespace attribute = paravane::wire::infiniband::attribute;
using paravane::fake::SeedBytes;
using paravane::fake::SubnetPacketAct;

constexpr std::uint32_t kGet = 1;
constexpr std::uint32_t kSet = 2;
constexpr std::uint32_t kTrap = 5;
constexpr std::uint32_t kTrapRepress = 7;

class Script {
 public:
  explicit Script(std::uint32_t how) { seed_.u8(how); }
  Script& act(SubnetPacketAct what, std::initializer_list<std::uint32_t> numbers = {}) {
    seed_.u8(std::to_underlying(what));
    for (const std::uint32_t number : numbers) seed_.u8(number);
    return *this;
  }
  // An SMP with what its attribute is now; `flags` without 4 and 8.
  Script& smp(std::uint32_t flags, std::uint32_t method, std::uint32_t what,
              std::uint32_t modifier) {
    seed_.u8(flags).u8(method).u8(what).u32(modifier).u8(1);
    seed_.u8(60).u8(0);  // a byte that few have
    return *this;
  }
  Script& route(std::uint32_t where, std::uint32_t flags, std::uint32_t method, std::uint32_t what,
                std::uint32_t modifier, std::initializer_list<std::uint32_t> path,
                std::uint32_t pointer = 1) {
    act(SubnetPacketAct::kRoute, {where}).smp(flags, method, what, modifier);
    seed_.u8(pointer).u8(static_cast<std::uint32_t>(path.size())).u8(0);
    for (const std::uint32_t port : path) seed_.u8(port);
    return *this;
  }
  Script& by_lid(std::uint32_t where, std::uint32_t flags, std::uint32_t method, std::uint32_t what,
                 std::uint32_t modifier, std::uint32_t to, std::uint32_t from) {
    act(SubnetPacketAct::kByLid, {where}).smp(flags, method, what, modifier);
    seed_.u8(to).u8(from);
    return *this;
  }
  const std::vector<std::uint8_t>& bytes() const { return seed_.bytes(); }

 private:
  SeedBytes seed_;
};

std::vector<Script> seeds() {
  std::vector<Script> all;
  for (const std::uint32_t how : {0U, 1U, 2U, 3U}) {
    for (const std::uint32_t method : {kGet, kSet}) {
      Script routes(how);
      Script lids(how);
      for (const std::uint16_t what :
           {attribute::kNodeDescription, attribute::kNodeInfo, attribute::kSwitchInfo,
            attribute::kGuidInfo, attribute::kPortInfo, attribute::kPartitionTable,
            attribute::kLaneTable, attribute::kLaneArbitration, attribute::kLinearTable,
            attribute::kMulticastTable, attribute::kSmInfo}) {
        routes.route(0, 2, method, what, 0, {1}).route(0, 2, method, what, 0, {9, 2}, 1);
        // The adapter itself, at the end of a route of two hops.
        routes.route(2, 2, method, what, 0, {9, 2}, 2);
        lids.by_lid(0, 2, method, what, 0, 1, 3).by_lid(0, 0, method, what, 0, 2, 0);
      }
      routes.act(SubnetPacketAct::kTime, {100}).act(SubnetPacketAct::kSweep);
      lids.act(SubnetPacketAct::kTime, {100}).act(SubnetPacketAct::kCable);
      all.push_back(routes);
      all.push_back(lids);
    }
    all.push_back(Script(how)
                      .by_lid(0, 0, kTrap, attribute::kNotice, 0, 0, 3)
                      .by_lid(0, 0, kTrapRepress, attribute::kNotice, 0, 1, 0)
                      .route(0, 1, 0x81, attribute::kNodeInfo, 0, {1, 1}, 2)
                      .act(SubnetPacketAct::kCable)
                      .act(SubnetPacketAct::kTime, {255})
                      .act(SubnetPacketAct::kCable)
                      .act(SubnetPacketAct::kSweep));
    // Counters of each node: where, flags, class, method, attribute, transaction (3), from, to,
    // length, bytes.
    Script counters(how);
    for (const std::uint32_t to : {0U, 1U, 2U}) {
      for (const std::uint32_t what : {0x01U, 0x12U, 0x1DU}) {
        counters.act(SubnetPacketAct::kService, {0, 0, 4, kGet, what, 0, 1, to, 3, 2, 0, 1});
        counters.act(SubnetPacketAct::kService,
                     {1, 4, 4, kSet, what, 0, 1, to, 3, 9, 4, 0, 255, 255, 255});
      }
      counters.act(SubnetPacketAct::kService, {0, 0, 3, kGet, 0x35, 0, 1, to, 3, 0});
      counters.act(SubnetPacketAct::kService, {0, 1, 4, kGet, 0x12, 0, 1, to, 3, 1, 2, 3, 4, 0});
      counters.act(SubnetPacketAct::kService, {0, 2, 4, kGet, 0x12, 0, 1, to, 3, 7, 128, 0});
    }
    all.push_back(counters);
    // A long MAD in three segments, each as its flags say.
    Script segments(how);
    for (std::uint32_t number = 1; number <= 3; ++number) {
      const std::uint32_t flags = 1U | (number == 1 ? 2U : 0U) | (number == 3 ? 4U : 0U) | 8U;
      segments.act(SubnetPacketAct::kSegment, {0, flags, 5, 1, 0, number, 0, 3});
    }
    segments.act(SubnetPacketAct::kSegment, {0, 1, 5, 2, 0, 1, 2, 3})
        .act(SubnetPacketAct::kSegment, {0, 1, 5, 4, 119, 0, 0, 3})
        .act(SubnetPacketAct::kTime, {255});
    all.push_back(segments);
    Script data(how);
    for (const std::uint32_t to : {0U, 2U, 7U, 8U, 9U}) {
      data.act(SubnetPacketAct::kData, {0, 4, to, 3, 9, 100, 0});
      data.act(SubnetPacketAct::kData, {0, 0, to, 3, 0, 16});
      data.act(SubnetPacketAct::kData, {0, 1, to, 3, 1, 2, 3, 4, 8, 0});
      data.act(SubnetPacketAct::kData, {0, 2, to, 3, 5, 128, 8, 0});
    }
    data.act(SubnetPacketAct::kAsk, {0, 2})
        .act(SubnetPacketAct::kAsk, {5, 1})
        .act(SubnetPacketAct::kTime, {50});
    all.push_back(data);
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int number = 0;
  for (const Script& seed : seeds()) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(number++)),
                       std::ios::binary);
    const std::vector<std::uint8_t>& bytes = seed.bytes();
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file) return 1;
  }
  return 0;
}
