#include "bench/attached_pairs.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "bench/cores.h"
#include "bench/question.h"
#include "bench/stopwatch.h"

namespace paravane::bench {
namespace {

constexpr std::uint64_t kRam = std::uint64_t{256} << 20;  // what is not used costs nothing
constexpr std::uint32_t kEntries = 64;
constexpr std::uint64_t kRegionBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kScatteredVa = 0x7e00'0000'0000;
constexpr std::uint32_t kWriteBytes = std::uint32_t{1} << 20;
constexpr std::uint32_t kBytes = 8;
constexpr double kPatienceSeconds = 20;
// The engines have two processors at most, and this takes little of either.
constexpr auto kBetweenLooks = std::chrono::microseconds(20);

// The quota of lists is enough for each mapped page twice. One gibibyte is really there.
std::uint64_t ram_of(unsigned scattered_regions) {
  return scattered_regions == 0 ? 0 : kRegionBytes * (2 + scattered_regions / 2);
}

}  // namespace

AttachedPairs::AttachedPairs(DaemonProcess& daemon, const PairsSpec& spec) {
  const std::uint64_t ram_bytes = kRam + spec.written_bytes + ram_of(spec.scattered_regions);
  for (unsigned i = 0; i < spec.vms; ++i) attach(daemon, ram_bytes);
  const unsigned rounds = std::max(1U, (spec.queue_pairs + 2 * spec.vms - 1) / (2 * spec.vms));
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t vm = 0; vm < vms_.size(); ++vm) connect(vm, (vm + 1) % vms_.size());
  }
  if (spec.written_bytes > 0) register_memory(spec.written_bytes);
  if (spec.scattered_regions > 0) register_scattered(spec.scattered_regions);
  there_and_back();
}

void AttachedPairs::attach(DaemonProcess& daemon, std::uint64_t ram_bytes) {
  const std::size_t index = vms_.size();
  const model::VmStatus status = daemon.add_vm(fmt::format("vm{}", index + 1));
  const std::optional<model::MacAddress> mac = status.spec.adapters[0].mac;
  demand(mac.has_value(), "a VM has no MAC");
  fake::AttachedVm& vm =
      *vms_.emplace_back(std::make_unique<fake::AttachedVm>(status.adapters[0].socket, ram_bytes));
  demand(vm.boot(*mac, static_cast<std::uint8_t>(index + 1)), "a fake guest does not boot");
  fake::FakeGuest& guest = vm.guest();
  Process& process = processes_.emplace_back();
  process.pd = &guest.create_pd(guest.open_context());
  process.buffer = &guest.register_memory(*process.pd, fake::kPage);
}

AttachedPairs::End AttachedPairs::make_end(std::size_t vm) {
  fake::FakeGuest& guest = vms_[vm]->guest();
  End end{.pd = processes_[vm].pd, .buffer = processes_[vm].buffer};
  end.cq = &guest.create_cq(*end.pd->context, kEntries);
  end.qp = &guest.create_qp({.pd = end.pd, .send_cq = end.cq, .receive_cq = end.cq});
  ++queue_pairs_;
  return end;
}

void AttachedPairs::connect(std::size_t vm, std::size_t peer) {
  const std::array ends{make_end(vm), make_end(peer)};
  fake::FakeGuest& one = vms_[vm]->guest();
  fake::FakeGuest& other = vms_[peer]->guest();
  const bool connected = one.connect(*ends[0].qp, other.gid(), ends[1].qp->number) &&
                         other.connect(*ends[1].qp, one.gid(), ends[0].qp->number);
  demand(connected, "two queue pairs cannot be connected");
  for (const End& end : ends) {
    const pvrdma_sge sge = end.buffer->sge(0, kBytes);
    demand(end.qp->post_receive({.wr_id = 1, .sges = {&sge, 1}}), "a receive ring is full");
  }
  probed_ = ends;
}

void AttachedPairs::register_memory(std::uint64_t bytes) {
  fake::FakeGuest& guest = vms_[0]->guest();
  source_ = &guest.register_memory(*processes_[0].pd, kWriteBytes);
  for (std::uint64_t done = 0; done < bytes; done += kRegionBytes) {
    regions_.push_back(&guest.register_memory(*processes_[0].pd, kRegionBytes));
  }
}

void AttachedPairs::register_scattered(unsigned regions) {
  fake::FakeGuest& guest = vms_[0]->guest();
  source_ = &guest.register_memory(*processes_[0].pd, kWriteBytes);
  scattered_pages_ = guest.ram().allocate_set(kRegionBytes / fake::kPage, fake::Layout::kScattered);
  for (unsigned i = 0; i < regions; ++i) {
    const auto outcome = guest.run(
        guest.mr_request(*processes_[0].pd, kScatteredVa, kRegionBytes, scattered_pages_));
    demand(outcome.accepted(), "1 GiB was not registered");
    scattered_keys_.push_back(outcome.response.rkey);
  }
}

void AttachedPairs::write(std::uint64_t va, std::uint32_t rkey, std::uint32_t bytes) {
  ++round_;
  const pvrdma_sge sge = source_->sge(0, bytes);
  const bool posted = probed_[0].qp->post_send({.wr_id = round_,
                                                .opcode = PVRDMA_WR_RDMA_WRITE,
                                                .remote_addr = va,
                                                .rkey = rkey,
                                                .sges = {&sge, 1}});
  demand(posted, "a send ring is full");
  pvrdma_cqe completion{};
  const Stopwatch watch;
  do {
    while (!probed_[0].cq->poll(completion)) {
      demand(watch.seconds() < kPatienceSeconds, "a write does not complete");
      pause_core();
    }
    demand(completion.status == 0, "a write completed with an error");
  } while (completion.wr_id != round_);  // those of there_and_back() may still be there
}

void AttachedPairs::write_memory() {
  for (const fake::FakeMr* region : regions_) {
    for (std::uint64_t at = 0; at < kRegionBytes; at += kWriteBytes) {
      write(region->va() + at, region->rkey, kWriteBytes);
    }
  }
}

void AttachedPairs::try_scattered() {
  for (const std::uint32_t rkey : scattered_keys_) {
    std::memcpy(source_->at(0), &rkey, sizeof rkey);
    write(kScatteredVa + kRegionBytes - sizeof rkey, rkey, sizeof rkey);
    const std::byte* page = vms_[0]->guest().ram().at(scattered_pages_.pages.back());
    demand(std::memcmp(page + fake::kPage - sizeof rkey, &rkey, sizeof rkey) == 0,
           "a write to the region went elsewhere");
  }
}

void AttachedPairs::send(const End& from, const End& to) {
  pvrdma_cqe completion;
  while (from.cq->take(completion)) {
    demand(completion.status == 0, "a write completed with an error");
  }
  const std::uint64_t slot = from.qp == probed_[0].qp ? 0 : 64;
  std::memcpy(from.buffer->at(128 + slot), &round_, sizeof round_);
  const pvrdma_sge sge = from.buffer->sge(128 + slot, kBytes);
  const bool posted = from.qp->post_send({.wr_id = round_,
                                          .opcode = PVRDMA_WR_RDMA_WRITE,
                                          .remote_addr = to.buffer->va() + 256 + slot,
                                          .rkey = to.buffer->rkey,
                                          .sges = {&sge, 1}});
  demand(posted, "a send ring is full");
  const Stopwatch watch;
  const auto arrived = [&] {
    return __atomic_load_n(reinterpret_cast<std::uint64_t*>(to.buffer->at(256 + slot)),
                           __ATOMIC_ACQUIRE) == round_;
  };
  while (!arrived()) {
    demand(watch.seconds() < kPatienceSeconds, "a write does not arrive");
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

void AttachedPairs::there_and_back() {
  ++round_;
  send(probed_[0], probed_[1]);
  send(probed_[1], probed_[0]);
}

void AttachedPairs::demand_responses() {
  for (auto& vm : vms_) demand(vm->responds(), "a VM does not get an answer any more");
}

}  // namespace paravane::bench
