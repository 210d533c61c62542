// How long does it take to register 1 GiB?
//
// From the guest's write to the REQUEST register to its answer: 262,144 page
// addresses in 512 page tables are copied in, checked and merged into runs. The
// pages lie in a row, or (the worst there is) no page follows the one before it.
// The floor copies the same page tables on the worker's core.

#include <array>
#include <cstring>

#include "bench/connection.h"
#include "bench/question.h"
#include "bench/stopwatch.h"

namespace paravane::bench {
namespace {

constexpr std::uint64_t kRegion = std::uint64_t{1} << 30;
constexpr std::uint64_t kRam = std::uint64_t{3} << 30;  // only what is touched exists
constexpr std::uint64_t kVa = 0x7e00'0000'0000;
constexpr std::uint32_t kProbe = 64;  // bytes written to each end of the region

class Region {
 public:
  Region(Host& host, fake::Layout layout)
      : host_(host),
        guest_(host.guest(1)),
        connection_(host, {}),
        pages_(guest_.ram().allocate_set(kRegion / fake::kPage, layout)) {}

  double copy_tables() {
    double elapsed = 0;
    host_.in_place_of_worker([&] {
      std::array<std::byte, fake::kPage> copy;
      const Stopwatch watch;
      for (const std::uint64_t table : pages_.tables) {
        std::memcpy(copy.data(), guest_.ram().at(table), copy.size());
        asm volatile("" ::"r"(copy.data()) : "memory");
      }
      elapsed = watch.seconds();
    });
    return elapsed * 1e3;
  }

  double register_it() {
    const auto request = guest_.mr_request(*connection_.end(1).pd, kVa, kRegion, pages_);
    const Stopwatch watch;
    const auto outcome = guest_.run(request);
    const double elapsed = watch.seconds();
    demand(outcome.accepted(), "1 GiB was not registered");
    check(outcome.response.rkey);
    const auto destroyed = guest_.run(
        fake::DestroyMr{.header = {}, .handle = outcome.response.mr_handle, .reserved = 0});
    demand(destroyed.accepted(), "the region was not destroyed");
    return elapsed * 1e3;
  }

 private:
  // Its first and its last bytes can be written to.
  void check(std::uint32_t rkey) {
    for (const std::uint64_t offset : {std::uint64_t{0}, kRegion - kProbe}) {
      End& sender = connection_.end(0);
      sender.buffer->fill_pattern(++seed_);
      const pvrdma_sge sge = sender.buffer->sge(0, kProbe);
      const bool posted = sender.qp->post_send({.opcode = PVRDMA_WR_RDMA_WRITE,
                                                .remote_addr = kVa + offset,
                                                .rkey = rkey,
                                                .sges = {&sge, 1}});
      demand(posted, "the send ring is full");
      sender.await_completion();
      const std::byte* page = guest_.ram().at(pages_.pages[offset / fake::kPage]);
      demand(std::memcmp(page + offset % fake::kPage, sender.buffer->at(0), kProbe) == 0,
             "a write to the region went elsewhere");
    }
  }

  Host& host_;
  fake::FakeGuest& guest_;
  Connection connection_;
  fake::PageSet pages_;
  std::uint32_t seed_ = 0;
};

Figure measure(const Settings& settings, const char* name, fake::Layout layout) {
  Host host(settings.cores, kRam);
  Region region(host, layout);
  Figure figure{.name = name,
                .unit = "ms",
                .floor_name = "copying the same page tables on the worker's core",
                .target = {Target::Of::kValue, Target::Sense::kAtMost, 20}};
  figure.measure(
      settings.repetitions, [&] { return region.copy_tables(); },
      [&] { return region.register_it(); });
  return figure;
}

}  // namespace

Figures register_memory(const Settings& settings) {
  return {measure(settings, "register 1 GiB, pages in a row", fake::Layout::kContiguous),
          measure(settings, "register 1 GiB, scattered pages", fake::Layout::kScattered)};
}

}  // namespace paravane::bench
