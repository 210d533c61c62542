#include "testing/hostile_turns.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <functional>
#include <vector>

#include "testing/device_rig.h"

namespace paravane::fake {
namespace {

constexpr std::uint32_t kTable = 512;  // entries of a page table, or of a directory
constexpr int kMessages = 64;          // that a server hands over in one turn

double processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// One hostile VM and one for it to talk to.
class Hostile {
 public:
  explicit Hostile(const device::DeviceLimits& limits = {}, std::uint64_t list_bytes = 0,
                   bool journals = false)
      : rig_(options(limits, list_bytes, journals)) {}

  FakeGuest& guest() { return rig_.guest(0); }
  DeviceRig& rig() { return rig_; }
  FakeContext& process() {
    return process_ == nullptr ? *(process_ = &guest().open_context()) : *process_;
  }

  // A directory whose entries all name one table, which alternates between two pages: no
  // page follows the one before it, so every page is an entry of its own.
  PageSet scattered(std::uint64_t pages) {
    PageSet set;
    set.directory = guest().ram().allocate(1);
    const std::uint64_t table = guest().ram().allocate(1);
    const std::uint64_t data = guest().ram().allocate(3);
    auto* directory = &guest().ram().as<std::uint64_t>(set.directory);
    auto* entries = &guest().ram().as<std::uint64_t>(table);
    for (std::uint32_t i = 0; i < kTable; ++i) {
      directory[i] = table;
      entries[i] = data + (i % 2 == 0 ? 2 * kPage : 0);
    }
    set.tables = {table};
    set.pages.assign(pages, data);
    return set;
  }

  // What is measured: each call is one turn, with what the guest sends at its beginning.
  void turn(const std::function<void()>& guest) {
    const double begin = processor_time();
    guest();
    rig_.step();
    longest_ = std::max(longest_, processor_time() - begin);
  }
  // The same, and all turns that it takes to be done with it.
  void turns(const std::function<void()>& guest) {
    turn(guest);
    for (int i = 0; i < 100'000 && rig_.device(0).has_work(); ++i) {
      turn([] {});
    }
  }

  // As many of them as the server would hand over in one turn.
  void messages(const std::function<void(int)>& send) {
    turns([&] {
      for (int i = 0; i < kMessages && rig_.device(0).takes_requests(); ++i) send(i);
    });
  }
  // A command whose REQUEST is posted: nobody waits for its answer.
  template <typename Request>
  void post(Request request) {
    request.header.cmd = Request::kOpcode;
    const auto bytes = std::as_bytes(std::span(&request, 1));
    std::ranges::copy(bytes, guest().command_slot());
    rig_.machine(0).post_register(kRegRequest, 0);
  }
  void reset() {
    turns([this] { rig_.machine(0).write_register(kRegCtl, kCtlReset); });
  }
  void destroy_process() {
    DestroyUc request{};
    request.handle = process().handle;
    turns([&] { post(request); });
  }
  void hang_up() {
    turns([this] { rig_.unplug(0); });
  }

  // The process of its device, whose turns do not count any more.
  void kill() {
    rig_.kill(0);
    longest_ = 0;
  }

  LongestTurn result() {
    return {.touched = rig_.device(0).counters().most_touched.value(),
            .processor_seconds = longest_};
  }

 private:
  static RigOptions options(const device::DeviceLimits& limits, std::uint64_t list_bytes,
                            bool journals) {
    RigOptions options;
    options.journals = journals;
    options.config.limits = limits;
    options.ram_bytes = std::uint64_t{3} << 30;  // sparse
    options.memory.page_list_bytes = list_bytes;
    return options;
  }

  DeviceRig rig_;
  FakeContext* process_ = nullptr;
  double longest_ = 0;
};

// Queue pairs that share a completion queue which holds back all that it may: `idle` of
// them, and a few whose flushed receives fill it.
FakeCq& fill_completion_queue(Hostile& hostile, FakeContext& context, std::uint32_t idle,
                              std::uint32_t entries) {
  FakeGuest& guest = hostile.guest();
  FakePd& pd = guest.create_pd(context);
  FakeCq& cq = guest.create_cq(context, entries);
  QpSpec small{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
  small.max_send_wr = small.max_recv_wr = 1;
  const PageSet pages = hostile.scattered(1 + small.send_pages() + small.receive_pages());
  for (std::uint32_t i = 0; i < idle; ++i) guest.run(guest.qp_request(small, pages));
  QpSpec deep{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
  deep.max_send_wr = 1;
  deep.max_recv_wr = entries / 4;
  deep.max_recv_sge = 1;
  for (int i = 0; i < 8; ++i) {
    FakeQp& qp = guest.create_qp(deep);
    guest.to_init(qp);
    while (qp.post_receive({})) {
    }
    guest.to_state(qp, kStateErr);
    for (int turn = 0; turn < 200; ++turn) hostile.rig().step();
  }
  return cq;
}

LongestTurn reset_with_queue_pairs(std::uint32_t scale) {
  Hostile hostile;
  fill_completion_queue(hostile, hostile.guest().kernel(), 16'370 / scale, 65'536 / scale);
  hostile.reset();
  return hostile.result();
}

LongestTurn destroy_a_process(std::uint32_t scale) {
  Hostile hostile;
  fill_completion_queue(hostile, hostile.process(), 16'370 / scale, 65'536 / scale);
  hostile.destroy_process();
  return hostile.result();
}

LongestTurn hang_up_with_queue_pairs(std::uint32_t scale) {
  Hostile hostile;
  fill_completion_queue(hostile, hostile.process(), 16'370 / scale, 65'536 / scale);
  hostile.hang_up();
  return hostile.result();
}

// A guest that makes room in its completion queue and says so in every message.
LongestTurn take_what_was_held(std::uint32_t scale) {
  Hostile hostile;
  FakeContext& kernel = hostile.guest().kernel();
  FakeCq& cq = fill_completion_queue(hostile, kernel, 0, 65'536 / scale);
  hostile.messages([&](int) {
    pvrdma_cqe taken{};
    for (int i = 0; i < 2048 && cq.take(taken); ++i) {
    }
    hostile.rig().machine(0).write_doorbell(kDoorbellCq, cq.handle | kRingPoll);
  });
  return hostile.result();
}

// Events that wait: nobody takes them, and then all at once.
void make_events_wait(Hostile& hostile, std::uint32_t events) {
  FakeGuest& guest = hostile.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& cq = guest.create_cq(guest.kernel(), 16);
  FakeQp& qp = guest.create_qp({.pd = &pd, .send_cq = &cq, .receive_cq = &cq});
  guest.connect(qp, hostile.rig().guest(1).gid(), 77);
  for (std::uint32_t i = 0; i < events; ++i) {
    QpAttributes drain = FakeGuest::garbage_attributes();
    drain.qp_state = kStateSqd;
    drain.en_sqd_async_notify = 1;
    guest.modify(qp, drain, kMaskState | kMaskSqdNotify);
    guest.to_state(qp, kStateRts);
  }
}

LongestTurn reset_with_events(std::uint32_t scale) {
  Hostile hostile;
  make_events_wait(hostile, 17'500 / scale);
  hostile.reset();
  return hostile.result();
}

LongestTurn take_all_events(std::uint32_t scale) {
  Hostile hostile;
  make_events_wait(hostile, 17'500 / scale);
  hostile.turns([&] {
    while (hostile.guest().take_async_event()) {
    }
  });
  return hostile.result();
}

LongestTurn reset_with_regions(std::uint32_t scale) {
  Hostile hostile;
  FakeGuest& guest = hostile.guest();
  const FakePd& pd = guest.create_pd(guest.kernel());
  const PageSet pages = hostile.scattered(1);
  const CreateMr request = guest.mr_request(pd, 0, kPage, pages);
  for (std::uint32_t i = 0; i < 262'144 / scale; ++i) guest.run(request);
  hostile.reset();
  return hostile.result();
}

LongestTurn reset_with_large_regions(std::uint32_t scale) {
  Hostile hostile({}, std::uint64_t{2} << 30);
  FakeGuest& guest = hostile.guest();
  const FakePd& pd = guest.create_pd(guest.kernel());
  const PageSet pages = hostile.scattered(std::uint64_t{kTable} * kTable);
  const CreateMr request = guest.mr_request(pd, 0, std::uint64_t{1} << 30, pages);
  for (std::uint32_t i = 0; i < 100 / scale; ++i) guest.run(request);
  hostile.reset();
  return hostile.result();
}

LongestTurn large_regions_at_once(std::uint32_t scale) {
  Hostile hostile({}, std::uint64_t{2} << 30);
  FakeGuest& guest = hostile.guest();
  const FakePd& pd = guest.create_pd(guest.kernel());
  const PageSet pages = hostile.scattered(std::uint64_t{kTable} * kTable);
  const CreateMr request = guest.mr_request(pd, 0, std::uint64_t{1} << 30, pages);
  std::vector<std::uint32_t> handles;
  handles.reserve(64 / scale);
  for (std::uint32_t i = 0; i < 64 / scale; ++i) {
    handles.push_back(guest.run(request).response.mr_handle);
  }
  hostile.messages([&](int i) {
    DestroyMr destroy{};
    destroy.handle = handles[static_cast<std::size_t>(i) % handles.size()];
    hostile.post(destroy);
  });
  // Each takes the place of the one before, which is undone.
  hostile.messages([&](int) { hostile.post(request); });
  return hostile.result();
}

LongestTurn large_rings_at_once(std::uint32_t) {
  Hostile hostile({}, std::uint64_t{2} << 30);
  FakeGuest& guest = hostile.guest();
  const CreateCq request = guest.cq_request(guest.kernel(), 1 << 20, hostile.scattered(16'385));
  for (int i = 0; i < 4; ++i) hostile.turns([&] { hostile.post(request); });
  hostile.messages([&](int) { hostile.post(request); });
  return hostile.result();
}

LongestTurn resets_at_once(std::uint32_t scale) {
  Hostile hostile;
  fill_completion_queue(hostile, hostile.guest().kernel(), 4'000 / scale, 1024);
  hostile.messages([&](int) { hostile.rig().machine(0).post_register(kRegCtl, kCtlReset); });
  return hostile.result();
}

// Requests of 32 pieces, each of two bytes on either side of a page's end, to a queue pair
// of its own: as much as there is to find in guest memory for a byte that is copied.
LongestTurn many_small_pieces(std::uint32_t) {
  constexpr std::uint32_t kPieces = 32;
  Hostile hostile;
  FakeGuest& guest = hostile.guest();
  FakeContext& process = hostile.process();
  FakePd& pd = guest.create_pd(process);
  FakeCq& cq = guest.create_cq(process, 4096);
  const FakeMr& mr =
      guest.register_memory(pd, std::uint64_t{kTable} * kPage, {.layout = Layout::kScattered});
  QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
  spec.max_send_wr = spec.max_recv_wr = 1024;
  spec.max_send_sge = spec.max_recv_sge = kPieces;
  FakeQp& from = guest.create_qp(spec);
  FakeQp& to = guest.create_qp(spec);
  guest.connect(from, guest.gid(), to.number);
  guest.connect(to, guest.gid(), from.number);
  std::vector<pvrdma_sge> pieces;
  for (std::uint32_t i = 1; i <= kPieces; ++i) pieces.push_back(mr.sge(i * kPage - 1, 2));
  hostile.turns([&] {
    while (to.post_receive({.sges = pieces})) {
    }
    while (from.post_send({.sges = pieces})) {
    }
    from.ring(kRingSend);
  });
  return hostile.result();
}

LongestTurn contexts_on_one_page(std::uint32_t scale) {
  Hostile hostile;
  const CreateUc request = hostile.guest().context_request(hostile.guest().next_uar_page());
  fill_completion_queue(hostile, hostile.process(), 16'370 / scale, 1024);
  hostile.messages([&](int) { hostile.post(request); });
  return hostile.result();
}

// What a killed engine has left of a guest's kernel: its largest queues, in scattered pages.
LongestTurn lost_large_rings(std::uint32_t) {
  Hostile hostile(device::DeviceLimits{}, std::uint64_t{2} << 30, true);
  FakeGuest& guest = hostile.guest();
  const CreateCq request = guest.cq_request(guest.kernel(), 1 << 20, hostile.scattered(16'385));
  for (int i = 0; i < 16; ++i) guest.run(request);
  hostile.kill();
  hostile.turns([] {});
  hostile.reset();
  return hostile.result();
}

LongestTurn lost_queue_pairs(std::uint32_t scale) {
  Hostile hostile(device::DeviceLimits{}, 0, true);
  const FakeCq& cq = fill_completion_queue(hostile, hostile.guest().kernel(), 16'370 / scale, 1024);
  hostile.kill();
  hostile.turns([] {});
  // Each names the queue that all of them use.
  hostile.messages([&](int) {
    DestroyCq destroy{};
    destroy.handle = cq.handle;
    hostile.post(destroy);
  });
  hostile.reset();
  return hostile.result();
}

constexpr HostileTurns kAll[] = {
    {"RESET with 16,370 QPs on a CQ that holds 65,536 completions", reset_with_queue_pairs},
    {"DESTROY_UC of the same", destroy_a_process},
    {"a VMM with the same hangs up", hang_up_with_queue_pairs},
    {"64 messages that take 65,536 held completions", take_what_was_held},
    {"RESET with 17,500 events waiting", reset_with_events},
    {"17,500 events are taken", take_all_events},
    {"RESET with 262,144 memory regions", reset_with_regions},
    {"RESET with 100 scattered regions of 1 GiB", reset_with_large_regions},
    {"64 scattered regions of 1 GiB destroyed, and as many made, at once", large_regions_at_once},
    {"64 CQs of 1,048,576 entries at once", large_rings_at_once},
    {"64 RESETs at once", resets_at_once},
    {"1,024 messages of 32 pieces, each across the end of a page", many_small_pieces},
    {"64 contexts on the page of one with 16,370 QPs", contexts_on_one_page},
    {"a killed engine has left 16 CQs of 1,048,576 entries", lost_large_rings},
    {"a killed engine has left 16,370 QPs on a CQ that is destroyed", lost_queue_pairs},
};

}  // namespace

std::span<const HostileTurns> hostile_turns() {
  return kAll;
}

}  // namespace paravane::fake
