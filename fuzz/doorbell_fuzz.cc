// Doorbells: any words in any page, mapped and trapped, of any size, while
// queues and contexts come and go.

#include <spdlog/spdlog.h>

#include <array>

#include "doorbell_script.h"
#include "hostile_vm.h"

namespace paravane::fake {
namespace {

class DoorbellFuzz {
 public:
  void run(FuzzBytes input) {
    add_process();
    for (int acts = 0; acts < 300 && !input.at_end(); ++acts) act(input);
    vm_.finish();
  }

 private:
  struct Process {
    FakeContext& context;
    FakePd& pd;
    FakeCq& cq;
    FlushSource source;
    FakeSrq& srq;
  };

  void add_process() {
    if (processes_.size() >= 5) return;
    FakeContext& context = vm_.guest().open_context();
    FakePd& pd = vm_.guest().create_pd(context);
    FakeCq& cq = vm_.guest().create_cq(context, 16);
    processes_.push_back(std::make_unique<Process>(
        context, pd, cq, FlushSource(vm_.guest(), pd, cq), vm_.guest().create_srq({.pd = &pd})));
  }

  Process& process(FuzzBytes& input) {
    return *processes_[input.below(static_cast<std::uint32_t>(processes_.size()))];
  }

  std::uint32_t word(FuzzBytes& input) {
    const std::uint32_t kind = input.below(3);
    Process& owner = process(input);
    const std::uint32_t handle = kind == 0   ? owner.source.qp().handle
                                 : kind == 1 ? owner.cq.handle
                                             : owner.srq.handle;
    return (input.u8() & 3) == 0 ? input.u32() : handle | std::uint32_t{input.u8()} << 24;
  }

  void act(FuzzBytes& input) {
    switch (
        static_cast<DoorbellAct>(input.below(static_cast<std::uint32_t>(DoorbellAct::kCount)))) {
      case DoorbellAct::kStore: store(input); return;
      case DoorbellAct::kMessage: message(input); return;
      case DoorbellAct::kProduce: process(input).source.produce(input.below(20)); return;
      case DoorbellAct::kTime: vm_.pass(input.u16() % 4000u); return;
      case DoorbellAct::kPoll: poll(process(input), input); return;
      case DoorbellAct::kOpen: add_process(); return;
      case DoorbellAct::kKill: kill(input); return;
      case DoorbellAct::kCount: return;
    }
  }

  void store(FuzzBytes& input) {
    const std::uint32_t page = 1 + input.below(7);
    const std::uint32_t offset =
        input.u8() % 4u == 3 ? input.u16() % 1024u * 4 : input.below(3) * 4;
    std::byte* mapped = vm_.machine().doorbell_page(page);
    require(mapped != nullptr);
    store_word(*reinterpret_cast<std::uint32_t*>(mapped + offset), word(input));
  }

  void message(FuzzBytes& input) {
    const std::uint64_t offset = input.u16() % (8 * kPage);
    std::array<std::byte, 16> bytes{};
    const std::uint64_t value = word(input);
    std::memcpy(bytes.data(), &value, sizeof value);
    const std::size_t size = std::min<std::size_t>(1 + input.below(16), 8 * kPage - offset);
    vm_.machine().write_bar(2, offset, std::span(bytes).first(size));
  }

  void poll(Process& process, FuzzBytes& input) {
    pvrdma_cqe completion{};
    while (process.cq.poll(completion)) {
    }
    if ((input.u8() & 1) != 0) process.cq.arm((input.u8() & 1) != 0);
  }

  void kill(FuzzBytes& input) {
    if (processes_.size() < 2) return;
    const std::uint32_t which = input.below(static_cast<std::uint32_t>(processes_.size()));
    vm_.guest().kill_process(processes_[which]->context);
    processes_.erase(processes_.begin() + which);
  }

  HostileVm vm_;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  spdlog::set_level(spdlog::level::off);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::DoorbellFuzz fuzz;
  fuzz.run(paravane::fake::FuzzBytes(data, size));
  return 0;
}
