// Page directories: tables and entries that are missing, crooked or outside,
// counts that do not fit them, and memory that is unmapped while it is used.

#include <spdlog/spdlog.h>

#include "hostile_vm.h"
#include "page_directory_script.h"

namespace paravane::fake {
namespace {

class PageDirectoryFuzz {
 public:
  PageDirectoryFuzz() : end_(vm_.guest()), peer_(vm_.guest()) { connect(end_, peer_); }

  void run(FuzzBytes input) {
    for (int acts = 0; acts < 40 && !input.at_end(); ++acts) act(input);
    restore_map();
    vm_.finish();
  }

 private:
  void act(FuzzBytes& input) {
    switch (
        static_cast<DirectoryAct>(input.below(static_cast<std::uint32_t>(DirectoryAct::kCount)))) {
      case DirectoryAct::kRegion: region(input); return;
      case DirectoryAct::kCompletionQueue: completion_queue(input); return;
      case DirectoryAct::kQueuePair: queue_pair(input); return;
      case DirectoryAct::kUnmap:
        vm_.machine().unmap_part(place(input), std::uint64_t{input.u16()} * kPage);
        return;
      case DirectoryAct::kMap:
        static_cast<void>(vm_.machine().map_part(place(input), std::uint64_t{input.u16()} * kPage));
        return;
      case DirectoryAct::kTime: vm_.pass(input.u16() % 3000u); return;
      case DirectoryAct::kUse: use(input); return;
      case DirectoryAct::kCount: return;
    }
  }

  static std::uint64_t place(FuzzBytes& input) {
    return GuestRam::kBase + std::uint64_t{input.u16() % 2048u} * kPage;
  }

  // A directory for up to 1,100 pages, with some of its entries replaced.
  PageSet pages(FuzzBytes& input) {
    GuestRam& ram = vm_.machine().ram();
    if (next_page_ == 0) next_page_ = ram.allocate(512);
    PageSet set;
    const std::uint32_t count = 1 + input.u16() % 1100u;
    for (std::uint32_t i = 0; i < count; ++i) {
      set.pages.push_back(next_page_ + std::uint64_t{i % 512} * kPage);
    }
    ram.make_directory(set);
    const std::uint32_t bends = input.below(4);
    for (std::uint32_t i = 0; i < bends; ++i) {
      const std::uint32_t slot = input.u16() % 512u;
      const bool in_directory = (input.u8() & 3) == 0;
      const std::uint64_t table =
          set.tables[input.below(static_cast<std::uint32_t>(set.tables.size()))];
      const std::uint64_t at = (in_directory ? set.directory : table) + 8 * std::uint64_t{slot};
      ram.as<std::uint64_t>(at) = vm_.address(input);
    }
    return set;
  }

  // Gives back what names the pages; the pages are ours for good.
  void give_back(PageSet& set) {
    set.pages.clear();
    vm_.machine().ram().release_set(set);
  }

  void region(FuzzBytes& input) {
    PageSet set = pages(input);
    const std::uint64_t bytes = set.pages.size() * kPage;
    CreateMr request = vm_.guest().mr_request(end_.pd(), 0x5000'0000 + input.u16() % 4096u,
                                              bytes - input.u16() % 4096u, set);
    bend(request.nchunks, input);
    const auto outcome = vm_.guest().run(request);
    if (outcome.accepted()) {
      const pvrdma_sge sge{.addr = request.start + input.u32() % bytes,
                           .length = input.u16(),
                           .lkey = outcome.response.lkey};
      end_.qp().post_send(
          {.wr_id = 1,
           .opcode = (input.u8() & 1) != 0 ? PVRDMA_WR_RDMA_READ : PVRDMA_WR_RDMA_WRITE,
           .remote_addr = peer_.buffer().va(),
           .rkey = peer_.buffer().rkey,
           .sges = {&sge, 1}});
      if ((input.u8() & 1) != 0) vm_.pass(100);
      vm_.guest().run(DestroyMr{.header = {}, .handle = outcome.response.mr_handle, .reserved = 0});
    }
    give_back(set);
  }

  void completion_queue(FuzzBytes& input) {
    PageSet set = pages(input);
    CreateCq request =
        vm_.guest().cq_request(end_.context(), std::uint32_t{1} << (input.u8() % 18u), set);
    bend(request.nchunks, input);
    const auto outcome = vm_.guest().run(request);
    if (outcome.accepted()) {
      DestroyCq destroy{};
      destroy.handle = outcome.response.cq_handle;
      vm_.guest().run(destroy);
    }
    give_back(set);
  }

  void queue_pair(FuzzBytes& input) {
    PageSet set = pages(input);
    QpSpec spec = end_.qp().spec();
    spec.max_send_wr = std::uint32_t{1} << (input.u8() % 15u);
    spec.max_recv_wr = std::uint32_t{1} << (input.u8() % 15u);
    spec.max_send_sge = 1 + input.below(33);
    CreateQp request = vm_.guest().qp_request(spec, set);
    request.total_chunks = static_cast<std::uint16_t>(1 + spec.send_pages() + spec.receive_pages());
    const auto outcome = vm_.guest().run(request);
    if (outcome.accepted()) {
      DestroyQp destroy{};
      destroy.handle = outcome.response.words[1];
      vm_.guest().run(destroy);
    }
    give_back(set);
  }

  static void bend(std::uint32_t& count, FuzzBytes& input) {
    if ((input.u8() & 3) == 0) count = hostile_number(input);
  }

  void use(FuzzBytes& input) {
    if (vm_.guest().query(end_.qp()).qp_state != kStateRts) {
      vm_.guest().to_reset(end_.qp());
      vm_.guest().to_reset(peer_.qp());
      connect(end_, peer_);
    }
    end_.write(1, 0, input.u16() % 16384u, peer_.buffer());
    end_.read(2, 0, input.u16() % 16384u, peer_.buffer());
    peer_.receive(3);
    vm_.pass(200);
    pvrdma_cqe completion{};
    while (end_.cq().take(completion) || peer_.cq().take(completion)) {
    }
  }

  void restore_map() {
    vm_.machine().unmap_ram();
    vm_.machine().map_ram();
  }

  HostileVm vm_;
  FakeEnd end_;
  FakeEnd peer_;
  std::uint64_t next_page_ = 0;
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  spdlog::set_level(spdlog::level::off);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::PageDirectoryFuzz fuzz;
  fuzz.run(paravane::fake::FuzzBytes(data, size));
  return 0;
}
